"""The routes of plugins: each under `/plugins/<id>/`, on the listener that was chosen for them.

Nothing stands between a route and whoever reaches the port but the check of the `Host` header:
a webhook is no browser and brings no token of ours, so a handler authenticates its own callers.
Source: PLUGINS.txt, "A route authenticates its own caller".
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from twisted.web.http_headers import Headers
from twisted.web.iweb import IRequest
from twisted.web.resource import IResource

from ahpd.calling import asked, called
from ahpd.interfaces import Owned, Request, Response, RouteHandler, text_response
from ahpd.transports.http import Router, not_found, send

log = Logger()

PREFIX: Final = "/plugins"
#: The statuses of a whole answer; what is below says that one is still to come.
_FIRST_STATUS: Final = 200
_LAST_STATUS: Final = 599
_GOING: Final = text_response(503, "the plugin that serves this is on its way out")
#: The headers that a resource which goes did not set.
_OURS: Final = frozenset({b"server", b"connection"})


@attrs.define(eq=False, repr=False)
class _Served:
    """One plugin's route, and the requests its handler is at."""

    owned: Owned
    take_back: Any
    running: set["Deferred[Response]"] = attrs.field(factory=set)
    requests: set[Any] = attrs.field(factory=set)
    """Those its resource is at."""

    def began(self, request: Any) -> None:
        """A request its resource is asked to serve."""
        self.requests.add(request)
        request.notifyFinish().addBoth(lambda _: self.requests.discard(request))

    def end(self) -> None:
        """End what is under way, whatever its plugin makes of that."""
        for running in tuple(self.running):
            running.cancel()
        for request in tuple(self.requests):
            _cut_off(request)


class PluginRoutes:
    """The plugins' part of a `Router`."""

    def __init__(self, router: Router) -> None:
        self._router = router
        self._served: dict[str, _Served] = {}
        router.register(PREFIX, _nothing, methods=())

    def contributed(self, routes: Mapping[str, Owned]) -> None:
        """Serve `routes`, by the id of their plugins, and no others.

        Requests a route that goes is at are answered 503; one that was answered in part is cut off.
        """
        for plugin, served in tuple(self._served.items()):
            if routes.get(plugin) != served.owned:
                self._take_back(plugin)
        for plugin, owned in routes.items():
            if plugin not in self._served:
                self._serve(plugin, owned)

    def _serve(self, plugin: str, owned: Owned) -> None:
        served = _Served(owned, lambda: None)
        handler = owned.value
        serve = handler if IResource.providedBy(handler) else _asked(plugin, handler, served)
        served.take_back = self._router.register(
            f"{PREFIX}/{plugin}", serve, methods=(), began=served.began
        )
        self._served[plugin] = served

    def _take_back(self, plugin: str) -> None:
        served = self._served.pop(plugin)
        served.take_back()
        served.end()


async def _nothing(request: IRequest) -> Response:
    return not_found()


def _asked(plugin: str, handler: RouteHandler, served: _Served) -> Any:
    async def serve(request: Any) -> Response:
        working = Deferred.fromCoroutine(_answered(plugin, handler, request))
        # Code that catches its cancellation keeps nobody waiting.
        running: Deferred[Response] = Deferred(lambda _: working.cancel())
        working.addBoth(lambda answer: None if running.called else running.callback(answer))
        served.running.add(running)
        gone = request.notifyFinish()
        gone.addErrback(lambda _: running.cancel())
        try:
            return await running
        except CancelledError:
            return _GOING
        finally:
            served.running.discard(running)

    return serve


async def _answered(plugin: str, handler: RouteHandler, request: IRequest) -> Response:
    try:
        answer: Response = await asked(handler, request_of(request))
        called(_check_answer, answer)
    except CancelledError:
        raise
    except Exception:
        log.failure("plugin {plugin}: its route failed", plugin=plugin)
        return text_response(500, "the plugin that serves this failed")
    return answer


def _cut_off(request: Any) -> None:
    """End a request whose resource goes: nobody else finishes it."""
    if request.startedWriting:
        request.loseConnection()
        return
    for name, _ in tuple(request.responseHeaders.getAllRawHeaders()):
        if name.lower() not in _OURS:
            request.responseHeaders.removeHeader(name)
    request.cookies.clear()
    send(_GOING, request)


def _check_answer(answer: Any) -> None:
    """Raises `TypeError` and `ValueError` for what cannot be sent, naming the part of it."""
    if not isinstance(answer, Response):
        raise TypeError(f"a handler answers a Response, found {type(answer).__name__}")
    if not isinstance(answer.status, int) or not _FIRST_STATUS <= answer.status <= _LAST_STATUS:
        raise ValueError(f"the status of its response is {answer.status!r}")
    if not isinstance(answer.body, bytes):
        raise TypeError(f"the body of its response is {type(answer.body).__name__}, not bytes")
    sent = Headers()
    for header in answer.headers:
        try:
            name, value = header
            sent.addRawHeader(name, value)
        except Exception as wrong:
            raise ValueError(f"the header {header!a} of its response: {wrong}") from None


def request_of(request: Any) -> Request:
    """A request of `twisted.web`'s as a plugin is handed it: its path whole, its body read."""
    target: bytes = request.uri
    path, _, query = target.partition(b"?")
    headers = {
        name.decode("latin-1").lower(): tuple(value.decode("latin-1") for value in values)
        for name, values in request.requestHeaders.getAllRawHeaders()
    }
    request.content.seek(0)
    address = request.getClientAddress()
    return Request(
        method=request.method.decode("latin-1"),
        path=path.decode("latin-1"),
        query=query.decode("latin-1"),
        headers=headers,
        body=request.content.read(),
        address=getattr(address, "host", "") or "",
    )
