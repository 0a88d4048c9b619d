"""The host's own tools, as every session lists them and every backend is handed them.

A set replaces the one before it whole, and is said to each session whose list it moved
(AHP.txt, `session/serverToolsChanged`). A conversation that is open begins again with it at
its next turn.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from ahpd.protocol import Action, State


class Tooled(Protocol):
    """A session, as its tools are seen."""

    @property
    def state(self) -> State:
        """The session's state (schema: SessionState)."""

    def say(self, action: Action) -> None:
        """Say an action of the host's own on the session's channel."""


class ServerTools:
    """The tools offered now (schema: ToolDefinition). `sessions` are those whose state is held."""

    def __init__(self, sessions: Callable[[], Iterable[Tooled]]) -> None:
        self._sessions = sessions
        self._tools: list[State] = []

    @property
    def tools(self) -> list[State]:
        """All of them, in the order they were given."""
        return list(self._tools)

    def replace(self, tools: Sequence[State]) -> None:
        """Offer these and no others from now on."""
        self._tools = list(tools)
        for session in tuple(self._sessions()):
            self.refresh(session)

    def refresh(self, session: Tooled) -> None:
        """Say the set on a session that lists another."""
        if (session.state.get("serverTools") or []) != self._tools:
            session.say({"type": "session/serverToolsChanged", "tools": list(self._tools)})
