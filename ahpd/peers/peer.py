"""One connection: messages in, answers, actions and requests of ours out.

The contract of the wire, in one place. A frame is one JSON-RPC message. Nothing but
`ping` is served before `initialize` or `reconnect`. A request is answered once, in
whatever order its work ends: -32601 for a method this host does not serve, -32602
naming the wrong parameter's path, and a literal channel is held to (AHP.txt,
Commands). `unsubscribe` and `dispatchAction` are notifications and get no answer.
What is said on a watched channel comes in order, each envelope once, projected for
the version this connection agreed on; a client that stops reading is closed, and
costs nobody else anything.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from functools import cache
from typing import Any

from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.calling import called, plain_failure
from ahpd.channels.envelope import Envelope
from ahpd.interfaces import (
    ClientGone,
    ClientRecord,
    Command,
    IClientConnection,
    IConnection,
    IMessageHandler,
    Reader,
)
from ahpd.peers.answers import Followed, hold_to_channel
from ahpd.peers.delivery import DeltaMerger
from ahpd.peers.older_windows import OlderWindow
from ahpd.peers.outbox import Outbox
from ahpd.protocol import State
from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.check import ShapeError, check
from ahpd.protocol.errors import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    RpcError,
    internal_error,
    invalid_params,
    method_not_found,
)
from ahpd.protocol.methods import COMMANDS
from ahpd.protocol.versions import NEWEST, shows
from ahpd.wire import jsonrpc
from ahpd.wire.codec import Frame

log = Logger()

#: Served before the handshake: how a client finds out it can talk at all.
_BEFORE_HANDSHAKE = frozenset({"ping", "initialize", "reconnect"})
#: The longest a delta is held, whatever a client allows, in milliseconds.
_LONGEST_WINDOW_MS = 60_000


@cache
def hidden_types(version: str) -> frozenset[str]:
    """The action types a connection at `version` is not sent."""
    return frozenset(name for name in ACTIONS if not shows(version, name))


@implementer(IMessageHandler, IClientConnection)
class Peer:
    """The host's end of one connection.

    `commands` and `notifications` are what this host serves, by method; `closed` is
    called once when the connection is gone.
    """

    def __init__(
        self,
        connection: IConnection,
        connection_id: int,
        clock: IReactorTime,
        commands: Mapping[str, Command],
        notifications: Mapping[str, Command],
        queue_limit: Callable[[], int],
        closed: Callable[["Peer"], None],
    ) -> None:
        self.connection_id = connection_id
        self.record: ClientRecord | None = None
        #: Who is signed in on it: a plugin, as a connection of its own says.
        self.reader: Reader | None = None
        self.version = NEWEST
        self.locale: str | None = None
        self.connected = True
        #: What came in, in messages and in bytes.
        self.frames_in = 0
        self.bytes_in = 0
        #: The subscription in the making on each channel: one place per channel.
        self.places: dict[str, object] = {}
        self._connection = connection
        self._commands = commands
        self._notifications = notifications
        self._closed = closed
        #: Told once the handshake is through.
        self.on_agreed: Callable[[Peer], None] = lambda peer: None
        #: The action types its version does not have: it is sent none of them.
        self.hidden: frozenset[str] = frozenset()
        self.window: OlderWindow | None = None
        """What it is shown, for an older window; None for a client that is shown everything."""
        self._outbox = Outbox(connection, queue_limit, lambda: self.name)
        self._merger = DeltaMerger(clock, self._outbox.send)
        self._windows: dict[str, float] = {}
        self._asked: dict[jsonrpc.MessageId, Deferred[Any]] = {}
        self._next_id = 0
        self._answering: set[Deferred[None]] = set()

    @property
    def name(self) -> str:
        """Who this is, for the log: the client's id where it said one, and its address."""
        if self.record is None:
            return self._connection.name
        return f"client {self.record.client_id} ({self._connection.name})"

    # -- what carries it --------------------------------------------------------

    @property
    def address(self) -> str | None:
        """The remote address its socket reported; None where there is no socket."""
        return getattr(self._connection, "address", None)

    @property
    def forwarded_for(self) -> str | None:
        """The `X-Forwarded-For` of its request, as the client claims; nobody reads it."""
        return getattr(self._connection, "forwarded_for", None)

    @property
    def frames_out(self) -> int:
        """How many messages it was sent."""
        return self._outbox.frames

    @property
    def bytes_out(self) -> int:
        """How many bytes of JSON those were."""
        return self._outbox.bytes

    # -- the handshake --------------------------------------------------------

    def agree(
        self,
        record: ClientRecord,
        version: str,
        locale: str | None,
        window: OlderWindow | None = None,
    ) -> None:
        """The handshake is through: who this is, which version it speaks and what it can address."""
        self.window = window
        self.record = record
        self.version = version
        self.locale = locale
        self.hidden = hidden_types(version)
        self.on_agreed(self)

    def agreed(self) -> ClientRecord:
        """The client of this connection. Raises `RpcError` -32600 before the handshake."""
        if self.record is None:
            raise RpcError(INVALID_REQUEST, "Send initialize or reconnect first")
        return self.record

    # -- what comes in --------------------------------------------------------

    def message_received(self, data: bytes) -> None:
        """One frame from the other side."""
        self.frames_in += 1
        self.bytes_in += len(data)
        message = jsonrpc.parse(data)
        match message:
            case jsonrpc.Request():
                self._requested(message)
            case jsonrpc.Notification():
                self._notified(message)
            case jsonrpc.Response():
                self._answered(message)
            case jsonrpc.Malformed(identifier, error):
                log.info("{who} sent no message: {words}", who=self.name, words=error.message)
                self._send(jsonrpc.error(identifier, error))

    def connection_lost(self, reason: str) -> None:
        """The connection is gone: nothing more is sent, and whoever waits on it is told."""
        if not self.connected:
            return
        self.connected = False
        self._outbox.close()
        self._merger.discard()
        log.info("{who} disconnected: {reason}", who=self.name, reason=reason)
        asked, self._asked = self._asked, {}
        for waiting in asked.values():
            waiting.errback(ClientGone("The client went away before it answered"))
        self._closed(self)

    def _requested(self, request: jsonrpc.Request) -> None:
        try:
            answer = self._call(request.method, request.params)
        except BaseException as error:
            self._send(jsonrpc.error(request.id, self._wire_error(request.method, error)))
            return
        if not isinstance(answer, Awaitable):
            self._succeed(request, answer)
            return
        task = Deferred.fromCoroutine(self._answer(request, answer))
        if not task.called:
            self._answering.add(task)
            task.addBoth(lambda _: self._answering.discard(task))

    async def _answer(self, request: jsonrpc.Request, answer: Awaitable[Any]) -> None:
        try:
            value = await answer
        except GeneratorExit:
            raise
        except BaseException as error:
            self._send(jsonrpc.error(request.id, self._wire_error(request.method, error)))
        else:
            self._succeed(request, value)

    def _succeed(self, request: jsonrpc.Request, value: Any) -> None:
        if isinstance(value, Followed):
            self._succeed(request, value.value)
            value.after()
            return
        try:
            frame = jsonrpc.result(request.id, value)
        except Exception as error:  # no JSON value: a fault of ours, and answered all the same
            frame = jsonrpc.error(request.id, self._wire_error(request.method, error))
        self._send(frame)

    def _call(self, method: str, params: dict[str, Any]) -> Any:
        command = self._commands.get(method)
        if self.record is None and method not in _BEFORE_HANDSHAKE:
            raise RpcError(
                INVALID_REQUEST,
                f"{method}: send initialize or reconnect first, ping works before it",
            )
        if command is None:
            raise method_not_found(method)
        spec = COMMANDS.get(method)
        if spec is not None:
            if spec.channel is not None:
                hold_to_channel(method, params, spec.channel)
            check(params, spec.params, at="params")
        return command(self, params)

    def _notified(self, message: jsonrpc.Notification) -> None:
        command = self._notifications.get(message.method)
        if command is None or self.record is None:
            log.info(
                "{who} sent a notification that is not served {when}: {method}",
                who=self.name,
                when="" if command is None else "before its handshake",
                method=message.method[:100],
            )
            return
        try:
            called(command, self, message.params)
        except (RpcError, ShapeError) as error:
            log.info(
                "{who}: {method}: {words}", who=self.name, method=message.method, words=str(error)
            )
        except Exception:
            log.failure("{method} from {who} failed", method=message.method, who=self.name)

    def _wire_error(self, method: str, error: BaseException) -> RpcError:
        if isinstance(error, CancelledError):
            return internal_error(f"{method} was cancelled")
        failure = plain_failure(error)  # what a port raises may be a plugin's
        if isinstance(failure, RpcError):
            return failure
        if isinstance(failure, ShapeError):
            return invalid_params(str(failure))
        log.failure("{method} from {who} failed", method=method, who=self.name)
        return RpcError(INTERNAL_ERROR, f"{method} failed; the host's log says why")

    # -- requests of ours -----------------------------------------------------

    async def request(self, method: str, params: State) -> Any:
        """Ask the client; its result. Raises `RpcError` as it answered, `ClientGone` when it goes."""
        if not self.connected:
            raise ClientGone("The client is not connected")
        self._next_id += 1
        identifier, waiting = self._next_id, Deferred[Any]()
        self._asked[identifier] = waiting
        self._send(jsonrpc.request(identifier, method, params))
        try:
            return await waiting
        finally:  # whoever asked may have stopped waiting
            self._asked.pop(identifier, None)

    def _answered(self, response: jsonrpc.Response) -> None:
        waiting = self._asked.pop(response.id, None)
        if waiting is None:
            log.info(
                "{who} answered a request nobody made: {id}",
                who=self.name,
                id=str(response.id)[:100],
            )
        elif response.error is None:
            waiting.callback(response.result)
        else:
            code, words = response.error.get("code"), response.error.get("message")
            waiting.errback(
                RpcError(
                    code if isinstance(code, int) else INTERNAL_ERROR,
                    words
                    if isinstance(words, str)
                    else "The client answered an error without words",
                    response.error.get("data"),
                )
            )

    def send_notification(self, method: str, params: State) -> None:
        """Tell this client alone."""
        self._send(jsonrpc.notification(method, params))

    # -- what it can address ----------------------------------------------------

    @property
    def derives_chats(self) -> bool:
        """See `ICaller.derives_chats`."""
        return self.window is not None and not self.window.chat_uris

    def sees(self, channel: str) -> bool:
        """See `ICaller.sees`."""
        return self.window is None or self.window.sees(channel)

    @property
    def shown_row(self) -> Callable[[State], State | None] | None:
        """See `ICaller.shown_row`."""
        return None if self.window is None else self.window.shown_row

    # -- what is watched ------------------------------------------------------

    def deliver(self, envelope: Envelope) -> None:
        """Send one action of a watched channel, or hold it where a window was asked for."""
        if envelope.type in self.hidden:
            return
        if self.window is not None:
            shown = self.window.projected(envelope)
            if shown is None:
                return
            envelope = shown
        if self._windows:
            self._merger.offer(envelope, self._windows.get(envelope.channel, 0))
        else:
            # Asked for each of them, so the property is not called for a frame that is there.
            frame = envelope.made
            self._outbox.send(envelope.frame if frame is None else frame)

    def notify(self, channel: str, method: str, frame: Frame) -> None:
        """Send one notification of a watched channel."""
        shown = frame if self.window is None else self.window.notified(method, frame)
        if shown is not None:
            self._send(shown)

    def replayed(self, missed: Iterable[Envelope]) -> list[bytes]:
        """The bodies of those of `missed` this client is sent, as it is sent them."""
        hidden = self.hidden
        if self.window is None:
            return [
                one.body
                for one in missed
                if one.type not in hidden and (not one.narrowed or one.reaches(self))
            ]
        sent = (one for one in missed if one.type not in hidden and one.reaches(self))
        shown = map(self.window.projected, sent)
        return [envelope.body for envelope in shown if envelope is not None]

    def lagging(self) -> bool:
        """Whether this client has much to read and is reading it."""
        return self._outbox.lagging()

    def set_window(self, channel: str, max_latency_ms: float) -> None:
        """Deltas of `channel` may be held this long from now on; 0 sends each as it comes.

        A minute at most: a client may name any number, and some are no time a clock has.
        """
        self._merger.flush()
        if max_latency_ms > 0:
            self._windows[channel] = min(max_latency_ms, _LONGEST_WINDOW_MS)
        else:
            self._windows.pop(channel, None)

    def _send(self, frame: Frame) -> None:
        self._merger.flush()
        self._outbox.send(frame)

    def close(self, code: int, reason: str) -> None:
        """End the connection once what was sent is out."""
        self._connection.close(code, reason)
