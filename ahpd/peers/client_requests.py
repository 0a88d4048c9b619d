"""Asking clients: which connection is asked, in which order, and how long is waited.

The newest connection of a client is asked. Few requests are under way to one client at a
time, and none is sent while it has much to read: whoever asks much of a client waits,
and does not have it closed for being behind. A client that just went is waited for where
the caller has the time, as VS Code's client filesystem waits (AHP.txt, "Server-to-client
commands").

What a client refuses is passed on as it said it, and is in the log with the method, the URI,
the client and the code: nowhere else are all four seen at once.
"""

from collections import deque
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as TookTooLong
from twisted.internet.interfaces import IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger

from ahpd.interfaces import ClientGone, IClientConnection, IClients
from ahpd.protocol import State
from ahpd.protocol.errors import RpcError, internal_error

log = Logger()

T = TypeVar("T")

#: How long a client that went is waited for, in seconds from when its last connection closed.
GRACE: Final = 5.0
#: How long a client has to answer, in seconds: what it does next waits behind the answer.
PATIENCE: Final = 60.0
#: How long where the client may ask a person first.
PERSONS_PATIENCE: Final = 60 * PATIENCE

#: How many requests one client is asked at a time, and how many more may wait for that.
MOST_AT_ONCE: Final = 32
MOST_WAITING: Final = 1000

#: May be asked a second time where the connection went before the answer: they change
#: nothing, and a watch goes with its connection. Of the others nobody knows what was done.
_REPEATABLE: Final = frozenset(
    {"resourceRead", "resourceList", "resourceResolve", "createResourceWatch"}
)
#: Answered by a person, perhaps: these wait for each other and hold back nothing else.
_PROMPTING: Final = frozenset({"resourceRequest"})

#: How long after a look at a client that had much to read comes the next, in seconds.
_LOOK_AGAIN: Final = 0.05


class ClientRefused(RpcError):
    """What the client itself answered, to be passed on as it is: its words are not shortened."""

    def to_wire(self) -> dict[str, Any]:
        """See `RpcError.to_wire`."""
        return {**super().to_wire(), "message": self.message}


