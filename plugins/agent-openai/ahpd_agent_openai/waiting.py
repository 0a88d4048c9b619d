"""Waiting that somebody else may end."""

from collections.abc import Awaitable, Coroutine
from typing import Any, TypeVar

from twisted.internet.defer import Deferred

T = TypeVar("T")


class Interrupted(Exception):
    """The turn was stopped, or its chat closed, while it waited or ran."""


class Interruption:
    """What a stop fires. A turn waits for everything through `of`, one thing at a time."""

    def __init__(self) -> None:
        self.happened = False
        self._waiting: Deferred[Any] | None = None

    def fire(self) -> None:
        """Interrupt: what is waited for is cancelled, what will be is not begun."""
        if not self.happened:
            self.happened = True
            if self._waiting is not None:
                self._waiting.cancel()

    def check(self) -> None:
        """Raises `Interrupted` where it has happened."""
        if self.happened:
            raise Interrupted

    async def of(self, awaited: Awaitable[T]) -> T:
        """The result of `awaited`. Raises `Interrupted` once it has happened."""
        if self.happened:
            close = getattr(awaited, "close", None)
            if close is not None:
                close()  # a coroutine nobody runs
            raise Interrupted
        waiting: Deferred[T]
        if isinstance(awaited, Deferred):
            waiting = awaited
        elif isinstance(awaited, Coroutine):
            waiting = Deferred.fromCoroutine(awaited)
        else:
            waiting = Deferred.fromCoroutine(_as_coroutine(awaited))
        before, self._waiting = self._waiting, waiting
        if self.happened:  # while it began: whoever it told of that interrupted at once
            waiting.cancel()
        try:
            result = await waiting
        except Exception:  # what is cancelled may say so in other words
            self.check()
            raise
        finally:
            self._waiting = before
        self.check()
        return result


async def _as_coroutine(awaited: Awaitable[T]) -> T:
    return await awaited


def pause(reactor: Any, seconds: float) -> "Deferred[None]":
    """Fires after `seconds` of `reactor`; may be cancelled."""
    deferred: Deferred[None] = Deferred(lambda _: call.cancel())
    call = reactor.callLater(seconds, deferred.callback, None)
    return deferred
