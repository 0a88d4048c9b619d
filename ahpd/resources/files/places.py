"""Where something is, or would be: a name in a folder that is held by a descriptor.

The folder is found through links, once. From then on it is the same folder, whatever
becomes of the path that led to it, and its name is never followed.
"""

import contextlib
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import attrs

from ahpd.protocol.file_uris import named_path
from ahpd.resources.files.names import on_disk
from ahpd.resources.files.refusals import denied, not_found, told

#: Held to name things in, which needs no permission to list it.
_HOLD: Final = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_CLOEXEC

#: Which file or folder it is, whatever it is called: its device and its inode.
Identity = tuple[int, int]


def identity(info: os.stat_result) -> Identity:
    """Which file or folder `info` is of."""
    return info.st_dev, info.st_ino


@attrs.frozen(kw_only=True)
class Place:
    """A name in a folder, and the URI it was asked for by."""

    uri: str
    folder: int
    """The folder's descriptor; it is closed when the place is left."""
    name: str

    def look(self) -> os.stat_result | None:
        """What is here, links not followed; None for nothing. Raises `OSError`."""
        try:
            return os.stat(self.name, dir_fd=self.folder, follow_symlinks=False)
        except FileNotFoundError:
            return None

    def there(self) -> os.stat_result:
        """What is here; nothing is refused -32008."""
        with told(self.uri):
            found = self.look()
        if found is None:
            raise not_found(self.uri)
        return found

    def is_at(self, other: "Place") -> bool:
        """Whether both are one name of one folder."""
        return self.name == other.name and self.shares_folder(other)

    def shares_folder(self, other: "Place") -> bool:
        """Whether both are in one folder."""
        return identity(os.fstat(self.folder)) == identity(os.fstat(other.folder))

    def siblings(self) -> list[str]:
        """The names in the folder. Raises `OSError`."""
        folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.folder)
        try:
            return os.listdir(folder)  # noqa: PTH208 - a folder without a path
        finally:
            os.close(folder)

    def is_under(self, top: os.stat_result) -> bool:
        """Whether this is somewhere inside the folder `top` is of."""
        return stat.S_ISDIR(top.st_mode) and _is_within(self.folder, identity(top))

    def keep_names(self) -> None:
        """Have the folder's names outlive the machine's end, where the system can."""
        with contextlib.suppress(OSError):
            folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.folder)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)


def path_at(uri: str) -> str:
    """The path of this machine a `file:` URI means. Raises `RpcError`."""
    return on_disk(named_path(uri))


@contextmanager
def opened(uri: str) -> Iterator[Place]:
    """The place a URI names. Its folder must be there. Raises `RpcError`."""
    parent, _, name = path_at(uri).rpartition("/")
    if not name:
        raise denied(uri, "the root of the file system stays as it is")
    with told(uri):
        folder = os.open(parent or "/", _HOLD)
    try:
        yield Place(uri=uri, folder=folder, name=name)
    finally:
        os.close(folder)


def _is_within(folder: int, top: Identity) -> bool:
    """Whether `folder` is the folder `top` or inside it, seen by the way up from it."""
    here = os.dup(folder)
    try:
        while True:
            found = identity(os.fstat(here))
            if found == top:
                return True
            above = os.open("..", _HOLD, dir_fd=here)
            os.close(here)
            here = above
            if identity(os.fstat(here)) == found:
                return False
    finally:
        os.close(here)
