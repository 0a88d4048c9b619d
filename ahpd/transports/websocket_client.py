"""Connecting to a host over WebSocket: for the demo, plugins and tests."""

import re
from typing import Any
from urllib.parse import urlsplit

from autobahn.twisted.websocket import WebSocketClientFactory
from autobahn.websocket.types import ConnectingRequest
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import HostnameEndpoint, wrapClientTLS
from twisted.internet.interfaces import IReactorTime, IStreamClientEndpoint
from twisted.internet.ssl import optionsForClientTLS
from twisted.python.failure import Failure

from ahpd.interfaces import IConnection, IMessageHandler, IPeerFactory
from ahpd.transports.admission import redact
from ahpd.transports.turn import Turn
from ahpd.transports.websocket_protocol import (
    ClientConnection,
    autobahn_options,
    set_no_delay,
)
from ahpd.transports.websocket_settings import WebSocketSettings

_STATUS_LINE = re.compile(r"HTTP/1\.[01] ([0-9]{3})\b(.*)")
_TOKEN = re.compile(r"[\x21-\x7e]+")


class ConnectError(Exception):
    """No WebSocket was opened. `status` is the HTTP status a host refused with, if one did."""

    def __init__(self, words: str, status: int | None = None) -> None:
        super().__init__(words)
        self.status = status


async def connect(
    reactor: Any,
    url: str,
    factory: IPeerFactory,
    token: str | None = None,
    timeout: float = 10.0,  # noqa: ASYNC109 - a Deferred's timeout, on the clock passed in
    settings: WebSocketSettings | None = None,
    endpoint: IStreamClientEndpoint | None = None,
    origin: str | None = None,
) -> IMessageHandler:
    """Open a WebSocket to `url` and answer the handler `factory` made for it.

    `token` goes as `Authorization: Bearer`, so it is in no URL. `endpoint` says how to
    get there when the URL does not: a UNIX socket, or TLS with an authority of its own.
    Raises `ConnectError`, with the status when the host refused, and `ValueError` for a
    URL or a token that cannot be sent.
    """
    secure, host, port = _where(url)
    if token is not None and not _TOKEN.fullmatch(token):
        raise ValueError("a connection token is printable ASCII without spaces")
    if endpoint is None:
        endpoint = HostnameEndpoint(reactor, host, port, timeout=timeout)
        if secure:
            endpoint = wrapClientTLS(optionsForClientTLS(host), endpoint)
    opened: Deferred[IMessageHandler] = Deferred()
    made = _ClientFactory(
        url, factory, token, settings or WebSocketSettings(), reactor, opened, origin
    )
    connecting = endpoint.connect(made)
    connecting.addErrback(made.fail)
    opened.addTimeout(timeout, reactor, lambda _, seconds: _too_slow(url, seconds))
    try:
        return await opened
    except BaseException:
        connecting.cancel()
        made.give_up()
        raise


def _where(url: str) -> tuple[bool, str, int]:
    parts = urlsplit(url)
    if parts.scheme not in {"ws", "wss"} or not parts.hostname or parts.fragment:
        raise ValueError(
            f"a WebSocket URL is ws://HOST:PORT or wss://HOST:PORT, found {redact(url)}"
        )
    secure = parts.scheme == "wss"
    return secure, parts.hostname, parts.port or (443 if secure else 80)


def _too_slow(url: str, seconds: float) -> IMessageHandler:
    raise ConnectError(f"{redact(url)} did not answer in {seconds:g} s")


class _Client(ClientConnection):
    """Reports the end of its handshake to whoever waits for it."""

    http_status_line = ""
    _refusal = ""

    def connectionMade(self) -> None:
        set_no_delay(self.transport)
        super().connectionMade()

    def onConnecting(self, transport_details: Any) -> ConnectingRequest:
        request: ConnectingRequest = self.factory.request
        return request

    def onOpen(self) -> None:
        super().onOpen()
        if self._handler is None:
            self.factory.failed("the connection's handler could not be made", None)
        else:
            self.factory.succeeded(self._handler)

    def failHandshake(self, reason: str) -> None:
        self._refusal = reason
        super().failHandshake(reason)

    def connectionLost(self, reason: Failure) -> None:
        super().connectionLost(reason)
        status = _STATUS_LINE.match(self.http_status_line)
        if status is not None and status[1] != "101":
            self.factory.failed(f"answered {status[1]}{status[2]}", int(status[1]))
        else:
            self.factory.failed(self._refusal or reason.getErrorMessage(), None)


class _ClientFactory(WebSocketClientFactory):  # type: ignore[misc]
    """Makes one connection and reports how its handshake ended, once."""

    protocol = _Client
    noisy = False

    def __init__(
        self,
        url: str,
        peers: IPeerFactory,
        token: str | None,
        settings: WebSocketSettings,
        reactor: Any,
        opened: "Deferred[IMessageHandler]",
        origin: str | None,
    ) -> None:
        # The request is written from `request` below; what Autobahn parses of a URL is
        # not needed.
        super().__init__(useragent="ahpd", reactor=reactor)
        self.peers = peers
        self.settings = settings
        self.clock: IReactorTime = reactor
        self.turn = Turn(reactor)
        self._url = url
        self._opened = opened
        self._settled = False
        self._connection: _Client | None = None
        self.request = _request(url, token, origin)
        self.setProtocolOptions(
            **autobahn_options(settings),
            version=18,
            acceptMaskedServerFrames=False,
            maskClientFrames=True,
            serverConnectionDropTimeout=0,
            perMessageCompressionOffers=[],
        )

    def buildProtocol(self, addr: Any) -> _Client:
        connection: _Client = super().buildProtocol(addr)
        self._connection = connection
        return connection

    def name_of(self, connection: IConnection) -> str:
        return redact(self._url)

    def succeeded(self, handler: IMessageHandler) -> None:
        if not self._settled:
            self._settled = True
            self._opened.callback(handler)

    def failed(self, words: str, status: int | None) -> None:
        if not self._settled:
            self._settled = True
            self._opened.errback(ConnectError(f"{redact(self._url)}: {words}", status))

    def fail(self, failure: Failure) -> None:
        self.failed(failure.getErrorMessage(), None)

    def give_up(self) -> None:
        """Nobody waits any more."""
        self._settled = True
        if self._connection is not None and self._connection.transport is not None:
            self._connection.abort()


def _request(url: str, token: str | None, origin: str | None) -> ConnectingRequest:
    parts = urlsplit(url)
    host = parts.hostname or "localhost"
    resource = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return ConnectingRequest(
        host=f"[{host}]" if ":" in host else host,
        port=parts.port or (443 if parts.scheme == "wss" else 80),
        resource=resource,
        headers={} if token is None else {"Authorization": f"Bearer {token}"},
        useragent="ahpd",
        origin=origin,
        protocols=[],
    )
