"""What the host remembers of its clients between their connections.

A record is made at `initialize` and found again at `reconnect`. It is forgotten
once its client has been gone ten of the 30 s disconnect windows, when another
client arrives (AHP.txt, `reconnect`).
"""

from collections.abc import Mapping
from typing import Any, Final

from twisted.internet.interfaces import IReactorTime

from ahpd.interfaces import ClientRecord

#: How long a client may be gone before it counts as having left, in seconds.
DISCONNECT_WINDOW: Final = 30.0
#: How long a record outlives its client, in seconds.
RECORD_LIFETIME: Final = 10 * DISCONNECT_WINDOW


class ClientRegistry:
    """The records of every client that introduced itself, by its id."""

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._records: dict[str, ClientRecord] = {}

    def __len__(self) -> int:
        return len(self._records)

    def introduce(
        self,
        client_id: str,
        version: str,
        info: Mapping[str, Any] | None,
        locale: str | None,
    ) -> ClientRecord:
        """A client said `initialize`: its record, with what it said now."""
        record = self._records.get(client_id)
        if record is None:
            self._prune()
            record = ClientRecord(client_id=client_id, version=version)
            self._records[client_id] = record
        record.version = version
        record.info = info
        record.locale = locale
        record.owed.clear()
        return record

    def find(self, client_id: str) -> ClientRecord | None:
        """The record of a client that says it was here; None once it was forgotten."""
        self._prune()
        return self._records.get(client_id)

    def connected(self, record: ClientRecord) -> None:
        """A connection of this client opened."""
        record.connections += 1
        record.gone_at = None

    def disconnected(self, record: ClientRecord) -> None:
        """One closed; with the last one the client is gone."""
        record.connections -= 1
        if record.connections == 0:
            record.gone_at = self._clock.seconds()

    def owe_the_gone(self, channel: str) -> None:
        """`channel` is gone: whoever is away may hold it, and is owed what comes in its place."""
        for record in self._records.values():
            if record.connections == 0:
                record.owed.add(channel)

    def _prune(self) -> None:
        now = self._clock.seconds()
        for client_id, record in list(self._records.items()):
            if record.gone_at is not None and now - record.gone_at >= RECORD_LIFETIME:
                del self._records[client_id]
