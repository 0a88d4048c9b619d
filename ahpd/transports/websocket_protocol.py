"""One WebSocket connection, either side: Autobahn's protocol made an `IConnection`.

Autobahn reads frames, answers pings and does the closing handshake. What it does here
its own way is taken over: every byte goes out through a `WriteQueue` (its `sendData`
formats a log line for each), its timers are off (they know the global reactor alone;
ours run on the clock passed in), and a connection that broke the protocol is told the
code and read no further, where Autobahn either cuts it unsaid or goes on parsing.
"""

from collections.abc import Callable
from typing import Any

import txaio
from autobahn.twisted.websocket import WebSocketClientProtocol, WebSocketServerProtocol
from twisted.internet.interfaces import (
    IDelayedCall,
    IReactorTime,
    ITCPTransport,
    IUNIXTransport,
)
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ahpd.interfaces import IConnection, IMessageHandler, IPeerFactory
from ahpd.transports.frames import PING, PONG, text_header
from ahpd.transports.queue import PIECE, WriteQueue
from ahpd.transports.websocket_settings import WebSocketSettings
from ahpd.wire.codec import Frame

_log = Logger()

# Autobahn's words about a connection are about what a stranger sent, and its debug
# lines hold request heads; ours say what is worth saying.
_silent = txaio.make_logger(level="critical")

GOING_AWAY = 1001
UNSUPPORTED_DATA = 1003
INTERNAL_ERROR = 1011

#: A close frame's reason holds 125 bytes less the code.
_MAX_REASON = 123


def autobahn_options(settings: WebSocketSettings) -> dict[str, Any]:
    """The protocol options both sides share, for `setProtocolOptions`."""
    return {
        "utf8validateIncoming": True,
        "applyMask": True,
        "maxFramePayloadSize": settings.max_payload,
        "maxMessagePayloadSize": settings.max_payload,
        "autoFragmentSize": 0,
        "failByDrop": True,  # it stops parsing; `_fail_connection` says why first
        "echoCloseCodeReason": False,
        "openHandshakeTimeout": 0,
        "closeHandshakeTimeout": 0,
        "tcpNoDelay": True,
        "perMessageCompressionAccept": lambda offers: None,
        "autoPingInterval": 0,
        "autoPingTimeout": 0,
    }


def set_no_delay(transport: Any) -> bool:
    """Turn Nagle's algorithm off, on TCP and under TLS; whether it is off or there is none.

    What one reactor turn writes leaves together anyway, and a small answer does not wait
    for the acknowledgement of the one before.
    """
    if IUNIXTransport.providedBy(transport) or not ITCPTransport.providedBy(transport):
        return True
    try:
        transport.setTcpNoDelay(True)
        return bool(transport.getTcpNoDelay())
    except OSError:
        return False


