"""The guard as a program: what it is told of, and what it ends when nobody tells it more."""

import os
import subprocess
import sys

import pytest

from ahpd.processes import guard

MARK = "a-mark.of.this-test"


@pytest.fixture
def told():
    """Runs a guard that is told these lines, to its end."""

    def told(*lines):
        argv = [sys.executable, "-I", "-S", guard.__file__]
        text = "".join(f"{line}\n" for line in lines)
        subprocess.run(argv, input=text.encode(), check=True, timeout=60)

    return told


@pytest.fixture
def marked():
    """Starts programs that carry a mark and hear no signal; kills what is left."""
    started = []

    def marked(mark=MARK):
        script = "trap '' HUP INT TERM; echo ready; while :; do sleep 1000; done"
        program = subprocess.Popen(
            ["/bin/sh", "-c", script],
            env={guard.MARK_NAME: mark, "PATH": os.environ["PATH"]},
            stdout=subprocess.PIPE,
            start_new_session=True,
        )
        started.append(program)
        assert program.stdout.readline() == b"ready\n"
        return program

    yield marked
    for program in started:
        for process in guard.Family(program.pid, "").look(guard.read_table(os.getpid(), 0)):
            guard._send(process.pid, 9)
        program.stdout.close()
        program.wait()


def test_what_was_about_to_be_started_is_ended_by_its_mark(told, marked):
    program = marked()
    told(f"* {MARK}")
    assert program.wait(60) == -9


def test_what_was_started_is_ended_by_its_number(told, marked):
    program = marked()
    told(f"* {MARK}", f"+ {program.pid} {MARK}")
    assert program.wait(60) == -9


@pytest.mark.parametrize(
    "lines",
    [[], ["* other"], [f"* {MARK}", f"/ {MARK}"], [f"* {MARK}", "+ 1 {MARK}", "- 1"]],
    ids=str,
)
def test_what_it_was_not_told_of_or_is_over_is_left_alone(told, marked, lines):
    program = marked()
    lines = [line.replace("+ 1", f"+ {program.pid}").replace("- 1", f"- {program.pid}")
             .replace("{MARK}", MARK) for line in lines]  # fmt: skip
    told(*lines)
    assert program.poll() is None


def test_without_a_process_table_what_was_about_to_start_is_nobody(monkeypatch):
    monkeypatch.setattr(guard, "_PROC", "/nowhere")
    sent = []
    monkeypatch.setattr(guard.os, "killpg", lambda *what: sent.append(what))
    family = guard.Family(0, MARK)
    assert family.look(guard.read_table(os.getpid(), 0)) == []
    family.signal([], 15)
    assert sent == []
