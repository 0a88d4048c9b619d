"""The WebSocket listener: one Twisted endpoint, one port for WebSocket and plain HTTP.

The endpoint string says what is listened on: `tcp:9187:interface=127.0.0.1`,
`ssl:9187:privateKey=key.pem:certKey=cert.pem`, `unix:/run/ahpd.sock`,
`systemd:domain=INET:index=0`.
"""

import socket
from typing import Any

from autobahn.twisted.websocket import WebSocketServerFactory
from autobahn.websocket import USES_NVX
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import serverFromString
from twisted.internet.interfaces import (
    IAddress,
    IListeningPort,
    IProtocolNegotiationFactory,
    IReactorTime,
)
from twisted.internet.protocol import Factory
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ahpd.interfaces import IPeerFactory
from ahpd.interfaces.http import Response, text_response
from ahpd.transports.admission import Policy
from ahpd.transports.arrival import Arrival, address_text, websocket_problem
from ahpd.transports.head import RequestHead
from ahpd.transports.http import (
    OneRequestChannel,
    Router,
    RouteSite,
    not_found,
    refusal_response,
)
from ahpd.transports.turn import Turn
from ahpd.transports.websocket_protocol import GOING_AWAY, ServerConnection, autobahn_options
from ahpd.transports.websocket_settings import WebSocketSettings

_log = Logger()


class ListenError(Exception):
    """The endpoint could not be listened on; the words name it and say why."""

    setting: str | None = None
    """What in the configuration chooses the port, where it is not the host's own."""


class WebSocketListener(Service):
    """Listens on one endpoint and makes a peer of every admitted connection.

    `reactor` provides the endpoint's interfaces and `IReactorTime`. `policy` is as
    configured; where the listener is bound is added to it here. A connection that fails
    is its own affair: the others never notice.
    """

    name = "websocket"
    #: What in the configuration chooses the port, where it is not the host's own.
    port_setting: str | None = None

    def __init__(
        self,
        reactor: Any,
        endpoint: str,
        peers: IPeerFactory,
        policy: Policy,
        router: Router,
        settings: WebSocketSettings | None = None,
    ) -> None:
        self.settings = settings or WebSocketSettings()
        self.clock: IReactorTime = reactor
        self._reactor = reactor
        self._endpoint = endpoint
        self._configured = policy
        self._policy = policy
        self._router = router
        self._site = RouteSite(router, reactor, self.settings.request_timeout)
        self._websockets = _ServerFactory(peers, self.settings, reactor)
        self._arrivals: set[Arrival] = set()
        self._open: set[ServerConnection] = set()
        self._requests: set[Arrival] = set()
        self._port: IListeningPort | None = None
        self._listening: Deferred[None] | None = None
        self._outcome: str | ListenError | None = None
        self._waiters: list[Deferred[str]] = []
        self._emptied: list[Deferred[None]] = []
        self._full_said = False

    # -- the service -----------------------------------------------------------

    def privilegedStartService(self) -> None:
        """Listen before privileges are given up, for a port below 1024."""
        super().privilegedStartService()  # type: ignore[no-untyped-call]
        self._listen()

    def startService(self) -> None:
        super().startService()  # type: ignore[no-untyped-call]
        self._listen()

    async def when_listening(self) -> str:
        """The URL, once it listens. Raises `ListenError` when it cannot."""
        if isinstance(self._outcome, ListenError):
            raise self._outcome
        if self._outcome is not None:
            return self._outcome
        waiter: Deferred[str] = Deferred()
        self._waiters.append(waiter)
        return await waiter

    @property
    def url(self) -> str | None:
        """Where a client on this machine connects, without the token; None until it listens."""
        return self._outcome if isinstance(self._outcome, str) else None

    @property
    def address(self) -> IAddress | None:
        """What it is bound to."""
        return None if self._port is None else self._port.getHost()

    @property
    def connections(self) -> int:
        """WebSocket connections open now."""
        return len(self._open)

    def stopService(self) -> "Deferred[None]":
        """Stop listening, say 1001 to everybody, and fire when all are gone.

        A client that does not answer is cut after `close_timeout`.
        """
        super().stopService()  # type: ignore[no-untyped-call]
        return Deferred.fromCoroutine(self._stop())

    # -- listening -------------------------------------------------------------

    def _listen(self) -> None:
        if self._listening is not None:
            return
        if not USES_NVX:
            _log.warn("Autobahn's native code (NVX) is not in use: large messages are slow to read")
        self._outcome = None
        factory = _ArrivalFactory(self)
        try:
            listening: Deferred[IListeningPort] = serverFromString(
                self._reactor, self._endpoint
            ).listen(factory)
        except Exception as error:  # an endpoint's parser raises whatever it meets
            self._settle(ListenError(f"{self._endpoint!r} is no endpoint: {_why(error)}"))
            return
        self._listening = listening.addCallbacks(self._bound, self._not_bound)

    def _bound(self, port: IListeningPort) -> None:
        self._port = port
        host = port.getHost()
        self._policy = self._configured.bound_to(
            getattr(host, "host", None), getattr(host, "port", None), _own_names()
        )
        self._settle(_url(host, self._endpoint))

    def _not_bound(self, failure: Failure) -> None:
        error = failure.value
        why = getattr(error, "socketError", None) or error
        problem = ListenError(f"cannot listen on {self._endpoint}: {why}")
        problem.setting = self.port_setting
        problem.__cause__ = error
        self._settle(problem)

    def _settle(self, outcome: str | ListenError) -> None:
        self._outcome = outcome
        waiters, self._waiters = self._waiters, []
        if not waiters and isinstance(outcome, ListenError):
            _log.error("{error}", error=outcome)
        for waiter in waiters:
            if isinstance(outcome, str):
                waiter.callback(outcome)
            else:
                waiter.errback(outcome)

    async def _stop(self) -> None:
        listening, self._listening = self._listening, None
        if listening is not None:
            await listening
        port, self._port, self._outcome = self._port, None, None
        if port is not None:
            stopped: Any = port.stopListening()
            if stopped is not None:
                await stopped
        if not self._arrivals:
            return
        emptied: Deferred[None] = Deferred()
        self._emptied.append(emptied)
        for arrival in list(self._arrivals):
            if isinstance(arrival.connection, ServerConnection):
                arrival.connection.close(GOING_AWAY, "the host is going away")
            elif arrival.connection is None:
                arrival.cut()
        # Each connection bounds its own end; this bounds a plain request still served.
        cut = self.clock.callLater(self.settings.close_timeout * 2, self._cut_all)
        try:
            await emptied
        finally:
            if cut.active():
                cut.cancel()

    def _cut_all(self) -> None:
        for arrival in list(self._arrivals):
            arrival.cut()

    # -- arrivals: what `Reception` asks ---------------------------------------

    def arrive(self) -> Arrival | None:
        """The protocol of a new connection, or None to drop it unheard."""
        limit = self.settings.max_arriving
        strangers = len(self._arrivals) - len(self._open) - len(self._requests)
        if strangers >= limit:
            if not self._full_said:
                self._full_said = True
                _log.warn("{limit} connections are not admitted yet; more are dropped", limit=limit)
            return None
        if strangers < limit // 2:
            self._full_said = False
        arrival = Arrival(self)
        self._arrivals.add(arrival)
        return arrival

    def received(self, arrival: Arrival) -> None:
        self._requests.add(arrival)

    def left(self, arrival: Arrival) -> None:
        self._arrivals.discard(arrival)
        self._requests.discard(arrival)
        if not self._arrivals:
            emptied, self._emptied = self._emptied, []
            for waiter in emptied:
                waiter.callback(None)

    def open_websocket(self, head: RequestHead) -> ServerConnection | Response:
        if not self._router.serves_protocol:
            answer = self._router.answer(head, self._policy)
            return answer if isinstance(answer, Response) else not_found()
        refused = self._policy.check(head)
        if refused is not None:
            return refusal_response(refused)
        problem = websocket_problem(head)
        if problem is not None:
            return problem
        if len(self._open) >= self.settings.max_connections:
            return _full(f"{self.settings.max_connections} connections are open")
        connection: ServerConnection = self._websockets.buildProtocol(None)
        self._open.add(connection)
        connection.on_gone = self._open.discard
        claimed = head.values(b"x-forwarded-for")
        if claimed:
            connection.forwarded_for = b", ".join(claimed).decode("latin-1")
        return connection

    def without_token(self, head: RequestHead) -> RequestHead:
        return self._policy.without_token(head)

    def open_http(self, head: RequestHead) -> OneRequestChannel | Response:
        answer = self._router.answer(head, self._policy)
        if isinstance(answer, Response):
            return answer
        if len(self._requests) >= self.settings.max_requests:
            return _full(f"{self.settings.max_requests} requests are served")
        return self._site.open()


