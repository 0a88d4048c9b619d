"""How fast a terminal's output is read: no faster than its readers, and after who types.

A program whose output is not read waits, once the kernel's buffer is full.
"""

from collections.abc import Callable
from typing import Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime

from ahpd.interfaces import ITerminalProcess

#: How often a terminal whose output waits for a reader looks again, in seconds.
_LOOK_AGAIN: Final = 0.005

#: How long the others wait at most where somebody types, in seconds. Then they are read for
#: as long as they waited: whoever types without pause takes half of their time.
GIVE_WAY: Final = 0.005
#: How long they wait once the echo came: it is still to be sent, in seconds.
_ON_ITS_WAY: Final = 0.001
#: A terminal that printed nothing for this long is in nobody's way, in seconds.
_BUSY: Final = 0.05


class Pace:
    """Reads one program's output, or leaves it.

    `lagging()` says whether somebody watching has much to read and is reading it: a
    terminal nobody watches, or only somebody who has stopped reading, waits for nobody.
    """

    __slots__ = ("_behind", "_clock", "_gives_way", "_lagging", "_over", "_process", "_timer")

    def __init__(
        self, clock: IReactorTime, process: ITerminalProcess, lagging: Callable[[], bool]
    ) -> None:
        self._clock = clock
        self._process = process
        self._lagging = lagging
        self._behind = False
        self._gives_way = False
        self._over = False
        self._timer: IDelayedCall | None = None

    def said(self) -> None:
        """Something was said: have the program wait where it is too much for somebody."""
        if not self._behind and not self._over and self._lagging():
            self._behind = True
            if not self._gives_way:
                self._process.pause_output()
            self._timer = self._clock.callLater(_LOOK_AGAIN, self._look)

    def give_way(self) -> None:
        """Wait until `go_on`: somebody types elsewhere."""
        if self._over or self._gives_way:
            return
        self._gives_way = True
        if not self._behind:
            self._process.pause_output()

    def go_on(self) -> None:
        """Whoever typed has had the time."""
        if self._gives_way:
            self._gives_way = False
            if not self._behind:
                self._process.resume_output()

    def release(self) -> None:
        """Hold the program back no more: it is over, or is to be."""
        self._over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._behind or self._gives_way:
            self._behind = self._gives_way = False
            self._process.resume_output()

    def _look(self) -> None:
        self._timer = None
        if self._lagging():
            self._timer = self._clock.callLater(_LOOK_AGAIN, self._look)
            return
        self._behind = False
        if not self._gives_way:
            self._process.resume_output()


class Typing:
    """Has terminals that print give way to the one somebody types into.

    Each piece of a flood that is read stands before what is echoed. So for a moment after
    a key nothing else is read; its echo comes as soon as if nothing else was there.
    """

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._printed_at: dict[Pace, float] = {}
        self._into: Pace | None = None
        self._waiting: list[Pace] = []
        self._timer: IDelayedCall | None = None
        self._began = 0.0
        self._rests_until = 0.0

    def join(self, pace: Pace) -> None:
        """A terminal was opened."""
        self._printed_at[pace] = -_BUSY

    def leave(self, pace: Pace) -> None:
        """A terminal prints no more."""
        self._printed_at.pop(pace, None)

    def typed(self, into: Pace) -> None:
        """Somebody typed into a terminal."""
        now = self._clock.seconds()
        if self._timer is not None or now < self._rests_until:
            return
        self._waiting = [
            pace
            for pace, printed_at in self._printed_at.items()
            if pace is not into and now - printed_at < _BUSY
        ]
        if not self._waiting:
            return
        self._into, self._began = into, now
        for pace in self._waiting:
            pace.give_way()
        self._timer = self._clock.callLater(GIVE_WAY, self._over)

    def printed(self, pace: Pace) -> None:
        """A terminal printed. Where it is the one that was typed into, that was the echo."""
        if pace in self._printed_at:
            self._printed_at[pace] = self._clock.seconds()
        if pace is self._into and self._timer is not None:
            self._into = None
            self._timer.cancel()
            self._timer = self._clock.callLater(_ON_ITS_WAY, self._over)

    def stop(self) -> None:
        """Have nobody wait, and leave nothing on the clock."""
        if self._timer is not None:
            self._timer.cancel()
            self._over()

    def _over(self) -> None:
        now = self._clock.seconds()
        self._timer = self._into = None
        self._rests_until = now + (now - self._began)
        waiting, self._waiting = self._waiting, []
        for pace in waiting:
            pace.go_on()
