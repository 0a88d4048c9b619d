"""Every process of the host leads its own session and is gone, with what it started."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import pytest_twisted

import ahpd
from ahpd.processes.guard import Family, Table, read_process, read_table
from ahpd.processes.launch import SpawnFailure
from ahpd.processes.supervisor import ProcessSupervisor

#: A child with a child in its own group, one in a session of its own, and one of those
#: that is an orphan besides. It prints their pids and waits.
FAMILY = """
sleep 600 & echo $$ $! > "$0.a"
setsid sleep 600 & echo $! > "$0.b"
( setsid sleep 600 & echo $! > "$0.c" )
echo $(cat "$0.a" "$0.b" "$0.c")
"""


def family(tmp_path, then="wait"):
    return ["sh", "-c", FAMILY + then, str(tmp_path / "pids")]


@pytest.fixture
def bystander():
    """A process that no child started."""
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    yield process
    process.kill()
    process.wait()


@pytest_twisted.ensureDeferred
async def test_a_child_leads_its_own_session(supervisor, recorder):
    child = supervisor.spawn(recorder(), ["cat"])
    process = read_process(child.pid)
    assert process.session == process.group == child.pid
    assert process.session != os.getsid(0)
    assert process.parent == os.getpid()


@pytest_twisted.ensureDeferred
async def test_a_child_that_heeds_the_end_of_its_input_gets_no_signal(supervisor, recorder):
    child = supervisor.spawn(recorder(), ["sh", "-c", "trap 'exit 9' TERM; read x; exit 4"])
    assert str(await child.end(5)) == "exited with code 4"


@pytest_twisted.ensureDeferred
async def test_a_child_that_does_not_gets_sigterm(supervisor, recorder):
    events = recorder()
    child = supervisor.spawn(
        events, ["sh", "-c", "trap 'exit 9' TERM; echo up; while :; do sleep 0.01; done"]
    )
    await events.line()
    assert str(await child.end(0.1)) == "exited with code 9"


@pytest_twisted.ensureDeferred
async def test_a_child_that_ignores_sigterm_is_killed_with_its_children(
    supervisor, recorder, identify
):
    events = recorder()
    child = supervisor.spawn(
        events, ["sh", "-c", "trap '' TERM; sleep 600 & echo $!; while :; do sleep 1; done"]
    )
    (grandchild,) = identify(*await events.line())
    assert str(await child.end(0.05)) == "was ended by SIGKILL"
    assert not grandchild.running


@pytest_twisted.ensureDeferred
async def test_end_leaves_nothing_of_a_family(supervisor, recorder, identify, tmp_path):
    events = recorder()
    child = supervisor.spawn(events, family(tmp_path))
    members = identify(*await events.line())
    assert len(members) == 4
    assert read_process(members[3].pid).parent not in (child.pid, os.getpid()), "no orphan"
    await child.end(0.1)
    assert not [member for member in members if member.running]
    assert supervisor.children == ()


@pytest_twisted.ensureDeferred
async def test_what_a_child_leaves_when_it_exits_is_ended_too(
    supervisor, recorder, identify, tmp_path
):
    events = recorder()
    child = supervisor.spawn(events, family(tmp_path, "read x; exit 0"))
    members = identify(*await events.line())
    child.write(b"\n")
    await child.gone.wait()
    assert str(child.exit) == "exited with code 0"
    assert not [member for member in members if member.running]


@pytest_twisted.ensureDeferred
async def test_kill_is_at_once_and_for_all(supervisor, recorder, identify, tmp_path):
    events = recorder()
    child = supervisor.spawn(events, family(tmp_path))
    members = identify(*await events.line())
    child.kill()
    await child.gone.wait()
    assert str(child.exit) == "was ended by SIGKILL"
    assert not [member for member in members if member.running]


@pytest_twisted.ensureDeferred
async def test_a_process_that_is_not_of_the_family_is_left_alone(
    supervisor, recorder, identify, tmp_path, bystander
):
    sibling_events, events = recorder(), recorder()
    sibling = supervisor.spawn(sibling_events, family(tmp_path))
    others = identify(bystander.pid, *await sibling_events.line())
    child = supervisor.spawn(events, ["sh", "-c", "sleep 600 & echo; wait"])
    await events.line()
    await child.end(0.05)
    assert all(other.running for other in others)
    await sibling.end(0.05)
    assert [other.running for other in others] == [True, False, False, False, False]


def test_a_number_that_went_to_somebody_else_is_not_signalled(bystander):
    """To the guard, which sees nobody reaped, a leader's number may name a stranger by now."""
    family = Family(bystander.pid, "a-mark-nobody-carries")
    family.started -= 1
    members = family.look(read_table(os.getpid(), family.started))
    family.signal(members, signal.SIGKILL)
    assert members == []
    with pytest.raises(subprocess.TimeoutExpired):
        bystander.wait(0.2)


