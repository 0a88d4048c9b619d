"""Which files are under a folder: what git knows of where it knows it, else what is there.

git is asked for a repository because it leaves out what the repository ignores. A folder
git will not answer for is walked, within bounds of number and time, off the reactor's
thread. A listing is kept for a few seconds: somebody who types asks at every key.
"""

import os
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from pathlib import PurePath
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.interfaces import IPrograms, IWorkspaceFiles, ProgramFailure
from ahpd.threads import InThread

log = Logger()

#: How many files of one folder are listed.
MOST_FILES: Final = 50_000
#: How long a listing may take, in seconds: past it what was found so far is the answer.
LONGEST: Final = 5.0
#: How long a listing serves who asks again, in seconds.
KEPT: Final = 5.0
_MOST_KEPT: Final = 16
_MOST_OUTPUT: Final = 32 * 1024 * 1024

#: What no person mentions a file of: version control, and packages others wrote.
_SKIPPED: Final = frozenset({".git", ".hg", ".svn", ".jj", "node_modules"})

#: A repository's own configuration may name programs; the one `ls-files` would run is off.
_GIT: Final = (
    "git",
    "-c",
    "core.fsmonitor=false",
    "ls-files",
    "-z",
    "-t",
    "--stage",
    "--cached",
    "--others",
    "--deleted",
    "--exclude-standard",
)


@implementer(IWorkspaceFiles)
class WorkspaceFiles:
    """The default listing. `programs` runs git; None walks every folder."""

    def __init__(
        self, clock: IReactorTime, in_thread: InThread, programs: IPrograms | None = None
    ) -> None:
        self._clock = clock
        self._in_thread = in_thread
        self._programs = programs
        self._kept: OrderedDict[str, tuple[float, Sequence[str]]] = OrderedDict()
        self._asked: dict[str, list[Deferred[Sequence[str]]]] = {}

    async def files(self, directory: str) -> Sequence[str]:
        """See `IWorkspaceFiles.files`. Asked again while it lists, it lists once."""
        kept = self._kept.get(directory)
        if kept is not None and self._clock.seconds() - kept[0] < KEPT:
            return kept[1]
        waiting = self._asked.get(directory)
        if waiting is not None:
            listed: Deferred[Sequence[str]] = Deferred()
            waiting.append(listed)
            return await listed
        waiting = self._asked[directory] = []
        found: Sequence[str] = ()
        try:
            found = await self._list(directory)
            self._keep(directory, found)
        finally:
            del self._asked[directory]
            for listed in waiting:
                listed.callback(found)
        return found

    def _keep(self, directory: str, found: Sequence[str]) -> None:
        self._kept[directory] = self._clock.seconds(), found
        self._kept.move_to_end(directory)
        while len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)

    async def _list(self, directory: str) -> Sequence[str]:
        if self._programs is not None and await self._in_thread(lambda: in_repository(directory)):
            try:
                output = await self._programs.output(_GIT, directory, _MOST_OUTPUT, LONGEST)
                found: Sequence[str] = await self._in_thread(lambda: known_to_git(output))
            except ProgramFailure as failure:
                log.debug("{directory} is walked: {why}", directory=directory, why=str(failure))
            else:
                if found:
                    return found
        walked: Sequence[str] = await self._in_thread(lambda: walk(directory))
        return walked


def in_repository(directory: str) -> bool:
    """Whether git is worth asking: the folder, or one it is in, has a `.git`. Blocks."""
    folder = PurePath(directory)
    # os.path's never raises, where a folder on the way cannot be looked into.
    return any(os.path.exists(above / ".git") for above in (folder, *folder.parents))  # noqa: PTH110


def known_to_git(output: bytes) -> Sequence[str]:
    """The files of `git ls-files -z -t --stage`, near ones first.

    Left out is what is deleted, and what is a repository of its own: a submodule, or one
    that lies there untracked.
    """
    found: set[bytes] = set()
    gone: set[bytes] = set()
    for entry in output.split(b"\0"):
        tag, _, rest = entry.partition(b" ")
        if tag == b"?":
            if not rest.endswith(b"/"):
                found.add(rest)
            continue
        facts, _, path = rest.partition(b"\t")
        if tag == b"R":
            gone.add(path)
        elif path and not facts.startswith(b"160000 "):
            found.add(path)
    return _near_first([os.fsdecode(path) for path in found - gone])


def walk(
    directory: str,
    most: int = MOST_FILES,
    seconds: float = LONGEST,
    now: Callable[[], float] = time.monotonic,
) -> Sequence[str]:
    """The files under `directory`, folder by folder, the near ones first.

    A link to a folder is not followed, so none leads round. A folder that cannot be read
    has no files. Blocks, `seconds` at most but for one folder's reading.
    """
    until = now() + seconds
    found: list[str] = []
    level = [""]
    while level:
        below: list[str] = []
        for folder in level:
            for is_folder, path in _entries(directory, folder):
                if len(found) >= most or now() >= until:
                    return _near_first(found)
                (below if is_folder else found).append(path)
        level = sorted(below)
    return _near_first(found)


def _entries(directory: str, folder: str) -> Iterator[tuple[bool, str]]:
    """What is in a folder: whether it is a folder too, and its path."""
    try:
        with os.scandir(os.path.join(directory, folder)) as entries:  # noqa: PTH118 - may be no UTF-8
            for entry in entries:
                path = f"{folder}{entry.name}"
                try:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name not in _SKIPPED:
                            yield True, path + "/"
                    elif entry.is_file():
                        yield False, path
                except OSError:  # a link to itself
                    continue
    except OSError:
        return


def _near_first(paths: list[str]) -> Sequence[str]:
    return tuple(sorted(paths, key=lambda path: (path.count("/"), path))[:MOST_FILES])
