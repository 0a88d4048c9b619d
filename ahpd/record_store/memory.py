"""Records in memory alone, for tests and for hosts that keep nothing."""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Literal

from zope.interface import implementer

from ahpd.interfaces import (
    IRecords,
    IRecordStore,
    RecordChange,
    RecordOptions,
    RecordsFailure,
)
from ahpd.protocol import State
from ahpd.record_store.names import KEPT_FOLDERS, check_collection
from ahpd.record_store.values import checked, copy, matches, same
from ahpd.record_store.watchers import Watchers


@implementer(IRecordStore)
class MemoryRecordStore:
    """A store that is gone with its process; open from the start."""

    def __init__(self, reserved: Collection[str] = KEPT_FOLDERS) -> None:
        self._reserved = reserved
        self._collections: dict[str, MemoryRecords] = {}

    def collection(self, name: str, options: RecordOptions) -> IRecords:
        """See `IRecordStore.collection`."""
        check_collection(name, options, self._reserved)
        held = self._collections.get(name)
        if held is None:
            held = self._collections[name] = MemoryRecords(name, options)
        elif held.options != options:
            raise RecordsFailure(f"records {name}: opened already, and kept in another way")
        return held


@implementer(IRecords)
class MemoryRecords:
    """One collection."""

    def __init__(self, name: str, options: RecordOptions) -> None:
        self.options = options
        self._records: dict[str, State] = {}
        self._watchers = Watchers(name)

    async def get(self, identifier: str) -> State | None:
        """See `IRecords.get`."""
        held = self._records.get(identifier)
        return None if held is None else copy(held)

    async def list(self) -> Sequence[State]:
        """See `IRecords.list`."""
        return await self.find({})

    async def find(self, match: Mapping[str, object]) -> Sequence[State]:
        """See `IRecords.find`."""
        held = sorted(self._records.items())
        return [copy(record) for _, record in held if matches(record, match)]

    async def put(self, record: State) -> None:
        """See `IRecords.put`."""
        kept = checked(record, self.options)
        before = self._records.get(kept["id"])
        self._records[kept["id"]] = kept
        if before is None or not same(before, kept):
            self._tell(kept["id"], "added" if before is None else "updated")

    async def remove(self, identifier: str) -> bool:
        """See `IRecords.remove`."""
        if self._records.pop(identifier, None) is None:
            return False
        self._tell(identifier, "deleted")
        return True

    def watch(self, changed: Callable[[RecordChange], None]) -> Callable[[], None]:
        """See `IRecords.watch`."""
        return self._watchers.add(changed)

    def _tell(self, identifier: str, change: Literal["added", "updated", "deleted"]) -> None:
        self._watchers.tell(RecordChange(id=identifier, type=change))
