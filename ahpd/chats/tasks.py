"""Background work with an owner: named, its failure logged, awaited at stop."""

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

log = Logger()


class Tasks:
    """The coroutines a service started and has not seen the end of."""

    def __init__(self) -> None:
        self._running: set[Deferred[None]] = set()
        self._waiting: list[Deferred[None]] = []

    def __len__(self) -> int:
        return len(self._running)

    def spawn(self, what: str, work: Coroutine[Any, Any, None]) -> "Deferred[None]":
        """Start `work`; `what` is the words its failure is logged under.

        The answer is a handle to cancel the work by. It never fails.
        """
        task = Deferred.fromCoroutine(work)

        def failed(failure: Failure) -> None:
            if not isinstance(failure.value, CancelledError):
                log.error(
                    "{what} failed: {kind}: {error}",
                    what=what,
                    kind=failure.type.__name__ if failure.type else "Exception",
                    error=failure.getErrorMessage(),
                )

        task.addErrback(failed)
        self._running.add(task)
        task.addBoth(lambda _: self._ended(task))
        return task

    def _ended(self, task: "Deferred[None]") -> None:
        self._running.discard(task)
        if not self._running:
            waiting, self._waiting = self._waiting, []
            for waiter in waiting:
                waiter.callback(None)

    async def settled(self) -> None:
        """Wait until nothing runs."""
        while self._running:
            waiter: Deferred[None] = Deferred()
            self._waiting.append(waiter)
            await waiter


def is_over(task: "Deferred[None]") -> bool:
    """Whether `task` runs no more. One that was cancelled runs until its work has ended."""
    return task.called and not task.paused


def finished(task: "Deferred[None]") -> "Deferred[None]":
    """Fires when `task` does, whatever became of it; cancelling it leaves `task` running."""
    done: Deferred[None] = Deferred()

    def passed(result: Any) -> Any:
        if not done.called:
            done.callback(None)
        return result

    task.addBoth(passed)
    return done
