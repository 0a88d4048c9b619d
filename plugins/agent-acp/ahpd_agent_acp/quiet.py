"""When a replay is over, of an agent that goes on with it after it has answered.

`session/load` is to be answered once the history was replayed (ACP, "Loading Sessions"). Some
agents answer first. What they replay then would be taken for the answer to the next prompt, so
nothing is sent before they have been quiet for a while.
"""

from typing import Any, Final

from twisted.internet.task import deferLater

#: Seconds without an update after which a replay is over. A replay is read from memory, so what
#: comes between two updates of it is a turn of an agent's own loop.
QUIET: Final = 0.3

#: Seconds after which it is over in any case: something else is being said.
LONGEST: Final = 5.0


class Quiet:
    """Waits for one program; `heard` is called for each update it sends."""

    def __init__(self, reactor: Any) -> None:
        self._reactor = reactor
        self._last = 0.0

    def heard(self) -> None:
        """It said something."""
        self._last = self._reactor.seconds()

    async def settled(self) -> None:
        """Returns once nothing was heard for `QUIET` seconds, from now on, or after `LONGEST`."""
        began = self._last = self._reactor.seconds()
        while (now := self._reactor.seconds()) < began + LONGEST and now < self._last + QUIET:
            await deferLater(self._reactor, self._last + QUIET - now)
