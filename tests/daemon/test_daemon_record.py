"""The record of the background daemon, and whether its process is still the one it names."""

import json
import os
import signal
import stat
import subprocess
import sys

import attrs
import pytest

from ahpd.daemon import background, record
from ahpd.daemon.process import end, start_mark
from ahpd.daemon.record import Launch, Record


@pytest.fixture
def sleeper():
    """A process that waits to be ended."""
    process = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True); input()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    process.stdout.readline()
    yield process
    process.kill()
    process.communicate()


def a_record(pid, **changes):
    held = Record(
        pid=pid,
        start_time=start_mark(pid) or "",
        started="2026-01-02T03:04:05+00:00",
        url="ws://127.0.0.1:1",
        version="1",
        log="/x/daemon.log",
        launch=Launch(flags={"port": "0", "paths": ["/"]}, config_file=None, directory="/"),
    )
    return attrs.evolve(held, **changes)


def test_it_is_private_and_comes_back_as_it_was(tmp_path):
    held = a_record(os.getpid())
    record.write(tmp_path, held)
    path = tmp_path / "daemon.json"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert record.read(tmp_path) == held
    assert [entry.name for entry in tmp_path.iterdir()] == ["daemon.json"]
    assert background.find(tmp_path).running


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"pid": "x"}', '{"pid": 1}'])
def test_one_that_says_nothing_usable_is_none(tmp_path, text):
    (tmp_path / "daemon.json").write_text(text)
    assert record.read(tmp_path) is None


def test_each_part_of_it_is_needed(tmp_path):
    record.write(tmp_path, a_record(1))
    whole = json.loads((tmp_path / "daemon.json").read_text())
    for missing in whole:
        rest = {key: value for key, value in whole.items() if key != missing}
        (tmp_path / "daemon.json").write_text(json.dumps(rest))
        assert record.read(tmp_path) is None, missing


def test_one_of_a_process_that_is_gone_is_stale(tmp_path, sleeper):
    record.write(tmp_path, a_record(sleeper.pid))
    assert background.find(tmp_path).running
    sleeper.kill()
    sleeper.wait()
    assert not background.find(tmp_path).running


def test_a_process_that_ended_and_was_not_reaped_does_not_run(sleeper):
    assert start_mark(sleeper.pid)
    os.kill(sleeper.pid, signal.SIGKILL)
    os.waitid(os.P_PID, sleeper.pid, os.WEXITED | os.WNOWAIT)
    assert start_mark(sleeper.pid) is None


def test_one_whose_number_went_to_another_process_is_stale_and_spares_it(tmp_path, sleeper):
    held = a_record(sleeper.pid, start_time="some-boot/1")
    record.write(tmp_path, held)
    assert not background.find(tmp_path).running
    assert end(held.pid, held.start_time, signal.SIGKILL, 1.0)
    assert sleeper.poll() is None


def test_only_its_own_process_takes_it_away(tmp_path):
    record.write(tmp_path, a_record(os.getpid()))
    record.remove(tmp_path, os.getpid() + 1)
    assert record.read(tmp_path) is not None
    record.remove(tmp_path, os.getpid())
    assert record.read(tmp_path) is None
    record.remove(tmp_path, os.getpid())


def test_a_write_that_fails_leaves_the_old_record_and_no_draft(tmp_path):
    held = a_record(os.getpid())
    record.write(tmp_path, held)
    with pytest.raises(TypeError):
        record.write(tmp_path, attrs.evolve(held, url=object()))
    assert record.read(tmp_path) == held
    assert [entry.name for entry in tmp_path.iterdir()] == ["daemon.json"]


def test_ending_waits_until_the_process_is_gone(sleeper):
    mark = start_mark(sleeper.pid)
    assert end(sleeper.pid, mark, signal.SIGTERM, 10.0)
    assert start_mark(sleeper.pid) is None


def test_one_that_does_not_end_is_said_to_run():
    deaf = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import signal; signal.signal(15, signal.SIG_IGN); print(flush=True); input()",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        deaf.stdout.readline()
        assert not end(deaf.pid, start_mark(deaf.pid), signal.SIGTERM, 0.05)
        assert end(deaf.pid, start_mark(deaf.pid), signal.SIGKILL, 10.0)
    finally:
        deaf.kill()
        deaf.communicate()
