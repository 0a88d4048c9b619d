"""Plain HTTP on the WebSocket's port: the routes, and the answers outside them.

A route is a path prefix and what serves it: a `twisted.web` resource, or an async
handler that answers a `Response`. A request no route takes is answered as AHP.txt
says ("What is served outside the protocol"): 401 where the handshake would refuse
its token, 426 where it would admit it, both readable by a page of any origin.
"""

from collections.abc import Awaitable, Callable, Sequence
from http import HTTPStatus
from urllib.parse import unquote_to_bytes

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web import http, resource, server
from twisted.web.iweb import IRequest

from ahpd.interfaces.http import Response, json_response, text_response
from ahpd.transports.admission import Guard, Policy, Refused, redact
from ahpd.transports.head import RequestHead

_CORS = ("Access-Control-Allow-Origin", "*")
_PREFLIGHT = (
    _CORS,
    ("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
    ("Access-Control-Allow-Headers", "Authorization"),
    ("Access-Control-Max-Age", "600"),
)


def not_found() -> Response:
    """The answer where nothing is served."""
    return text_response(HTTPStatus.NOT_FOUND, "nothing is served here")


def refusal_response(refused: Refused) -> Response:
    """The answer to a request that is not let in; only a 401 is readable by any page."""
    readable = (_CORS,) if refused.status == HTTPStatus.UNAUTHORIZED else ()
    return text_response(refused.status, refused.words, (*refused.headers, *readable))


#: A route's handler: the request, its body read and bounded, to an answer.
Handler = Callable[[IRequest], Awaitable[Response]]


@attrs.frozen(kw_only=True)
class Route:
    """What serves the paths at and under `prefix`."""

    prefix: bytes
    """`/hooks`, with no slash at its end; the root is the empty prefix."""
    serve: "resource.IResource | Handler"
    guard: Guard
    methods: tuple[str, ...] = ()
    """What an async handler takes; a resource decides for itself."""
    admit: "Callable[[RequestHead], Response | None] | None" = None
    """Refuses a request by its head, before its body is read; None lets it in. Such a route is
    for programs: no page is told that it may ask."""
    began: "Callable[[server.Request], object] | None" = None
    """Told of each request that its resource is asked to serve."""


class Router:
    """The routes of one listener. The longest prefix that a path is at or under takes it."""

    #: Whether the listener serves the protocol beside its routes.
    serves_protocol = True

    def __init__(self) -> None:
        self._routes: dict[bytes, Route] = {}

    def register(
        self,
        prefix: str,
        serve: "resource.IResource | Handler",
        guard: Guard = Guard.HOST,
        methods: tuple[str, ...] = ("GET", "HEAD", "POST"),
        admit: Callable[[RequestHead], Response | None] | None = None,
        began: "Callable[[server.Request], object] | None" = None,
    ) -> Callable[[], None]:
        """Serve `prefix` and what is under it; answers a callable that takes it back.

        By default a route is open to any caller that names this host, and checks its callers
        itself: `admit` by the head of a request, before its body is read. `began` is told of each
        request that a resource serves. Raises `ValueError` for a prefix that is no path or is
        taken.
        """
        key = prefix.encode().rstrip(b"/")
        if not prefix.startswith("/") or b"//" in key or b"?" in key or b"#" in key:
            raise ValueError(f"a route is a path that begins with one slash, found {prefix!r}")
        if key in self._routes:
            raise ValueError(f"the route {prefix!r} is taken")
        route = Route(
            prefix=key, serve=serve, guard=guard, methods=methods, admit=admit, began=began
        )
        self._routes[key] = route

        def unregister() -> None:
            if self._routes.get(key) is route:
                del self._routes[key]

        return unregister

    def match(self, path: bytes) -> Route | None:
        """The route for a path as a request spells it, or None."""
        whole = unquote_to_bytes(path)
        while whole:
            route = self._routes.get(whole)
            if route is not None:
                return route
            whole = whole.rpartition(b"/")[0]
        return self._routes.get(b"")

    def answer(self, head: RequestHead, policy: Policy) -> Route | Response:
        """The route that serves a plain HTTP request, or the answer it is given at once."""
        route = self.match(head.path)
        if route is None and not self.serves_protocol:
            refused = policy.check(head, Guard.HOST)
            return refusal_response(refused) if refused else not_found()
        if head.method == b"OPTIONS" and (route is None or (route.methods and not route.admit)):
            return self._options(head, policy, route)
        refused = policy.check(head, Guard.TOKEN if route is None else route.guard)
        if refused is not None:
            return refusal_response(refused)
        if route is None:
            return text_response(
                HTTPStatus.UPGRADE_REQUIRED,
                "this is a WebSocket endpoint; ask for an upgrade to websocket",
                (("Upgrade", "websocket"), ("Sec-WebSocket-Version", "13"), _CORS),
            )
        unlet = None if route.admit is None else route.admit(head)
        return route if unlet is None else unlet

    def _options(self, head: RequestHead, policy: Policy, route: Route | None) -> Response:
        # A browser asks this before it shows a token, so none is needed to be told.
        guard = Guard.TOKEN if route is None else route.guard
        refused = attrs.evolve(policy, token=None).check(head, guard)
        if refused is not None:
            return refusal_response(refused)
        methods = ("GET", "HEAD") if route is None else route.methods
        return Response(204, b"", (("Allow", ", ".join((*methods, "OPTIONS"))), *_PREFLIGHT))


class HostRouter(Router):
    """The routes of the host's own listener.

    Ships `/health` (200 `{"status":"ok"}`, 503 `{"status":"draining"}` once `draining`
    is set; open to any caller that names this host) and `/version` (with the token).
    """

    def __init__(self, name: str, version: str, protocol_versions: Sequence[str]) -> None:
        super().__init__()
        self.draining = False
        self._about = {
            "name": name,
            "version": version,
            "protocolVersions": list(protocol_versions),
        }
        self.register("/health", self._health, methods=("GET", "HEAD"))
        self.register("/version", self._version, guard=Guard.TOKEN, methods=("GET", "HEAD"))

    async def _health(self, request: IRequest) -> Response:
        if self.draining:
            return json_response(503, {"status": "draining"}, (_CORS,))
        return json_response(200, {"status": "ok"}, (_CORS,))

    async def _version(self, request: IRequest) -> Response:
        return json_response(200, self._about, (_CORS,))


class RoutesRouter(Router):
    """The routes of a listener that serves nothing else: what no route takes is a 404."""

    serves_protocol = False


class OneRequestChannel(http.HTTPChannel):
    """An HTTP/1.1 channel for the one request whose head was admitted.

    The connection closes after the answer: a second request on it would come in
    without admission, or ask for an upgrade where none is served.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.on_received: Callable[[], None] = lambda: None

    def checkPersistence(self, request: http.Request, version: bytes) -> bool:
        request.responseHeaders.setRawHeaders(b"connection", [b"close"])
        return False

    def allContentReceived(self) -> None:
        """The whole request is here; whoever waits for it is told before it is served."""
        self.on_received()
        super().allContentReceived()  # type: ignore[no-untyped-call]


class RouteSite(server.Site):
    """Serves admitted requests from a `Router`. Never listens: it is handed connections."""

    # Twisted's own would offer HTTP/2, which is read by another parser.
    protocol = OneRequestChannel  # type: ignore[assignment]

    def __init__(self, router: Router, reactor: IReactorTime, timeout: float) -> None:
        super().__init__(resource.Resource(), reactor=reactor, timeout=timeout)  # type: ignore[no-untyped-call]
        self._router = router

    def open(self) -> OneRequestChannel:
        """The channel of one admitted request."""
        channel: OneRequestChannel = self.buildProtocol(None)  # type: ignore[no-untyped-call]
        return channel

    def log(self, request: http.Request) -> None:
        """No access log: what would be logged is a stranger's to choose, and may hold a token."""

    def getResourceFor(self, request: server.Request) -> resource.IResource:
        request.site = self
        request.setHeader(b"server", b"ahpd")
        route = self._router.match(request.path)
        if route is None:
            return _Served(_gone, ())
        if not resource.IResource.providedBy(route.serve):
            return _Served(route.serve, route.methods)
        if route.began is not None:
            route.began(request)
        parts = [*(request.prepath or ()), *(request.postpath or ())]
        depth = route.prefix.count(b"/")
        request.prepath, request.postpath = parts[:depth], parts[depth:]
        found: resource.IResource = resource.getChildForRequest(route.serve, request)
        return found


async def _gone(request: IRequest) -> Response:
    return text_response(404, "the route was taken back")


class _Served(resource.Resource):
    """One call of an async handler, as `twisted.web` wants it."""

    isLeaf = True
    _log = Logger()

    def __init__(self, handler: Handler, methods: tuple[str, ...]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._handler = handler
        self._methods = methods

    def render(self, request: server.Request) -> int:
        method = request.method.decode("latin-1")
        if self._methods and method not in self._methods:
            allowed = ", ".join(self._methods)
            words = f"the method is not allowed here; {allowed} are"
            send(text_response(405, words, (("Allow", allowed),)), request)
            return server.NOT_DONE_YET
        running = Deferred.fromCoroutine(_call(self._handler, request))
        request.notifyFinish().addErrback(lambda _: running.cancel())
        running.addCallbacks(send, self._failed, callbackArgs=(request,), errbackArgs=(request,))
        return server.NOT_DONE_YET

    def _failed(self, failure: Failure, request: server.Request) -> None:
        if failure.check(CancelledError):
            return
        self._log.failure("serving {url} failed", failure=failure, url=redact(request.uri))
        send(text_response(500, "this host failed to serve the request"), request)


def send(response: Response, request: server.Request) -> None:
    """Answer a request of `twisted.web`'s, and be done with it."""
    if request.channel is None:  # the client left while the handler was at it
        return
    request.setResponseCode(response.status)
    for name, value in response.headers:
        request.responseHeaders.addRawHeader(name, value)
    if response.status != HTTPStatus.NO_CONTENT:
        request.setHeader(b"content-length", b"%d" % len(response.body))
    request.write(response.body)
    request.finish()


async def _call(handler: Handler, request: IRequest) -> Response:
    return await handler(request)
