"""Waiting for what happens once: bounded, shared, and cancelled without a trace."""

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from ahpd.processes.waiting import Moment, sleep


def within(moment, clock, seconds):
    results = []
    waiting = Deferred.fromCoroutine(moment.within(clock, seconds))
    waiting.addBoth(results.append)
    return waiting, results


def test_everybody_who_waits_is_told_and_whoever_comes_later():
    clock, moment = Clock(), Moment()
    results = [within(moment, clock, 5)[1] for _ in range(2)]
    moment.fire()
    assert results == [[True], [True]]
    assert within(moment, clock, 5)[1] == [True]
    assert clock.getDelayedCalls() == []


def test_nobody_waits_longer_than_they_said():
    clock, moment = Clock(), Moment()
    _, result = within(moment, clock, 5)
    clock.advance(5)
    assert result == [False]
    moment.fire()
    assert moment.happened


def test_a_wait_that_is_cancelled_leaves_no_timer():
    clock, moment = Clock(), Moment()
    waiting, result = within(moment, clock, 5)
    waiting.cancel()
    assert result[0].check(CancelledError)
    assert clock.getDelayedCalls() == []
    clock.advance(10)
    moment.fire()


def test_a_sleep_that_is_cancelled_leaves_no_timer():
    clock = Clock()
    sleeping = sleep(clock, 5)
    sleeping.addErrback(lambda failure: failure.trap(CancelledError))
    sleeping.cancel()
    assert clock.getDelayedCalls() == []
