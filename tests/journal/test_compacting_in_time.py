"""The store is compacted soon after it asks for it, once at a time, and closed at the end."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import formatEvent, globalLogPublisher

from ahpd.interfaces import StoreFailure
from ahpd.journal.upkeep import AGAIN, EVERY, StoreUpkeep


class Store:
    """A store that wants to be compacted when a test says so."""

    def __init__(self):
        self.wants = False
        self.runs = []
        self.closed = False

    def wants_compaction(self):
        return self.wants

    async def compact(self):
        self.runs.append(Deferred())
        await self.runs[-1]

    def close(self):
        assert not self.closed
        self.closed = True


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def store(clock):
    return Store()


@pytest.fixture
def upkeep(store, clock):
    made = StoreUpkeep(store, clock)
    made.startService()
    return made


@pytest.fixture
def lines():
    said = []
    observe = lambda event: said.append(formatEvent(event))  # noqa: E731
    globalLogPublisher.addObserver(observe)
    yield said
    globalLogPublisher.removeObserver(observe)


def test_a_log_that_grew_waits_for_seconds_alone(upkeep, store, clock):
    clock.pump([EVERY] * 10)
    assert store.runs == []
    store.wants = True
    clock.advance(20)
    assert len(store.runs) == 1


def test_one_runs_at_a_time(upkeep, store, clock):
    store.wants = True
    clock.pump([EVERY] * 5)
    assert len(store.runs) == 1
    store.runs[0].callback(None)
    clock.pump([EVERY] * 2)
    assert len(store.runs) == 2


@pytest.mark.logs_failures
@pytest.mark.parametrize("error", [StoreFailure("the disk is full"), ValueError("broken")])
def test_one_that_fails_is_said_and_not_tried_again_at_once(upkeep, store, clock, lines, error):
    store.wants = True
    clock.advance(EVERY)
    store.runs[0].errback(error)
    clock.pump([EVERY] * 10)
    assert len(store.runs) == 1
    assert len([line for line in lines if "sessions are not compacted" in line]) == 1
    clock.pump([EVERY] * int(AGAIN / EVERY))
    assert len(store.runs) == 2


def test_the_end_waits_for_one_that_runs_and_not_forever(upkeep, store, clock):
    store.wants = True
    clock.advance(EVERY)
    done = []
    upkeep.stopService().addCallback(done.append)
    assert not store.closed
    clock.advance(5)
    assert store.closed
    assert done == [None]
    assert clock.getDelayedCalls() == []
