"""A session store whose disk is full whenever a test says so."""

from collections.abc import Iterable
from typing import Any

from zope.interface import implementer

from ahpd.interfaces import ISessionStore, StoreFailure, Write
from ahpd.stores.memory import MemorySessionStore


@implementer(ISessionStore)
class FailingStore(MemorySessionStore):
    """In memory and open. It refuses every write while `full`, in the words of `words`.

    `calls` are the writes it took, in order: ("append", entries) and ("apply", writes).
    `spare` writes are still taken before it is full: None for as many as come.
    """

    words = "/data/sessions.sqlite: no space left on device"

    def __init__(self) -> None:
        super().__init__()
        self.full = False
        self.spare: int | None = None
        self.calls: list[tuple[str, list[Any]]] = []
        self.open()

    def append(self, entries: Iterable[tuple[str, bytes]]) -> None:
        """See `ISessionStore.append`."""
        taken = list(entries)
        self._take_space()
        super().append(taken)
        self.calls.append(("append", taken))

    def apply(self, writes: Iterable[Write]) -> None:
        """See `ISessionStore.apply`."""
        taken = list(writes)
        self._take_space()
        super().apply(taken)
        self.calls.append(("apply", taken))

    def _take_space(self) -> None:
        if self.spare is not None:
            self.spare -= 1
            self.full = self.full or self.spare < 0
        if self.full:
            raise StoreFailure(self.words)
