"""Which agents conversations are open on, so that one nobody needs any more can be let go of."""

from typing import Any

from twisted.internet.defer import Deferred, succeed


class AgentsInUse:
    """Counts the conversations that are open on each agent, and those being opened."""

    def __init__(self) -> None:
        self._open: dict[int, int] = {}
        self._waiting: dict[int, list[Deferred[None]]] = {}

    def took(self, agent: Any) -> None:
        """A conversation is opened on `agent`: one more of it."""
        self._open[id(agent)] = self._open.get(id(agent), 0) + 1

    def let_go(self, agent: Any) -> None:
        """A conversation on `agent` is down."""
        left = self._open.get(id(agent), 0) - 1
        if left > 0:
            self._open[id(agent)] = left
            return
        self._open.pop(id(agent), None)
        for waiting in self._waiting.pop(id(agent), ()):
            waiting.callback(None)

    def free(self, agent: Any) -> "Deferred[None]":
        """Fires when no conversation is open on `agent`, which whoever waits keeps alive."""
        if id(agent) not in self._open:
            return succeed(None)
        waiting: Deferred[None] = Deferred()
        self._waiting.setdefault(id(agent), []).append(waiting)
        return waiting
