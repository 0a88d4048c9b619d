"""A way through a tree of folders that cannot be led astray."""

import errno
import os
from types import TracebackType
from typing import Final, Self

from ahpd.resources.files.places import Identity, identity

_ENTER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Cursor:
    """A folder, and the way back to where it began.

    It moves one step at a time, by descriptor: a name that is a link is not entered, and a
    folder that was moved away meanwhile is not left for another one. It holds one
    descriptor however deep it is. Every method raises `OSError`.
    """

    def __init__(self, folder: int, name: str) -> None:
        """Begin in the folder `name` of `folder`."""
        self.folder = _enter(folder, name)
        self._above: list[Identity] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        os.close(self.folder)

    def names(self) -> list[str]:
        """What is in the folder."""
        return os.listdir(self.folder)  # noqa: PTH208 - a folder without a path

    def down(self, name: str) -> None:
        """Go into a folder of this one; `NotADirectoryError` where it is a link or a file."""
        below = _enter(self.folder, name)
        self._above.append(identity(os.fstat(self.folder)))
        os.close(self.folder)
        self.folder = below

    def up(self) -> None:
        """Go back to where this one was entered from."""
        above = os.open("..", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=self.folder)
        os.close(self.folder)
        self.folder = above
        if identity(os.fstat(above)) != self._above.pop():
            raise OSError(errno.ESTALE, "It was moved while it was worked on")


def _enter(folder: int, name: str) -> int:
    try:
        return os.open(name, _ENTER, dir_fd=folder)
    except OSError as error:
        if error.errno == errno.ELOOP:  # what some systems say of a link
            raise NotADirectoryError(errno.ENOTDIR, error.strerror, name) from None
        raise
