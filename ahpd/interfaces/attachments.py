"""What comes with a message: kept as files, read from clients, and made ready for a backend."""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any

from zope.interface import Interface

from ahpd.protocol import State


class IClientResources(Interface):
    """Reads what a client alone has."""

    async def read(client_id: str, uri: str) -> Mapping[str, Any]:
        """The resource, as that client answers `resourceRead` (schema: ResourceReadResult).

        Raises `RpcError` where it is not connected, goes, or does not have it.
        """


class IAttachments(Interface):
    """What becomes of a message's attachments (CHATS.txt, "Attachments")."""

    def prepare(session: str, message: State, client_id: str | None) -> State | Awaitable[State]:
        """The message as it is said: its bytes are files of the session's, its chats pinned.

        `session` is the session's URI, `client_id` the client that sent it and None where
        none did. The message itself, at once, where nothing has to be written; never
        changed, a new one is answered. Raises nothing: what cannot be kept stays as sent.
        """

    async def discard(before: State, after: State) -> None:
        """Take away what `prepare` wrote to make `after` of `before`: it was not said."""

    async def for_backend(message: Mapping[str, Any]) -> Sequence[State]:
        """A said message's attachments as a backend takes them (`TurnRequest.attachments`).

        Raises `AgentFailure` of type `sendFailed` for a pin nobody can honour.
        """

    async def forget(session: str) -> None:
        """The session is gone for good: so are its files. None there is no error."""
