"""The provider of the `file:` scheme: everything else here, off the reactor's thread."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, Final

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
from ahpd.resources.files.copying import copy
from ahpd.resources.files.facts import resolve
from ahpd.resources.files.listing import entries
from ahpd.resources.files.locks import Turns
from ahpd.resources.files.making import mkdir
from ahpd.resources.files.moving import move
from ahpd.resources.files.reading import read
from ahpd.resources.files.removing import delete
from ahpd.resources.files.writing import Writer
from ahpd.threads import InThread

#: The most bytes of a file in one answer.
MOST_READ: Final = 32 * 1024 * 1024


@implementer(IResourceProvider, IListedResources, IResolvedResources, IWritableResources)
class FileResources:
    """The files of this machine.

    `ids` never repeat, are of letters, digits and dashes, and are asked for in threads.
    `watcher` watches (`IWatchedResources.watch`); without one nothing can be watched, and
    this does not say that it could. `most_read` is the most bytes of one answer.
    """

    def __init__(
        self,
        in_thread: InThread,
        *,
        ids: Callable[[], str],
        watcher: Any = None,
        most_read: int = MOST_READ,
    ) -> None:
        self._in_thread = in_thread
        self._ids = ids
        self._watcher = watcher
        self._most_read = most_read
        self._writer = Writer(ids)
        self._turns = Turns()
        if watcher is not None:
            alsoProvides(self, IWatchedResources)

    async def read(self, uri: str, wanted: Wanted) -> State:
        """See `IResourceProvider.read`."""
        answer: State = await self._in_thread(partial(read, uri, wanted, self._most_read))
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
        await self._in_thread(partial(delete, uri, recursive))

    async def mkdir(self, uri: str) -> None:
        """See `IWritableResources.mkdir`."""
        await self._in_thread(partial(mkdir, uri))

    async def move(self, source: str, destination: str, fail_if_exists: bool) -> None:
        """See `IWritableResources.move`."""
        await self._in_thread(partial(move, source, destination, fail_if_exists, self._ids))

    async def copy(self, source: str, destination: str, fail_if_exists: bool) -> None:
        """See `IWritableResources.copy`."""
        await self._in_thread(partial(copy, source, destination, fail_if_exists, self._ids))

    async def watch(self, request: WatchRequest, changed: Changed) -> IResourceWatcher:
        """See `IWatchedResources.watch`."""
        if self._watcher is None:
            raise method_not_found("createResourceWatch")
        watched: IResourceWatcher = await self._watcher.watch(request, changed)
        return watched
