"""What is said on a channel while its snapshot is read."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from zope.interface import implementer

from ahpd.interfaces import IClientConnection, ISubscriber

if TYPE_CHECKING:
    from ahpd.channels.envelope import Envelope
    from ahpd.wire.codec import Frame

#: How many actions may be said on a channel while its snapshot is read.
MOST: Final = 10_000


@implementer(ISubscriber)
class Collector:
    """Watches a channel for a connection that is about to, and keeps what that one is owed."""

    def __init__(self, connection: IClientConnection) -> None:
        self.connection = connection
        self.overrun = False
        """Whether more was said than is kept: the snapshot is of no use."""
        self._kept: list[Envelope] = []

    @property
    def kept(self) -> Sequence["Envelope"]:
        """What was said since it began, in order."""
        return self._kept

    def restart(self) -> None:
        """Forget what was said so far: the state that was read has it."""
        self._kept.clear()

    def deliver(self, envelope: "Envelope") -> None:
        """See `ISubscriber.deliver`."""
        if len(self._kept) >= MOST:
            self.overrun = True
            self._kept.clear()
        elif not self.overrun:
            self._kept.append(envelope)

    def notify(self, channel: str, method: str, frame: "Frame") -> None:
        """A notification is no part of a state, and nobody watches yet."""

    def lagging(self) -> bool:
        """See `ISubscriber.lagging`."""
        return False
