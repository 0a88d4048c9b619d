"""What a host offers the agents of its sessions, beside running their turns.

One port, so that a chat asks one place for its tools, its endpoint, its credentials and who
answers its questions. Each part may be missing: a bare test offers nothing.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from zope.interface import Attribute, Interface

from ahpd.interfaces.permissions import IJudge
from ahpd.interfaces.tools import ToolCallContext
from ahpd.interfaces.turns import IToolsServer, RunClientTool
from ahpd.protocol import Action, State


class IOffers(Interface):
    """What a session's agents are offered."""

    judge: IJudge | None = Attribute("Who answers questions before people; None asks people.")

    def instructions(session: str) -> str | None:
        """What the tools that session is offered have a model told (`ChatStart.instructions`)."""

    async def run_tool(name: str, arguments: Mapping[str, Any], context: ToolCallContext) -> State:
        """Run one of the host's tools (schema: ToolCallResult). Never raises."""

    def tools_server(
        session: str, chat: str, run_client_tool: RunClientTool | None, notify: bool
    ) -> IToolsServer | None:
        """The endpoint of that chat, opened where it is not (`IChatHost.tools_server`).

        A call through it is made in that chat.
        """

    def tools_moved(session: str) -> None:
        """The session's list of tools, its clients' among them, is another one."""

    def session_gone(session: str) -> None:
        """The session is disposed of: the endpoints of its chats answer 404 from now on."""

    def chat_gone(chat: str) -> None:
        """One chat is disposed of: its endpoint answers 404 from now on."""

    def chat_moved(
        session: str, chat: str, action: Action, origin: Mapping[str, Any] | None
    ) -> None:
        """`action` was applied in a chat; `origin` is its sender's (schema: ActionOrigin), None
        for the host's own."""

    def credential(session: str, chat: str, resource: str, server: str | None = None) -> str | None:
        """The token lent for a resource to that session (`IChatHost.credential`)."""

    def mcp_servers() -> Mapping[str, Mapping[str, Any]]:
        """The configured MCP servers, read anew at each call (`ChatStart.mcp_servers`)."""

    def managed_settings() -> Mapping[str, Any]:
        """See `ChatStart.managed_settings`."""

    def trusted(folders: Sequence[str]) -> bool:
        """Whether somebody vouched for every one of these folders (`file:` URIs)."""

    def host_values() -> Mapping[str, Any]:
        """The values of the root configuration now."""

    def grant(rules: Sequence[str]) -> None:
        """Add rules to the host's own `permissions.allow`, said as `root/configChanged`."""
