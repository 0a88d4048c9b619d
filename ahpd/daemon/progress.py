"""What a start is at, said to whoever waits for it, and said again for as long as that lasts.

Each step of loading a plugin is bounded, and there may be any number of plugins. So a start is not
bounded as a whole: who waits goes on waiting while it is said what the start is at. A process that
hangs says nothing.
"""

from collections.abc import Callable
from typing import Any, Final

from twisted.internet.interfaces import IDelayedCall

#: Seconds between two times of saying one thing.
EVERY: Final = 5.0


class Progress:
    """Tells `say` what the start is at. `reactor` is what stands still where a start hangs."""

    def __init__(self, reactor: Any, say: Callable[[str], object]) -> None:
        self._reactor = reactor
        self._say = say
        self._again: IDelayedCall | None = None

    def step(self, words: str | None) -> None:
        """What it is at from now on (`loading the plugin notes`); None once all are loaded."""
        if self._again is not None:
            self._again.cancel()
            self._again = None
        if words is None:
            self._say("starting")
        else:
            self._said(words)

    def _said(self, words: str) -> None:
        self._say(words)
        self._again = self._reactor.callLater(EVERY, self._said, words)
