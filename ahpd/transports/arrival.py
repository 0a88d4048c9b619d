"""The first request of a connection: read, judged, and handed to what serves it.

WebSocket and plain HTTP share a port. This protocol reads one request head, bounded in
size and in time, asks for admission, and from then on passes bytes to Autobahn or to
`twisted.web`. Until it is admitted nothing a stranger sent reaches either of them, and
what they are given is a head written here from the one that was judged: the two cannot
read it differently, and the token goes no further.
"""

import binascii
from collections.abc import Callable
from typing import Any
from typing import Protocol as Shape

from twisted.internet.interfaces import IDelayedCall, IProtocol, IReactorTime
from twisted.internet.protocol import Protocol, connectionDone
from twisted.logger import Logger
from twisted.python.failure import Failure

from ahpd.interfaces.http import Response, text_response
from ahpd.transports.admission import redact
from ahpd.transports.head import MAX_HEAD, BadHead, RequestHead, could_begin, parse_head
from ahpd.transports.http import OneRequestChannel
from ahpd.transports.websocket_protocol import set_no_delay
from ahpd.transports.websocket_settings import WebSocketSettings

_log = Logger()


class Reception(Shape):
    """What an arrival asks of the listener."""

    settings: WebSocketSettings
    clock: IReactorTime

    def open_websocket(self, head: RequestHead) -> IProtocol | Response:
        """The protocol of an admitted upgrade, or the answer that refuses it."""

    def open_http(self, head: RequestHead) -> OneRequestChannel | Response:
        """The channel of an admitted plain request, or the answer it is given at once."""

    def without_token(self, head: RequestHead) -> RequestHead:
        """The head of an admitted request as whoever serves it may see it."""

    def received(self, arrival: "Arrival") -> None:
        """An admitted plain request is here whole, and is served from now on."""

    def left(self, arrival: "Arrival") -> None:
        """The connection is gone."""


def wants_websocket(head: RequestHead) -> bool:
    """Whether a request asks to become a WebSocket."""
    return head.has_word(b"upgrade", b"websocket") and head.has_word(b"connection", b"upgrade")


def websocket_problem(head: RequestHead) -> Response | None:
    """The answer to an admitted upgrade request that is not RFC 6455's, or None."""
    if head.method != b"GET" or head.version != b"HTTP/1.1":
        return text_response(400, "a WebSocket is opened with GET and HTTP/1.1")
    if head.values(b"sec-websocket-version") != [b"13"]:
        words = "this host speaks version 13 of the WebSocket protocol"
        return text_response(426, words, (("Sec-WebSocket-Version", "13"),))
    keys = head.values(b"sec-websocket-key")
    if len(keys) != 1 or not _is_key(keys[0]):
        return text_response(400, "Sec-WebSocket-Key must be 16 bytes in base64, said once")
    return None


def _is_key(key: bytes) -> bool:
    try:
        return len(key) == 24 and len(binascii.a2b_base64(key, strict_mode=True)) == 16
    except ValueError:
        return False


