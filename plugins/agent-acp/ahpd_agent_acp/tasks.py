"""Work that goes on behind who began it, that any number wait for, and an end waits for."""

from collections.abc import Coroutine
from typing import Any

from twisted.internet.defer import Deferred
from twisted.logger import Logger

log = Logger()


class Shared:
    """One piece of work that any number wait for. To stop waiting does not stop the work."""

    def __init__(self, work: "Coroutine[Any, Any, Any]") -> None:
        self.done = False
        self._outcome: Any = None
        self._waiting: list[Deferred[Any]] = []
        self._running: Deferred[Any] = Deferred.fromCoroutine(work)
        self._running.addBoth(self._finish)

    def _finish(self, outcome: Any) -> None:
        self.done, self._outcome = True, outcome
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.callback(outcome)  # a Failure goes on as one

    async def result(self) -> Any:
        """What the work came to, raised where it failed."""
        waiting: Deferred[Any] = Deferred(self._forget)
        if self.done:
            waiting.callback(self._outcome)
        else:
            self._waiting.append(waiting)
        return await waiting

    def _forget(self, waiting: "Deferred[Any]") -> None:
        if waiting in self._waiting:
            self._waiting.remove(waiting)


class Tasks:
    """What is on the way for `what`, as the log names it."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._running: list[Shared] = []

    def spawn(self, doing: str, work: "Coroutine[Any, Any, Any]") -> Shared:
        """Begin `work`; a failure of it is logged."""
        task = Shared(self._logged(doing, work))
        self._running = [each for each in (*self._running, task) if not each.done]
        return task

    async def _logged(self, doing: str, work: "Coroutine[Any, Any, Any]") -> None:
        try:
            await work
        except Exception:
            log.failure("{doing} of {what} failed", doing=doing, what=self._what)

    async def wait(self) -> None:
        """Until nothing is on the way any more."""
        while self._running:
            await self._running[-1].result()
            self._running = [each for each in self._running if not each.done]
