"""A folder of small files, reached through its descriptor: looked at, read, replaced whole.

Everything here blocks. Links are not followed, neither the folder's own name nor a file's.
Several processes may write: a draft has a name of its own, and takes its place in one step.
"""

import contextlib
import errno
import itertools
import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

from ahpd.private_folders import make_private

#: Bytes of one file at most: what is larger was not written by a person.
LARGEST: Final = 64 * 1024 * 1024

#: Seconds after which a draft nobody put in its place was left by a process that is gone.
_LEFT_BEHIND: Final = 3600.0

_DRAFT: Final = re.compile(r"\..+\.[0-9]+-[0-9]+\.new")
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Mark(NamedTuple):
    """What tells one state of a file from another without opening it."""

    kind: int
    inode: int
    size: int
    modified: int
    changed: int
    """Nanoseconds since 1970, of the file or anything about it."""


def mark_of(found: os.stat_result) -> Mark:
    """The mark of what was found."""
    return Mark(
        stat.S_IFMT(found.st_mode),
        found.st_ino,
        found.st_size,
        found.st_mtime_ns,
        found.st_ctime_ns,
    )


class Listing(NamedTuple):
    """What is in a folder: the marks of its files by name, and the folder's own."""

    files: Mapping[str, Mark]
    folder: Mark | None
    """None where there is no folder."""


class Disk:
    """The files of one folder, which may not be there yet."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._numbers = itertools.count(1)

    def listing(self, suffixes: tuple[str, ...]) -> Listing:
        """What is there under names that end in one of `suffixes`. Raises `OSError`.

        A hidden file is none: editors and writers put their drafts there.
        """
        try:
            with self._opened() as descriptor:
                own = mark_of(os.fstat(descriptor))
                return Listing(_marks(descriptor, suffixes), own)
        except FileNotFoundError:
            return Listing({}, None)

    def read(self, name: str) -> tuple[bytes, Mark | None]:
        """A file's bytes and its mark; None where it changed while it was read.

        Raises `OSError`, for a link and for what is no file too, and `ValueError` for one that
        is too large.
        """
        with self._opened() as folder:
            descriptor = os.open(name, _READ, dir_fd=folder)
            try:
                before = os.fstat(descriptor)
                if not stat.S_ISREG(before.st_mode):
                    raise OSError(errno.EINVAL, "it is no regular file")
                if before.st_size > LARGEST:
                    raise ValueError(f"it is larger than {LARGEST >> 20} MiB")
                with os.fdopen(descriptor, "rb", closefd=False) as file:
                    data = file.read(LARGEST + 1)
                mark = mark_of(os.fstat(descriptor))
            finally:
                os.close(descriptor)
            return data, mark if mark == mark_of(before) else None

    def write(self, name: str, data: bytes) -> Mark:
        """Have the file hold `data`, for its owner alone; its mark, and it is on disk.

        The folder is made where it is missing. Raises `OSError`; what was there stays then.
        """
        make_private(self.folder)
        with self._opened() as folder:
            draft, descriptor = self._draft(folder, name)
            try:
                with os.fdopen(descriptor, "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(descriptor)
                    os.rename(draft, name, src_dir_fd=folder, dst_dir_fd=folder)
                    # Should another have taken the place meanwhile, this is not its mark.
                    mark = mark_of(os.fstat(descriptor))
            except OSError:
                with contextlib.suppress(OSError):
                    os.unlink(draft, dir_fd=folder)
                raise
            os.fsync(folder)
            return mark

    def remove(self, name: str) -> bool:
        """Take a file away; False where there was none. Raises `OSError`."""
        try:
            with self._opened() as folder:
                os.unlink(name, dir_fd=folder)
                os.fsync(folder)
        except FileNotFoundError:
            return False
        return True

    def rename(self, name: str, new: str) -> None:
        """Call a file otherwise. Raises `OSError`."""
        with self._opened() as folder:
            os.rename(name, new, src_dir_fd=folder, dst_dir_fd=folder)
            os.fsync(folder)

    def sweep(self, now: float) -> None:
        """Take away drafts that were never put in their place. `now` is the time of day."""
        with contextlib.suppress(OSError), self._opened() as folder:
            for name, mark in _marks(folder, (".new",), hidden=True).items():
                if _DRAFT.fullmatch(name) and now - mark.changed / 1e9 > _LEFT_BEHIND:
                    os.unlink(name, dir_fd=folder)

    def _draft(self, folder: int, name: str) -> tuple[str, int]:
        while True:
            draft = f".{name}.{os.getpid()}-{next(self._numbers)}.new"
            with contextlib.suppress(FileExistsError):
                return draft, os.open(draft, _CREATE, 0o600, dir_fd=folder)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[int]:
        descriptor = os.open(self.folder, _FOLDER)
        try:
            yield descriptor
        finally:
            os.close(descriptor)


def _marks(descriptor: int, suffixes: tuple[str, ...], hidden: bool = False) -> dict[str, Mark]:
    found: dict[str, Mark] = {}
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.name.endswith(suffixes) and entry.name.startswith(".") is hidden:
                with contextlib.suppress(FileNotFoundError):  # it went while this looked
                    found[entry.name] = mark_of(entry.stat(follow_symlinks=False))
    return found
