"""Actions on sessions that are not awake: which of them wait, and which one wakes nobody."""

from collections.abc import Awaitable, Callable

from zope.interface import implementer

from ahpd.channels.envelope import Origin
from ahpd.channels.store import ChannelStore
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


@implementer(IActionHandler)
class StopsOfNothing:
    """Hands actions to `handler` but for a stop on a chat that is asleep.

    It runs no turn and stays asleep; the stop is said as it came, and stops nothing
    (AHP.txt, `chat/turnCancelled`). `asleep` answers the name such a chat is held under.
    """

    def __init__(
        self, handler: IActionHandler, store: ChannelStore, asleep: Callable[[str], str | None]
    ) -> None:
        self._handler = handler
        self._store = store
        self._asleep = asleep

    def handle(self, channel: str, action: Action, origin: Origin) -> Awaitable[None] | None:
        """See `IActionHandler.handle`."""
        if action["type"] == "chat/turnCancelled":
            name = self._asleep(channel)
            if name is not None:
                self._store.dispatch(name, action, origin)
                return None
        return self._handler.handle(channel, action, origin)
