import contextlib
import os
import signal
import sys
import time

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred
from zope.interface import implementer

from ahpd.processes.child import IChildEvents
from ahpd.processes.guard import read_process
from ahpd.processes.supervisor import ProcessSupervisor
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
