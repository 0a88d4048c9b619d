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

#: What a reader may owe before its sources are asked to wait, in bytes, and as a share of
#: what would end it: a client that reads is held back for long before it is closed.
LAG: Final = 1024 * 1024
_LAG_SHARE: Final = 4


class Outbox:
    """The way out of one connection.

    `limit()` is how many unread bytes end it, 0 for no limit, read at each send so
    that a change applies at once. `who()` names the client for the log.

    A frame that is larger than the limit by itself, a snapshot for one, is not held
    against its reader: while it is on its way the limit is for what comes behind it.
    Else such a client would be closed for reading its answer, come back, and be given
    the same again. Of several on their way one is excused, so that a client cannot ask
    for as much as it likes and read nothing.
    """

    def __init__(
        self, connection: IConnection, limit: Callable[[], int], who: Callable[[], str]
    ) -> None:
        self._connection = connection
        # Called for every frame of every connection.
        self._pending_bytes = connection.pending_bytes
        self._pass_on = connection.send
        self._limit = limit
        self._who = who
        self._excused = 0
        self._closed = False
        #: What was sent, in messages and in bytes of their JSON.
        self.frames = 0
        self.bytes = 0

    @property
    def closed(self) -> bool:
        """Whether nothing is sent any more. Once it is, it stays."""
        return self._closed

    def close(self) -> None:
        """Send nothing from now on, and count nothing: no send asks whether it is closed."""
        self._closed = True
        self._pending_bytes = _nothing_waits
        self._pass_on = self._pass_over

    def _pass_over(self, frame: Frame) -> None:
        self.frames -= 1
        self.bytes -= frame.size

    def send(self, frame: Frame) -> None:
        """Send `frame`, or end the connection where the other side is too far behind."""
        pending = self._pending_bytes()
        if not pending:
            self._excused = 0
        elif self._too_far_behind(pending):
            return
        self._pass_on(frame)
        size = frame.size
        self.frames += 1
        self.bytes += size
        # No limit is below `LAG` (docs/configuration.md), so most frames cost one comparison.
        if size > LAG and size > self._excused and size > self._limit():
            self._excused = size

    def _too_far_behind(self, pending: int) -> bool:
        limit = self._limit()
        if pending <= limit:
            self._excused = 0
        if not limit or pending <= limit + self._excused:
            return False
        self.close()
        log.warn(
            "{who} is not reading: {pending} bytes wait, {limit} are allowed; closed",
            who=self._who(),
            pending=pending,
            limit=limit,
        )
        self._connection.abort()
        return True

    def lagging(self) -> bool:
        """Whether the other side owes a lot and is working on it."""
        pending = self._pending_bytes()
        if not pending:
            return False
        limit = self._limit()
        most = min(LAG, limit // _LAG_SHARE) if limit else LAG
        return pending > most and self._connection.progressing()


def _nothing_waits() -> int | None:
    return 0
