"""A connection that ends in this process: what a peer sends is kept, nothing is read."""

from zope.interface import implementer

from ahpd.interfaces import IConnection
from ahpd.wire.codec import Frame


@implementer(IConnection)
class MemoryConnection:
    """Keeps every payload it is given, in order."""

    name = "bench"

    def __init__(self) -> None:
        self.sent: list[bytes] = []

    def send(self, frame: Frame) -> None:
        """Keep it."""
        self.sent.append(frame.payload)

    def pending_bytes(self) -> int | None:
        """A wire that cannot say."""
        return None

    def progressing(self) -> bool:
        """Always."""
        return True

    def close(self, code: int, reason: str) -> None:
        """Nothing to do."""

    def abort(self) -> None:
        """Nothing to do."""
