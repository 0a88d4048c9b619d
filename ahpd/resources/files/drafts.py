"""What is made beside its place, and put there when it is whole.

A draft is called `.ahpd-ID.part`. One that outlives this process, because the process was
killed, may be removed by whoever finds it: nothing here looks at it again.
"""

import contextlib
import errno
import os
import stat
from collections.abc import Callable
from types import TracebackType
from typing import Final, Self

from ahpd.protocol.errors import internal_error
from ahpd.resources.files import kernel
from ahpd.resources.files.places import Place
from ahpd.resources.files.refusals import refusal
from ahpd.resources.files.removing import remove_entry

_MAKE: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
#: How a rename says that what is there is of another kind, or a folder with something in it.
_IN_THE_WAY: Final = (errno.ENOTEMPTY, errno.EEXIST, errno.EISDIR, errno.ENOTDIR)
#: How a file system says that it gives a file no second name.
_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK)


def draft_name(identifier: str) -> str:
    """What a draft is called. `identifier` is of letters, digits and dashes."""
    return f".ahpd-{identifier}.part"


class Draft:
    """A name in a place's folder for what will be put at the place; gone if it is not.

    Entered, it is not there yet: `file` makes a file of it, and what is copied may make
    anything else.
    """

    def __init__(self, place: Place, ids: Callable[[], str]) -> None:
        self.place = place
        self.name = draft_name(ids())
        self.fd = -1

    def __enter__(self) -> Self:
        return self

    def file(self, mode: int) -> int:
        """Make it an empty file; its descriptor. Raises `OSError`."""
        self.fd = os.open(self.name, _MAKE, mode, dir_fd=self.place.folder)
        return self.fd

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.fd >= 0:
            os.close(self.fd)
        if error is not None:
            with contextlib.suppress(OSError):
                remove_entry(self.place.folder, self.name)

    def put(self, *, new: bool = False) -> None:
        """Have it be what is at the place, where nothing may be if `new`. Raises `OSError`.

        Its bytes are to be on disk by then.
        """
        folder = self.place.folder
        if new:
            rename_to_new(folder, self.name, folder, self.place.name)
        else:
            os.rename(self.name, self.place.name, src_dir_fd=folder, dst_dir_fd=folder)
        self.place.keep_names()


def rename_to_new(source: int, name: str, target: int, new: str) -> None:
    """Rename to where nothing is; `FileExistsError` where something is. Raises `OSError`."""
    if kernel.renamed_to_new(source, name, target, new):
        return
    mode = os.stat(name, dir_fd=source, follow_symlinks=False).st_mode
    if stat.S_ISDIR(mode):
        os.mkdir(new, dir_fd=target)
        try:
            os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)
        except OSError:
            os.rmdir(new, dir_fd=target)
            raise
        return
    try:
        os.link(name, new, src_dir_fd=source, dst_dir_fd=target, follow_symlinks=False)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        if _is_there(target, new):
            raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), new) from None
        os.rename(name, new, src_dir_fd=source, dst_dir_fd=target)
    else:
        os.unlink(name, dir_fd=source)


def _is_there(folder: int, name: str) -> bool:
    try:
        os.stat(name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return False
    return True


def put_over(source: int, name: str, place: Place, ids: Callable[[], str]) -> None:
    """Rename to a place, whatever is there. Raises `OSError`, nothing done.

    What is there and cannot be replaced by a rename (a folder with something in it, a folder
    by a file) changes places with what comes, is put aside as a draft and removed. Where the
    file system exchanges nothing it is put aside first, and comes back where the rename fails.
    """
    folder, new = place.folder, place.name
    try:
        os.rename(name, new, src_dir_fd=source, dst_dir_fd=folder)
        return
    except OSError as error:
        if error.errno not in _IN_THE_WAY or place.look() is None:
            raise
    aside = draft_name(ids())
    if kernel.exchanged(source, name, folder, new):
        try:
            os.rename(name, aside, src_dir_fd=source, dst_dir_fd=folder)
        except OSError:
            kernel.exchanged(source, name, folder, new)
            raise
    else:
        os.rename(new, aside, src_dir_fd=folder, dst_dir_fd=folder)
        try:
            os.rename(name, new, src_dir_fd=source, dst_dir_fd=folder)
        except OSError:
            os.rename(aside, new, src_dir_fd=folder, dst_dir_fd=folder)
            raise
    try:
        remove_entry(folder, aside)
    except OSError as error:
        why = refusal(error, place.uri).message
        raise internal_error(
            f"{place.uri} is there, but what it took the place of was not all deleted and is"
            f" left beside it as {aside}: {why}"
        ) from error
