"""The host's own tools, as every session lists them and every backend is handed them.

A set replaces the one before it whole, and is said to each session whose list it moved, as is
a session's own choice (AHP.txt, `session/serverToolsChanged`). A conversation that is open
begins again with its list at its next turn.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, Protocol

from ahpd.protocol import Action, State

#: The configuration key by which a session does without some of them: an object of their names,
#: false for one that is off.
TOOLS: Final = "tools"


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
        self._tools: list[State] | None = None
        """None until somebody said them: a session keeps the list it was left with."""

    def of(self, state: State) -> list[State]:
        """Those a session of this state (schema: SessionState) lists, in the order they were given."""
        if self._tools is None:
            return list(state.get("serverTools") or ())
        config: State = state.get("config") or {}
        switches = (config.get("values") or {}).get(TOOLS)
        if not isinstance(switches, dict):
            return list(self._tools)
        return [tool for tool in self._tools if switches.get(tool["name"]) is not False]

    def replace(self, tools: Sequence[State]) -> None:
        """Offer these and no others from now on."""
        self._tools = list(tools)
        for session in tuple(self._sessions()):
            self.refresh(session)

    def refresh(self, session: Tooled) -> None:
        """Say a session's list where it shows another."""
        tools = self.of(session.state)
        if (session.state.get("serverTools") or []) != tools:
            session.say({"type": "session/serverToolsChanged", "tools": tools})
