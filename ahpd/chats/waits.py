"""One answer that somebody waits for, who may ask for it late."""

from typing import Generic, TypeVar

from twisted.internet.defer import Deferred

from ahpd.interfaces import TurnOver

T = TypeVar("T")


class Wait(Generic[T]):
    """One answer, given at most once and read by whoever waits, before it came or after."""

    __slots__ = ("_given", "_waiting")

    def __init__(self) -> None:
        self._given: tuple[T] | None = None
        self._waiting: list[Deferred[T]] = []

    @property
    def given(self) -> bool:
        """Whether the answer came."""
        return self._given is not None

    def give(self, answer: T) -> None:
        """The answer; a second one is ignored."""
        if self._given is not None:
            return
        self._given = (answer,)
        waiting, self._waiting = self._waiting, []
        for deferred in waiting:
            deferred.callback(answer)

    def over(self) -> None:
        """No answer comes any more: raise `TurnOver` in whoever waits."""
        waiting, self._waiting = self._waiting, []
        for deferred in waiting:
            deferred.errback(TurnOver())

    async def answer(self) -> T:
        """The answer, once it is there."""
        if self._given is not None:
            return self._given[0]
        deferred: Deferred[T] = Deferred(self._forget)
        self._waiting.append(deferred)
        return await deferred

    def _forget(self, deferred: "Deferred[T]") -> None:
        if deferred in self._waiting:
            self._waiting.remove(deferred)