@pytest_twisted.ensureDeferred
async def test_end_may_be_called_again_and_after_an_exit(supervisor, recorder):
    child = supervisor.spawn(recorder(), ["sh", "-c", "exit 5"])
    await child.gone.wait()
    assert (await child.end()).code == (await child.end()).code == 5


@pytest_twisted.ensureDeferred
async def test_stopping_ends_every_family_and_the_guard(supervisor, recorder, identify, tmp_path):
    families = []
    for number in range(5):
        events = recorder()
        place = tmp_path / str(number)
        place.mkdir()
        supervisor.spawn(events, family(place))
        families += identify(*await events.line())
    guard = identify(supervisor._guard.pid)
    await supervisor.stopService()
    assert not [member for member in families + guard if member.running]
    with pytest.raises(SpawnFailure, match="true could not be started: the host is stopping"):
        supervisor.spawn(recorder(), ["true"])


@pytest_twisted.ensureDeferred
async def test_a_guard_that_dies_is_replaced_and_told_of_everybody(supervisor, recorder, identify):
    first = supervisor.spawn(recorder(), ["cat"])
    guard = supervisor._guard
    guard.kill()
    await guard.gone.wait()
    second = supervisor.spawn(recorder(), ["cat"])
    assert supervisor._guard.pid != guard.pid
    assert {child.pid for child in supervisor.children} == {first.pid, second.pid}
    identify(first.pid, second.pid)


HOST = """
import sys
from twisted.internet import reactor
from zope.interface import implementer
from ahpd.processes.child import IChildEvents
from ahpd.processes.supervisor import ProcessSupervisor

@implementer(IChildEvents)
class Show:
    def output_received(self, data):
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    def output_ended(self): pass
    def exited(self, exit): pass

supervisor = ProcessSupervisor(reactor)
supervisor.startService()
supervisor.spawn(Show(), sys.argv[1:])
print(supervisor._guard.pid, flush=True)
reactor.run()
"""


def test_a_killed_host_leaves_nothing(identify, tmp_path):
    ignoring = "trap '' TERM; while :; do sleep 1; done"  # nor does the end of input trouble it
    host = subprocess.Popen(
        [sys.executable, "-c", HOST, *family(tmp_path, ignoring)],
        stdout=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "PYTHONPATH": str(Path(ahpd.__file__).parent.parent)},
    )
    try:
        lines = [host.stdout.readline().split() for _ in range(2)]
        members = identify(*lines[0], *lines[1])
        assert len(members) == 5
        host.kill()
        host.wait()
        assert [member for member in members if not member.wait_until_gone()] == []
    finally:
        host.kill()
        host.wait()
        host.stdout.close()


@pytest.mark.parametrize("missing", ["pidfd", "proc"])
@pytest_twisted.ensureDeferred
async def test_a_system_without_pidfd_or_proc_ends_the_group(
    reactor, recorder, identify, monkeypatch, missing
):
    if missing == "pidfd":
        monkeypatch.setattr("ahpd.processes.pipes.os.pidfd_open", refuse)
    else:
        monkeypatch.setattr(
            "ahpd.processes.supervisor.read_table", lambda host, since: Table([], host, since)
        )
    supervisor = ProcessSupervisor(reactor, grace=0.3)
    events = recorder()
    child = supervisor.spawn(
        events, ["sh", "-c", "trap '' TERM; sleep 600 & echo $$ $!; while :; do sleep 1; done"]
    )
    members = identify(*await events.line())
    assert str(await child.end(0.05)) == "was ended by SIGKILL"
    assert not [member for member in members if member.running]
    await supervisor.stopService()


def refuse(pid):
    raise OSError("not here")
