"""How much of a terminal's output is read in one turn of the reactor.

One reading of a pseudo-terminal gives 4 KiB whatever is asked for. Each further one in a
turn waits in the kernel for the worker that brings the next 4 KiB, the whole reactor with
it; so a piece of many readings is cheap for a flood, and is what everybody else waits for.
"""

from typing import Final

from twisted.internet.interfaces import IReactorTime

#: Bytes read in a turn where nobody is known to wait: about what is said as one piece.
AT_EASE: Final = 48 * 1024
#: The same of a terminal beside one somebody types into: whatever one reading gives.
BESIDE_TYPING: Final = 1
#: Seconds after a key in which another one is expected.
TYPING: Final = 1.0


class Turns:
    """Sets the turns of terminals that share a reactor. A terminal is known by its identity."""

    __slots__ = ("_clock", "_into", "_typed_at")

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._into: object = None
        self._typed_at = 0.0

    def typed(self, into: object) -> None:
        """Something was typed into a terminal."""
        self._into = into
        self._typed_at = self._clock.seconds()

    def left(self, terminal: object) -> None:
        """A terminal is over: nobody types into it any more."""
        if self._into is terminal:
            self._into = None

    def size(self, of: object) -> int:
        """How many bytes of a terminal make a piece now."""
        if self._into is None or self._into is of:
            return AT_EASE
        if self._clock.seconds() - self._typed_at < TYPING:
            return BESIDE_TYPING
        self._into = None
        return AT_EASE
