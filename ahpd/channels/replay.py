"""The replay buffer: what was said lately, for clients that come back.

Bounded twice, by count and by bytes, whichever comes first; the newest envelope
is kept whatever it weighs (AHP.txt, "A client that stops reading").
"""

from collections import deque
from collections.abc import Collection
from typing import Final

from ahpd.channels.envelope import Envelope

MAX_ENVELOPES: Final = 1000


class ReplayBuffer:
    """The last envelopes of every channel, oldest first.

    `max_bytes` bounds the sum of the encoded envelopes; 0 sets no limit.
    """

    def __init__(self, max_bytes: int, max_envelopes: int = MAX_ENVELOPES) -> None:
        self.max_bytes = max_bytes
        self.max_envelopes = max_envelopes
        self._held: deque[Envelope] = deque()
        self._bytes = 0

    def __len__(self) -> int:
        return len(self._held)

    @property
    def weight(self) -> int:
        """Bytes held, as the envelopes are encoded."""
        return self._bytes

    def append(self, envelope: Envelope) -> None:
        """Hold `envelope`, dropping the oldest while either bound is passed."""
        held = self._held
        held.append(envelope)
        self._bytes += len(envelope.body)
        if len(held) > self.max_envelopes and len(held) > 1:
            self._bytes -= len(held.popleft().body)
        if self.max_bytes:
            while self._bytes > self.max_bytes and len(held) > 1:
                self._bytes -= len(held.popleft().body)

    def covers(self, last_seen: int, current: int) -> bool:
        """Whether a client that saw up to `last_seen` can be replayed the rest.

        It can when it has seen the oldest envelope held, or everything where none is
        held; a client ahead of this host has nothing to be replayed.
        """
        if last_seen >= current:
            return True
        return bool(self._held) and last_seen >= self._held[0].seq

    def after(self, last_seen: int, channels: Collection[str]) -> list[Envelope]:
        """The envelopes past `last_seen` on any of `channels`, oldest first."""
        return [e for e in self._held if e.seq > last_seen and e.channel in channels]
