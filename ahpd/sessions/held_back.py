"""Actions on what only a backend keeps wait until it is read; all others are not held up."""

from collections.abc import Awaitable, Callable

from zope.interface import implementer

from ahpd.channels.envelope import Origin
from ahpd.interfaces import IActionHandler
from ahpd.protocol import Action

#: Brings what a channel belongs to into this host; None where it is here.
Waited = Callable[[str], Awaitable[None] | None]


@implementer(IActionHandler)
class HeldBack:
    """Hands actions to `handler`, those of a channel that is waited for once it is there."""

    def __init__(self, handler: IActionHandler, waited: Waited) -> None:
        self._handler = handler
        self._waited = waited

    def handle(self, channel: str, action: Action, origin: Origin) -> Awaitable[None] | None:
        """See `IActionHandler.handle`."""
        waiting = self._waited(channel)
        if waiting is None:
            return self._handler.handle(channel, action, origin)
        return self._later(waiting, channel, action, origin)

    async def _later(
        self, waiting: Awaitable[None], channel: str, action: Action, origin: Origin
    ) -> None:
        await waiting
        done = self._handler.handle(channel, action, origin)
        if done is not None:
            await done
