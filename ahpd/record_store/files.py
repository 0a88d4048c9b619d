"""The daemon's own record store: a folder for each collection, a file for each record."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs
from twisted.internet.defer import CancelledError, Deferred, DeferredLock
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from twisted.python.failure import Failure
from zope.interface import implementer

from ahpd.interfaces import (
    IRecords,
    IRecordStore,
    RecordChange,
    RecordOptions,
    RecordsClosed,
    RecordsFailure,
)
from ahpd.protocol import State
from ahpd.record_store.disk import Disk
from ahpd.record_store.folder import SETTLE, Folder
from ahpd.record_store.names import KEPT_FOLDERS, check_collection
from ahpd.record_store.values import checked
from ahpd.record_store.watchers import Watchers
from ahpd.threads import InThread

log = Logger()

#: Seconds between two looks at a collection that somebody watches.
INTERVAL: Final = 1.0


@attrs.frozen(kw_only=True)
class _Ground:
    """What collections stand on."""

    run_blocking: InThread
    clock: IReactorTime
    report: Callable[[str], None]
    interval: float


@implementer(IRecordStore)
class FileRecordStore:
    """Collections as folders below `folder`, which may not be there yet.

    A collection that is watched is looked at every `interval` seconds, and before each call; one
    that is not, before each call alone. `clock` tells the time of day, as a reactor does, which
    is what the times of files are compared with; where it tells another, a change is believed at
    the second look. `report` is told of files that are no records, a line each.
    """

    def __init__(
        self,
        folder: Path,
        run_blocking: InThread,
        clock: IReactorTime,
        report: Callable[[str], None],
        *,
        reserved: Collection[str] = KEPT_FOLDERS,
        interval: float = INTERVAL,
    ) -> None:
        self._folder = folder
        self._ground = _Ground(
            run_blocking=run_blocking, clock=clock, report=report, interval=interval
        )
        self._reserved = reserved
        self._collections: dict[str, FileRecords] = {}
        self._open = False
        self._closed = False

    def open(self) -> None:
        """Answer calls from now on, those that wait first."""
        if self._open or self._closed:
            return
        self._open = True
        for held in list(self._collections.values()):
            held.open()

    async def close(self) -> None:
        """Answer no call and tell nobody any more. Returns once what was under way is done."""
        self._closed = True
        for held in list(self._collections.values()):
            await held.close()

    def collection(self, name: str, options: RecordOptions) -> IRecords:
        """See `IRecordStore.collection`. The same name and options are the same collection."""
        check_collection(name, options, self._reserved)
        if self._closed:
            raise RecordsClosed(f"records {name}: the store is closed")
        held = self._collections.get(name)
        if held is None:
            folder = Folder(name, Disk(self._folder / name), options)
            held = self._collections[name] = FileRecords(folder, self._ground)
            if self._open:
                held.open()
        elif held.options != options:
            raise RecordsFailure(f"records {name}: opened already, and kept in another way")
        return held


@implementer(IRecords)
class FileRecords:
    """One collection. What is asked of it is done in turn, beside the reactor's thread."""

    def __init__(self, folder: Folder, ground: _Ground) -> None:
        self.options = folder.options
        self._folder = folder
        self._ground = ground
        self._watchers = Watchers(folder.name)
        self._lock = DeferredLock()
        self._waiting: list[Deferred[None]] = []
        self._open = False
        self._closed = False
        self._next: IDelayedCall | None = None
        self._trouble: str | None = None

    # -- IRecords -------------------------------------------------------------------

    async def get(self, identifier: str) -> State | None:
        """See `IRecords.get`."""
        found: State | None = await self._do(lambda now: self._folder.get(identifier, now))
        return found

    async def list(self) -> Sequence[State]:
        """See `IRecords.list`."""
        return await self.find({})

    async def find(self, match: Mapping[str, object]) -> Sequence[State]:
        """See `IRecords.find`."""
        wanted = dict(match)
        found: Sequence[State] = await self._do(lambda now: self._folder.find(wanted, now))
        return found

    async def put(self, record: State) -> None:
        """See `IRecords.put`. It is on disk when this returns."""
        kept = checked(record, self.options)
        await self._do(lambda now: self._folder.put(kept, now))

    async def remove(self, identifier: str) -> bool:
        """See `IRecords.remove`."""
        removed: bool = await self._do(lambda now: self._folder.remove(identifier, now))
        return removed

    def watch(self, changed: Callable[[RecordChange], None]) -> Callable[[], None]:
        """See `IRecords.watch`."""
        if self._closed:
            return lambda: None
        stop = self._watchers.add(changed, stopped=self._arm)
        self._arm()
        return stop

    # -- the store's side -------------------------------------------------------------

    def open(self) -> None:
        """Answer calls from now on, those that wait first, and look at what is there."""
        self._open = True
        self._look()
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.callback(None)

    async def close(self) -> None:
        """Answer no call and tell nobody any more; returns once no work is under way."""
        self._closed = True
        self._watchers.clear()
        self._arm()
        waiting, self._waiting = self._waiting, []
        for one in waiting:
            one.errback(self._gone())
        await self._lock.acquire()
        self._lock.release()

    # -- work ---------------------------------------------------------------------------

    async def _do(self, work: Callable[[float], Any]) -> Any:
        """The result of `work`, once it is its turn. A caller that is cancelled leaves it be."""
        if self._closed:
            raise self._gone()
        if not self._open:
            opened: Deferred[None] = Deferred()
            self._waiting.append(opened)
            try:
                await opened
            except CancelledError:
                self._waiting.remove(opened)
                raise
        done: Deferred[Any] = Deferred()
        # Called once more after it was cancelled it takes no notice, as any Deferred does.
        Deferred.fromCoroutine(self._in_turn(work)).addBoth(done.callback)
        return await done

    async def _in_turn(self, work: Callable[[float], Any]) -> Any:
        await self._lock.acquire()
        try:
            if self._closed:
                raise self._gone()
            now = self._ground.clock.seconds()
            try:
                return await self._ground.run_blocking(lambda: work(now))
            finally:
                self._tell()
                self._arm()
        finally:
            self._lock.release()

    def _tell(self) -> None:
        """Tell what came of the work, in the order it did."""
        changes, self._folder.changes = self._folder.changes, []
        lines, self._folder.lines = self._folder.lines, []
        for line in lines:
            self._ground.report(line)
        for change in changes:
            self._watchers.tell(change)

    def _arm(self) -> None:
        """Have the next look be in time, where anybody watches."""
        if self._next is not None:
            self._next.cancel()
            self._next = None
        if self._open and not self._closed and self._watchers:
            delay = SETTLE if self._folder.unsettled else self._ground.interval
            self._next = self._ground.clock.callLater(delay, self._look)

    def _look(self) -> None:
        """Look for what changed; a trouble is reported once."""
        if self._next is not None and not self._next.active():
            self._next = None

        def looked(result: Any) -> None:
            if not isinstance(result, Failure):
                self._trouble = None
            elif not self._closed:
                if result.check(RecordsFailure) is None:
                    log.failure(
                        "looking for changes of the records {name} failed",
                        failure=result,
                        name=self._folder.name,
                    )
                elif self._trouble != result.getErrorMessage():
                    self._trouble = result.getErrorMessage()
                    self._ground.report(self._trouble)

        Deferred.fromCoroutine(self._in_turn(self._folder.look)).addBoth(looked)

    def _gone(self) -> RecordsClosed:
        return RecordsClosed(f"records {self._folder.name}: the store is closed")
