"""The endpoints over HTTP: one message a request and a JSON answer, and one stream to listen on.

Source: PLUGINS.txt, "The MCP servers a session is offered"; MCP revision 2025-06-18,
"Streamable HTTP".
"""

from collections.abc import Callable
from typing import Any, Final

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IPushProducer
from twisted.logger import Logger
from twisted.python.failure import Failure
from twisted.web import resource, server
from zope.interface import implementer

from ahpd.mcp.calls import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    PARSE_ERROR,
    answer,
    error,
    initialized,
    is_one_message,
)
from ahpd.mcp.endpoint import Endpoint
from ahpd.mcp.servers import PREFIX, ToolsServers
from ahpd.protocol import State
from ahpd.protocol.errors import shortened
from ahpd.wire.codec import decode, encode

log = Logger()

#: How many requests of one endpoint are answered at a time.
MOST_RUNNING: Final = 256

_JSON: Final = b"application/json"
_MOVED: Final = encode({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"})


def admitted(servers: ToolsServers, path: bytes, authorization: list[bytes]) -> int | None:
    """The status a request is refused with from its head alone, None where it comes in.

    `path` is the request's, `authorization` the values of that header.
    """
    endpoint = servers.find(path.removeprefix(PREFIX.encode() + b"/").decode("latin-1"))
    if endpoint is None:
        return 404
    if len(authorization) != 1:
        return 401
    scheme, _, token = authorization[0].partition(b" ")
    return None if scheme.lower() == b"bearer" and endpoint.opens_with(token.strip()) else 401


class ToolsResource(resource.Resource):
    """Serves `/ahp-mcp/<id>` to requests that `admitted` let in; `name` and `version` are the
    host's own, and `later` calls something after so many seconds (`IReactorTime.callLater`)."""

    isLeaf = True

    def __init__(
        self, servers: ToolsServers, name: str, version: str, later: Callable[..., Any]
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._servers = servers
        self._name = name
        self._version = version
        self._later = later

    def render(self, request: server.Request) -> int | bytes:
        """Answer one request."""
        path = b"/".join(request.postpath or ()).decode("latin-1")
        endpoint = self._servers.find(path)
        if endpoint is None:  # closed since its head was read
            return _status(request, 404)
        if request.method == b"GET" and endpoint.notify:
            Stream(request, endpoint, self._later).begin()
            return server.NOT_DONE_YET
        if request.method != b"POST":
            request.setHeader(b"allow", b"GET, POST" if endpoint.notify else b"POST")
            return _status(request, 405)
        return self._message(request, endpoint)

    def _message(self, request: server.Request, endpoint: Endpoint) -> int | bytes:
        assert request.content is not None, "twisted.web reads a body before it asks for an answer"
        try:
            message = decode(request.content.read())
        except ValueError:
            return _refused(request, PARSE_ERROR, "the body is not JSON")
        if not is_one_message(message):
            words = "the body is not one JSON-RPC 2.0 message"
            return _refused(request, INVALID_REQUEST, words)
        if "id" not in message or "method" not in message:
            return _status(request, 202)
        if len(endpoint.running) >= MOST_RUNNING:
            words = f"{MOST_RUNNING} requests of this endpoint are being answered"
            return _reply(request, 503, message, error(INTERNAL_ERROR, words))
        running = Deferred.fromCoroutine(self._answered(endpoint, message))
        endpoint.running.add(running)
        request.notifyFinish().addErrback(lambda _: running.cancel())

        def over(outcome: Any) -> Any:
            endpoint.running.discard(running)
            return outcome

        running.addBoth(over)
        running.addCallbacks(
            lambda answered: _send(request, answered),
            lambda failure: _failed(request, message, failure),
        )
        return server.NOT_DONE_YET

    async def _answered(self, endpoint: Endpoint, message: State) -> State:
        params = message.get("params") or {}
        about = initialized(params, self._name, self._version, endpoint.notify)
        result, wrong = await answer(
            message["method"], params, endpoint.tools(), endpoint.call, about
        )
        held = {"result": result} if wrong is None else {"error": wrong}
        return {"jsonrpc": "2.0", "id": message["id"], **held}


@implementer(IPushProducer)
class Stream:
    """The one stream of an endpoint: a comment now and then, and each time the list moved.

    A reader that takes nothing is owed one word that the list moved, however often it did.
    """

    #: How often something is said, in seconds, so that no one between counts it as idle.
    KEEP_ALIVE: Final = 25.0

    def __init__(
        self, request: server.Request, endpoint: Endpoint, later: Callable[..., Any]
    ) -> None:
        self._request = request
        self._endpoint = endpoint
        self._later = later
        self._timer: Any = None
        self._held = False
        self._owed = False

    def begin(self) -> None:
        """Take the place of the stream there was."""
        before = self._endpoint.on_closed
        if before is not None:
            before()
        self._request.setHeader(b"content-type", b"text/event-stream")
        self._request.setHeader(b"cache-control", b"no-store")
        self._request.notifyFinish().addBoth(self._gone)
        self._endpoint.on_moved, self._endpoint.on_closed = self._moved, self._end
        self._request.registerProducer(self, True)
        self._beat()

    # -- what the connection tells (IPushProducer) --------------------------------------

    def pauseProducing(self) -> None:
        """The reader takes nothing for now."""
        self._held = True

    def resumeProducing(self) -> None:
        """It has room again."""
        self._held = False
        if self._owed:
            self._moved()

    def stopProducing(self) -> None:
        """It is gone, which `_gone` is told too."""

    # -- what is said -------------------------------------------------------------------

    def _beat(self) -> None:
        if not self._held:
            self._request.write(b": \n\n")
        self._timer = self._later(self.KEEP_ALIVE, self._beat)

    def _moved(self) -> None:
        self._owed = self._held
        if not self._held:
            self._request.write(b"event: message\ndata: " + _MOVED + b"\n\n")

    def _end(self) -> None:
        self._forget()
        if self._held:  # what it did not take it will not take now
            connection: Any = self._request.channel.transport
            connection.abortConnection()
            return
        self._request.unregisterProducer()
        self._request.finish()

    def _gone(self, _: object) -> None:
        self._forget()

    def _forget(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None and timer.active():
            timer.cancel()
        if self._endpoint.on_moved == self._moved:
            self._endpoint.on_moved = self._endpoint.on_closed = None


def _status(request: server.Request, status: int) -> bytes:
    request.setResponseCode(status)
    return b""


def _refused(request: server.Request, code: int, words: str) -> bytes:
    return _reply(request, 400, {"id": None}, error(code, words))


def _reply(request: server.Request, status: int, message: State, wrong: State) -> bytes:
    request.setResponseCode(status)
    request.setHeader(b"content-type", _JSON)
    return encode({"jsonrpc": "2.0", "id": message["id"], "error": wrong})


def _send(request: server.Request, answered: State) -> None:
    if request.channel is None:  # the program left while the tool was at it
        return
    body = encode(answered)
    request.setHeader(b"content-type", _JSON)
    request.setHeader(b"content-length", b"%d" % len(body))
    request.write(body)
    request.finish()


def _failed(request: server.Request, message: State, failure: Failure) -> None:
    words = "this endpoint is closed"
    if not failure.check(CancelledError):
        words = "this host failed to answer the request"
        method = shortened(message["method"])
        log.failure("answering {method} of an MCP endpoint", failure, method=method)
    wrong = error(INTERNAL_ERROR, words)
    _send(request, {"jsonrpc": "2.0", "id": message["id"], "error": wrong})
