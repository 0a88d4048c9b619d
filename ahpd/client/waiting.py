"""Waiting for what a host has yet to say, with a bound on how long."""

from collections.abc import Callable
from typing import Any, TypeVar

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.python.failure import Failure

from ahpd.client.envelope import ActionEnvelope

T = TypeVar("T")


async def within(answer: Deferred[T], limit: float | None, clock: IReactorTime, what: str) -> T:
    """`answer`, or a `TimeoutError` of `what` when it takes longer than `limit` seconds."""
    if limit is None:
        return await answer

    def timed_out(result: Any, seconds: float) -> Any:
        if isinstance(result, Failure) and isinstance(result.value, CancelledError):
            raise TimeoutError(f"{what} within {seconds:g} seconds")
        return result

    return await answer.addTimeout(limit, clock, onTimeoutCancel=timed_out)


@attrs.define(eq=False)
class _Waiter:
    what: str
    answer: Deferred[Any]
    asks: Callable[[], Any] | None = None
    sees: Callable[[ActionEnvelope], bool] | None = None


class Waiters:
    """Everybody who waits for a condition, or for an envelope of some kind.

    `what` names the thing waited for in an error. A predicate that raises fails its
    own wait with what it raised.
    """

    def __init__(self) -> None:
        self._waiting: list[_Waiter] = []

    def until(self, predicate: Callable[[], T], what: str) -> Deferred[T]:
        """Fires with what `predicate` returned once that is true: now, or at a `check`."""
        waiter = self._add(_Waiter(what, Deferred(self._cancelled), asks=predicate))
        self._ask(waiter)
        return waiter.answer

    def for_envelope(
        self, predicate: Callable[[ActionEnvelope], bool], what: str
    ) -> Deferred[ActionEnvelope]:
        """Fires with the next envelope `predicate` is true of."""
        return self._add(_Waiter(what, Deferred(self._cancelled), sees=predicate)).answer

    def _add(self, waiter: _Waiter) -> _Waiter:
        self._waiting.append(waiter)
        return waiter

    def _cancelled(self, answer: Deferred[Any]) -> None:
        self._waiting = [waiter for waiter in self._waiting if waiter.answer is not answer]

    def check(self) -> None:
        """Ask every condition again."""
        for waiter in tuple(self._waiting):
            self._ask(waiter)

    def saw(self, envelope: ActionEnvelope) -> None:
        """Show an envelope to those who wait for one."""
        for waiter in tuple(self._waiting):
            self._show(waiter, envelope)

    def _ask(self, waiter: _Waiter) -> None:
        if waiter.asks is None or waiter not in self._waiting:
            return
        try:
            found = waiter.asks()
        except Exception as error:
            self._failed(waiter, error)
            return
        if found:
            self._found(waiter, found)

    def _show(self, waiter: _Waiter, envelope: ActionEnvelope) -> None:
        if waiter.sees is None or waiter not in self._waiting:
            return
        try:
            found = waiter.sees(envelope)
        except Exception as error:
            self._failed(waiter, error)
            return
        if found:
            self._found(waiter, envelope)

    def _found(self, waiter: _Waiter, value: Any) -> None:
        self._waiting.remove(waiter)
        waiter.answer.callback(value)

    def _failed(self, waiter: _Waiter, error: Exception) -> None:
        self._waiting.remove(waiter)
        waiter.answer.errback(error)

    def fail(self, error: Callable[[str], Exception]) -> None:
        """End every wait with the error made of what it was for."""
        waiting, self._waiting = self._waiting, []
        for waiter in waiting:
            waiter.answer.errback(error(waiter.what))
