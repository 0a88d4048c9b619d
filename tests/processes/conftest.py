import contextlib
import os
import re
import signal
import sys
import time
from pathlib import Path

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred
from zope.interface import implementer

from ahpd.interfaces import ITerminalEvents, TerminalProgram
from ahpd.processes.child import IChildEvents
from ahpd.processes.guard import read_process
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.processes.terminals import LocalTerminals
from ahpd.processes.waiting import Moment, sleep

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@implementer(IChildEvents)
class Recorder:
    """Keeps what a child said, and lets a test wait for it."""

    def __init__(self, pause_after_each=False):
        self.output = b""
        self.ended = Moment()
        self.exit = None
        self.order = []
        self.child = None
        self.pause_after_each = pause_after_each
        self._waiting = []

    def output_received(self, data):
        self.output += data
        self.order.append("output")
        if self.pause_after_each:
            self.child.pause_output()
        waiting, self._waiting = self._waiting, []
        for deferred in waiting:
            deferred.callback(None)

    def output_ended(self):
        self.order.append("ended")
        self.ended.fire()

    def exited(self, how):
        self.exit = how
        self.order.append("exited")

    async def line(self, number=0):
        """The words of the output's line `number`, once it is there."""
        while self.output.count(b"\n") <= number:
            deferred = Deferred()
            self._waiting.append(deferred)
            deferred.addTimeout(10, self.reactor)
            await deferred
        return self.output.split(b"\n")[number].decode().split()

    @property
    def reactor(self):
        from twisted.internet import reactor

        return reactor


@implementer(ITerminalEvents)
class Screen:
    """Keeps what a terminal's program printed, and lets a test wait for it."""

    def __init__(self, reactor, pause_after_each=False):
        self.output = bytearray()
        self.pieces = []
        self.how = None
        self.ends = 0
        self.over = Moment()
        self.terminal = None
        self.pause_after_each = pause_after_each
        self._reactor = reactor
        self._more = Moment()

    def output_received(self, data):
        assert self.how is None, "output after the end"
        self.output += data
        self.pieces.append(len(data))
        if self.pause_after_each:
            self.terminal.pause_output()
        more, self._more = self._more, Moment()
        more.fire()

    def ended(self, how):
        self.how = how
        self.ends += 1
        self.over.fire()
        self._more.fire()

    async def until(self, pattern, seconds=20):
        """The first match of `pattern` in what was printed, once it is there."""
        deadline = self._reactor.seconds() + seconds
        while True:
            found = re.search(pattern, self.output)
            if found:
                return found
            left = deadline - self._reactor.seconds()
            assert left > 0, f"no {pattern!r} in {bytes(self.output[-2000:])!r}"
            assert self.how is None, f"{self.how} and no {pattern!r} in {bytes(self.output)!r}"
            await self._more.within(self._reactor, left)

    async def more(self, seconds=20):
        """Returns when more was printed."""
        assert await self._more.within(self._reactor, seconds), bytes(self.output[-2000:])

    async def turn(self):
        """Lets a moment pass."""
        await sleep(self._reactor, 0.01)

    async def end(self, seconds=20):
        """How it ended, once it has."""
        assert await self.over.within(self._reactor, seconds), bytes(self.output[-2000:])
        return self.how


class Identity:
    """A process told apart from a later one of the same pid by its start time."""

    def __init__(self, pid):
        process = read_process(pid)
        assert process is not None, f"no process {pid} to begin with"
        assert not process.zombie, f"process {pid} is dead to begin with"
        self.pid, self.start = pid, process.start

    @property
    def running(self):
        process = read_process(self.pid)
        return process is not None and process.start == self.start and not process.zombie

    @property
    def stopped(self):
        stat = Path(f"/proc/{self.pid}/stat").read_text()
        return stat.rpartition(")")[2].split()[0] == "T"

    def kill(self):
        if self.running:
            with contextlib.suppress(OSError):
                os.kill(self.pid, signal.SIGKILL)

    def wait_until_gone(self, seconds=10):
        """Look until it is gone; for processes that are not this process's to wait for."""
        deadline = time.monotonic() + seconds
        while self.running and time.monotonic() < deadline:
            time.sleep(0.01)
        return not self.running

    def __repr__(self):
        return f"<{self.pid}>"


@pytest.fixture
def reactor():
    from twisted.internet import reactor

    return reactor


@pytest.fixture
def pause(reactor):
    return lambda seconds: sleep(reactor, seconds)


@pytest_twisted.async_yield_fixture
async def supervisor(reactor):
    service = ProcessSupervisor(reactor, grace=0.3)
    service.startService()
    yield service
    await service.stopService()


@pytest.fixture
def identify():
    """Remembers processes, and kills what a failing test leaves of them."""
    known = []

    def remember(*pids):
        known.extend(Identity(int(pid)) for pid in pids)
        return known[-len(pids) :]

    yield remember
    for identity in known:
        identity.kill()


@pytest.fixture
def recorder():
    return Recorder


@pytest.fixture
def start_in(reactor):
    """Starts a program in a terminal of a supervisor's; returns the screen it prints on."""

    known = {}

    def begin(supervisor, argv, grace=0.3, pause_after_each=False, **fields):
        terminals = known.setdefault((supervisor, grace), LocalTerminals(supervisor, grace))
        screen = Screen(reactor, pause_after_each)
        screen.terminal = terminals.start(TerminalProgram(argv=argv, **fields), screen)
        return screen

    return begin


@pytest.fixture
def start(start_in, supervisor, tmp_path):
    """Starts a program in a terminal; returns the terminal, and the screen it prints on.

    Words are a program's; one string is a line for `sh`. A hangup's grace is short.
    """

    def begin(argv, **fields):
        words = ["sh", "-c", argv] if isinstance(argv, str) else argv
        screen = start_in(supervisor, words, **{"cwd": str(tmp_path), **fields})
        return screen.terminal, screen

    return begin
