"""The channels a client is subscribed to, and what it holds of each.

A channel's state moves by a snapshot, which replaces it, and by the envelopes past
that snapshot's `fromSeq`, each applied once (AHP.txt, `subscribe` and `reconnect`).
Nothing is applied ahead of the host.
"""

from collections.abc import Callable, Iterator
from typing import Any

import attrs

from ahpd.client.envelope import ActionEnvelope
from ahpd.protocol import State
from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.uris import ChannelKind, canonical, kind_of


@attrs.define(eq=False)
class MirroredChannel:
    """One channel of this client's."""

    name: str
    """The URI as the client spelled it."""
    kind: ChannelKind | None
    state: State | None = None
    """The state held; None for a channel that has none, or none yet."""
    seq: int = 0
    """What is said on the channel up to this number is in `state`."""
    subscribed: bool = False
    """Whether the host has said yes."""
    asking: int = 0
    """How many `subscribe` requests are out."""
    since_asked: list[ActionEnvelope] = attrs.field(factory=list)
    """What was said while one was out: its snapshot may or may not hold them."""

    def apply(self, envelope: ActionEnvelope) -> None:
        """Reduce an action that is past `seq`; a refusal moves nothing but the number."""
        if self.state is not None and envelope.rejection is None:
            reducer = None if self.kind is None else REDUCERS.get(self.kind)
            if reducer is not None:
                self.state = reducer(self.state, envelope.action)
        self.seq = envelope.seq

    def replace(self, state: State | None, from_seq: int) -> None:
        """Hold a snapshot, and on it what was said past it while it was on its way."""
        self.state = state
        self.seq = from_seq
        for envelope in self.since_asked:
            if envelope.seq > from_seq:
                self.apply(envelope)


@attrs.define(eq=False)
class Asked:
    """One `subscribe` that went out."""

    held: MirroredChannel
    out: bool = True
    """Whether it is still to be answered."""


class Mirror:
    """All channels of one client, found under any spelling of a well-known one.

    `baseline` is told of each snapshot before it is held: the channel's name, the
    snapshot, and whether a state of the channel was held, and kept up to date, until now.
    """

    def __init__(self, baseline: Callable[[str, dict[str, Any], bool], None]) -> None:
        self._baseline = baseline
        self._channels: dict[str, MirroredChannel] = {}

    def __iter__(self) -> Iterator[MirroredChannel]:
        return iter(tuple(self._channels.values()))

    def find(self, channel: str) -> MirroredChannel | None:
        """The channel, or None where this client has none by that name."""
        return self._channels.get(canonical(channel))

    def subscribed(self) -> list[str]:
        """The channels the host has taken a subscription for, in their order."""
        return [held.name for held in self._channels.values() if held.subscribed]

    def clear(self) -> None:
        """Forget everything: a new conversation."""
        self._channels.clear()

    def drop(self, channel: str) -> None:
        """Forget one channel; one that is not held is no error."""
        self._channels.pop(canonical(channel), None)

    # -- asking -------------------------------------------------------------------

    def asked(self, channel: str) -> Asked:
        """A `subscribe` of `channel` goes out."""
        held = self._held(channel)
        held.asking += 1
        return Asked(held)

    def granted(self, asked: Asked, snapshot: dict[str, Any] | None) -> None:
        """It was answered. `snapshot` is None for a channel without a state.

        Raises as `read_snapshot` does, and then counts as not answered yet.
        """
        held = asked.held
        read = None if snapshot is None else read_snapshot(snapshot)
        self._answered(asked)
        if self._channels.get(canonical(held.name)) is not held:
            return  # an `unsubscribe` went out after it, which the host read after it
        if snapshot is not None and read is not None:
            self._baseline(held.name, snapshot, held.subscribed and held.state is not None)
            held.replace(*read)
        held.subscribed = True
        if not held.asking:
            held.since_asked.clear()

    def denied(self, asked: Asked) -> None:
        """It was refused, or its answer will not come. After `granted` it does nothing."""
        held = asked.held
        self._answered(asked)
        if held.asking:
            return
        held.since_asked.clear()
        if not held.subscribed and self._channels.get(canonical(held.name)) is held:
            del self._channels[canonical(held.name)]

    def _answered(self, asked: Asked) -> None:
        if asked.out:
            asked.out = False
            asked.held.asking -= 1

    # -- baselines from a handshake -------------------------------------------------

    def seed(self, snapshot: dict[str, Any]) -> int:
        """Hold a channel from a snapshot that came in a handshake; its `fromSeq`."""
        state, from_seq = read_snapshot(snapshot)
        held = self._held(snapshot["resource"])
        self._baseline(held.name, snapshot, False)
        held.subscribed = True
        held.replace(state, from_seq)
        return from_seq

    def expect(self, channel: str) -> None:
        """Hold a channel the host subscribed this client to without a snapshot."""
        self._held(channel).subscribed = True

    def _held(self, channel: str) -> MirroredChannel:
        key = canonical(channel)
        held = self._channels.get(key)
        if held is None:
            held = self._channels[key] = MirroredChannel(channel, kind_of(channel))
        return held

    # -- envelopes -------------------------------------------------------------------

    def take(self, envelope: ActionEnvelope) -> str | None:
        """Apply one envelope where it belongs; words where the host may not have sent it.

        On a channel this client does not hold nothing is applied: the answer to a
        dispatch reaches its sender anywhere. What a `reconnect` replays may already be
        in a snapshot and is then passed over.
        """
        held = self.find(envelope.channel)
        if held is None:
            return None
        if held.asking:
            held.since_asked.append(envelope)
        if held.subscribed and envelope.seq > held.seq:
            held.apply(envelope)
        elif held.subscribed and not (held.asking or envelope.replayed):
            return (
                f"{envelope.type} on {envelope.channel} has serverSeq {envelope.seq}, "
                f"and the state held is of {held.seq} already"
            )
        return None


def read_snapshot(snapshot: dict[str, Any]) -> tuple[State, int]:
    """A snapshot's state and number. Raises `ValueError` or `KeyError` where it is none."""
    state, from_seq = snapshot["state"], snapshot["fromSeq"]
    if not isinstance(state, dict):
        raise ValueError("the snapshot's state is no object")
    return state, int(from_seq)
