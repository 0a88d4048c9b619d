"""A plugin's end of a connection to its own host: JSON-RPC, and nothing of AHP.

It is served by the door a socket is served by, as the plugin's principal and with the grants of
its entry. Source: PLUGINS.txt, "A plugin is a client of its own host".
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.calling import called
from ahpd.interfaces import (
    ClientGone,
    IConnection,
    IConnectionToHost,
    IMessageHandler,
    IPeerFactory,
    PluginError,
    Reader,
)
from ahpd.protocol import State
from ahpd.protocol.errors import INTERNAL_ERROR, RpcError, invalid_params, method_not_found
from ahpd.protocol.json_values import misfit
from ahpd.transports.memory import pair
from ahpd.wire import jsonrpc
from ahpd.wire.codec import Frame, decode

log = Logger(namespace="ahpd.plugin")

_NORMAL = 1000


@implementer(IConnectionToHost, IMessageHandler)
class PluginConnection:
    """See `IConnectionToHost`. `gone` is told once it is over."""

    def __init__(
        self, plugin: str, connection: IConnection, gone: Callable[["PluginConnection"], None]
    ) -> None:
        self._plugin = plugin
        self._connection = connection
        self._gone = gone
        self._asked: dict[jsonrpc.MessageId, Deferred[Any]] = {}
        self._last = 0
        self._handlers: list[Callable[[State], object]] = []
        self._over = False
        self.ended: Deferred[None] = Deferred()
        """Fires when it is over, whoever ended it."""

    # -- what the plugin does ----------------------------------------------------------

    async def request(self, method: str, params: State) -> Any:
        """See `IConnectionToHost.request`. Raises `ClientGone` once the connection is over, and
        `RpcError` -32602 for what cannot be sent."""
        if self._over:
            raise ClientGone("The connection to this host is closed")
        self._last += 1
        identifier, waiting = self._last, Deferred[Any]()
        frame = _framed(partial(jsonrpc.request, identifier, method), params)
        self._asked[identifier] = waiting
        self._connection.send(frame)
        try:
            return await waiting
        finally:
            self._asked.pop(identifier, None)

    def notify(self, method: str, params: State) -> None:
        """See `IConnectionToHost.notify`."""
        if not self._over:
            self._connection.send(_framed(partial(jsonrpc.notification, method), params))

    def on_message(self, handler: Callable[[State], object]) -> None:
        """See `IConnectionToHost.on_message`."""
        self._handlers.append(handler)

    def close(self) -> None:
        """See `IConnectionToHost.close`."""
        self._connection.close(_NORMAL, "the plugin closed it")

    # -- what the host says ---------------------------------------------------------------

    def message_received(self, data: bytes) -> None:
        """See `IMessageHandler.message_received`."""
        message = jsonrpc.parse(data)
        if isinstance(message, jsonrpc.Response):
            self._answered(message)
            return
        for handler in tuple(self._handlers):
            try:
                called(handler, decode(data))
            except Exception:
                log.failure(
                    "plugin {plugin}: what hears its connection failed", plugin=self._plugin
                )
        if isinstance(message, jsonrpc.Request):
            # A plugin serves no client's files; whoever asks is told so.
            error = method_not_found(message.method)
            self._connection.send(jsonrpc.error(message.id, error))

    def connection_lost(self, reason: str) -> None:
        """See `IMessageHandler.connection_lost`."""
        self._over = True
        asked, self._asked = self._asked, {}
        for waiting in asked.values():
            waiting.errback(ClientGone("The connection went before this host answered"))
        self._gone(self)
        self.ended.callback(None)

    def _answered(self, response: jsonrpc.Response) -> None:
        waiting = self._asked.pop(response.id, None)
        if waiting is None:
            return
        if response.error is None:
            waiting.callback(response.result)
            return
        code, words = response.error.get("code"), response.error.get("message")
        waiting.errback(
            RpcError(
                code if isinstance(code, int) else INTERNAL_ERROR,
                str(words),
                response.error.get("data"),
            )
        )


def _framed(message: Callable[[State], Frame], params: State) -> Frame:
    """A message with its params. Raises `RpcError` -32602 for what cannot be sent."""
    try:
        return message(params)
    except Exception as wrong:
        raise invalid_params(misfit(params, "params") or f"it cannot be sent: {wrong}") from None


class PluginConnections(Service):
    """The connections plugins have to their own host; none is open once it is down.

    `peers_for(reader)` makes peers of connections on which `reader` is signed in.
    """

    name = "plugin connections"

    def __init__(self, clock: IReactorTime, peers_for: Callable[[Reader], IPeerFactory]) -> None:
        self._clock = clock
        self._peers_for = peers_for
        self._open: dict[PluginConnection, str] = {}
        self._stopping = False

    def connect(self, plugin: str, grants: tuple[str, ...]) -> IConnectionToHost:
        """A connection served as `plugin:<id>`. Raises `PluginError` on a host that stops."""
        if self._stopping:
            raise PluginError("connect: this host is on its way out")
        made: list[PluginConnection] = []
        reader = Reader(principal=f"plugin:{plugin}", grants=grants)

        def forget(connection: PluginConnection) -> None:
            self._open.pop(connection, None)

        @implementer(IPeerFactory)
        class _Plugin:
            def accept(self, connection: IConnection) -> IMessageHandler:
                made.append(PluginConnection(plugin, connection, forget))
                return made[0]

        pair(self._clock, self._peers_for(reader), _Plugin(), name=f"plugin {plugin}")
        self._open[made[0]] = plugin
        return made[0]

    def stopService(self) -> "Deferred[None]":
        """Every plugin was told `stopping`: what they did not close is closed."""
        super().stopService()  # type: ignore[no-untyped-call]
        self._stopping = True
        return Deferred.fromCoroutine(self.close())

    async def close(self, plugin: str | None = None) -> None:
        """Close those of one plugin, or all of them; returns when they are gone."""
        closing = [held for held, whose in self._open.items() if plugin in (None, whose)]
        for connection in closing:
            connection.close()
        for connection in closing:
            await connection.ended
