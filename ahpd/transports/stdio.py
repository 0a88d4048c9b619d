"""AHP over a pair of pipes: one JSON message a line on standard input and output.

Standard output carries the protocol only. When the transport takes the process's own
descriptors it keeps a private copy of 1 for itself and points 1 at standard error, so
`print`, a library's banner and a child that inherits 1 all end up on standard error;
descriptor 0 is pointed at `/dev/null`, so nobody else reads the protocol's input. Both
are put back when the service stops.

End of input ends the connection: what was sent goes out, then the handler is told.
"""

import os
import sys
from typing import Any

import attrs
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.error import ConnectionAborted
from twisted.internet.interfaces import IDelayedCall, IHalfCloseableProtocol, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.internet.stdio import StandardIO
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ahpd.interfaces import IConnection, IMessageHandler, IPeerFactory
from ahpd.transports.queue import WriteQueue
from ahpd.transports.turn import Turn
from ahpd.wire.codec import Frame, message_frame
from ahpd.wire.lines import DEFAULT_LIMIT, LineReader, LineTooLong

_log = Logger()

_PARSE_ERROR = -32700


@attrs.frozen
class Descriptors:
    """What the transport reads from and writes to; both are its own, and it closes them."""

    read: int
    write: int


@implementer(IConnection, IHalfCloseableProtocol)
class StdioConnection(Protocol):
    """The one connection of a stdio transport."""

    name = "stdio"
    address: str | None = None
    forwarded_for: str | None = None

    def __init__(
        self,
        peers: IPeerFactory,
        clock: IReactorTime,
        ended: "Deferred[str]",
        limit: int,
        close_timeout: float,
    ) -> None:
        self._peers = peers
        self._clock = clock
        self._ended = ended
        self._lines = LineReader(limit)
        self._close_timeout = close_timeout
        self._handler: IMessageHandler | None = None
        self._queue: WriteQueue | None = None
        self._timer: IDelayedCall | None = None
        self._why: str | None = None
        self._lost = False

    # -- IConnection -----------------------------------------------------------

    def send(self, frame: Frame) -> None:
        # `frame.framed` is the WebSocket's; a line is its payload and one byte.
        if self._queue is not None and self._why is None:
            self._queue.write_parts((*frame.parts, b"\n"))

    def pending_bytes(self) -> int | None:
        return 0 if self._queue is None else self._queue.pending_bytes()

    def progressing(self) -> bool:
        return self._queue is None or self._queue.progressing()

    def close(self, code: int, reason: str) -> None:
        self._end(f"closed here: {code} {reason}".rstrip())

    def abort(self) -> None:
        self._why = self._why or "cut off here"
        self._cut()

    def _end(self, why: str) -> None:
        if self._why is not None or self._queue is None:
            return
        self._why = why
        self._timer = self._clock.callLater(self._close_timeout, self._cut)
        self._queue.finish()

    def _cut(self) -> None:
        # A pipe whose reader stands still has no other end than this.
        transport: Any = self.transport
        if not self._lost and transport is not None:
            self._clock.callLater(0, self._drop, transport)

    def _drop(self, transport: Any) -> None:
        if not self._lost:
            transport.connectionLost(Failure(ConnectionAborted()))

    # -- what Twisted calls ----------------------------------------------------

    def connectionMade(self) -> None:
        self._queue = WriteQueue(self.transport, Turn(self._clock))
        try:
            self._handler = self._peers.accept(self)
        except Exception:
            _log.failure("stdio: no peer could be made for it")
            self._end("no peer could be made")

    def dataReceived(self, data: bytes) -> None:
        self._read(self._lines.feed(data))

    def _read(self, lines: list[bytes | LineTooLong]) -> None:
        for line in lines:
            if self._why is not None or self._handler is None:
                return
            if isinstance(line, LineTooLong):
                self._answer_too_long(line)
                continue
            try:
                self._handler.message_received(line)
            except Exception:
                _log.failure("stdio: its handler failed on a message")
                self._end("its handler failed")

    def _answer_too_long(self, line: LineTooLong) -> None:
        message = f"a message may be {line.limit} bytes; this line is longer and was skipped"
        error = {"code": _PARSE_ERROR, "message": message}
        self.send(message_frame({"jsonrpc": "2.0", "id": None, "error": error}))

    def readConnectionLost(self) -> None:
        """End of input; its last line may lack its newline."""
        self._read(self._lines.finish())
        self._end("end of input")

    def writeConnectionLost(self) -> None:
        """Nobody reads the output any more."""
        self._why = self._why or "its output was closed"
        self._cut()

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._lost = True
        why = self._why = self._why or reason.getErrorMessage()
        if self._timer is not None and self._timer.active():
            self._timer.cancel()
        if self._queue is not None:
            self._queue.stopProducing()
        handler, self._handler = self._handler, None
        if handler is not None:
            try:
                handler.connection_lost(why)
            except Exception:
                _log.failure("stdio: its handler failed at the connection's end")
        self._ended.callback(why)


class StdioTransport(Service):
    """Serves one connection over standard input and output, or over `descriptors`."""

    name = "stdio"

    def __init__(
        self,
        reactor: Any,
        peers: IPeerFactory,
        descriptors: Descriptors | None = None,
        limit: int = DEFAULT_LIMIT,
        close_timeout: float = 5.0,
    ) -> None:
        self._reactor = reactor
        self._peers = peers
        self._descriptors = descriptors
        self._limit = limit
        self._close_timeout = close_timeout
        self._connection: StdioConnection | None = None
        self._saved: Descriptors | None = None
        self._over = False
        self._reason = ""
        self._waiters: list[Deferred[str]] = []

    def startService(self) -> None:
        super().startService()  # type: ignore[no-untyped-call]
        if self._connection is not None:
            return
        descriptors = self._descriptors or self._take_standard()
        ended: Deferred[str] = Deferred()
        ended.addCallback(self._gone, descriptors)
        self._connection = StdioConnection(
            self._peers, self._reactor, ended, self._limit, self._close_timeout
        )
        # Positions, since the checker takes the Windows class with other names for them.
        StandardIO(self._connection, descriptors.read, descriptors.write, self._reactor)  # type: ignore[call-arg]

    async def when_ended(self) -> str:
        """Why the connection ended, once it has: its parent is done with this host."""
        if self._over:
            return self._reason
        waiter: Deferred[str] = Deferred()
        self._waiters.append(waiter)
        return await waiter

    def stopService(self) -> "Deferred[None]":
        """Send what was queued, within `close_timeout`, and put the descriptors back."""
        super().stopService()  # type: ignore[no-untyped-call]
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        if self._connection is not None:
            self._connection.close(1001, "the host is going away")
            await self.when_ended()
        self._give_back()

    def _gone(self, reason: str, descriptors: Descriptors) -> None:
        # Twisted lets go of them and leaves them open: the other side would wait for ever.
        for descriptor in {descriptors.read, descriptors.write}:
            os.close(descriptor)
        self._over = True
        self._reason = reason
        waiters, self._waiters = self._waiters, []
        for waiter in waiters:
            waiter.callback(reason)

    # -- the process's descriptors ---------------------------------------------

    def _take_standard(self) -> Descriptors:
        sys.stdout.flush()
        self._saved = Descriptors(os.dup(0), os.dup(1))
        taken = Descriptors(os.dup(0), os.dup(1))
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(2, 1)
        return taken

    def _give_back(self) -> None:
        saved, self._saved = self._saved, None
        if saved is None:
            return
        sys.stdout.flush()
        for held, standard in ((saved.read, 0), (saved.write, 1)):
            os.dup2(held, standard)
            os.close(held)
