"""What one connection is sent, bounded by what it has not read.

Before each frame the bytes the transport still holds are counted; past the limit
the client is named in the log and the connection ended, not written to. The client
comes back with `reconnect` (AHP.txt, "A client that stops reading").
"""

from collections.abc import Callable
from typing import Final

from twisted.logger import Logger

from ahpd.interfaces import IConnection
from ahpd.wire.codec import Frame

log = Logger()

#: What a reader may owe before its sources are asked to wait, in bytes.
LAG: Final = 1024 * 1024


class Outbox:
    """The way out of one connection.

    `limit()` is how many unread bytes end it, 0 for no limit, read at each send so
    that a change applies at once. `who()` names the client for the log.
    """

    def __init__(
        self, connection: IConnection, limit: Callable[[], int], who: Callable[[], str]
    ) -> None:
        self._connection = connection
        self._limit = limit
        self._who = who
        self.closed = False

    def send(self, frame: Frame) -> None:
        """Send `frame`, or end the connection where the other side is too far behind."""
        if self.closed:
            return
        pending = self._connection.pending_bytes()
        if pending:
            limit = self._limit()
            if limit and pending > limit:
                self.closed = True
                log.warn(
                    "{who} is not reading: {pending} bytes wait, {limit} are allowed; closed",
                    who=self._who(),
                    pending=pending,
                    limit=limit,
                )
                self._connection.abort()
                return
        self._connection.send(frame)

    def lagging(self) -> bool:
        """Whether the other side owes a lot and is working on it."""
        if self.closed:
            return False
        pending = self._connection.pending_bytes()
        return pending is not None and pending > LAG and self._connection.progressing()
