"""Which channel a URI means: the domains that know each kind, asked by its spelling."""

from collections.abc import Awaitable
from typing import Final

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import IChannelSource
from ahpd.protocol.errors import NOT_FOUND, SESSION_NOT_FOUND, RpcError, resource_not_found
from ahpd.protocol.uris import ChannelKind, canonical, kind_of

#: How a channel nobody here owns is refused, where its kind has words of its own.
_WORDS: Final = {
    ChannelKind.CANVAS: (NOT_FOUND, "Canvas is no longer available: "),
    ChannelKind.RESOURCE_WATCH: (SESSION_NOT_FOUND, "Resource watch not found: "),
}


class ChannelDirectory:
    """The sources of channels, by kind. A channel the store holds open needs none."""

    def __init__(self, store: ChannelStore) -> None:
        self._store = store
        self._sources: dict[ChannelKind, IChannelSource] = {}

    def register(self, kind: ChannelKind, source: IChannelSource) -> None:
        """`source` knows the channels of `kind`. Raises `ValueError` for a second one."""
        if kind in self._sources:
            raise ValueError(f"{kind.value} channels have a source already")
        self._sources[kind] = source

    def resolve(self, channel: str) -> str | None:
        """The URI `channel` is held under; None when nothing here answers to it."""
        name = canonical(channel)
        if self._store.is_open(name):
            return name
        kind = kind_of(name)
        source = None if kind is None else self._sources.get(kind)
        return None if source is None else source.resolve(name)

    def ready(self, name: str) -> Awaitable[None] | None:
        """Bring the state of a resolved channel into the store; None where it is there."""
        if self._store.is_open(name):
            return None
        kind = kind_of(name)
        source = None if kind is None else self._sources.get(kind)
        if source is None:
            raise resource_not_found(name)
        return source.ready(name)

    def sought(self, channel: str) -> Awaitable[None] | None:
        """See `IChannelSource.sought`."""
        name = canonical(channel)
        kind = kind_of(name)
        source = None if kind is None else self._sources.get(kind)
        return None if source is None else source.sought(name)

    def reached(self, channel: str) -> Awaitable[None] | None:
        """Bring what `channel` names into the store, looked for where nobody here knows it.

        Raises `RpcError` when that cannot be done; it may be unknown all the same.
        """
        name = self.resolve(channel)
        if name is not None:
            return self.ready(name)
        seeking = self.sought(channel)
        return None if seeking is None else self._reached_later(channel, seeking)

    async def _reached_later(self, channel: str, seeking: Awaitable[None]) -> None:
        await seeking
        name = self.resolve(channel)
        waking = None if name is None else self.ready(name)
        if waking is not None:
            await waking

    def not_found(self, channel: str) -> RpcError:
        """How a channel nobody here owns is refused."""
        kind = kind_of(canonical(channel))
        if kind in _WORDS:
            code, words = _WORDS[kind]
            return RpcError(code, words + channel)
        return resource_not_found(channel)
