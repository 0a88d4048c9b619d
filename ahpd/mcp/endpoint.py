"""The endpoint of one chat: whose tools it serves, under which token, and to whom it tells.

It is opened when the chat's backend first asks for it and is the same one for the rest of the
chat's life in its session. What it serves is the session's, and a call is made in its chat.
"""

import hmac
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Protocol

import attrs
from twisted.internet.defer import Deferred
from zope.interface import implementer

from ahpd.interfaces import IToolsServer, RunClientTool, ToolCallContext
from ahpd.mcp.listing import OfferedTool, offered
from ahpd.protocol import State


class ToolsOfSessions(Protocol):
    """What the sessions of a host have of tools."""

    def host_tools(self, session: str) -> Sequence[Mapping[str, Any]]:
        """The host's tools that session is offered (schema: ToolDefinition)."""

    def client_tools(self, session: str) -> Sequence[Mapping[str, Any]]:
        """Those of its clients now, `clientId` added to each."""

    def run(
        self, name: str, arguments: Mapping[str, Any], context: ToolCallContext
    ) -> Awaitable[State]:
        """Run one of the host's (schema: ToolCallResult). Never raises."""


@implementer(IToolsServer)
@attrs.define(eq=False, repr=False)
class Endpoint:
    """One chat's endpoint, until it is closed."""

    session: str
    chat: str
    """The chat a call is made in."""
    identifier: str
    url: str
    token: str = attrs.field(repr=False)
    _tools: ToolsOfSessions
    _ids: Callable[[], str]
    _closed: Callable[["Endpoint"], None]
    notify: bool = True
    """Whether a stream is held open to say that the list moved."""
    run_client_tool: RunClientTool | None = None
    on_moved: Callable[[], None] | None = None
    """Tells the one stream that is open; None while none is."""
    on_closed: Callable[[], None] | None = None
    """Ends that stream."""
    running: set["Deferred[Any]"] = attrs.field(factory=set)
    """The requests that are being answered."""

    def close(self) -> None:
        """See `IToolsServer.close`: what is being answered is over, too."""
        self._closed(self)
        ended, self.on_closed, self.on_moved = self.on_closed, None, None
        if ended is not None:
            ended()
        for request in tuple(self.running):
            request.cancel()

    def opens_with(self, token: bytes) -> bool:
        """Whether `token` is this endpoint's."""
        return hmac.compare_digest(token, self.token.encode())

    def tools(self) -> dict[str, OfferedTool]:
        """What it serves now."""
        clients: Sequence[Mapping[str, Any]] = ()
        if self.run_client_tool is not None:
            clients = self._tools.client_tools(self.session)
        return offered(self._tools.host_tools(self.session), clients)

    async def call(
        self, tool: OfferedTool, arguments: Mapping[str, Any], call_id: str | None
    ) -> Mapping[str, Any]:
        """Run a tool (schema: ToolCallResult)."""
        client = tool.client
        if client is None:
            context = ToolCallContext(
                session=self.session,
                chat=self.chat,
                tool_call_id=self._ids() if call_id is None else call_id,
            )
            return await self._tools.run(tool.name, arguments, context)
        assert self.run_client_tool is not None, "client tools are served with a runner alone"
        return await self.run_client_tool(client, tool.name, arguments, call_id)

    def moved(self) -> None:
        """The list is another one."""
        if self.on_moved is not None:
            self.on_moved()
