"""Questions that stand before a person, and are answered in their place once nobody can."""

from collections.abc import Coroutine, Hashable
from typing import Any, TypeVar

from twisted.internet.defer import CancelledError, Deferred

from ahpd.interfaces import TurnOver

T = TypeVar("T")


class Standing:
    """What one session's agent waits for people with."""

    def __init__(self) -> None:
        self._waiting: dict[Hashable, Deferred[Any]] = {}
        self._given: dict[Hashable, Any] = {}

    async def answer(self, key: Hashable, asked: Coroutine[Any, Any, T]) -> T | None:
        """What was answered, by a person or by `give`; None where the turn was over first.

        `key` names the question. Raises `CancelledError` where the agent took it back.
        """
        waiting: Deferred[T] = Deferred.fromCoroutine(asked)
        self._waiting[key] = waiting
        try:
            return await waiting
        except TurnOver:
            return None
        except CancelledError:
            if key in self._given:
                given: T | None = self._given[key]
                return given
            raise
        finally:
            self._waiting.pop(key, None)
            self._given.pop(key, None)

    def give(self, key: Hashable, answer: Any) -> None:
        """Answer a question in a person's place; one that does not stand is no error."""
        waiting = self._waiting.pop(key, None)
        if waiting is not None:
            self._given[key] = answer
            waiting.cancel()

    def turn_over(self) -> None:
        """Nobody answers any more: whoever waits goes on without an answer."""
        for key in tuple(self._waiting):
            self.give(key, None)
