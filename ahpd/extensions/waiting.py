"""Work of others that is waited for, for so long and no longer, and work nobody waits for.

What is kept as records (connectors, tunnels) is worked on with it: by one at a time, and never
longer than it may take.
"""

from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from twisted.internet.defer import CancelledError, Deferred, DeferredList, DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure

from ahpd.calling import awaited

log = Logger()


class Late(Exception):
    """It took longer than it was given."""


def within(
    clock: IReactorTime,
    seconds: float,
    work: Coroutine[Any, Any, Any],
    come_late: Callable[[Any], object] = lambda result: None,
) -> "Deferred[Any]":
    """What `work` comes to; fails with `Late` after `seconds`, and `work` is cancelled then.

    It fails with an `Exception` and nothing else, as `ahpd.calling` says.

    Work that goes on all the same keeps nobody waiting: `come_late` is handed what it answers.
    """

    def give_up() -> None:
        over.append(True)
        waiting.errback(Late())
        running.cancel()

    def cancelled(_: object) -> None:
        over.append(True)
        if timer.active():
            timer.cancel()
        running.cancel()

    def done(result: Any) -> None:
        if over:
            if not isinstance(result, Failure):
                come_late(result)
            return
        timer.cancel()
        if isinstance(result, Failure):
            waiting.errback(result)
        else:
            waiting.callback(result)

    over: list[bool] = []
    waiting: Deferred[Any] = Deferred(cancelled)
    timer = clock.callLater(seconds, give_up)
    running = Deferred.fromCoroutine(awaited(work))
    running.addBoth(done)
    return waiting


class Background:
    """What is done while nobody waits for it. What it raises is logged by its kind alone, for
    its words may hold what a vendor was sent."""

    def __init__(self) -> None:
        self._running: set[Deferred[Any]] = set()

    def spawn(self, what: str, work: Coroutine[Any, Any, Any]) -> "Deferred[Any]":
        """Begin `work`; `what` says what it does, for the log. Fires with None when it is over."""

        def over(result: Any) -> None:
            self._running.discard(task)
            if isinstance(result, Failure) and not result.check(CancelledError):
                log.error("{what} failed: {kind}", what=what, kind=type(result.value).__name__)

        task = Deferred.fromCoroutine(work)
        self._running.add(task)
        task.addBoth(over)
        return task

    def finished(self, what: str, work: Coroutine[Any, Any, Any]) -> "Deferred[Any]":
        """What `work` comes to. It is done to its end, whether or not whoever asked still waits."""
        waiting: Deferred[Any] = Deferred()

        async def done() -> None:
            try:
                result = await work
            except Exception:
                if waiting.called:
                    raise
                waiting.errback(Failure())
            else:
                if not waiting.called:
                    waiting.callback(result)

        self.spawn(what, done())
        return waiting

    def stop(self) -> None:
        """Cancel what runs still."""
        for task in tuple(self._running):
            task.cancel()

    async def over(self) -> None:
        """Returns once nothing of it runs any more."""
        await together(list(self._running))


async def together(works: "list[Deferred[Any]]") -> None:
    """Wait for all of them."""
    if works:
        await DeferredList(works, consumeErrors=True)


class Turns:
    """Whoever works on one key waits for whoever did before."""

    def __init__(self) -> None:
        self._locks: dict[str, DeferredLock] = {}

    @asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Nobody else works on `key` within."""
        lock = self._locks.setdefault(key, DeferredLock())
        await lock.acquire()
        try:
            yield
        finally:
            lock.release()
            if not lock.locked and not lock.waiting:
                self._locks.pop(key, None)


#: What a function may answer at once or later.
Answer = Awaitable[Any] | Any
