"""`x-ahpd-clients`: one row for each connection this host serves.

While nobody watches, the rows are kept and nothing is said of them, so that a host with many
connections does not fill the replay buffer with them: whoever held the list and comes back is
owed it whole. The counters move at most every five seconds, and only while somebody watches.
Source: PLUGINS.txt, `x-ahpd-clients`.
"""

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, Protocol

import attrs
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger

from ahpd.channels.store import ChannelStore
from ahpd.extensions.operations import OperationsOf
from ahpd.extensions.rows import Rows
from ahpd.interfaces import (
    Caller,
    Channel,
    ClientRecord,
    IAccess,
    IChannelHandle,
    ISubscriber,
    Operation,
)
from ahpd.protocol import State

log = Logger()

SCHEME: Final = "x-ahpd-clients"
#: How often the counters are sent at most, in seconds.
EVERY: Final = 5.0

DROP: Final = Operation(
    id="drop",
    label="Disconnect",
    description="Close this connection. The client may connect again at once.",
    scopes=("client",),
    grant="client:drop",
    confirmation="Disconnect this client?",
)
_DROPPED: Final = (1000, "Disconnected by an operator")


class ServedConnection(Protocol):
    """A connection as the host serves it."""

    connection_id: int
    record: ClientRecord | None
    version: str
    locale: str | None

    @property
    def address(self) -> str | None:
        """The remote address its socket reported."""

    @property
    def forwarded_for(self) -> str | None:
        """The `X-Forwarded-For` of its request, as it came."""

    @property
    def frames_in(self) -> int:
        """How many messages came."""

    @property
    def frames_out(self) -> int:
        """How many were sent."""

    @property
    def bytes_in(self) -> int:
        """The bytes of what came: JSON in UTF-8."""

    @property
    def bytes_out(self) -> int:
        """The bytes of what was sent."""

    def close(self, code: int, reason: str) -> None:
        """End it once what was sent is out."""


@attrs.define(eq=False, repr=False)
class _Known:
    connection: Any
    at: int
    """When it connected, in milliseconds of the wall clock."""
    counters: State
    subscriptions: dict[str, None] = attrs.field(factory=dict)


