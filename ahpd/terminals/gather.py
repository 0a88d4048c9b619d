"""Output said in few pieces: at once where a terminal is quiet, gathered where it floods."""

from collections.abc import Callable
from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime

#: Characters from which on a piece is full. To say one costs as much as these, so they share
#: it; a larger one keeps everybody else waiting for longer, and with what was read last and
#: its envelope it would leave in two sends (`transports.queue.PIECE`).
MOST: Final = 48 * 1024
#: How long after something was said the next piece is gathered, in seconds: what is typed is
#: echoed without delay, and what floods makes two hundred pieces a second or full ones.
WINDOW: Final = 0.005
#: Less than this is no time: a clock's sums are not exact.
_NOW: Final = 1e-6


class Gatherer:
    """Hands text on to `say` in order, in pieces of less than twice `MOST` characters.

    What comes when nothing was said for `WINDOW` seconds is said in the call.
    """

    __slots__ = ("_clock", "_held", "_length", "_said_at", "_say", "_timer")

    def __init__(self, clock: IReactorTime, say: Callable[[str], None]) -> None:
        self._clock = clock
        self._say = say
        self._held: list[str] = []
        self._length = 0
        self._said_at = -WINDOW
        self._timer: IDelayedCall | None = None

    def add(self, text: str) -> None:
        """Say `text`, now or soon, in the order it came."""
        if not text:
            return
        self._held.append(text)
        self._length += len(text)
        if self._length >= MOST:
            self.flush()
        elif self._timer is None:
            due = self._said_at + WINDOW - self._clock.seconds()
            if due <= _NOW:
                self.flush()
            else:
                self._timer = self._clock.callLater(due, self._due)

    def flush(self) -> None:
        """Say now what is held."""
        if not self._held:
            return
        text = self._held[0] if len(self._held) == 1 else "".join(self._held)
        self._held = []
        self._length = 0
        self._said_at = self._clock.seconds()
        while len(text) >= 2 * MOST:
            self._say(text[:MOST])
            text = text[MOST:]
        self._say(text)

    def stop(self) -> None:
        """Say what is held, and leave nothing on the clock."""
        self.flush()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _due(self) -> None:
        self._timer = None
        if not self._held:
            return
        due = self._said_at + WINDOW - self._clock.seconds()
        if due <= _NOW:
            self.flush()
        else:  # a full piece was said meanwhile
            self._timer = self._clock.callLater(due, self._due)