class ClientRequests:
    """Sends requests to clients. `stop` ends what is under way, and nothing is asked then."""

    def __init__(self, clients: IClients, clock: IReactorTime) -> None:
        self._clients = clients
        self._clock = clock
        self._lines: dict[tuple[str, bool], _Line] = {}
        self._asking: set[Deferred[Any]] = set()
        self._stopped = False

    async def ask(
        self, client_id: str, method: str, params: State, *, grace: float = 0.0
    ) -> tuple[IClientConnection, Any]:
        """The connection that answered, and its result as the client gave it.

        `grace` is how many seconds after its last connection closed the client is waited
        for. Raises `ClientRefused` as the client refused; `RpcError` -32603 for one that is
        not here, went (`ClientGone`), did not answer in time, or is asked too much.
        """
        return await self._in_time(method, self._in_line(client_id, method, params, grace))

    async def ask_on(self, connection: IClientConnection, method: str, params: State) -> Any:
        """The result of what this connection alone can be asked. Raises as `ask` does."""
        client_id = connection.record.client_id
        return await self._in_time(method, _answer(client_id, connection, method, params))

    async def _in_time(self, method: str, asking: Coroutine[Any, Any, T]) -> T:
        if self._stopped:
            asking.close()
            raise internal_error(f"{method} was not asked of the client: this host is stopping")
        asked = Deferred.fromCoroutine(asking)
        self._asking.add(asked)
        patience = PERSONS_PATIENCE if method in _PROMPTING else PATIENCE
        try:
            return await asked.addTimeout(patience, self._clock)
        except TookTooLong:
            words = f"The client did not answer {method} in {patience:g} s"
            raise internal_error(words) from None
        finally:
            self._asking.discard(asked)

    def stop(self) -> None:
        """Cancel everything that is waited for, and refuse what comes later."""
        self._stopped = True
        for asked in tuple(self._asking):
            asked.cancel()

    async def _in_line(
        self, client_id: str, method: str, params: State, grace: float
    ) -> tuple[IClientConnection, Any]:
        key = (client_id, method in _PROMPTING)
        line = self._lines.setdefault(key, _Line())
        if line.is_full:
            raise internal_error(f"{MOST_WAITING} requests wait for client {client_id} already")
        await line.enter()
        try:
            return await self._asked(client_id, method, params, grace)
        finally:
            line.leave()
            if line.is_empty and self._lines.get(key) is line:
                del self._lines[key]

    async def _asked(
        self, client_id: str, method: str, params: State, grace: float
    ) -> tuple[IClientConnection, Any]:
        try:
            return await self._asked_once(client_id, method, params, grace)
        except ClientGone:
            if method not in _REPEATABLE:
                raise
            # It is still being taken leave of: what is open now is known in the next turn.
            await deferLater(self._clock, 0)
            if not grace and not self._clients.connections(client_id):
                raise
        return await self._asked_once(client_id, method, params, grace)

    async def _asked_once(
        self, client_id: str, method: str, params: State, grace: float
    ) -> tuple[IClientConnection, Any]:
        connection = await self._connection(client_id, grace)
        while connection.lagging():
            await deferLater(self._clock, _LOOK_AGAIN)
            connection = await self._connection(client_id, grace)
        return connection, await _answer(client_id, connection, method, params)

    # -- who is asked -----------------------------------------------------------------

    async def _connection(self, client_id: str, grace: float) -> IClientConnection:
        """The newest connection of the client, which may have to come back first."""
        connections = self._clients.connections(client_id)
        if not connections:
            await self._back(client_id, grace)
            connections = self._clients.connections(client_id)
        if not connections:
            raise internal_error(f"No connection for authority: {client_id}")
        return connections[-1]

    async def _back(self, client_id: str, grace: float) -> None:
        """Wait until the client is here again, or its grace is over."""
        gone_at = self._clients.gone_at(client_id) if grace else None
        left = 0.0 if gone_at is None else gone_at + grace - self._clock.seconds()
        if left <= 0:
            return
        waited = Deferred[None]()

        def changed() -> None:
            if not waited.called and self._clients.connections(client_id):
                waited.callback(None)

        stop = self._clients.listen(client_id, changed)
        over = self._clock.callLater(left, waited.callback, None)
        try:
            await waited
        finally:
            stop()
            if over.active():
                over.cancel()


async def _answer(client_id: str, connection: IClientConnection, method: str, params: State) -> Any:
    try:
        return await connection.request(method, params)
    except ClientGone:
        raise
    except RpcError as error:
        about = params.get("uri") or params.get("source") or params["channel"]
        log.info(
            "client {client} refused {method} of {uri}: {code}",
            client=client_id,
            method=method,
            uri=about[:200],
            code=error.code,
        )
        raise ClientRefused(error.code, error.message, error.data) from None


class _Line:
    """`MOST_AT_ONCE` are through at a time; who comes later waits, in order."""

    def __init__(self) -> None:
        self._free = MOST_AT_ONCE
        self._waiting: deque[Deferred[None]] = deque()
        self._letting = False

    @property
    def is_full(self) -> bool:
        """Whether nobody else may wait."""
        return not self._free and len(self._waiting) >= MOST_WAITING

    @property
    def is_empty(self) -> bool:
        """Whether nobody is in it."""
        return self._free == MOST_AT_ONCE

    async def enter(self) -> None:
        """Wait for a place. Who is through says `leave` once."""
        if self._free and not self._waiting:
            self._free -= 1
            return
        waiting = Deferred[None](self._forget)
        self._waiting.append(waiting)
        await waiting

    def leave(self) -> None:
        """Give the place to who waits longest."""
        self._free += 1
        if self._letting:  # somebody let in left at once: the loop below goes on with it
            return
        self._letting = True
        while self._free and self._waiting:
            self._free -= 1
            self._waiting.popleft().callback(None)
        self._letting = False

    def _forget(self, waiting: Deferred[None]) -> None:
        if waiting in self._waiting:
            self._waiting.remove(waiting)
