"""One connection of a client: JSON-RPC both ways, and nothing of AHP."""

from collections.abc import Awaitable, Callable
from inspect import isawaitable
from typing import Any, Protocol

import attrs
from twisted.internet.defer import CancelledError, Deferred
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.client.failures import ConnectionGone
from ahpd.interfaces import IConnection, IMessageHandler
from ahpd.protocol.errors import RpcError, internal_error
from ahpd.wire import jsonrpc
from ahpd.wire.codec import Frame

log = Logger()

#: Does something with a request's result, in the same step as the answer is read.
OnResult = Callable[[Any], None]
#: Answers a request of the host's: any JSON value, or an awaitable of one. Raises `RpcError`.
RequestHandler = Callable[[dict[str, Any]], Awaitable[Any] | Any]


class LinkOwner(Protocol):
    """What a link tells whoever opened it. `link` says which connection it was."""

    def link_notified(self, link: "Link", method: str, params: dict[str, Any]) -> None:
        """The host sent a notification."""

    def link_asked(self, link: "Link", method: str, params: dict[str, Any]) -> Any:
        """The host asked something; the answer, or an awaitable of it. Raises `RpcError`."""

    def link_settled(self, link: "Link") -> None:
        """A message was dealt with."""

    def link_lost(self, link: "Link", reason: str) -> None:
        """The connection is gone."""

    def link_violated(self, link: "Link", words: str) -> None:
        """The host sent what a host may not send."""

    def link_unmatched(self, link: "Link", response: jsonrpc.Response) -> None:
        """The host answered what was not asked; id "" for a frame it could not read."""

    def link_sends(self, link: "Link", frame: Frame) -> None:
        """A frame is about to go out."""

    def link_reads(self, link: "Link", data: bytes) -> None:
        """A frame came in, not looked at yet."""


@attrs.define(eq=False)
class _Pending:
    method: str
    answer: Deferred[Any]
    apply: OnResult | None


@implementer(IMessageHandler)
class Link:
    """A client's end of one connection.

    Ids are taken from `next_id`, which the owner shares between its connections, so
    that a message in a log belongs to one request only.
    """

    def __init__(
        self, connection: IConnection, owner: LinkOwner, next_id: Callable[[], int]
    ) -> None:
        self.connection = connection
        self.lost: str | None = None
        """Why the connection ended; None while it is open."""
        self._owner = owner
        self._next_id = next_id
        self._pending: dict[jsonrpc.MessageId, _Pending] = {}
        self._answering: set[Deferred[Any]] = set()

    # -- out --------------------------------------------------------------------

    def request(
        self, method: str, params: dict[str, Any], apply: OnResult | None = None
    ) -> Deferred[Any]:
        """Ask the host; fires with the result, fails with `RpcError` or `ConnectionGone`.

        `apply` is given the result before anything else the host sent is read.
        Cancelling the Deferred forgets the request: its answer is then ignored but for
        `apply`, because the host did what was asked.
        """
        if self.lost is not None:
            raise ConnectionGone(f"{method} was not sent, the connection is gone", self.lost)
        identifier = self._next_id()
        pending = _Pending(method, Deferred(), apply)
        self._pending[identifier] = pending
        self.send(jsonrpc.request(identifier, method, params))
        return pending.answer

    def notify(self, method: str, params: dict[str, Any]) -> None:
        """Tell the host something it does not answer. Raises `ConnectionGone`."""
        if self.lost is not None:
            raise ConnectionGone(f"{method} was not sent, the connection is gone", self.lost)
        self.send(jsonrpc.notification(method, params))

    def send(self, frame: Frame) -> None:
        """Send a frame as it is."""
        self._owner.link_sends(self, frame)
        self.connection.send(frame)

    # -- in ---------------------------------------------------------------------

    def message_received(self, data: bytes) -> None:
        """Deal with one message of the host's."""
        if self.lost is not None:
            return
        try:
            self._owner.link_reads(self, data)
            self._dispatch(jsonrpc.parse(data))
            self._owner.link_settled(self)
        except Exception:
            log.failure("a message of the host's could not be dealt with")

    def _dispatch(self, message: jsonrpc.Message) -> None:
        if isinstance(message, jsonrpc.Notification):
            self._owner.link_notified(self, message.method, message.params)
        elif isinstance(message, jsonrpc.Response):
            self._answered(message)
        elif isinstance(message, jsonrpc.Request):
            self._asked(message)
        else:
            self._owner.link_violated(self, f"a frame is no message: {message.error.message}")

    def _answered(self, response: jsonrpc.Response) -> None:
        pending = self._pending.pop(response.id, None)
        if pending is None:
            self._owner.link_unmatched(self, response)
            return
        if response.error is not None:
            pending.answer.errback(wire_error(response.error))
            return
        if pending.apply is not None:
            try:
                pending.apply(response.result)
            except (KeyError, TypeError, ValueError) as error:
                words = f"the answer to {pending.method} is not one: {error!r}"
                self._owner.link_violated(self, words)
                pending.answer.errback(internal_error(words))
                return
        pending.answer.callback(response.result)

    def _asked(self, request: jsonrpc.Request) -> None:
        try:
            answer = self._owner.link_asked(self, request.method, request.params)
        except RpcError as error:
            self.send(jsonrpc.error(request.id, error))
            return
        except Exception:
            log.failure("{method}, asked by the host, failed", method=request.method)
            self.send(
                jsonrpc.error(request.id, internal_error(f"{request.method} failed in this client"))
            )
            return
        if not isawaitable(answer):
            self.send(jsonrpc.result(request.id, answer))
            return
        task = Deferred.fromCoroutine(self._answer_later(request, answer))
        self._answering.add(task)
        task.addBoth(lambda _: self._answering.discard(task))

    async def _answer_later(self, request: jsonrpc.Request, answer: Awaitable[Any]) -> None:
        try:
            frame = jsonrpc.result(request.id, await answer)
        except RpcError as error:
            frame = jsonrpc.error(request.id, error)
        except CancelledError:
            return
        except Exception:
            log.failure("{method}, asked by the host, failed", method=request.method)
            frame = jsonrpc.error(
                request.id, internal_error(f"{request.method} failed in this client")
            )
        if self.lost is None:
            self.send(frame)

    # -- the end ----------------------------------------------------------------

    def connection_lost(self, reason: str) -> None:
        """Fail what is waited for, in words that say what it was."""
        if self.lost is not None:
            return
        self.lost = reason
        pending, self._pending = self._pending, {}
        for task in tuple(self._answering):
            task.cancel()
        self._owner.link_lost(self, reason)
        for request in pending.values():
            if not request.answer.called:
                request.answer.errback(
                    ConnectionGone(
                        f"the connection went before {request.method} was answered", reason
                    )
                )


def wire_error(error: dict[str, Any]) -> RpcError:
    """The error of a response, whatever the host put into it."""
    code, message = error.get("code"), error.get("message")
    if isinstance(code, float):
        code = int(code)
    return RpcError(
        code if isinstance(code, int) else -32603,
        message if isinstance(message, str) else "the host gave no words for its error",
        error.get("data"),
    )
