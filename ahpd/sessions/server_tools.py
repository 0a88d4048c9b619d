"""The host's own tools, as every session lists them and every backend is handed them.

A set replaces the one before it whole, and is said to each session whose list it moved, as is
a session's own choice (AHP.txt, `session/serverToolsChanged`). A tool may be another one for
each session, so the list is made of the session's URI and configuration, and made again before
each turn. A conversation that is open begins again with its list at its next turn.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from ahpd.protocol import Action, State

#: The configuration key by which a session does without some of them: an object of their names,
#: false for one that is off.
TOOLS: Final = "tools"


#: What a session may list (schema: ToolDefinition), by its URI and its configuration's values.
Offered = Callable[[str, Mapping[str, Any]], Sequence[State]]


class Tooled(Protocol):
    """A session, as its tools are seen."""

    @property
    def uri(self) -> str:
        """The session's channel."""

    @property
    def state(self) -> State:
        """The session's state (schema: SessionState)."""

    def say(self, action: Action) -> None:
        """Say an action of the host's own on the session's channel."""


class ServerTools:
    """The tools offered now. `sessions` are those whose state is held."""

    def __init__(self, sessions: Callable[[], Iterable[Tooled]]) -> None:
        self._sessions = sessions
        self._offered: Offered | None = None
        """None until somebody said them: a session keeps the list it was left with."""

    def of(self, uri: str, state: State) -> list[State]:
        """Those a session of this state (schema: SessionState) lists, in the order they were given."""
        if self._offered is None:
            return list(state.get("serverTools") or ())
        config: State = state.get("config") or {}
        values: State = config.get("values") or {}
        tools = self._offered(uri, values)
        switches = values.get(TOOLS)
        if not isinstance(switches, dict):
            return list(tools)
        return [tool for tool in tools if switches.get(tool["name"]) is not False]

    def replace(self, offered: Offered | Sequence[State]) -> None:
        """Offer these and no others from now on; a sequence is every session's."""
        if callable(offered):
            self._offered = offered
        else:
            tools = tuple(offered)
            self._offered = lambda uri, values: tools
        for session in tuple(self._sessions()):
            self.refresh(session)

    def refresh(self, session: Tooled) -> None:
        """Say a session's list where it shows another."""
        tools = self.of(session.uri, session.state)
        if (session.state.get("serverTools") or []) != tools:
            session.say({"type": "session/serverToolsChanged", "tools": tools})
