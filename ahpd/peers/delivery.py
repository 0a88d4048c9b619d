"""Merging deltas for a connection that asked for fewer, larger ones.

A subscription may say `delivery.maxLatencyMs`. Deltas of one part that follow each
other are then held that long at most and sent as one, under the number of the last:
what a client reduces to is the same. Anything else the connection is sent goes out
behind what is held, so numbers only ever rise and a client that drops has not seen
past something it was never given.
"""

from collections.abc import Callable
from typing import Any, Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ahpd.channels.envelope import Envelope
from ahpd.wire.codec import Frame

#: The growing field of each delta action, and what else must be the same to merge two.
_GROWS: Final = {
    "chat/delta": ("content", ("turnId", "partId")),
    "chat/reasoning": ("content", ("turnId", "partId")),
    "chat/toolCallDelta": ("content", ("turnId", "toolCallId")),
    "terminal/data": ("data", ()),
}

#: Bytes held at most. What is held is in no queue yet, so nobody would wait for it.
MOST_HELD: Final = 64 * 1024

_Key = tuple[Any, ...]


class DeltaMerger:
    """Holds one run of deltas of one part. `send` is where frames go."""

    def __init__(self, clock: IReactorTime, send: Callable[[Frame], None]) -> None:
        self._clock = clock
        self._send = send
        self._held: list[Envelope] = []
        self._held_bytes = 0
        self._key: _Key | None = None
        self._timer: IDelayedCall | None = None

    def offer(self, envelope: Envelope, window_ms: float) -> None:
        """Send `envelope`, or hold it for at most `window_ms` where it is a delta."""
        key = _key(envelope) if window_ms > 0 else None
        if key is None:
            self.flush()
            self._send(envelope.frame)
            return
        if key != self._key:
            self.flush()
            self._key = key
            self._timer = self._clock.callLater(window_ms / 1000, self._due)
        self._held.append(envelope)
        self._held_bytes += len(envelope.body)
        if self._held_bytes >= MOST_HELD:
            self.flush()

    def flush(self) -> None:
        """Send what is held, now."""
        held, self._held, self._key = self._held, [], None
        self._held_bytes = 0
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if held:
            self._send(held[0].frame if len(held) == 1 else _merged(held).frame)

    def discard(self) -> None:
        """The connection is gone: forget what is held."""
        self._held = []
        self.flush()

    def _due(self) -> None:
        self._timer = None
        self.flush()


def _key(envelope: Envelope) -> _Key | None:
    grows = _GROWS.get(envelope.type)
    if grows is None or envelope.rejection is not None or envelope.origin is not None:
        return None
    field, same = grows
    action = envelope.action
    # A delta that carries more than its text (metadata, a message) says that once, at its place.
    if field not in action or len(action) != len(same) + 2:
        return None
    return (envelope.channel, envelope.type, *(action.get(name) for name in same))


def _merged(held: list[Envelope]) -> Envelope:
    field, _ = _GROWS[held[0].type]
    text = "".join(envelope.action[field] for envelope in held)
    last = held[-1]
    return Envelope(last.channel, {**last.action, field: text}, last.seq)
