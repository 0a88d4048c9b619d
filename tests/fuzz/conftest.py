"""What is held against these tests from outside: what they leave open, and what failed unheard."""

import gc

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from .fence import FENCE
from .rig import LogWatch
from .wire import Listening, descriptors


@pytest.fixture(scope="module", autouse=True)
def fenced():
    """No host of these tests reaches a file of this machine."""
    with FENCE.around():
        yield
        FENCE.leave()


@pytest.fixture(scope="module", autouse=True)
def nothing_unhandled():
    """No Deferred of a module's tests failed without anybody noticing."""
    with LogWatch() as log:
        yield
        gc.collect()
        log.check()


@pytest.fixture(scope="module")
def warm():
    """What Twisted opens once and keeps (a waker, a reserve) is open."""

    async def once():
        async with Listening():
            pass

    pytest_twisted.blockon(Deferred.fromCoroutine(once()))


@pytest.fixture
def nothing_left(warm):
    """The test leaves no descriptor and no delayed call behind."""
    before, calls = descriptors(), set(reactor.getDelayedCalls())
    yield
    for _ in range(100):
        left = [call for call in reactor.getDelayedCalls() if call not in calls]
        if not left and descriptors() <= before:
            break
        pytest_twisted.blockon(deferLater(reactor, 0.01))
    assert not left, left
    assert descriptors() <= before
