"""Work of others: waited for as long as it may take, and done to its end where that was said."""

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher

from ahpd.extensions.waiting import Background, Late, Turns, within


async def awaiting(value):
    return await value


def failed(waiting):
    found = []
    waiting.addErrback(found.append)
    return found[0].value


def test_work_that_takes_too_long_is_cancelled_and_what_comes_late_is_handed_on():
    class Stubborn(Deferred):
        def cancel(self):
            pass

    clock, work, late = Clock(), Stubborn(), []
    waiting = within(clock, 5, awaiting(work), late.append)
    clock.advance(5)
    assert isinstance(failed(waiting), Late)
    work.callback("there")
    assert late == ["there"]


def test_work_that_is_finished_goes_on_when_nobody_waits_any_more():
    background, work, done = Background(), Deferred(), []

    async def working():
        done.append(await work)
        return done

    waiting = background.finished("working", working())
    waiting.cancel()
    assert isinstance(failed(waiting), CancelledError)
    work.callback(1)
    assert done == [1]


def test_whoever_waits_is_told_what_it_came_to():
    background, work = Background(), Deferred()
    waiting = background.finished("working", awaiting(work))
    work.errback(ValueError("no"))
    assert str(failed(waiting)) == "no"
    assert background.finished("working", awaiting(_at_once(3))).result == 3


def test_work_nobody_waits_for_that_fails_is_logged_by_its_kind_alone():
    background, work, lines = Background(), Deferred(), []
    waiting = background.finished("working", awaiting(work))
    waiting.cancel()
    failed(waiting)
    globalLogPublisher.addObserver(lines.append)
    try:
        work.errback(ValueError("planted-secret-waiting"))
    finally:
        globalLogPublisher.removeObserver(lines.append)
    assert [(line["what"], line["kind"]) for line in lines] == [("working", "ValueError")]
    assert "planted-secret-waiting" not in str(lines)
    assert _over(background)


@pytest.mark.parametrize("stopped", [True, False])
def test_it_is_over_once_nothing_runs(stopped):
    background, work = Background(), Deferred()
    background.spawn("working", awaiting(work))
    over = Deferred.fromCoroutine(background.over())
    assert not over.called
    if stopped:
        background.stop()
    else:
        work.callback(None)
    assert over.called
    assert _over(background)


def test_one_at_a_time_works_on_a_key():
    turns, order, first = Turns(), [], Deferred()

    async def work(name, waits):
        async with turns.turn("a"):
            order.append(name)
            await waits

    Deferred.fromCoroutine(work("one", first))
    Deferred.fromCoroutine(work("two", _at_once(None)))
    assert order == ["one"]
    first.callback(None)
    assert order == ["one", "two"]


def _at_once(value):
    done = Deferred()
    done.callback(value)
    return done


def _over(background):
    return Deferred.fromCoroutine(background.over()).called
