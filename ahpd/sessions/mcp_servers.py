"""Starting, stopping and not waiting for a session's MCP servers, as clients ask for it.

A request is said first, which is its answer and moves the server in every client's state,
and then asked of a conversation of the session that is open. What becomes of it the backend
reports (`IChatHost.mcp_server_state`).

Source: AHP.txt, `session/mcpServerStartRequested`, `session/mcpServerStopRequested`,
`session/mcpServerBackgroundRequested` and `session/mcpServerStateChanged`.
"""

from collections.abc import Mapping
from typing import Any, Final, cast

from twisted.logger import Logger

from ahpd.channels.envelope import Origin
from ahpd.chats.owner import Surroundings
from ahpd.interfaces import AgentFailure, IMcpChat
from ahpd.protocol import Action
from ahpd.sessions.customization_lists import find
from ahpd.sessions.customizations import Customized

log = Logger()

START: Final = "session/mcpServerStartRequested"
STOP: Final = "session/mcpServerStopRequested"
BACKGROUND: Final = "session/mcpServerBackgroundRequested"
SERVER_ACTIONS: Final = frozenset({START, STOP, BACKGROUND})

_NO_STARTING: Final = "The session provider does not support starting MCP servers."
_NOT_OPEN: Final = "No conversation of the session is open: send a message, then start the server."
#: Where a start left it, a server needs no word of the host's.
_SETTLED: Final = frozenset({"ready", "error", "authRequired"})


class McpServers:
    """What clients ask about the servers of every session."""

    def __init__(self, world: Surroundings) -> None:
        self._world = world

    def requested(self, session: Customized, action: Action, origin: Origin) -> None:
        """Say one of `SERVER_ACTIONS`, and have a backend do it where there is a such server."""
        identifier = action["id"]
        server = _server(session, identifier)
        held_back = server is not None and bool(server["state"].get("blocking"))
        self._world.store.dispatch(session.uri, action, origin)
        if server is None:
            return
        backend = _backend(session)
        match action["type"]:
            case "session/mcpServerStartRequested":
                work = self._start(session, backend, identifier)
                self._world.tasks.spawn(f"starting {identifier} of {session.uri}", work)
            case "session/mcpServerStopRequested":
                work = self._stop(session, backend, identifier)
                self._world.tasks.spawn(f"stopping {identifier} of {session.uri}", work)
            case _:
                if held_back and backend is not None:
                    backend.leave_server_starting(identifier)

    async def _start(self, session: Customized, backend: IMcpChat | None, identifier: str) -> None:
        try:
            if not session.agent.abilities.mcp:
                raise AgentFailure(_NO_STARTING)
            if backend is None:
                raise AgentFailure(_NOT_OPEN)
            await backend.start_server(identifier)
        except AgentFailure as failed:
            server = _server(session, identifier) if self._is_held(session) else None
            if server is not None and server["state"]["kind"] not in _SETTLED:
                error = {"errorType": "mcp-server-start-failed", "message": failed.message}
                self.moved(session, identifier, {"kind": "error", "error": error})

    async def _stop(self, session: Customized, backend: IMcpChat | None, identifier: str) -> None:
        if backend is None:
            return  # nothing of it runs
        try:
            await backend.stop_server(identifier)
        except AgentFailure as failed:
            log.warn(
                "MCP server {id} of {session} did not stop: {words}",
                id=identifier,
                session=session.uri,
                words=failed.message,
            )

    def _is_held(self, session: Customized) -> bool:
        return self._world.store.is_open(session.uri)

    def moved(self, session: Customized, identifier: str, state: Mapping[str, Any]) -> None:
        """A server is in this state (schema: McpServerState); said where clients hold another."""
        server = _server(session, identifier)
        if server is not None and server["state"] != state:
            session.say(
                {"type": "session/mcpServerStateChanged", "id": identifier, "state": dict(state)}
            )


def _server(session: Customized, identifier: str) -> Mapping[str, Any] | None:
    entry = find(session.state.get("customizations") or (), identifier)
    return entry if entry is not None and entry["type"] == "mcpServer" else None


def _backend(session: Customized) -> IMcpChat | None:
    """A conversation of the session that is open, the default chat's before any other."""
    chats = sorted(session.chats.values(), key=lambda chat: chat.uri != session.default_chat)
    for chat in chats:
        open_on = chat.conversation.agent  # its session may be on another agent by now
        if chat.conversation.backend is not None and open_on.abilities.mcp:
            return cast("IMcpChat", chat.conversation.backend)
    return None
