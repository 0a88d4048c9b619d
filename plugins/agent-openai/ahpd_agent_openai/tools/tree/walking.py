"""Folders and files reached without following a link, and the walk through a tree.

A path that is to be reached has been resolved, so that nothing in it is a link. Opened name
by name, each one not followed, it is that path or an error: what was swapped for a link
since it was looked at is not gone through.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator

_HOLD = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LIST = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
#: Never waits for the other end of a pipe, and never becomes anybody's terminal.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

#: Folders that are not gone into unless the walk begins in one.
SKIPPED = frozenset({".git", ".hg", ".svn", "node_modules", "__pycache__", ".venv", ".tox"})
#: How deep a walk goes.
DEEPEST = 100


def open_folder(path: str, make: "list[tuple[str, str]] | None" = None) -> int:
    """A descriptor that holds the folder at an absolute `path` without links.

    With `make`, folders that are not there are made and noted in it as (parent, name) paths.
    Raises `OSError`; a link on the way is `NotADirectoryError`.
    """
    folder = os.open("/", _HOLD)
    here = ""
    try:
        for name in [part for part in path.split("/") if part]:
            folder = _step(folder, here or "/", name, make)
            here = f"{here}/{name}"
    except BaseException:
        os.close(folder)
        raise
    return folder


def _step(folder: int, here: str, name: str, make: "list[tuple[str, str]] | None") -> int:
    """The folder `name` in `folder`, which is closed once there is one."""
    try:
        inner = os.open(name, _HOLD, dir_fd=folder)
    except FileNotFoundError:
        if make is None:
            raise
        os.mkdir(name, dir_fd=folder)
        make.append((here, name))
        inner = os.open(name, _HOLD, dir_fd=folder)
    os.close(folder)
    return inner


def open_in(folder: int, name: str) -> int:
    """A descriptor to read the regular file `name` of a folder. Raises `OSError`.

    What is no regular file is `IsADirectoryError` or EINVAL; it is looked at before it is
    opened, because opening a device may do something.
    """
    _only_regular(os.stat(name, dir_fd=folder, follow_symlinks=False))
    file = os.open(name, _READ, dir_fd=folder)
    try:
        _only_regular(os.fstat(file))
    except BaseException:
        os.close(file)
        raise
    return file


def _only_regular(found: os.stat_result) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if stat.S_ISLNK(found.st_mode):
        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "it is no regular file")


def open_file(path: str) -> int:
    """A descriptor to read the regular file at an absolute `path` without links."""
    parent, _, name = path.rpartition("/")
    folder = open_folder(parent)
    try:
        return open_in(folder, name)
    finally:
        os.close(folder)


class Entry:
    """Something a walk met: its path below the root, and whether it is a folder or a link."""

    __slots__ = ("folder", "is_folder", "is_link", "name", "path")

    def __init__(self, folder: int, name: str, path: str, is_folder: bool, is_link: bool) -> None:
        self.folder = folder
        self.name = name
        self.path = path
        self.is_folder = is_folder
        self.is_link = is_link


def walk(root: str, deep: bool, go_on: Callable[[], None]) -> Iterator[Entry]:
    """What is in the folder at `root`, by name, folders ahead of what is in them.

    An entry's `folder` is open until the next one is asked for. Links are told of and never
    followed; `SKIPPED` folders are told of and not gone into. What cannot be listed below the
    root is passed over; the root itself raises `OSError`. `go_on` is called at each entry, and
    what it raises ends the walk.
    """
    held = open_folder(root)
    try:
        # O_PATH lists nothing.
        top = os.open(".", _LIST, dir_fd=held)
    finally:
        os.close(held)
    yield from _walk(top, "", deep, go_on, DEEPEST)


def _walk(
    folder: int, path: str, deep: bool, go_on: Callable[[], None], levels: int
) -> Iterator[Entry]:
    """`folder` is closed at the end."""
    try:
        with os.scandir(folder) as entries:
            found = sorted(
                (entry.name, entry.is_dir(follow_symlinks=False), entry.is_symlink())
                for entry in entries
            )
        for name, is_folder, is_link in found:
            go_on()
            below = f"{path}/{name}" if path else name
            yield Entry(folder, name, below, is_folder, is_link)
            if not is_folder or not deep or name in SKIPPED or levels == 0:
                continue
            try:
                inner = os.open(name, _LIST, dir_fd=folder)
            except OSError:
                continue
            yield from _walk(inner, below, deep, go_on, levels - 1)
    finally:
        os.close(folder)
