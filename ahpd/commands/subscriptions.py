"""`subscribe` and `unsubscribe` (AHP.txt, Commands).

A channel holds one subscription per connection. The snapshot is read in the same
step in which the subscriber is registered, so nothing is missed and nothing comes
twice; a channel that has to be woken is awaited before that step.
"""

from collections.abc import Awaitable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeVar

from ahpd.channels.directory import ChannelDirectory
from ahpd.channels.envelope import Envelope
from ahpd.channels.store import ChannelStore
from ahpd.extensions.channels import Taken
from ahpd.extensions.registry import Extensions
from ahpd.interfaces import Command, IPresence
from ahpd.peers.answers import Followed
from ahpd.peers.peer import Peer
from ahpd.protocol import State
from ahpd.protocol.errors import internal_error
from ahpd.protocol.uris import ROOT, ChannelKind, canonical, kind_of
from ahpd.protocol.views import requested_turns
from ahpd.wire.codec import Encoded, encode

#: A subscribe to one of these that is waited for is called off by nothing, neither another one
#: nor an unsubscribe (AHP.txt, `subscribe`).
_WITHOUT_A_PLACE: Final = frozenset({ChannelKind.RESOURCE_WATCH})


T = TypeVar("T")
#: A command's result, with what is sent right behind it where there is anything.
Result = State | Followed


def followed(result: State, peer: Peer, behind: Iterable[Envelope]) -> Result:
    """`result`, and behind it the actions its snapshots do not hold yet."""
    owed = sorted(behind, key=lambda envelope: envelope.seq)
    if not owed:
        return result

    def after() -> None:
        for envelope in owed:
            peer.deliver(envelope)

    return Followed(result, after)


def _set_window(peer: Peer, name: str, params: dict[str, Any]) -> None:
    delivery = params.get("delivery") or {}
    peer.set_window(name, delivery.get("maxLatencyMs") or 0)


class Subscriptions:
    """Who is sent what, and what each subscribe is answered with.

    `presence` is told of each `unsubscribe`. `extensions` serves the channels whose states
    are not in the store.
    """

    def __init__(
        self,
        store: ChannelStore,
        directory: ChannelDirectory,
        presence: IPresence | None = None,
        extensions: Extensions | None = None,
    ) -> None:
        self._store = store
        self._directory = directory
        self._presence = presence
        self.extensions = extensions

    def commands(self) -> Mapping[str, Command]:
        """The requests served here, by method."""
        return {"subscribe": self.subscribe}

    def notifications(self) -> Mapping[str, Command]:
        """The notifications served here, by method."""
        return {"unsubscribe": self.unsubscribe}

    def subscribe(self, peer: Peer, params: dict[str, Any]) -> Result | Awaitable[Result]:
        """A SubscribeResult: the channel's snapshot, at the number it was registered at."""
        requested: str = params["channel"]
        name = self._directory.resolve(requested)
        if name is None:
            seeking = self._directory.sought(requested)
            if seeking is not None:
                return self._subscribe_sought(peer, params, seeking)
        if name is None or not peer.sees(name):
            raise self._directory.not_found(requested)
        if kind_of(name) is ChannelKind.EXTENSION and self.extensions is not None:
            return self._enter(peer, name, params, self.extensions)
        waking = self._directory.ready(name)
        if waking is not None:
            return self._subscribe_later(peer, name, params, waking)
        peer.places.pop(name, None)
        return self._joined(peer, name, params)

    async def _subscribe_sought(
        self, peer: Peer, params: dict[str, Any], seeking: Awaitable[None]
    ) -> Result:
        """A target nobody here knows is looked for before it is called unknown."""
        name, place = canonical(params["channel"]), object()
        peer.places[name] = place
        await seeking
        if not peer.connected or peer.places.pop(name, None) is not place:
            raise internal_error(f"Subscription cancelled: {params['channel']}")
        if self._directory.resolve(name) is None:
            raise self._directory.not_found(params["channel"])
        answer = self.subscribe(peer, params)
        return answer if isinstance(answer, dict | Followed) else await answer

    async def _subscribe_later(
        self, peer: Peer, name: str, params: dict[str, Any], waking: Awaitable[None]
    ) -> State:
        await self._in_its_place(peer, name, params["channel"], waking)
        if not self._store.is_open(name):  # it went while it was waited for
            raise self._directory.not_found(params["channel"])
        return self._joined(peer, name, params)

    async def _in_its_place(
        self, peer: Peer, name: str, requested: str, waiting: Awaitable[T]
    ) -> T:
        """Wait with the subscription's place on the channel held. Raises where it was taken away."""
        place = object()
        kept = kind_of(name) in _WITHOUT_A_PLACE
        if not kept and not self._store.is_watching(name, peer):
            peer.places[name] = place
        try:
            found = await waiting
        finally:
            if peer.places.get(name) is place:
                del peer.places[name]
                kept = True
        if not peer.connected or not (kept or self._store.is_watching(name, peer)):
            if isinstance(found, Taken):
                found.drop()
            raise internal_error(f"Subscription cancelled: {requested}")
        return found

    def _joined(self, peer: Peer, name: str, params: dict[str, Any]) -> State:
        _set_window(peer, name, params)
        snapshot = self.join(peer, name, params["channel"], requested_turns(params.get("view")))
        return {"snapshot": snapshot}

    def _enter(
        self, peer: Peer, name: str, params: dict[str, Any], extensions: Extensions
    ) -> Result | Awaitable[Result]:
        """A SubscribeResult of a channel whose state is not in the store."""
        entering = extensions.enter(name, peer)
        if not isinstance(entering, Taken):
            return self._entered_later(peer, name, params, entering)
        peer.places.pop(name, None)
        return self._entered(peer, params, entering)

    async def _entered_later(
        self, peer: Peer, name: str, params: dict[str, Any], entering: Awaitable[Taken]
    ) -> Result:
        taken = await self._in_its_place(peer, name, params["channel"], entering)
        return self._entered(peer, params, taken)

    def _entered(self, peer: Peer, params: dict[str, Any], taken: Taken) -> Result:
        if taken.stale:
            taken.drop()
            if self._directory.resolve(taken.name) is None:
                raise self._directory.not_found(params["channel"])
            raise internal_error(f"{params['channel']} changed too much while it was being read")
        _set_window(peer, taken.name, params)
        snapshot, behind = self.take(peer, params["channel"], taken)
        return followed({"snapshot": snapshot}, peer, behind)

    def take(self, peer: Peer, requested: str, taken: Taken) -> tuple[State, Sequence[Envelope]]:
        """Register `peer` on a channel that was read for it: a Snapshot, and what follows it."""
        if not peer.connected:
            taken.drop()
            return {}, ()
        behind = taken.join(peer)
        peer.agreed().settle(taken.name)
        return {"resource": requested, "state": taken.state, "fromSeq": taken.seq}, behind

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
