"""The provider of the `file:` scheme: everything else here, off the reactor's thread."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

from twisted.internet.defer import DeferredSemaphore
from zope.interface import alsoProvides, implementer

from ahpd.interfaces import (
    Changed,
    IListedResources,
    IResolvedResources,
    IResourceProvider,
    IResourceWatcher,
    IWatchedResources,
    IWritableResources,
    Wanted,
    WatchRequest,
)
from ahpd.protocol import State
from ahpd.protocol.errors import method_not_found
from ahpd.protocol.file_uris import named_path
from ahpd.resources.files.at_work import GoOn, always
from ahpd.resources.files.copying import copy
from ahpd.resources.files.facts import resolve
from ahpd.resources.files.listing import entries
from ahpd.resources.files.locks import Turns
from ahpd.resources.files.making import mkdir
from ahpd.resources.files.moving import move
from ahpd.resources.files.reading import TooMuch, read
from ahpd.resources.files.removing import delete
from ahpd.resources.files.writing import Writer
from ahpd.threads import InThread

#: The most bytes of a file in one answer.
MOST_READ: Final = 32 * 1024 * 1024

#: Bytes of a file up to which an answer is small. Of the larger ones few are made at a time,
#: because each takes several times its bytes while it is made; whoever wants a small one
#: waits for none of them.
SMALL: Final = 1024 * 1024
LARGE_AT_ONCE: Final = 3
#: How many answers are made at a time that are small, or are not known to be large yet.
SMALL_AT_ONCE: Final = 16


@implementer(IResourceProvider, IListedResources, IResolvedResources, IWritableResources)
class FileResources:
    """The files of this machine.

    `ids` never repeat, are of letters, digits and dashes, and are asked for in threads.
    `watcher` watches (`IWatchedResources.watch`); without one nothing can be watched, and
    this does not say that it could. `most_read` is the most bytes of one answer. `go_on` is
    asked before and during whatever may take long, in threads.
    """

    def __init__(
        self,
        in_thread: InThread,
        *,
        ids: Callable[[], str],
        watcher: Any = None,
        most_read: int = MOST_READ,
        go_on: GoOn = always,
    ) -> None:
        self._run = in_thread
        self._go_on = go_on
        self._ids = ids
        self._watcher = watcher
        self._most_read = most_read
        self._reads = DeferredSemaphore(SMALL_AT_ONCE)
        self._large_reads = DeferredSemaphore(LARGE_AT_ONCE)
        self._writer = Writer(ids, go_on)
        self._turns = Turns()
        if watcher is not None:
            alsoProvides(self, IWatchedResources)

    async def read(self, uri: str, wanted: Wanted) -> State:
        """See `IResourceProvider.read`."""
        try:
            return await self._read(self._reads, uri, wanted, min(SMALL, self._most_read))
        except TooMuch:
            return await self._read(self._large_reads, uri, wanted, self._most_read)

    async def _read(self, turns: DeferredSemaphore, uri: str, wanted: Wanted, most: int) -> State:
        await turns.acquire()
        try:
            answer: State = await self._in_thread(partial(read, uri, wanted, most))
        finally:
            turns.release()
        return answer

    async def list(self, uri: str) -> Sequence[State]:
        """See `IListedResources.list`."""
        found: Sequence[State] = await self._in_thread(partial(entries, uri))
        return found

    async def resolve(self, uri: str, follow_symlinks: bool) -> State:
        """See `IResolvedResources.resolve`."""
        answer: State = await self._in_thread(partial(resolve, uri, follow_symlinks))
        return answer

    async def write(self, params: Mapping[str, Any]) -> None:
        """See `IWritableResources.write`. Writes to one path are done in their order."""
        async with self._turns.at(named_path(params["uri"])):
            await self._in_thread(partial(self._writer.write, params))

    async def delete(self, uri: str, recursive: bool) -> None:
        """See `IWritableResources.delete`."""
        await self._in_thread(partial(delete, uri, recursive, self._go_on))

    async def mkdir(self, uri: str) -> None:
        """See `IWritableResources.mkdir`."""
        await self._in_thread(partial(mkdir, uri))

    async def move(self, source: str, destination: str, fail_if_exists: bool) -> None:
        """See `IWritableResources.move`."""
        await self._in_thread(
            partial(move, source, destination, fail_if_exists, self._ids, self._go_on)
        )

    async def copy(self, source: str, destination: str, fail_if_exists: bool) -> None:
        """See `IWritableResources.copy`."""
        await self._in_thread(
            partial(copy, source, destination, fail_if_exists, self._ids, self._go_on)
        )

    async def watch(self, request: WatchRequest, changed: Changed) -> IResourceWatcher:
        """See `IWatchedResources.watch`."""
        if self._watcher is None:
            raise method_not_found("createResourceWatch")
        watched: IResourceWatcher = await self._watcher.watch(request, changed)
        return watched

    def _in_thread(self, work: Callable[[], Any]) -> Awaitable[Any]:
        self._go_on()

        def unless_stopped() -> Any:
            self._go_on()  # it may have waited long for a thread
            return work()

        return self._run(unless_stopped)
