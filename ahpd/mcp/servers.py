"""The endpoints of a host: opened for sessions, found by their paths, closed with them.

Each is a path of its own under `/ahp-mcp/`, opened by a token of its own: whoever holds it
reaches one session's tools and no other's.
Source: PLUGINS.txt, "The MCP servers a session is offered".
"""

import secrets
from collections.abc import Callable
from typing import Final

from ahpd.interfaces import RunClientTool
from ahpd.mcp.endpoint import Endpoint, ToolsOfSessions

#: The path under which all of them are.
PREFIX: Final = "/ahp-mcp"
_TOKEN_BYTES: Final = 32


class ToolsServers:
    """Every endpoint that is open.

    `origin` answers where this host is reached over HTTP (`http://127.0.0.1:9187`), None where
    it is not; it is asked when an endpoint is opened, because a host is built before its port
    is bound. `ids` makes ids that never repeat.
    """

    def __init__(
        self, tools: ToolsOfSessions, origin: Callable[[], str | None], ids: Callable[[], str]
    ) -> None:
        self._tools = tools
        self._origin = origin
        self._ids = ids
        self._by_session: dict[str, Endpoint] = {}
        self._by_id: dict[str, Endpoint] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def open(
        self, session: str, chat: str, run_client_tool: RunClientTool | None, notify: bool
    ) -> Endpoint | None:
        """That session's endpoint, opened where it is not; None where this host has no HTTP."""
        endpoint = self._by_session.get(session)
        if endpoint is None:
            origin = self._origin()
            if origin is None:
                return None
            identifier = self._ids()
            endpoint = Endpoint(
                session=session,
                identifier=identifier,
                url=f"{origin}{PREFIX}/{identifier}",
                token=secrets.token_urlsafe(_TOKEN_BYTES),
                tools=self._tools,
                ids=self._ids,
                closed=self._closed,
            )
            self._by_session[session] = self._by_id[identifier] = endpoint
        endpoint.chat, endpoint.notify = chat, notify
        if run_client_tool is not None:
            endpoint.run_client_tool = run_client_tool
        return endpoint

    def find(self, identifier: str) -> Endpoint | None:
        """The open endpoint of this path."""
        return self._by_id.get(identifier)

    def moved(self, session: str) -> None:
        """The tools of a session are others now."""
        endpoint = self._by_session.get(session)
        if endpoint is not None:
            endpoint.moved()

    def session_gone(self, session: str) -> None:
        """A session is disposed of: its path answers 404 from now on."""
        endpoint = self._by_session.get(session)
        if endpoint is not None:
            endpoint.close()

    def _closed(self, endpoint: Endpoint) -> None:
        self._by_id.pop(endpoint.identifier, None)
        if self._by_session.get(endpoint.session) is endpoint:
            del self._by_session[endpoint.session]
