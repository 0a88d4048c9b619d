"""The session store a host's settings ask for."""

from pathlib import Path
from typing import Protocol

from ahpd.interfaces.stores import ISessionStore
from ahpd.stores.memory import MemorySessionStore
from ahpd.stores.sqlite import RunInThread, SqliteSessionStore


class StoreSettings(Protocol):
    """What is read of `ahpd.config.settings.Settings`."""

    @property
    def sessions(self) -> str:
        """`file` or `memory`."""

    @property
    def data_directory(self) -> Path | None:
        """The folder of the file; without one, sessions are in memory."""

    @property
    def sessions_sync(self) -> str:
        """`process` or `power`."""


def make_store(settings: StoreSettings, run_in_thread: RunInThread | None = None) -> ISessionStore:
    """The store, not opened. `run_in_thread` runs what would hold up the caller; without one
    the caller waits for it."""
    if settings.sessions == "memory" or settings.data_directory is None:
        memory: ISessionStore = MemorySessionStore()
        return memory
    file: ISessionStore = SqliteSessionStore(
        settings.data_directory,
        sync="power" if settings.sessions_sync == "power" else "process",
        run_in_thread=run_in_thread,
    )
    return file