class Arrival(Protocol):
    """A connection whose first request is awaited, and then the hand that passes it on."""

    # TCP, TLS or UNIX: what a stream endpoint hands over can be cut and paused.
    transport: Any = None

    def __init__(self, reception: Reception) -> None:
        self._reception = reception
        self._buffer = b""
        self._next: Any = None
        self._body_left: int | None = None
        self._ended = False
        self._timer: IDelayedCall | None = None

    # -- what Twisted calls ----------------------------------------------------

    def connectionMade(self) -> None:
        if not set_no_delay(self.transport):
            _log.warn("Nagle's algorithm could not be turned off; answers may be 40 ms late")
        self._arm(self._reception.settings.handshake_timeout, self._too_slow)

    def dataReceived(self, data: bytes) -> None:
        if self._next is not None:
            self._pass_on(data)
        elif not self._ended:
            self._read_head(data)

    def connectionLost(self, reason: Failure = connectionDone) -> None:
        self._disarm()
        self._ended = True
        following, self._next = self._next, None
        try:
            if following is not None:
                following.connectionLost(reason)
        finally:
            self._reception.left(self)

    # -- the listener's side ---------------------------------------------------

    @property
    def connection(self) -> Any:
        """What the connection was handed to; None before that and after its end."""
        return self._next

    def cut(self) -> None:
        """End the connection now."""
        self._disarm()
        if self.transport is not None:
            self.transport.abortConnection()

    # -- the head --------------------------------------------------------------

    def _read_head(self, data: bytes) -> None:
        fresh = not self._buffer
        # The blank line may have begun in what came before.
        start = max(0, len(self._buffer) - 3)
        self._buffer += data
        if fresh and not could_begin(self._buffer):
            self._answer(text_response(400, "this port speaks HTTP"))
            return
        end = self._buffer.find(b"\r\n\r\n", start)
        if end > MAX_HEAD - 4 or (end < 0 and len(self._buffer) >= MAX_HEAD):
            words = f"a request's head may be {MAX_HEAD} bytes"
            self._answer(text_response(431, words))
        elif end >= 0:
            whole, self._buffer = self._buffer, b""
            self._judge(whole[: end + 4], whole[end + 4 :])

    def _judge(self, raw: bytes, rest: bytes) -> None:
        try:
            head = parse_head(raw)
        except BadHead as bad:
            self._answer(text_response(bad.status, bad.words))
            return
        upgrade = wants_websocket(head)
        following: Any
        if upgrade:
            following = self._reception.open_websocket(head)
        else:
            following = self._reception.open_http(head)
        if isinstance(following, Response):
            _log.info(
                "{method} {url} from {peer}: answered {status}",
                method=head.method[:16].decode("latin-1"),
                url=redact(head.target),
                peer=self._peer(),
                status=following.status,
            )
            self._answer(following, head.method == b"HEAD", _has_body(head))
            return
        self._disarm()
        if isinstance(following, OneRequestChannel):
            self._expect_body(following, head)
        self._next = following
        following.makeConnection(self.transport)
        following.dataReceived(
            _websocket_head(head) if upgrade else _http_head(self._reception.without_token(head))
        )
        if rest:
            self._pass_on(rest)

    # -- a plain request's body ------------------------------------------------

    def _expect_body(self, channel: OneRequestChannel, head: RequestHead) -> None:
        settings = self._reception.settings
        self._body_left = settings.max_body
        declared = head.values(b"content-length")
        # A length that is no number is the channel's to refuse.
        if declared and declared[0].isdigit() and int(declared[0][:20]) > settings.max_body:
            self._body_left = 0
        channel.on_received = self._received
        self._arm(settings.request_timeout, self._too_slow)

    def _received(self) -> None:
        self._disarm()
        self._reception.received(self)

    def _pass_on(self, data: bytes) -> None:
        if self._body_left is not None:
            self._body_left -= len(data)
            if self._body_left < 0:
                self._too_large()
                return
        self._next.dataReceived(data)

    def _take_back(self, why: Exception) -> None:
        channel, self._next = self._next, None
        channel.connectionLost(Failure(why))
        self.transport.unregisterProducer()
        self.transport.resumeProducing()

    def _too_large(self) -> None:
        self._take_back(ConnectionError("the request was too large"))
        limit = self._reception.settings.max_body
        words = f"a request's body may be {limit} bytes"
        self._answer(text_response(413, words), more_coming=True)

    # -- the end ---------------------------------------------------------------

    def _too_slow(self) -> None:
        self._timer = None
        if self._next is not None:
            self._take_back(TimeoutError("the request did not arrive in time"))
        elif not self._buffer:
            self.cut()
            return
        words = "the request did not arrive in time"
        self._answer(text_response(408, words), more_coming=True)

    def _answer(
        self, response: Response, head_only: bool = False, more_coming: bool = False
    ) -> None:
        self._ended = True
        self._buffer = b""
        self.transport.write(response.encoded(head_only))
        if more_coming:
            # Closing over unread input resets the connection and the answer is lost, so
            # what comes is read and thrown away for a moment.
            self._arm(self._reception.settings.linger, self._close)
        else:
            self._close()

    def _close(self) -> None:
        self.transport.loseConnection()
        self._arm(self._reception.settings.linger, self.cut)

    def _arm(self, delay: float, then: Callable[[], None]) -> None:
        self._disarm()
        self._timer = self._reception.clock.callLater(delay, then)

    def _disarm(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()

    def _peer(self) -> str:
        return address_text(self.transport.getPeer()) if self.transport is not None else "?"


def address_text(address: Any) -> str:
    """An address for the log: `127.0.0.1:51344`, `[::1]:51344`, `unix`."""
    host = getattr(address, "host", None)
    if host is None:
        return "unix"
    return f"[{host}]:{address.port}" if ":" in host else f"{host}:{address.port}"


def _has_body(head: RequestHead) -> bool:
    lengths = [value for value in head.values(b"content-length") if value.strip(b"0")]
    return bool(lengths or head.values(b"transfer-encoding"))


def _websocket_head(head: RequestHead) -> bytes:
    """The upgrade request Autobahn is shown: any path is served, so none is said."""
    key = head.values(b"sec-websocket-key")[0]
    return (
        b"GET / HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: %s\r\n\r\n" % key
    )


def _http_head(head: RequestHead) -> bytes:
    target = head.path + (b"?" + head.query if head.query else b"")
    lines = [b"%s %s %s" % (head.method, target, head.version)]
    lines += [b"%s: %s" % header for header in head.headers]
    return b"\r\n".join([*lines, b"", b""])
