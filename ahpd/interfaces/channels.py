"""The channel store's side: who watches, who decides on actions, who knows which channels."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING

from zope.interface import Interface

from ahpd.protocol import Action
from ahpd.protocol.errors import shortened

if TYPE_CHECKING:
    from ahpd.channels.envelope import Envelope, Origin
    from ahpd.wire.codec import Frame


class ISubscriber(Interface):
    """Somebody watching channels. A subscriber that raises is logged and costs nobody else."""

    def deliver(envelope: "Envelope") -> None:
        """One sequenced action on a watched channel, in order."""

    def notify(channel: str, method: str, frame: "Frame") -> None:
        """One stateless notification on a watched channel."""

    def lagging() -> bool:
        """Whether it has a lot still to read and is reading: its sources should wait."""


class IActionHandler(Interface):
    """Decides what a client's action on one kind of channel does.

    It is called with an action whose type a client may send and whose shape was
    checked. It accepts by dispatching the action to the store with its origin, and
    refuses by raising `Refusal`. An awaitable answer holds back that client's later
    actions until it is done.
    """

    def handle(channel: str, action: Action, origin: "Origin") -> Awaitable[None] | None:
        """Act on `action`; `channel` is spelled as the client spelled it."""


class IChannelSource(Interface):
    """Knows which channels of a kind exist, under which spelling, and how to wake one."""

    def resolve(channel: str) -> str | None:
        """The URI `channel` is held under, or None when nothing here answers to it.

        Cheap and synchronous: no waking, no I/O.
        """

    def ready(channel: str) -> Awaitable[None] | None:
        """Bring the channel's state into the store. `channel` is what `resolve` answered.

        Raises `RpcError` when that cannot be done. None where the state is held already.
        """

    def sought(channel: str) -> Awaitable[None] | None:
        """Look further for a channel `resolve` does not know; it may know it once that is done.

        None where there is nowhere to look.
        """


class Refusal(Exception):
    """An action this host will not act on; the words become its `rejectionReason`."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = shortened(reason)
