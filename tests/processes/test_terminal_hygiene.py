"""A terminal that goes takes everything with it that was started in it."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import pytest_twisted

import ahpd
from ahpd.interfaces import TerminalExit

#: A child in its group, one in a session of its own and an orphan of those, and with job
#: control one more that is in a group of its own, and stopped. It prints all pids.
FAMILY = """
sleep 600 & echo $$ $! > "$0.a"
setsid sleep 600 & echo $! > "$0.b"
( setsid sleep 600 & echo $! > "$0.c" )
set -m
sleep 600 & kill -STOP $!; echo $! > "$0.d"
echo pids $(cat "$0.a" "$0.b" "$0.c" "$0.d") end
"""

IGNORING = "trap '' HUP TERM INT; "


def family(tmp_path, then="wait", before=""):
    return ["bash", "-c", before + FAMILY + then, str(tmp_path / "pids")]


async def members_on(screen, identify):
    found = await screen.until(rb"pids ([\d ]+) end")
    members = identify(*found[1].split())
    assert len(members) == 5
    return members


@pytest.mark.parametrize("before", ["", IGNORING])
@pytest.mark.parametrize("pty", [True, False])
@pytest_twisted.ensureDeferred
async def test_end_leaves_nothing(start, supervisor, identify, tmp_path, pty, before):
    then = "while :; do sleep 1; done"
    terminal, screen = start(family(tmp_path, then, before), pty=pty)
    members = await members_on(screen, identify)
    await terminal.end()
    assert not [member for member in members if member.running]
    assert screen.how == TerminalExit(None, "SIGKILL" if before else "SIGHUP")
    assert screen.ends == 1
    assert supervisor.children == ()
    await terminal.end()
    assert screen.ends == 1


@pytest_twisted.ensureDeferred
async def test_a_shell_with_a_stopped_job_goes_at_once(start, reactor, identify):
    env = {"PS1": "ready> ", "HISTFILE": None}
    terminal, screen = start(["bash", "--norc", "-i"], grace=60, env=env)
    await screen.until(rb"ready> ")
    terminal.write(b"trap 'echo x' TERM; sh -c 'echo job $$; kill -STOP $$'\n")
    (job,) = identify((await screen.until(rb"job (\d+)"))[1])
    await screen.until(rb"Stopped")
    await terminal.end()  # the grace is longer than a test may take
    assert not job.running
    assert screen.how.signal == "SIGHUP"


@pytest_twisted.ensureDeferred
async def test_what_is_stopped_out_of_the_shells_sight_hears_of_the_hangup(
    start, reactor, identify
):
    line = "setsid sh -c 'echo pid $$ end; kill -STOP $$; sleep 600' & read x"
    terminal, screen = start(line, grace=60)
    (stopped,) = identify((await screen.until(rb"pid (\d+) end"))[1])
    while not stopped.stopped:
        await screen.turn()
    await terminal.end().addTimeout(20, reactor)
    assert not stopped.running


@pytest_twisted.ensureDeferred
async def test_a_program_may_put_things_in_order_when_its_terminal_hangs_up(start, tmp_path):
    terminal, screen = start(
        "trap 'echo kept > kept; exit 5' HUP; echo up; while :; do sleep 0.01; done", grace=60
    )
    await screen.until(rb"up")
    await terminal.end()
    assert screen.how == TerminalExit(5)
    assert (tmp_path / "kept").read_text() == "kept\n"


@pytest_twisted.ensureDeferred
async def test_what_comes_after_the_end_is_dropped(start):
    terminal, screen = start("trap 'echo late; exit 5' HUP; echo up; while :; do sleep 0.01; done")
    await screen.until(rb"up")
    await terminal.end()
    assert b"late" not in screen.output
    assert screen.how == TerminalExit(5)


@pytest_twisted.ensureDeferred
async def test_end_tells_of_the_end_while_output_is_paused(start):
    terminal, screen = start("yes", pause_after_each=True)
    await screen.until(rb"y")
    held = len(screen.output)
    await terminal.end()
    assert screen.ends == 1
    assert len(screen.output) == held


@pytest.mark.parametrize("pty", [True, False])
@pytest.mark.parametrize("before", ["", IGNORING])
@pytest_twisted.ensureDeferred
async def test_a_shell_that_exits_leaves_nothing_and_its_end_is_told_before_that_is_gone(
    start, supervisor, identify, tmp_path, before, pty
):
    terminal, screen = start(family(tmp_path, "read x; exit 6", before), pty=pty, grace=60)
    members = await members_on(screen, identify)
    child = terminal._child
    terminal.write(b"\n")
    assert await screen.end() == TerminalExit(6)
    if before:
        assert [member for member in members if member.running], "it waited for them"
        await supervisor.stopService()  # its grace is shorter, and holds from here on
    await child.gone.wait()
    assert not [member for member in members if member.running]


@pytest_twisted.ensureDeferred
async def test_stopping_ends_all_terminals_together(start, supervisor, reactor, identify, tmp_path):
    members = []
    for number in range(8):
        place = tmp_path / str(number)
        place.mkdir()
        then = "while :; do sleep 1; done"
        before = IGNORING if number % 2 else ""
        _, screen = start(family(place, then, before), pty=number % 4 < 2)
        members += await members_on(screen, identify)
    await supervisor.stopService()
    assert not [member for member in members if member.running]


HOST = """
import sys
from twisted.internet import reactor
from zope.interface import implementer
from ahpd.interfaces import ITerminalEvents, TerminalProgram
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.processes.terminals import LocalTerminals

@implementer(ITerminalEvents)
class Show:
    def output_received(self, data):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    def ended(self, how): pass

supervisor = ProcessSupervisor(reactor)
supervisor.startService()
program = TerminalProgram(argv=sys.argv[2:], cwd="/", pty=sys.argv[1] == "pty")
LocalTerminals(supervisor).start(program, Show())
print("guard", supervisor._guard.pid, flush=True)
reactor.run()
"""


def rest_of_line(lines, first):
    """The numbers on the line that begins so; the shell may tell of its stopped job between."""
    for line in lines:
        if line.startswith(first):
            return [word for word in line.split() if word.isdigit()]
    raise AssertionError("the host is gone")


@pytest.mark.parametrize("kind", ["pty", "pipes"])
def test_a_killed_host_leaves_nothing(identify, tmp_path, kind):
    argv = family(tmp_path, "while :; do sleep 1; done", IGNORING)
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, kind, *argv],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(ahpd.__file__).parent.parent)},
    )
    try:
        guard, pids = (rest_of_line(host.stdout, word) for word in (b"guard ", b"pids "))
        members = identify(*pids, *guard)
        assert len(members) == 6
        host.kill()
        host.wait()
        assert [member for member in members if not member.wait_until_gone()] == []
    finally:
        host.kill()
        host.wait()
        host.stdout.close()
