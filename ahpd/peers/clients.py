"""What the host remembers of its clients between their connections.

A record is made at `initialize` and found again at `reconnect`. It is forgotten
once its client has been gone ten of the 30 s disconnect windows, when another
client arrives (AHP.txt, `reconnect`).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from ahpd.interfaces import (
    DISCONNECT_WINDOW,
    ClientRecord,
    IClientConnection,
    IClients,
    IEvents,
)
from ahpd.protocol.uris import scheme

#: How long a record outlives its client, in seconds.
RECORD_LIFETIME: Final = 10 * DISCONNECT_WINDOW


@implementer(IClients)
class ClientRegistry:
    """The records of every client that introduced itself, by its id, and who is here of them."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._records: dict[str, ClientRecord] = {}
        self._open: dict[str, list[IClientConnection]] = {}
        self._listening: dict[str, dict[object, Callable[[], None]]] = {}
        #: Who is told of clients that come and go; set by whoever composes the host.
        self.events: IEvents | None = None

    def __len__(self) -> int:
        return len(self._records)

    def introduce(
        self,
        client_id: str,
        version: str,
        info: Mapping[str, Any] | None,
        locale: str | None,
    ) -> ClientRecord:
        """A client said `initialize`: its record, with what it said now.

        What an older connection of it is owed stands while that one is open.
        """
        self._prune(client_id)
        record = self._records.get(client_id)
        if record is None:
            record = ClientRecord(client_id=client_id, version=version)
            self._records[client_id] = record
        record.info = info
        record.locale = locale
        if not record.versions:
            record.settle_all()
        return record

    def find(self, client_id: str) -> ClientRecord | None:
        """The record of a client that says it was here; None once it was forgotten."""
        self._prune(client_id)
        return self._records.get(client_id)

    def connections(self, client_id: str) -> Sequence[IClientConnection]:
        """See `IClients.connections`."""
        return tuple(self._open.get(client_id, ()))

    def gone_at(self, client_id: str) -> float | None:
        """See `IClients.gone_at`."""
        record = self._records.get(client_id)
        return None if record is None else record.gone_at

    def listen(self, client_id: str, changed: Callable[[], None]) -> Callable[[], None]:
        """See `IClients.listen`."""
        listening, token = self._listening.setdefault(client_id, {}), object()
        listening[token] = changed

        def stop() -> None:
            listening.pop(token, None)
            if not listening and self._listening.get(client_id) is listening:
                del self._listening[client_id]

        return stop

    def _changed(self, client_id: str) -> None:
        if client_id in self._listening:
            self._clock.callLater(0, self._tell, client_id)

    def _tell(self, client_id: str) -> None:
        listening = self._listening.get(client_id, {})
        for token in tuple(listening):
            changed = listening.get(token)  # an earlier one may have stopped a later one
            if changed is not None:
                changed()

    def connected(self, record: ClientRecord, version: str, connection: IClientConnection) -> None:
        """A connection of this client opened, and speaks `version`."""
        if record.client_id not in self._open:
            self._say("client_connect", record.client_id)
        self._open.setdefault(record.client_id, []).append(connection)
        record.versions.append(version)
        record.version = version
        record.gone_at = None
        self._changed(record.client_id)

    def disconnected(
        self,
        record: ClientRecord,
        version: str,
        watched: Iterable[str],
        connection: IClientConnection,
    ) -> None:
        """One that spoke `version` and watched `watched` closed.

        With the last one the client is gone.
        """
        left = self._open[record.client_id]
        left.remove(connection)
        if not left:
            del self._open[record.client_id]
            self._say("client_disconnect", record.client_id)
        record.versions.remove(version)
        record.watched.update(watched)
        if record.versions:
            record.version = record.versions[-1]
        else:
            record.version = version
            record.gone_at = self._clock.seconds()
        self._changed(record.client_id)

    def _say(self, event: str, client_id: str) -> None:
        """A client is here, on its first connection, or gone with its last one."""
        if self.events is not None and self.events.listened(event):
            self.events.emit(event, {"client": client_id})

    def channel_gone(self, channel: str) -> None:
        """Whoever is away and holds `channel` is owed what comes in its place."""
        for record in self._records.values():
            if channel in record.watched:
                record.watched.discard(channel)
                record.owe(channel)

    def scheme_gone(self, name: str) -> None:
        """Whoever is away and holds a channel of a scheme is owed what comes in its place."""
        for record in self._records.values():
            for channel in [held for held in record.watched if scheme(held) == name]:
                record.watched.discard(channel)
                record.owe(channel)

    def _prune(self, arriving: str) -> None:
        """Forget whoever has been gone too long, but for the client that arrives."""
        now = self._clock.seconds()
        for client_id, record in list(self._records.items()):
            expired = record.gone_at is not None and now - record.gone_at >= RECORD_LIFETIME
            if expired and client_id != arriving:
                del self._records[client_id]
