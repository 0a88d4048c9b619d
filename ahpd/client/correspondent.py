"""One side of an exchange with a host that outlives its connections.

What is asked both ways and answered, over whichever connection is open; what it is
about is for whoever stands on this (`ahpd.client.client`).
"""

# ruff: noqa: ASYNC109 - a timeout here is counted by the clock the client was given

from itertools import count
from typing import Any

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from ahpd.client.audience import Audience
from ahpd.client.failures import ConnectionGone
from ahpd.client.link import Link, OnResult, RequestHandler, wire_error
from ahpd.client.waiting import within
from ahpd.interfaces import IConnection, IMessageHandler, IPeerFactory
from ahpd.protocol.errors import method_not_found
from ahpd.protocol.uris import ROOT
from ahpd.wire.codec import Frame
from ahpd.wire.jsonrpc import Response


@implementer(IPeerFactory)
class Correspondent:
    """Speaks over one connection after another.

    `clock` counts the timeouts; `timeout` bounds every request that names no other, in
    seconds, None for no bound. The audience is told what the host may not have sent,
    when a message was dealt with, and when the connection went. `link_notified` is the
    subclass's to write.
    """

    def __init__(self, clock: IReactorTime, timeout: float | None) -> None:
        self.timeout = timeout
        self._clock = clock
        self._audience = Audience()
        self._link: Link | None = None
        self._ended = "no connection was made yet"
        self._request_ids = count(1)
        self._served: dict[str, RequestHandler] = {}
        self._closed: list[Deferred[str]] = []

    # -- the connection -------------------------------------------------------------

    def accept(self, connection: IConnection) -> IMessageHandler:
        """Speak over `connection` from now on; one that was open is dropped."""
        self.abort()
        self._link = Link(connection, self, self._request_ids.__next__)
        return self._link

    @property
    def connected(self) -> bool:
        """Whether there is a connection."""
        return self._link is not None

    @property
    def closed(self) -> Deferred[str]:
        """Fires with the reason when the connection goes; at once when there is none."""
        waiting: Deferred[str] = Deferred(self._closed_cancelled)
        if self._link is None:
            waiting.callback(self._ended)
        else:
            self._closed.append(waiting)
        return waiting

    def _closed_cancelled(self, waiting: Deferred[str]) -> None:
        if waiting in self._closed:
            self._closed.remove(waiting)

    def close(self, code: int = 1000, reason: str = "") -> None:
        """End the connection politely. Without one it is no error."""
        if self._link is not None:
            self._link.connection.close(code, reason)

    def abort(self) -> None:
        """Drop the connection now, as a network would. Without one it is no error."""
        link = self._link
        if link is not None:
            link.connection.abort()
            link.connection_lost("dropped by this client")

    def _connection(self, wanted: str) -> Link:
        if self._link is None:
            raise ConnectionGone(f"{wanted} was not sent", self._ended)
        return self._link

    def _limit(self, timeout: float | None) -> float | None:
        return self.timeout if timeout is None else timeout

    # -- asking ---------------------------------------------------------------------

    async def request(self, method: str, /, **params: Any) -> Any:
        """The host's answer. The channel is the root's where none is named."""
        return await self.call(method, {"channel": ROOT, **params})

    async def call(
        self,
        method: str,
        params: dict[str, Any],
        *,
        timeout: float | None = None,
        apply: OnResult | None = None,
    ) -> Any:
        """`request` with exactly these params and, where given, another timeout.

        `apply` is given the result before anything else the host sent is dealt with.
        """
        answer = self._connection(method).request(method, params, apply)
        what = f"{method} was not answered"
        return await within(answer, self._limit(timeout), self._clock, what)

    def notify(self, method: str, /, **params: Any) -> None:
        """Send a notification."""
        self._connection(method).notify(method, params)

    def send_raw(self, payload: bytes) -> None:
        """Send a frame that may be no message at all."""
        self._connection("a frame").send(Frame(payload))

    def serve(self, method: str, handler: RequestHandler) -> None:
        """Answer the host's requests of `method`; those of any other are answered -32601.

        The handler is given the params and returns the result, or an awaitable of it; what
        it raises as `RpcError` is the answer, anything else is logged and answered -32603.
        A host asks `resource*` and `createResourceWatch` (`COMMANDS` of direction `both`),
        and `subscribe` for a watch it was answered. What it tells without asking, an
        `unsubscribe` of that watch, comes by `on_notification`.
        """
        self._served[method] = handler

    # -- what a link says ---------------------------------------------------------------

    def link_notified(self, link: Link, method: str, params: dict[str, Any]) -> None:
        """A notification came."""
        raise NotImplementedError

    def link_asked(self, link: Link, method: str, params: dict[str, Any]) -> Any:
        """The host asked something."""
        handler = self._served.get(method)
        if handler is None:
            raise method_not_found(method)
        return handler(params)

    def link_settled(self, link: Link) -> None:
        """A message was dealt with."""
        self._audience.settled()

    def link_violated(self, link: Link, words: str) -> None:
        """A frame was none the host may send."""
        self._audience.violated(words)

    def link_unmatched(self, link: Link, response: Response) -> None:
        """The host answered what was not asked."""
        error = None if response.error is None else wire_error(response.error)
        if error is not None and response.id == "":
            self._audience.violated(f"the host could not read a frame of ours: {error}")
        else:
            self._audience.violated(f"an answer to no request of ours, id {response.id!r}")

    def link_sends(self, link: Link, frame: Frame) -> None:
        """A frame goes out. A subclass may look at it."""

    def link_reads(self, link: Link, data: bytes) -> None:
        """A frame came in. A subclass may look at it."""

    def link_lost(self, link: Link, reason: str) -> None:
        """The connection went."""
        if link is not self._link:
            return
        self._link = None
        self._ended = reason
        self._audience.ended(reason)
        closed, self._closed = self._closed, []
        for waiting in closed:
            waiting.callback(reason)
