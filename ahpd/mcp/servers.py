"""The endpoints of a host: opened for chats, found by their paths, closed with them.

Each is a path of its own under `/ahp-mcp/`, opened by a token of its own: whoever holds it
reaches one session's tools and no other's. Two chats of a session have one each, because a call
is made in a chat, and a client's tool is run in the turn of the program that called it.
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
        self._by_chat: dict[str, Endpoint] = {}
        self._by_id: dict[str, Endpoint] = {}
        self._stopped = False

    def __len__(self) -> int:
        return len(self._by_id)

    def open(
        self, session: str, chat: str, run_client_tool: RunClientTool | None, notify: bool
    ) -> Endpoint | None:
        """That chat's endpoint, opened where it is not; None where this host has no HTTP.

        A chat that is another session's now has another one.
        """
        endpoint = self._by_chat.get(chat)
        if endpoint is not None and endpoint.session != session:
            endpoint.close()
            endpoint = None
        if endpoint is None:
            origin = None if self._stopped else self._origin()
            if origin is None:
                return None
            endpoint = self._opened(session, chat, origin)
        endpoint.notify, endpoint.run_client_tool = notify, run_client_tool
        return endpoint

    def _opened(self, session: str, chat: str, origin: str) -> Endpoint:
        identifier = self._ids()
        endpoint = Endpoint(
            session=session,
            chat=chat,
            identifier=identifier,
            url=f"{origin}{PREFIX}/{identifier}",
            token=secrets.token_urlsafe(_TOKEN_BYTES),
            tools=self._tools,
            ids=self._ids,
            closed=self._closed,
        )
        self._by_chat[chat] = self._by_id[identifier] = endpoint
        return endpoint

    def find(self, identifier: str) -> Endpoint | None:
        """The open endpoint of this path."""
        return self._by_id.get(identifier)

    def moved(self, session: str) -> None:
        """The tools of a session are others now."""
        for endpoint in self._of(session):
            endpoint.moved()

    def chat_gone(self, chat: str) -> None:
        """A chat is disposed of: its path answers 404 from now on."""
        endpoint = self._by_chat.get(chat)
        if endpoint is not None:
            endpoint.close()

    def session_gone(self, session: str) -> None:
        """A session is disposed of: its paths answer 404 from now on."""
        for endpoint in self._of(session):
            endpoint.close()

    def stop(self) -> None:
        """The host is going: every endpoint is closed, and none is opened."""
        self._stopped = True
        for endpoint in tuple(self._by_id.values()):
            endpoint.close()

    def _of(self, session: str) -> list[Endpoint]:
        return [each for each in self._by_id.values() if each.session == session]

    def _closed(self, endpoint: Endpoint) -> None:
        self._by_id.pop(endpoint.identifier, None)
        if self._by_chat.get(endpoint.chat) is endpoint:
            del self._by_chat[endpoint.chat]
