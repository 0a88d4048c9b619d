"""Waiting for other people's code no longer than it is given."""

from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from ahpd.calling import asked

T = TypeVar("T")


def within(
    seconds: float, clock: IReactorTime, work: Callable[[], Coroutine[Any, Any, T]]
) -> "Deferred[T]":
    """The result of `await work()`; fails with `TimeoutError` when it is not there in time.

    What is late is cancelled, and waited for no longer whether it heeds that or not; what
    becomes of it then is nobody's, and so is what is cancelled by whoever waits. It fails with an
    `Exception` and nothing else.
    """

    def given_up(_: object) -> None:
        under_way.cancel()
        if timer.active():
            timer.cancel()

    result: Deferred[T] = Deferred(given_up)

    def late() -> None:
        result.errback(Failure(TimeoutError()))
        under_way.cancel()

    timer = clock.callLater(seconds, late)

    def done(outcome: Any) -> None:
        if not result.called:
            timer.cancel()
            result.callback(outcome)  # a failure fails it

    under_way: Deferred[T] = Deferred.fromCoroutine(asked(work))
    under_way.addBoth(done)
    return result
