"""`ahpd demo` as it is run: real processes, a real socket, and nothing left behind."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


class Running:
    """The command, its output read as it comes."""

    def __init__(self, tmp_path, *arguments):
        environ = {
            **os.environ,
            "TMPDIR": str(tmp_path),
            "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        }
        self.said = ""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "ahpd", "demo", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=environ,
            cwd=tmp_path,
        )
        self._watchdog = threading.Timer(120, self.process.kill)
        self._watchdog.start()

    def until(self, words):
        """Read up to the line that holds `words`."""
        for line in self.process.stdout:
            self.said += line
            if words in line:
                return line
        raise AssertionError(f"{words!r} never came:\n{self.said}")

    def end(self):
        """Read the rest; the exit status."""
        self.said += self.process.stdout.read()
        status = self.process.wait()
        self._watchdog.cancel()
        return status

    def host_pid(self):
        return int(re.search(r"process (\d+)", self.said)[1])


@pytest.fixture
def run(tmp_path):
    started = []

    def run(*arguments):
        started.append(Running(tmp_path, *arguments))
        return started[-1]

    yield run
    for command in started:
        command.process.kill()
        command.process.wait()
        command._watchdog.cancel()
        pids = re.findall(r'process (\d+)|"pid": (\d+)', command.said)
        assert pids, command.said
        for pid in (one or other for one, other in pids):
            assert not Path(f"/proc/{pid}").exists(), f"the host {pid} was left behind"
    assert list(tmp_path.iterdir()) == []


def test_once_goes_through_every_step_and_leaves_nothing(run):
    demo = run("--once", "--json")
    assert demo.end() == 0, demo.said
    answer = json.loads(demo.said)
    assert answer["ok"] is True
    assert [step["step"] for step in answer["steps"]] == [
        "host",
        "connect",
        "session",
        "turn",
        "reconnect",
        "end",
        "compare",
    ]
    assert all(step["ok"] and step["words"] for step in answer["steps"])
    turn, reconnect, end, compare = answer["steps"][3:]
    assert reconnect["type"] == "replay"
    assert reconnect["actions"] > 0
    assert reconnect["fromServerSeq"] > turn["lastSeenServerSeq"]
    assert turn["charactersSeen"] < end["charactersAnswered"] == compare["characters"]


def test_it_stays_up_says_how_to_connect_and_ends_well_when_it_is_asked_to(run, tmp_path):
    demo = run()
    demo.until("Everything went as it should.")
    demo.until("leaves nothing behind")
    said = demo.said
    url = re.search(r"address     (ws://127\.0\.0\.1:\d+)", said)[1]
    token_file = Path(re.search(r"token file  (\S+)", said)[1])
    assert token_file.parent.parent == tmp_path
    assert token_file.stat().st_mode & 0o777 == 0o600
    assert token_file.read_text().strip() not in said  # this is no terminal
    settings = json.loads(said[said.index("   {\n") : said.index("   others")])
    assert settings["chat.remoteAgentHostsEnabled"] is True
    (entry,) = settings["chat.remoteAgentHosts"]
    assert "ws://" + entry["address"] == url
    assert "\x1b" not in said
    os.kill(demo.host_pid(), 0)
    demo.process.send_signal(signal.SIGINT)
    assert demo.end() == 0


def test_an_interrupt_in_the_middle_ends_everything(run):
    demo = run()
    demo.until("connection cut")
    demo.process.send_signal(signal.SIGTERM)
    assert demo.end() == 128 + signal.SIGTERM
    assert "Interrupted" in demo.said


def test_a_step_that_goes_wrong_is_named_and_the_log_shown(run):
    demo = run("--once")
    demo.until("connection cut")
    os.kill(demo.host_pid(), signal.SIGKILL)
    assert demo.end() == 1
    assert "Failed at step reconnect: ws://127.0.0.1:" in demo.said
    assert "The host's last words:" in demo.said
    assert "listening on ws://" in demo.said
    assert "Traceback" not in demo.said


def test_flags_for_the_host_are_refused(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "ahpd", "--port", "1", "demo"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 2
    assert "demo takes no flags for the host" in done.stderr