class ConnectedClients:
    """The rows, kept by what the host tells of its connections. `now` is the wall clock (aware)."""

    def __init__(
        self,
        store: ChannelStore,
        access: IAccess,
        clock: IReactorTime,
        now: Callable[[], datetime],
    ) -> None:
        self._store = store
        self._access = access
        self._clock = clock
        self._now = now
        self._known: dict[Any, _Known] = {}
        self._handle: IChannelHandle | None = None
        self._timer: IDelayedCall | None = None
        self._spoken = False
        self._lapsed = False
        self._moved: dict[_Known, None] = {}
        self._soon: IDelayedCall | None = None
        self._rows = Rows(
            SCHEME,
            title="Clients",
            description="The connections this host serves.",
            grant="client:read",
            own="refused",
            joined=self._joined,
            left=self._left,
        )
        #: What is registered under `SCHEME`.
        self.channel: Channel = attrs.evolve(self._rows.channel, snapshot=self._snapshot)
        self.operations = OperationsOf(
            list=lambda: (DROP,),
            offered=lambda row: (DROP.id,),
            rows=self._rows,
            scope="client",
            invoke=self._dropped,
        )
        store.watching.append(self._watching)

    def attach(self, handle: IChannelHandle) -> None:
        """What the channel was registered as."""
        self._handle = handle

    # -- what the host tells ------------------------------------------------------------

    def came(self, connection: ServedConnection) -> None:
        """A connection was opened."""
        at = int(self._now().timestamp() * 1000)
        known = self._known[connection] = _Known(connection, at, _counters(connection))
        self._put(known)

    def introduced(self, connection: ServedConnection) -> None:
        """It said who it is, or was signed in."""
        known = self._known.get(connection)
        if known is not None:
            self._put(known)

    def went(self, connection: ServedConnection) -> None:
        """It is gone."""
        known = self._known.pop(connection, None)
        if known is not None:
            self._moved.pop(known, None)
            if not self._moved:
                soon, self._soon = self._soon, None
                _cancel(soon)
            self._said_to_nobody()
            self._rows.remove(str(connection.connection_id))

    def _watching(self, channel: str, subscriber: ISubscriber, began: bool) -> None:
        known = self._known.get(subscriber)
        if known is None:
            return
        if began:
            known.subscriptions[channel] = None
        else:
            known.subscriptions.pop(channel, None)
        # A handshake subscribes to much at once: what it makes of a row is said once.
        self._moved[known] = None
        if self._soon is None:
            self._soon = self._clock.callLater(0, self._put_moved)

    def _put_moved(self) -> None:
        self._soon = None
        moved, self._moved = self._moved, {}
        for known in moved:
            self._put(known)

    # -- the rows ------------------------------------------------------------------------

    def _put(self, known: _Known) -> None:
        self._said_to_nobody()
        self._rows.put(self._row(known))

    def _row(self, known: _Known) -> State:
        connection = known.connection
        row: State = {
            "id": str(connection.connection_id),
            "socket": connection.connection_id,
            "connectedAt": known.at,
            "subscriptions": list(known.subscriptions),
        }
        said: State = {"address": connection.address, "forwardedFor": connection.forwarded_for}
        record: ClientRecord | None = connection.record
        if record is not None:
            reader = self._access.reader(connection)
            said |= {
                "clientId": record.client_id,
                "name": (record.info or {}).get("name"),
                "protocolVersion": connection.version,
                "locale": connection.locale,
                "principal": None if reader is None else reader.principal,
            }
        row.update({name: value for name, value in said.items() if value is not None})
        return {**row, **known.counters}

    def _said_to_nobody(self) -> None:
        """Where nobody is told what comes now, whoever held the list is owed it whole."""
        if not self._spoken and not self._lapsed:
            self._lapsed = True
            self._store.lapse(self._rows.uri)

    def _snapshot(self, uri: str, caller: Caller) -> Any:
        if not self._spoken and self._handle is not None:
            self._count()
            self._put_moved_now()
            self._rows.attach(self._handle)
            self._spoken, self._lapsed = True, False
        return self._rows.channel.snapshot(uri, caller)

    def _put_moved_now(self) -> None:
        if self._soon is not None:
            _cancel(self._soon)
            self._put_moved()

    # -- while somebody watches --------------------------------------------------------------

    def _joined(self, uri: str) -> None:
        if self._timer is None:
            self._timer = self._clock.callLater(EVERY, self._tick)

    def _left(self, client: str) -> None:
        if self._store.watchers(self._rows.uri):
            return
        self._stop()
        self._rows.detach()
        self._spoken = False

    def _tick(self) -> None:
        self._timer = self._clock.callLater(EVERY, self._tick)
        self._count()

    def _count(self) -> None:
        for known in self._known.values():
            known.counters = _counters(known.connection)
        for known in self._known.values():
            self._put(known)

    def _stop(self) -> None:
        timer, self._timer = self._timer, None
        _cancel(timer)

    def stop(self) -> None:
        """Nothing is left on the clock from here on."""
        self._stop()
        soon, self._soon = self._soon, None
        _cancel(soon)

    # -- the operation ----------------------------------------------------------------------

    async def _dropped(
        self, operation: Operation, target: str | None, value: Any, caller: Caller
    ) -> State | None:
        for known in self._known.values():
            connection = known.connection
            if str(connection.connection_id) == target:
                log.info("{who} disconnected connection {id}", who=caller.client, id=target)
                # Behind the answer, which may go to the same connection.
                self._clock.callLater(0, connection.close, *_DROPPED)
                return self._row(known)
        return None


def _cancel(call: IDelayedCall | None) -> None:
    """The host's stop may have cancelled it already."""
    if call is not None and call.active():
        call.cancel()


def _counters(connection: ServedConnection) -> State:
    return {
        "framesIn": connection.frames_in,
        "framesOut": connection.frames_out,
        "bytesIn": connection.bytes_in,
        "bytesOut": connection.bytes_out,
    }
