"""`file:` resources that are watched: what the file provider hands its watches to."""

import errno
from pathlib import Path
from typing import Any, Final

from twisted.internet.defer import DeferredLock
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ahpd.interfaces import Changed, IResourceWatcher, WatchRequest
from ahpd.protocol.errors import (
    NOT_FOUND,
    RpcError,
    internal_error,
    invalid_params,
    permission_denied,
)
from ahpd.protocol.file_uris import file_uri, named_path, path_of
from ahpd.protocol.globs import WatchFilter
from ahpd.resources.files.at_work import GoOn, always
from ahpd.resources.watching.hints import Hints, Inotify, NoHints, tells
from ahpd.resources.watching.room import MOST_TOGETHER, Room
from ahpd.resources.watching.tree import DENIED, GONE, MOST_ENTRIES, TooMany, Tree
from ahpd.resources.watching.watch import FileWatch, Pace
from ahpd.threads import InThread

log = Logger()

_KERNEL: Final = Path("/proc/sys/fs/inotify")
#: Which limit the kernel means by an error (inotify_init(2), inotify_add_watch(2)).
_LIMITS: Final = {errno.ENOSPC: "max_user_watches", errno.EMFILE: "max_user_instances"}
_OPEN_FILES: Final = " (or this process's limit of open files)"


class FileWatcher:
    """Watches files, all of them through one inotify instance that is there while a watch is.

    `in_thread` does what blocks, `clock` says when; `reactor` hears the hints. One that reads
    no descriptors, a test's clock, hears none: everything is looked at every few seconds then.
    One watch holds `most` files and folders and all of them `together`. `go_on` is asked in
    the threads.
    """

    def __init__(
        self,
        in_thread: InThread,
        clock: IReactorTime,
        reactor: Any,
        *,
        pace: Pace = Pace(),  # noqa: B008 - a value
        most: int = MOST_ENTRIES,
        together: int = MOST_TOGETHER,
        go_on: GoOn = always,
    ) -> None:
        self._in_thread = in_thread
        self._clock = clock
        self._reactor = reactor
        self._pace = pace
        self._most = most
        self._room = Room(together)
        self._go_on = go_on
        self._inotify: Inotify | None = None
        self._holders = 0
        #: Held while the instance is made or given back.
        self._changing = DeferredLock()
        self._watches: dict[FileWatch, None] = {}

    async def watch(self, request: WatchRequest, changed: Changed) -> IResourceWatcher:
        """See `IWatchedResources.watch`.

        -32602 for a root that is no path of this machine and for a pattern nobody can read,
        -32008 and -32009 for a root that is not there or not readable, -32603 for a limit.
        """
        path = named_path(request.root)
        try:
            told = WatchFilter(request.includes, request.excludes)
        except ValueError as error:
            raise invalid_params(f"Cannot watch {request.root}: {error}") from None
        try:
            hints = await self._listening()
        except OSError as error:
            raise self._refusal(request.root, error) from error
        tree = Tree(
            path,
            _spelled(request.root, path),
            request.recursive,
            told,
            hints,
            self._most,
            self._go_on,
            self._room,
        )
        watch = FileWatch(tree, changed, self._in_thread, self._clock, self._pace, self._released)
        self._watches[watch] = None
        try:
            await self._in_thread(tree.start)
        except (OSError, TooMany) as error:
            await watch.release()
            raise self._refusal(request.root, error) from error
        except BaseException:
            await watch.release()
            raise
        watch.start()
        return watch

    async def _released(self, watch: FileWatch) -> None:
        del self._watches[watch]
        await self._listening_no_more()

    # -- the instance --------------------------------------------------------------

    async def _listening(self) -> Hints:
        """What tells where something was touched, there for as long as somebody holds it."""
        await self._changing.acquire()
        try:
            if self._inotify is None and tells(self._reactor):
                inotify = await self._in_thread(lambda: Inotify(self._reactor, self._lost_hints))
                inotify.start()
                self._inotify = inotify
            self._holders += 1
        finally:
            self._changing.release()
        return self._inotify or NoHints()

    async def _listening_no_more(self) -> None:
        await self._changing.acquire()
        self._holders -= 1
        if self._holders == 0 and self._inotify is not None:
            self._inotify.close()
            self._inotify = None
        self._changing.release()

    def _lost_hints(self) -> None:
        log.info("file changes came faster than they were read: what is watched is read again")
        for watch in tuple(self._watches):
            watch.lost_hints()

    # -- why not -------------------------------------------------------------------

    def _refusal(self, root: str, error: OSError | TooMany) -> RpcError:
        if isinstance(error, TooMany):
            return internal_error(
                f"Cannot watch {root}: {error}; excludes can leave some of them out"
            )
        if error.errno in GONE:
            return RpcError(NOT_FOUND, f"Resource not found: {root}")
        if error.errno in DENIED:
            return permission_denied(f"Permission denied: {root}")
        words = f"Cannot watch {root}: {error.strerror}"
        limit = _LIMITS.get(error.errno or 0)
        if limit is not None:
            other = _OPEN_FILES if error.errno == errno.EMFILE else ""
            words = (
                f"Cannot watch {root}: this machine's limit fs.inotify.{limit}{_value(limit)}{other} "
                "is met; whoever runs the machine can raise it with sysctl"
            )
        log.error("{words}", words=words)
        return internal_error(words)


def _spelled(root: str, path: str) -> str:
    """The root's URI as it begins those of the changes: as it was given, dot segments aside."""
    return root if (path_of(root) or "").rstrip("/") == path.rstrip("/") else file_uri(path)


def _value(limit: str) -> str:
    """How high a limit is, as it is put into words; nothing where nobody can tell."""
    try:
        return f" = {(_KERNEL / limit).read_text().strip()}"
    except OSError:
        return ""
