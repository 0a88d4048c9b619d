"""Where records are kept: the host's own agents and connectors, and every plugin's."""

from collections.abc import Callable
from typing import Any

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.app.ground import Ground
from ahpd.interfaces import IRecords, IRecordStore, RecordOptions
from ahpd.record_store import FileRecordStore, MemoryRecordStore, ReservedNames

log = Logger()

#: The host's own are a JSON file for each record.
_OWN = RecordOptions(as_json=True)


class KeptRecords(Service):
    """The record store of a host, open from its start to its stop.

    `store` is a plugin's in place of the host's own: files in the configuration directory, or
    memory on a host that has none. `run_blocking` runs what works on files.
    """

    name = "records"

    def __init__(
        self, ground: Ground, run_blocking: Callable[..., Any], store: IRecordStore | None = None
    ) -> None:
        directory = ground.settings.config_directory
        self._files: FileRecordStore | None = None
        if store is None and directory is not None:
            self._files = FileRecordStore(directory, run_blocking, ground.reactor, self._report)
            store = self._files
        self._store: IRecordStore = MemoryRecordStore() if store is None else store

    def collection(self, name: str) -> IRecords:
        """A collection of the host's own."""
        return self._store.collection(name, _OWN)

    @property
    def host_store(self) -> IRecordStore:
        """The store as the host's own domains use it."""
        return self._store

    @property
    def for_plugins(self) -> IRecordStore:
        """The store as plugins are handed it: the host's own names are not theirs."""
        return ReservedNames(self._store)

    def startService(self) -> None:
        """From here on calls are answered."""
        super().startService()  # type: ignore[no-untyped-call]
        if self._files is not None:
            self._files.open()

    def stopService(self) -> "Deferred[None] | None":
        """Fires when nothing is written any more."""
        super().stopService()  # type: ignore[no-untyped-call]
        return None if self._files is None else Deferred.fromCoroutine(self._files.close())

    @staticmethod
    def _report(line: str) -> None:
        log.warn("{line}", line=line)
