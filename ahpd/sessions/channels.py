"""The channels of sessions: which there are, and what has to be awaited before one is here.

They are a session's own, its chats' and its annotations' (`IChannelSource`). A session
that is asleep is woken in the call. One whose conversation only its backend keeps is read
by whoever waits for it, and a name nobody here knows is looked for among the backends
before it is called unknown (AHP.txt, "An action naming nothing here").
"""

from collections.abc import Awaitable, Callable

from zope.interface import implementer

from ahpd.interfaces import IChannelSource
from ahpd.protocol.uris import ChannelKind, default_chat, kind_of, session_of_default_chat
from ahpd.sessions.annotations import annotations_of, session_of_annotations
from ahpd.sessions.entry import Entry
from ahpd.sessions.registry import SessionRegistry
from ahpd.sessions.session import Session


@implementer(IChannelSource)
class SessionChannels:
    """The channels of the sessions of `registry`.

    `surface` reads a conversation and holds it as a session; `relisted` asks the backends
    anew for what they keep, None where they said it just now.
    """

    def __init__(
        self,
        registry: SessionRegistry,
        surface: Callable[[Entry[Session]], Awaitable[None]],
        relisted: Callable[[], Awaitable[None] | None],
    ) -> None:
        self._registry = registry
        self._surface = surface
        self._relisted = relisted

    def resolve(self, channel: str) -> str | None:
        """See `IChannelSource.resolve`."""
        kind = kind_of(channel)
        if kind is ChannelKind.SESSION:
            entry = self._registry.named(channel)
            return None if entry is None else entry.uri
        if kind is ChannelKind.CHAT:
            return self._resolved_chat(channel)
        if kind is ChannelKind.ANNOTATIONS:
            entry = self._registry.named(session_of_annotations(channel))
            return None if entry is None else annotations_of(entry.uri)
        return None

    def _resolved_chat(self, channel: str) -> str | None:
        if channel in self._registry.open_chats:
            return channel
        stored = self._registry.stored_chat(channel)
        if stored is not None:
            return stored[0]
        named = session_of_default_chat(channel)
        entry = None if named is None else self._registry.named(named)
        if entry is None:
            return None
        if entry.session is not None:
            chat = entry.session.default_chat
            return None if session_of_default_chat(chat) is None else chat
        return None if entry.conversation is None else default_chat(entry.uri)

    def ready(self, channel: str) -> Awaitable[None] | None:
        """See `IChannelSource.ready`."""
        entry, kind = self.unread(channel), kind_of(channel)
        if entry is not None:
            return self._read(entry, channel if kind is ChannelKind.ANNOTATIONS else None)
        if kind is ChannelKind.ANNOTATIONS:
            self.annotations(channel)
        elif kind is ChannelKind.CHAT:
            self._registry.find_chat(channel)
        else:
            self._registry.find(channel)
        return None

    def unread(self, channel: str) -> Entry[Session] | None:
        """The place of the session a channel belongs to, if its backend has to be asked for it."""
        kind = kind_of(channel)
        uri: str | None = channel
        if kind is ChannelKind.ANNOTATIONS:
            uri = session_of_annotations(channel)
        elif kind is ChannelKind.CHAT:
            uri = session_of_default_chat(channel)
        entry = None if uri is None else self._registry.named(uri)
        return None if entry is None or entry.conversation is None else entry

    def waited(self, channel: str) -> Awaitable[None] | None:
        """Brings the session a channel belongs to here; None for one that need not be waited for."""
        entry = self.unread(channel)
        if entry is not None:
            return self._read(entry)
        seeking = None if self.resolve(channel) is not None else self.sought(channel)
        return None if seeking is None else self._sought_and_read(channel, seeking)

    async def reach_chat(self, uri: str) -> str | None:
        """The URI of the chat `uri` names, its session awake from now on; None for no chat.

        Raises `RpcError` -32603 for one that cannot be read back.
        """
        waiting = self.waited(uri)
        if waiting is not None:
            await waiting
        chat = self._registry.find_chat(uri)
        return None if chat is None else chat.uri

    def sought(self, channel: str) -> Awaitable[None] | None:
        """See `IChannelSource.sought`: a backend may keep the session, not listed so far.

        A chat's URI that says nothing of its session names nothing to look for.
        """
        opaque = kind_of(channel) is ChannelKind.CHAT and session_of_default_chat(channel) is None
        return None if opaque else self._relisted()

    async def _sought_and_read(self, channel: str, seeking: Awaitable[None]) -> None:
        await seeking
        entry = self.unread(channel)
        if entry is not None:
            await self._read(entry)

    async def _read(self, entry: Entry[Session], marks: str | None = None) -> None:
        await self._surface(entry)
        if marks is not None:
            self.annotations(marks)

    def annotations(self, channel: str) -> str | None:
        """The URI an annotations channel is held under, held from now on; None for no session."""
        session = self._registry.find(session_of_annotations(channel))
        if session is None:
            return None
        session.open_annotations()
        return session.annotations
