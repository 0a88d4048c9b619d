"""`subscribe` and `unsubscribe` (AHP.txt, Commands).

A channel holds one subscription per connection. The snapshot is read in the same
step in which the subscriber is registered, so nothing is missed and nothing comes
twice; a channel that has to be woken is awaited before that step.
"""

from collections.abc import Awaitable, Mapping
from typing import Any, Final

from ahpd.channels.directory import ChannelDirectory
from ahpd.channels.store import ChannelStore
from ahpd.interfaces import Command, IPresence
from ahpd.peers.peer import Peer
from ahpd.protocol import State
from ahpd.protocol.errors import internal_error
from ahpd.protocol.uris import ROOT, ChannelKind, canonical, kind_of
from ahpd.protocol.views import requested_turns
from ahpd.wire.codec import Encoded, encode

#: A subscribe to one of these that is waited for is called off by nothing, neither another one
#: nor an unsubscribe (AHP.txt, `subscribe`).
_WITHOUT_A_PLACE: Final = frozenset({ChannelKind.RESOURCE_WATCH})


class Subscriptions:
    """Who is sent what, and what each subscribe is answered with.

    `presence` is told of each `unsubscribe`.
    """

    def __init__(
        self, store: ChannelStore, directory: ChannelDirectory, presence: IPresence | None = None
    ) -> None:
        self._store = store
        self._directory = directory
        self._presence = presence

    def commands(self) -> Mapping[str, Command]:
        """The requests served here, by method."""
        return {"subscribe": self.subscribe}

    def notifications(self) -> Mapping[str, Command]:
        """The notifications served here, by method."""
        return {"unsubscribe": self.unsubscribe}

    def subscribe(self, peer: Peer, params: dict[str, Any]) -> State | Awaitable[State]:
        """A SubscribeResult: the channel's snapshot, at the number it was registered at."""
        requested: str = params["channel"]
        name = self._directory.resolve(requested)
        if name is None:
            seeking = self._directory.sought(requested)
            if seeking is not None:
                return self._subscribe_sought(peer, params, seeking)
        if name is None or not peer.sees(name):
            raise self._directory.not_found(requested)
        waking = self._directory.ready(name)
        if waking is not None:
            return self._subscribe_later(peer, name, params, waking)
        peer.places.pop(name, None)
        return self._joined(peer, name, params)

    async def _subscribe_sought(
        self, peer: Peer, params: dict[str, Any], seeking: Awaitable[None]
    ) -> State:
        """A target nobody here knows is looked for before it is called unknown."""
        name, place = canonical(params["channel"]), object()
        peer.places[name] = place
        await seeking
        if not peer.connected or peer.places.pop(name, None) is not place:
            raise internal_error(f"Subscription cancelled: {params['channel']}")
        if self._directory.resolve(name) is None:
            raise self._directory.not_found(params["channel"])
        answer = self.subscribe(peer, params)
        return answer if isinstance(answer, dict) else await answer

    async def _subscribe_later(
        self, peer: Peer, name: str, params: dict[str, Any], waking: Awaitable[None]
    ) -> State:
        place = object()
        kept = kind_of(name) in _WITHOUT_A_PLACE
        if not kept and not self._store.is_watching(name, peer):
            peer.places[name] = place
        try:
            await waking
        finally:
            if peer.places.get(name) is place:
                del peer.places[name]
                kept = True
        if not peer.connected or not (kept or self._store.is_watching(name, peer)):
            raise internal_error(f"Subscription cancelled: {params['channel']}")
        if not self._store.is_open(name):  # it went while it was waited for
            raise self._directory.not_found(params["channel"])
        return self._joined(peer, name, params)

    def _joined(self, peer: Peer, name: str, params: dict[str, Any]) -> State:
        delivery = params.get("delivery") or {}
        peer.set_window(name, delivery.get("maxLatencyMs") or 0)
        snapshot = self.join(peer, name, params["channel"], requested_turns(params.get("view")))
        return {"snapshot": snapshot}

    def join(self, peer: Peer, name: str, requested: str, turns: int | None = None) -> State:
        """Register `peer` on a held channel and read it, in one step. A Snapshot."""
        self.watch(peer, name)
        peer.agreed().settle(name)
        return self.snapshot(peer, name, requested, turns)

    def watch(self, peer: Peer, name: str) -> None:
        """Register `peer`, unless its connection went while something was waited for."""
        if peer.connected:
            self._store.subscribe(name, peer)

    def snapshot(self, peer: Peer, name: str, requested: str, turns: int | None = None) -> State:
        """A held channel's Snapshot as `peer` is shown it, under the spelling it asked for.

        The root answers under its own name whatever spelling asked for it.
        """
        snapshot = self._store.snapshot(name, turns, name if name == ROOT else requested)
        if peer.window is not None and kind_of(name) is ChannelKind.SESSION:
            shown = peer.window.shown_state(name, self._store.state(name))
            snapshot["state"] = Encoded(encode(shown))
        return snapshot

    def unsubscribe(self, peer: Peer, params: dict[str, Any]) -> None:
        """Stop sending a channel to this connection; one that was not watched is no error."""
        requested = params.get("channel")
        if not isinstance(requested, str):
            return
        name = self._directory.resolve(requested) or canonical(requested)
        peer.places.pop(name, None)
        peer.set_window(name, 0)
        self._store.unsubscribe(name, peer)
        peer.agreed().settle(name)
        if self._presence is not None:
            self._presence.unwatched(peer.agreed().client_id, name)