@implementer(IConnection)
class WebSocketConnection:
    """What both sides share; mixed in before Autobahn's protocol class.

    The factory carries `peers`, `settings`, `clock`, `turn` and `name_of`.
    """

    log = _silent
    name = "?"
    address: str | None = None
    """The remote address its socket reported; None on a socket that has none."""
    forwarded_for: str | None = None
    """`X-Forwarded-For` of its request, as it came: what the client claims, read by nobody."""
    on_gone: Callable[[Any], None] | None = None
    """Told, with the connection, when it is gone."""
    # The queue's own, since a fan-out asks before every frame.
    pending_bytes: Callable[[], int | None]
    progressing: Callable[[], bool]
    _queue: WriteQueue
    _handler: IMessageHandler | None = None
    _timer: IDelayedCall | None = None
    _ending = False
    _heard = False
    _why: str | None = None

    # What Autobahn's class brings.
    factory: Any
    transport: Any
    state: int
    sendFrame: Any
    sendCloseFrame: Any
    wasClean: bool

    @property
    def settings(self) -> WebSocketSettings:
        settings: WebSocketSettings = self.factory.settings
        return settings

    @property
    def clock(self) -> IReactorTime:
        clock: IReactorTime = self.factory.clock
        return clock

    # -- IConnection -----------------------------------------------------------

    def send(self, frame: Frame) -> None:
        raise NotImplementedError

    def close(self, code: int, reason: str) -> None:
        if self._ending:
            return
        self._ending = True
        self._why = f"closed here: {code} {reason}".rstrip()
        if self.state != self.STATE_OPEN:  # type: ignore[attr-defined]
            self._cut()
            return
        self.sendCloseFrame(code=code, reasonUtf8=_reason(reason))
        self._arm(self.settings.close_timeout, self._cut)

    def abort(self) -> None:
        self._ending = True
        self._why = self._why or "cut off here"
        self._cut()

    # -- what Twisted calls ----------------------------------------------------

    def connectionMade(self) -> None:
        self._queue = WriteQueue(self.transport, self.factory.turn)
        self.pending_bytes = self._queue.pending_bytes
        self.progressing = self._queue.progressing
        super().connectionMade()  # type: ignore[misc]

    def dataReceived(self, data: bytes) -> None:
        self._heard = True
        if self.state != self.STATE_CLOSED:  # type: ignore[attr-defined]
            self._dataReceived(data)  # type: ignore[attr-defined]

    def connectionLost(self, reason: Failure) -> None:
        self._ending = True
        self._disarm()
        self._queue.stopProducing()
        super().connectionLost(reason)  # type: ignore[misc]
        if self.on_gone is not None:
            self.on_gone(self)
        handler, self._handler = self._handler, None
        if handler is not None:
            try:
                handler.connection_lost(self._why or _words(self._queue.error, reason))
            except Exception:
                _log.failure("{name}: its handler failed at the connection's end", name=self.name)

    # -- what Autobahn calls: sending ------------------------------------------

    def sendData(self, data: bytes, sync: bool = False, chopsize: int | None = None) -> None:
        if data[0] in (PING, PONG):
            self._queue.write_urgent(data[0], data)
        else:
            self._queue.write(data)

    def unregisterProducer(self) -> None:
        """The queue is the transport's producer until the end."""

    def _closeConnection(self, abort: bool = False) -> None:
        # After the closing handshake, or a refused one. Autobahn would cut a client that
        # answered, which a client sees as a reset.
        self._ending = True
        if abort and not self.wasClean:
            self._cut()
            return
        self._queue.finish()
        self._arm(self.settings.close_timeout, self._cut)

    # -- what Autobahn calls: receiving ----------------------------------------

    def onOpen(self) -> None:
        self.name = self.factory.name_of(self)
        self.address = getattr(self.transport.getPeer(), "host", None)
        peers: IPeerFactory = self.factory.peers
        try:
            self._handler = peers.accept(self)
        except Exception:
            _log.failure("{name}: no peer could be made for it", name=self.name)
            self.close(INTERNAL_ERROR, "internal error")
            return
        if not self._ending:
            self._arm(self.settings.ping_interval, self._ping)

    def onMessageBegin(self, isBinary: bool) -> None:
        super().onMessageBegin(isBinary)  # type: ignore[misc]
        self._message: bytes | bytearray = b""
        if isBinary:
            self._fail_connection(UNSUPPORTED_DATA, "messages are text frames")

    def onMessageFrameData(self, payload: bytes) -> None:
        # One buffer, not a list of pieces: a message in a million fragments costs its
        # bytes and no more. A message in one piece is not copied.
        if self._ending:
            return
        if not self._message:
            self._message = payload
        else:
            if not isinstance(self._message, bytearray):
                self._message = bytearray(self._message)
            self._message += payload

    def onMessageFrameEnd(self) -> None:
        """The frame's payload is in the message already."""

    def onMessageEnd(self) -> None:
        message, self._message = bytes(self._message), b""
        if self._ending or self._handler is None:
            return
        try:
            self._handler.message_received(message)
        except Exception:
            _log.failure("{name}: its handler failed on a message", name=self.name)
            self.close(INTERNAL_ERROR, "internal error")

    def onCloseFrame(self, code: int | None, reasonRaw: bytes | None) -> bool | None:
        if not self._ending:
            # It reads no more messages; what waits would only hold up the answer.
            self._ending = True
            self._why = f"closed by the other side: {code or 1005}"
            self._queue.drop()
            self._arm(self.settings.close_timeout, self._cut)
        stop: bool | None = super().onCloseFrame(code, reasonRaw)  # type: ignore[misc]
        return stop

    def _fail_connection(self, code: int = GOING_AWAY, reason: str = "going away") -> None:
        # RFC 6455, 7.1.7: say the code, read no further. The connection stays a moment so
        # that unread input does not make the kernel throw the close frame away.
        if self.state == self.STATE_CLOSED:  # type: ignore[attr-defined]
            return
        self.failedByMe = True
        if not self._ending:
            self._queue.drop()
        self._ending = True
        self._why = f"closed here: {code} {reason}"
        _log.info("{name}: closed with {code}: {reason}", name=self.name, code=code, reason=reason)
        self.sendCloseFrame(code=code, reasonUtf8=_reason(reason))
        self.state = self.STATE_CLOSED  # type: ignore[attr-defined]
        self._arm(self.settings.linger, self._linger_over)

    def _linger_over(self) -> None:
        self._queue.finish()
        self._arm(self.settings.linger, self._cut)

    # -- time ------------------------------------------------------------------

    def _arm(self, delay: float, then: Any) -> None:
        self._disarm()
        self._timer = self.clock.callLater(delay, then)

    def _disarm(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()

    def _ping(self) -> None:
        self._heard = False
        self.sendFrame(opcode=9)
        self._arm(self.settings.ping_timeout, self._expect_pong)

    def _expect_pong(self) -> None:
        if self._heard or (self._queue.pending_bytes() and self._queue.progressing()):
            self._arm(self.settings.ping_interval, self._ping)
            return
        self._why = "it answered no ping"
        _log.info("{name}: answered no ping, cut off", name=self.name)
        self.abort()

    def _cut(self) -> None:
        self._disarm()
        self._queue.abort()


def _reason(reason: str) -> bytes:
    return reason.encode()[:_MAX_REASON].decode(errors="ignore").encode()


def _words(error: OSError | None, reason: Failure) -> str:
    if error is not None:
        return error.strerror or str(error)
    return str(reason.getErrorMessage()) or "connection lost"


class ServerConnection(WebSocketConnection, WebSocketServerProtocol):  # type: ignore[misc]
    """A client's connection to this host."""

    def send(self, frame: Frame) -> None:
        if self._ending:
            return
        framed = frame.framed
        if framed is None:
            header = text_header(frame.size)
            if frame.size > PIECE:
                self._queue.write_parts((header, *frame.parts))
                return
            framed = frame.framed = b"".join((header, *frame.parts))
        self._queue.write(framed)


class ClientConnection(WebSocketConnection, WebSocketClientProtocol):  # type: ignore[misc]
    """A connection to a host. A client's frames are masked, so none is shared."""

    def send(self, frame: Frame) -> None:
        if not self._ending:
            self.sendFrame(opcode=1, payload=frame.payload)
