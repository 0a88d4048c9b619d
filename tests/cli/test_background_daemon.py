"""The daemon behind the command: start, status, restart, stop, and each refusal."""

import os
import signal
import stat
import subprocess
import time
from pathlib import Path

import pytest

from ahpd.daemon.process import start_mark

FREE = ("--port", "0")


def test_it_starts_is_seen_restarts_as_it_was_started_and_stops(command):
    done = command.run("start", *FREE, "--delta-window-ms", "5", status=0)
    assert done.stdout.startswith("listening on ws://127.0.0.1:")
    first = command.answer("status")
    assert first["running"] is True
    assert done.stdout == f"listening on {first['url']}\n"
    assert f"pid {first['pid']}" in done.stderr

    again = command.answer("restart")
    assert again["pid"] != first["pid"]
    assert start_mark(first["pid"]) is None
    launch = command.record()["launch"]
    assert launch["flags"] == {"port": "0", "delta_window_ms": "5"}
    assert launch["directory"] == str(command.work)

    assert command.answer("stop") == {"running": False, "pid": again["pid"]}
    assert not (command.state / "daemon.json").exists()
    assert command.answer("status", status=1) == {"running": False}


def test_a_second_one_is_refused_with_words(command):
    held = command.answer("start", *FREE)
    done = command.run("start", *FREE, status=1)
    assert done.stderr == f"ahpd: a daemon runs already: pid {held['pid']}, {held['url']}\n"
    assert command.answer("status")["pid"] == held["pid"]


def test_of_two_starts_at_once_one_wins(command):
    both = [command.serve("start", *FREE, "--json") for _ in range(2)]
    statuses = sorted(process.end(None)[0] for process in both)
    assert statuses == [0, 1]
    assert command.answer("status")["running"]


def test_its_files_are_private_and_its_log_says_how_it_went(command):
    command.run("start", *FREE, status=0)
    command.run("stop", status=0)
    log = command.state / "daemon.log"
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    assert stat.S_IMODE(command.state.stat().st_mode) == 0o700
    text = log.read_text()
    for words in ("starts in", "listening on ws://", "SIGTERM: draining", "stopped"):
        assert words in text


def test_a_token_given_by_flag_stands_in_no_process_list_and_no_answer(command):
    held = command.answer("start", *FREE, "--connection-token", "tell-nobody")
    process = Path(f"/proc/{held['pid']}")
    if process.exists():
        assert b"tell-nobody" not in (process / "cmdline").read_bytes()
        assert b"tell-nobody" not in (process / "environ").read_bytes()
    assert stat.S_IMODE((command.state / "daemon.json").stat().st_mode) == 0o600
    for name in ("status", "restart", "stop"):
        done = command.run(name, "--json", status=0)
        assert "tell-nobody" not in done.stdout + done.stderr
    assert "tell-nobody" not in (command.state / "daemon.log").read_text()
    assert not (command.config / "token").exists()


def test_it_survives_the_terminal_it_was_started_from(command):
    # `start` is the leader of a session; when it ends its group is sent SIGHUP.
    subprocess.run(
        [*command.program, "start", *FREE],
        env=command.environ,
        cwd=command.work,
        start_new_session=True,
        capture_output=True,
        check=True,
        timeout=60,
    )
    held = command.answer("status")
    assert os.getsid(held["pid"]) == held["pid"]


def test_one_that_was_killed_is_known_to_be_gone_and_can_be_started_anew(command):
    held = command.answer("start", *FREE)
    os.kill(held["pid"], signal.SIGKILL)
    until = time.monotonic() + 20
    while start_mark(held["pid"]) is not None:
        assert time.monotonic() < until
        time.sleep(0.01)
    shown = command.answer("status", status=1)
    assert shown == {"running": False, "log": held["log"]}
    assert f"pid {held['pid']}, is gone" in command.run("stop", status=1).stderr
    assert command.answer("start", *FREE)["pid"] != held["pid"]


def test_one_that_cannot_listen_says_why_and_leaves_nothing(command, taken_port):
    done = command.run("start", "--port", str(taken_port), status=1)
    assert done.stdout == ""
    assert done.stderr.startswith("ahpd: the daemon did not start: cannot listen on 127.0.0.1:")
    assert done.stderr.count("\n") == 1
    assert "in use" in command.answer("start", "--port", str(taken_port), status=1)["error"]
    assert not (command.state / "daemon.json").exists()


def test_a_wrong_configuration_costs_no_process(command):
    command.write("port: x\n")
    done = command.run("start", status=2)
    assert 'port: found "x"' in done.stderr
    assert not (command.state / "daemon.log").exists()


def test_a_restart_that_could_not_start_again_stops_nothing(command):
    held = command.answer("start", *FREE)
    command.write("deltaWindowMs: x\n")
    assert "deltaWindowMs" in command.answer("restart", status=2)["error"]
    assert command.answer("status")["pid"] == held["pid"]


def test_stdio_has_no_place_behind_the_command(command):
    assert "no parent to serve" in command.answer("start", "--stdio", status=2)["error"]


@pytest.mark.parametrize("name", ["start", "stop", "restart"])
def test_a_state_directory_that_cannot_be_made_is_words(command, name):
    done = command.run(name, status=1, XDG_STATE_HOME="/proc/nothing")
    assert done.stderr == "ahpd: /proc/nothing: No such file or directory\n"


def test_a_daemon_that_dies_before_it_says_anything_is_reported_with_its_last_words(command):
    # An interpreter that cannot import what it needs, as after a broken upgrade.
    broken = command.home / "broken"
    broken.mkdir()
    (broken / "sitecustomize.py").write_text(
        "import sys\n"
        "if 'ahpd.cli.child' in sys.orig_argv:\n"
        "    print('this installation is broken', file=sys.stderr, flush=True)\n"
        "    import os; os._exit(3)\n"
    )
    path = ":".join([str(broken), *filter(None, [command.environ.get("PYTHONPATH")])])
    done = command.run("start", *FREE, status=1, PYTHONPATH=path)
    assert "with status 3 before it listened: this installation is broken; see " in done.stderr
    assert str(command.state / "daemon.log") in done.stderr


@pytest.mark.long
def test_a_restart_from_a_locale_that_cannot_name_its_directory_stops_nothing(command):
    plain, named = command.work, command.work / "grün"
    named.mkdir()
    command.work = named
    held = command.answer("start", *FREE, LC_ALL="C.UTF-8")
    command.work = plain
    ascii_only = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    done = command.run("restart", status=1, **ascii_only)
    assert "cannot be named in this locale" in done.stderr
    assert command.answer("status")["pid"] == held["pid"]


@pytest.mark.parametrize("times", [6, pytest.param(30, marks=pytest.mark.long)])
def test_it_can_be_restarted_many_times(command, times):
    pids = {command.answer("start", *FREE)["pid"]}
    for _ in range(times):
        pids.add(command.answer("restart")["pid"])
    command.run("stop", status=0)
    assert len(pids) == times + 1
