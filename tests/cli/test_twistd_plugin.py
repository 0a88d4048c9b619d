"""`twistd ahpd`: the plugin is found, and runs the same service."""

import shutil
import signal
import sys
from pathlib import Path

import pytest

FOUND = shutil.which("twistd", path=str(Path(sys.executable).parent)) or shutil.which("twistd")
TWISTD = (FOUND, "--pidfile=", "-n") if FOUND else ()

pytestmark = pytest.mark.skipif(not FOUND, reason="twistd is not beside this interpreter")


def next_line(host):
    """The next line that is not twistd's own log."""
    while True:
        line = host.line()
        if not line.startswith("20"):
            return line


def test_it_listens_and_drains_with_status_0(command):
    host = command.serve("ahpd", "--port", "0", program=TWISTD)
    assert next_line(host).startswith("listening on ws://127.0.0.1:")
    status, out, _ = host.end(signal.SIGTERM)
    assert status == 0
    assert "draining" in out


def test_it_shows_its_options(command):
    done = command.run("ahpd", "--help", program=TWISTD, status=0)
    assert "--connection-token-file=" in done.stdout
    assert "--no-stdio" in done.stdout


def test_it_reads_the_same_configuration_and_says_what_is_wrong_with_it(command):
    path = command.write("port: x\n")
    done = command.run("ahpd", program=TWISTD, status=1)
    assert done.stderr.splitlines()[-1] == (
        f'ahpd: {path}:1: port: found "x", allowed: a whole number from 0 to 65535'
    )


def test_a_port_in_use_is_words_and_a_status(command, taken_port):
    done = command.run("ahpd", "--port", str(taken_port), program=TWISTD, status=1)
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("ahpd: ")]
    assert "the port is in use" in line


def test_behind_twistd_a_port_in_use_is_a_status_too(command, taken_port):
    done = command.run("--pidfile=", "ahpd", "--port", str(taken_port), program=(FOUND,), status=1)
    assert "cannot listen on 127.0.0.1" in done.stderr


def test_its_log_is_ahpds_where_twistd_was_told_to_write_it(command, tmp_path):
    log = tmp_path / "host.log"
    where = (FOUND, "--pidfile=", "-n", f"--logfile={log}")
    host = command.serve("ahpd", "--port", "0", "--connection-token", "s3cret-word", program=where)
    assert next_line(host).startswith("listening on ws://127.0.0.1:")
    status, out, _ = host.end(signal.SIGTERM)
    assert (status, out) == (0, "")
    lines = log.read_text().splitlines()
    assert any(line.endswith(" info SIGTERM: draining") for line in lines)
    assert not any("s3cret-word" in line for line in lines)
    assert log.stat().st_mode & 0o077 == 0
