"""What a client knows of its host's one order of actions: pure, without a connection.

The states held move here and nowhere else: by the snapshots of a handshake or a
subscribe, and by envelopes, each taken once and in the order of their `serverSeq`.
"""

from collections.abc import Callable, Sequence
from typing import Any

import attrs

from ahpd.client.envelope import ActionEnvelope, read_envelope
from ahpd.client.mirror import Mirror
from ahpd.protocol.uris import ChannelKind, canonical, kind_of

# Subscribed at `initialize` even where the answer holds no snapshot of them
# (AHP.txt, `initialize`); a channel without a state never has one.
_OWED_KINDS = (ChannelKind.SESSION, ChannelKind.CHAT, ChannelKind.TERMINAL, None)


@attrs.frozen
class Reconnected:
    """How a `reconnect` was answered (schema: ReconnectResult)."""

    type: str
    """`replay` or `snapshot`."""
    actions: tuple[ActionEnvelope, ...] = ()
    """What was replayed, in order; empty where snapshots came."""
    missing: tuple[str, ...] = ()
    """Channels that were subscribed to before and are not any more."""


class Conversation:
    """One client's view of one host.

    `tell` is given each envelope once it was dealt with, `violated` words for what the
    host may not have sent, `baseline` each snapshot (see `Mirror`).

    `last_seen` is the number a `reconnect` goes on from: every envelope up to it on the
    client's channels has come. A snapshot of one channel says nothing about the others,
    so a subscribe does not move it.
    """

    def __init__(
        self,
        tell: Callable[[ActionEnvelope], None],
        violated: Callable[[str], None],
        baseline: Callable[[str, dict[str, Any], bool], None],
    ) -> None:
        self.mirror = Mirror(baseline)
        self.version: str | None = None
        self.last_seen = 0
        self._tell = tell
        self._violated = violated
        self._held_back: list[ActionEnvelope] | None = None

    def received(self, params: dict[str, Any]) -> None:
        """An `action` notification came."""
        try:
            envelope = read_envelope(params)
        except ValueError as error:
            self._violated(f"an action notification is none: {error}")
            return
        if self._held_back is not None:
            self._held_back.append(envelope)
        else:
            self._take(envelope)

    def _take(self, envelope: ActionEnvelope) -> None:
        if envelope.seq <= self.last_seen:
            self._violated(
                f"{envelope.type} on {envelope.channel} has serverSeq {envelope.seq}, "
                f"and {self.last_seen} came before it"
            )
            return
        self.last_seen = envelope.seq
        try:
            wrong = self.mirror.take(envelope)
        except Exception as error:
            wrong = f"{envelope.type} on {envelope.channel} could not be reduced: {error!r}"
        if wrong is not None:
            self._violated(wrong)
        self._tell(envelope)

    # -- handshakes ---------------------------------------------------------------------

    def hold_back(self) -> None:
        """A handshake goes out: what is said before its answer waits for it."""
        self._held_back = []

    def let_through(self) -> None:
        """It was answered, or will not be."""
        held_back, self._held_back = self._held_back, None
        for envelope in held_back or ():
            self._take(envelope)

    def initialized(self, result: dict[str, Any], wanted: Sequence[str]) -> None:
        """Begin anew from an InitializeResult; `wanted` are the channels asked for."""
        version, last_seen = str(result["protocolVersion"]), int(result["serverSeq"])
        self.mirror.clear()
        for snapshot in result["snapshots"]:
            last_seen = min(last_seen, self.mirror.seed(snapshot))
        for channel in wanted:
            if self.mirror.find(channel) is None and kind_of(channel) in _OWED_KINDS:
                self.mirror.expect(channel)
        self.version = version
        self.last_seen = last_seen
        self.let_through()

    def resumed(self, result: dict[str, Any]) -> Reconnected:
        """Go on from a ReconnectResult."""
        if result["type"] == "snapshot":
            answer = self._from_snapshots(result["snapshots"])
        elif result["type"] == "replay":
            answer = self._from_replay(result["actions"], result["missing"])
        else:
            raise ValueError(f"type is {result['type']!r}, expected replay or snapshot")
        self.let_through()
        return answer

    def _from_replay(self, actions: list[Any], missing: list[str]) -> Reconnected:
        envelopes = tuple(read_envelope(value, replayed=True) for value in actions)
        for channel in missing:
            self.mirror.drop(channel)
        for envelope in envelopes:
            self._take(envelope)
        return Reconnected("replay", envelopes, tuple(missing))

    def _from_snapshots(self, snapshots: list[dict[str, Any]]) -> Reconnected:
        came = {canonical(snapshot["resource"]) for snapshot in snapshots}
        numbers = [self.mirror.seed(snapshot) for snapshot in snapshots]
        missing = []
        for held in self.mirror:
            # A channel without a state has no snapshot to come back with.
            if held.kind is not None and canonical(held.name) not in came:
                self.mirror.drop(held.name)
                missing.append(held.name)
        if numbers:
            self.last_seen = min(numbers)
        return Reconnected("snapshot", (), tuple(missing))
