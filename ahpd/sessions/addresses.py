"""Which session a channel belongs to, for windows that cannot address every session."""

from zope.interface import implementer

from ahpd.interfaces import IAddresses
from ahpd.protocol.uris import ChannelKind, kind_of
from ahpd.sessions.annotations import session_of_annotations
from ahpd.sessions.channels import SessionChannels
from ahpd.sessions.entry import Entry
from ahpd.sessions.registry import SessionRegistry, session_of
from ahpd.sessions.session import Session


@implementer(IAddresses)
class Addresses:
    """Reads the registry, and wakes nothing."""

    def __init__(self, registry: SessionRegistry, channels: SessionChannels) -> None:
        self._registry = registry
        self._channels = channels

    def session_of(self, channel: str) -> tuple[str, str | None] | None:
        """See `IAddresses.session_of`."""
        entry = self._entry(channel)
        if entry is None:
            return None
        if entry.session is not None:
            return entry.uri, entry.session.default_chat
        return entry.uri, entry.summary.get("defaultChat")

    def _entry(self, channel: str) -> Entry[Session] | None:
        match kind_of(channel):
            case ChannelKind.SESSION:
                return self._registry.named(channel)
            case ChannelKind.CHAT:
                return self._of_chat(channel)
            case ChannelKind.ANNOTATIONS:
                return self._registry.named(session_of_annotations(channel))
            case ChannelKind.CHANGESET:
                return self._registry.named(channel.partition("/changeset/")[0])
            case _:
                return None

    def _of_chat(self, channel: str) -> Entry[Session] | None:
        name = self._channels.resolve(channel)
        if name is None:
            return None
        chat = self._registry.open_chats.get(name)
        if chat is not None:
            return self._registry.named(session_of(chat).uri)
        identifier = self._registry.journals.store.session_of(name)
        return None if identifier is None else self._registry.catalogue.entry(identifier)
