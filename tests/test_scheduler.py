"""The host's timers: owned, named when they fail, gone at the stop, cheap when they are many."""

import pytest
from twisted.internet.task import Clock

from ahpd.scheduler import Scheduler


class CountingClock(Clock):
    """Counts how often its calls are asked whether they are active."""

    def __init__(self):
        super().__init__()
        self.looks = 0

    def callLater(self, delay, callable, *args, **kwargs):  # noqa: A002 - the interface's name
        call = super().callLater(delay, callable, *args, **kwargs)
        active = call.active

        def counted():
            self.looks += 1
            return active()

        call.active = counted
        return call


def test_a_call_is_made_when_its_time_comes_and_then_forgotten():
    clock, made = Clock(), []
    scheduler = Scheduler(clock)
    scheduler.callLater(2, made.append, "late")
    scheduler.callLater(1, made.append, "soon")
    clock.advance(1)
    assert made == ["soon"]
    assert len(scheduler.getDelayedCalls()) == 1
    clock.advance(1)
    assert made == ["soon", "late"]
    assert scheduler.getDelayedCalls() == []


@pytest.mark.logs_failures
def test_a_call_that_fails_costs_no_other():
    clock, made = Clock(), []
    scheduler = Scheduler(clock)
    scheduler.callLater(1, lambda: 1 / 0)
    scheduler.callLater(1, made.append, "made")
    clock.advance(1)
    assert made == ["made"]


def test_a_stopped_host_leaves_nothing_in_the_reactor():
    clock = Clock()
    scheduler = Scheduler(clock)
    scheduler.startService()
    scheduler.callLater(1, lambda: None).cancel()
    scheduler.callLater(1, lambda: None)
    scheduler.stopService()
    assert clock.getDelayedCalls() == []


def test_many_timers_are_not_all_looked_at_for_each_new_one():
    clock = CountingClock()
    scheduler = Scheduler(clock)
    for _ in range(4000):
        scheduler.callLater(1, lambda: None)
    assert clock.looks < 4 * 4000


def test_cancelled_calls_are_not_kept_for_ever():
    scheduler = Scheduler(Clock())
    for _ in range(10_000):
        scheduler.callLater(1, lambda: None).cancel()
    assert len(scheduler._scheduled) < 1000
