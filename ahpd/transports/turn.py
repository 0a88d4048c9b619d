"""The end of a reactor turn, when what the turn wrote is sent.

What a turn has for one connection leaves in one `send`, however many frames it is, and
one timer serves all connections of a listener.
"""

from typing import Protocol

from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

_log = Logger()


class Flushable(Protocol):
    """What is called at the end of a turn it was marked in."""

    def flush(self) -> None:
        """Send what the turn wrote."""


class Turn:
    """Calls back whoever was marked, in order, as soon as the reactor is done with this turn."""

    def __init__(self, clock: IReactorTime) -> None:
        self.clock = clock
        self._marked: list[Flushable] = []

    def mark(self, written: Flushable) -> None:
        """Have `written.flush` called once at the end of this turn, whatever others do."""
        if not self._marked:
            self.clock.callLater(0, self._over)
        self._marked.append(written)

    def _over(self) -> None:
        marked, self._marked = self._marked, []
        for written in marked:
            try:
                written.flush()
            except Exception:
                _log.failure("what was written could not be sent")
