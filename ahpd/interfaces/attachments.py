"""What comes with a message: kept as files, read from clients, and made ready for a backend."""

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any

from zope.interface import Attribute, Interface

from ahpd.protocol import State


class IClientResources(Interface):
    """Reads what a client alone has."""

    async def read(client_id: str, uri: str) -> Mapping[str, Any]:
        """The resource, as that client answers `resourceRead` (schema: ResourceReadResult).

        Raises `RpcError` where it is not connected, goes, or does not have it.
        """


class IAttachments(Interface):
    """What becomes of a message's attachments (CHATS.txt, "Attachments")."""

    folder: str = Attribute("The path of the folder its files are under, of all sessions.")

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

    def refer(session: str, chats: Iterable[State]) -> None:
        """Chats of other sessions are about to be this session's.

        `chats` are their states (schema: ChatState). The files their messages name stay,
        whichever session they came to, for as long as `settle` does not say otherwise. On
        disk when it returns. Raises `StoreFailure`, nothing changed.
        """

    async def settle(session: str, chats: Iterable[State]) -> None:
        """These are all chats a session has: a file of a session that is gone, which none of
        them names and no other session's does, goes."""

    async def forget(session: str) -> None:
        """The session is gone for good: so are its files, but for those that a chat which
        moved to another session names. None there is no error."""

    async def sweep() -> None:
        """Take away what an earlier life of the host left of sessions that are gone."""