@implementer(IProtocolNegotiationFactory)
class _ArrivalFactory(Factory):
    noisy = False

    def __init__(self, listener: WebSocketListener) -> None:
        self._listener = listener

    def acceptableProtocols(self) -> list[bytes]:
        """What is agreed on under TLS: a client that offers protocols is turned away by a
        factory that names none."""
        return [b"http/1.1"]

    def buildProtocol(self, addr: IAddress | None) -> Arrival | None:
        return self._listener.arrive()


class _ServerFactory(WebSocketServerFactory):  # type: ignore[misc]
    """Makes the Autobahn side of a connection, every open default closed."""

    protocol = ServerConnection
    noisy = False

    def __init__(self, peers: IPeerFactory, settings: WebSocketSettings, reactor: Any) -> None:
        super().__init__(server="ahpd", reactor=reactor)
        self.peers = peers
        self.settings = settings
        self.clock = reactor
        self.turn = Turn(reactor)
        self.setProtocolOptions(
            **autobahn_options(settings),
            versions=[13],
            webStatus=False,
            requireMaskedClientFrames=True,
            maskServerFrames=False,
            serveFlashSocketPolicy=False,
            # Admission has decided; the head Autobahn is shown has no Origin.
            allowedOrigins=[],
            allowNullOrigin=False,
            maxConnections=0,  # counted by the listener, before the handshake
            trustXForwardedFor=0,
        )

    def name_of(self, connection: ServerConnection) -> str:
        return address_text(connection.transport.getPeer())


def _full(what: str) -> Response:
    return text_response(503, f"{what}; no more are taken", (("Retry-After", "5"),))


def _why(error: Exception) -> str:
    if isinstance(error, LookupError):  # all that Twisted's systemd endpoint says
        return "no socket of that index or name was passed to this process"
    return str(error) or type(error).__name__


def _own_names() -> frozenset[str]:
    name = socket.gethostname().lower()
    return frozenset({name, f"{name.partition('.')[0]}.local"}) if name else frozenset()


def _url(address: Any, endpoint: str) -> str:
    host = getattr(address, "host", None)
    if host is None:
        path = getattr(address, "name", b"") or b""
        return "ws+unix:" + (path.decode(errors="replace") if isinstance(path, bytes) else path)
    # What listens on every address answers on loopback too.
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    scheme = "wss" if endpoint.partition(":")[0] in {"ssl", "tls"} else "ws"
    return f"{scheme}://{f'[{host}]' if ':' in host else host}:{address.port}"
