"""The first program of an agent is started alone.

What a program makes in its home the first time it runs - a database, its settings - two that
start at once make both, and one of them fails. So others wait until one has answered the
handshake; from then on programs start side by side.
"""

from collections.abc import Awaitable, Callable

from twisted.internet.defer import DeferredLock


class Starts:
    """How the programs of one agent are started."""

    def __init__(self) -> None:
        self._one = DeferredLock()
        self._went_well = False

    async def run(self, start: Callable[[], Awaitable[None]]) -> None:
        """Run `start`, alone until one has returned. What it raises is raised."""
        if self._went_well:
            await start()
            return
        await self._one.acquire()
        try:
            if not self._went_well:
                await start()
                self._went_well = True
                return
        finally:
            self._one.release()
        await start()
