"""What a backend says outside its turns, brought to whoever it is for."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from zope.interface import implementer

from ahpd.chats.call_record import failed_result
from ahpd.chats.kept import Kept
from ahpd.chats.owner import ChatOwner
from ahpd.chats.steering import Steering
from ahpd.interfaces import (
    BackgroundTask,
    IChatHost,
    IOffers,
    IToolsServer,
    RunClientTool,
    ToolCallContext,
)


class Served(Protocol):
    """The chat a backend serves."""

    uri: str
    owner: ChatOwner
    kept: Kept
    steering: Steering

    def background(self, tasks: Sequence[BackgroundTask]) -> None:
        """What runs behind its turns now, all of it."""


@implementer(IChatHost)
class ChatHost:
    """The host's side of one conversation, from its opening until the host lets go of it.

    What a backend says here after that is ignored.
    """

    __slots__ = ("_chat", "_ended", "_offers")

    def __init__(self, chat: Served, offers: IOffers | None = None) -> None:
        self._chat = chat
        self._offers = offers
        self._ended = False

    def end(self) -> None:
        """The host lets go of the conversation."""
        self._ended = True

    def kept_as(self, conversation: str) -> None:
        """See `IChatHost.kept_as`. Raises `StoreFailure` where it cannot be written."""
        if not self._ended:
            self._chat.kept.kept_as(conversation)

    def steering_taken(self, message_id: str) -> None:
        """See `IChatHost.steering_taken`."""
        if not self._ended:
            self._chat.steering.taken(message_id)

    def steering_returned(self, message_id: str) -> None:
        """See `IChatHost.steering_returned`."""
        if not self._ended:
            self._chat.steering.returned(message_id)

    def background(self, tasks: Sequence[BackgroundTask]) -> None:
        """See `IChatHost.background`."""
        if not self._ended:
            self._chat.background(tasks)

    def activity(self, words: str | None) -> None:
        """See `IChatHost.activity`."""
        if not self._ended:
            self._chat.owner.session_activity(words)

    def customizations(self, found: Sequence[Mapping[str, Any]]) -> None:
        """See `IChatHost.customizations`."""
        if not self._ended:
            self._chat.owner.customizations_found(self._chat.uri, found)

    def mcp_server_state(self, server_id: str, state: Mapping[str, Any]) -> None:
        """See `IChatHost.mcp_server_state`."""
        if not self._ended:
            self._chat.owner.mcp_server_moved(server_id, state)

    async def run_tool(
        self, name: str, arguments: Mapping[str, Any], tool_call_id: str
    ) -> Mapping[str, Any]:
        """See `IChatHost.run_tool`."""
        if self._ended or self._offers is None:
            return failed_result(f"This host has no tool named {name}.")
        chat = self._chat
        context = ToolCallContext(session=chat.owner.uri, chat=chat.uri, tool_call_id=tool_call_id)
        return await self._offers.run_tool(name, arguments, context)

    def tools_server(
        self, run_client_tool: RunClientTool | None = None, notify: bool = True
    ) -> IToolsServer | None:
        """See `IChatHost.tools_server`."""
        if self._ended or self._offers is None:
            return None
        chat = self._chat
        return self._offers.tools_server(chat.owner.uri, chat.uri, run_client_tool, notify)

    def credential(self, resource: str, server: str | None = None) -> str | None:
        """See `IChatHost.credential`."""
        if self._ended or self._offers is None:
            return None
        return self._offers.credential(self._chat.owner.uri, self._chat.uri, resource, server)
