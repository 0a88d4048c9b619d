"""Copying files, links and folders (schema: resourceCopy).

A copy is made beside its place and renamed there when it is whole: what is at the
destination is the old or the copy. Modes, times and attributes are kept, links are copied
as links, and a folder takes the place of what was there: the two are not merged.
"""

import os
import stat
from collections.abc import Callable
from typing import Final

import attrs

from ahpd.protocol.errors import invalid_params
from ahpd.protocol.file_uris import shown
from ahpd.resources.files.at_work import GoOn, always
from ahpd.resources.files.contents import CHUNK, give_some, pour
from ahpd.resources.files.cursor import Cursor
from ahpd.resources.files.drafts import Draft, put_over, rename_to_new
from ahpd.resources.files.places import Place, opened
from ahpd.resources.files.refusals import exists, kind_of, told

_SAFE: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
#: The most bytes of a file that has no size. The kernel's own have none, and some of them
#: have no end either.
_MOST_UNSIZED: Final = 32 * CHUNK


def copy(
    source: str,
    destination: str,
    fail_if_exists: bool,
    ids: Callable[[], str],
    go_on: GoOn = always,
) -> None:
    """Copy what one URI names to another. Raises `RpcError`, the destination as it was."""
    with opened(source) as origin, opened(destination) as place:
        if same_or_refused(origin, place, fail_if_exists):
            return
        copy_to(origin, place, ids, go_on, new=fail_if_exists, owner=False)


def same_or_refused(origin: Place, place: Place, fail_if_exists: bool) -> bool:
    """Whether there is nothing to do, as both ends are one.

    Raises `RpcError`: nothing is at the origin; something is at the other end and may not
    be; a folder would go into itself, or take the place of one it is in.
    """
    found, there = origin.there(), None
    with told(place.uri):
        there = place.look()
        if there is not None and fail_if_exists:
            raise exists(place.uri)
        if there is not None and origin.is_at(place):
            return True
        if place.is_under(found):
            raise invalid_params(f"{place.uri} is inside {origin.uri}, which cannot go into itself")
        if there is not None and origin.is_under(there):
            raise invalid_params(f"{place.uri} holds {origin.uri} and would be lost to it")
    return False


def copy_to(
    origin: Place,
    place: Place,
    ids: Callable[[], str],
    go_on: GoOn,
    *,
    new: bool,
    owner: bool,
) -> None:
    """Have a copy of what is at `origin` be what is at `place`. Raises `RpcError`.

    A single file is on disk before it takes the place of another. The files of a folder are
    left to the system: to wait for each would take minutes for what takes seconds.
    """
    alone = not stat.S_ISDIR(origin.there().st_mode)
    copier = _Copier(source=origin.uri, target=place.uri, owner=owner, sync=alone, go_on=go_on)
    with told(place.uri), Draft(place, ids) as draft:
        copier.entry(origin.folder, origin.name, place.folder, draft.name)
        if new:
            rename_to_new(place.folder, draft.name, place.folder, place.name)
        else:
            put_over(place.folder, draft.name, place, ids)
        place.keep_names()


@attrs.frozen(kw_only=True)
class _Copier:
    """Copies entries of one folder into another, where nothing of their name is.

    What a failure leaves is somebody else's to remove. Every method raises `RpcError`.
    """

    source: str
    """The URI whose reading is refused."""
    target: str
    """The URI whose writing is."""
    owner: bool
    """Whether copies are given the owners of their sources, where they may be."""
    sync: bool
    """Whether each file is put on disk as it is copied."""
    go_on: GoOn

    def entry(self, source: int, name: str, target: int, new: str) -> None:
        """Copy `name` of one folder to `new` of another."""
        self.go_on()
        with told(self.source):
            mode = os.stat(name, dir_fd=source, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            self._tree(source, name, target, new)
        elif stat.S_ISLNK(mode):
            self._link(source, name, target, new)
        else:
            self._file(source, name, mode, target, new)

    def _file(self, source: int, name: str, mode: int, target: int, new: str) -> None:
        self._only_a_file(name, mode)
        with told(self.source):
            file = os.open(name, os.O_RDONLY | _SAFE, dir_fd=source)
        try:
            found = os.fstat(file)
            self._only_a_file(name, found.st_mode)
            with told(self.target):
                copied = os.open(new, _NEW, 0o600, dir_fd=target)
                try:
                    self._pour(file, copied, name, found.st_size)
                    give_some(file, copied, owner=self.owner)
                    if self.sync:
                        os.fsync(copied)
                finally:
                    os.close(copied)
        finally:
            os.close(file)

    def _pour(self, file: int, copied: int, name: str, size: int) -> None:
        """Copy the bytes: of a file that grows meanwhile as many as it had."""
        if size:
            pour(file, copied, 0, size, self.go_on)
        elif pour(file, copied, 0, _MOST_UNSIZED + 1, self.go_on) > _MOST_UNSIZED:
            raise invalid_params(f"Not copied: {shown(name)!r} of {self.source} has no end to see")

    def _only_a_file(self, name: str, mode: int) -> None:
        if not stat.S_ISREG(mode):
            raise invalid_params(f"Not copied: {shown(name)!r} of {self.source} is {kind_of(mode)}")

    def _link(self, source: int, name: str, target: int, new: str) -> None:
        with told(self.source):
            was = os.stat(name, dir_fd=source, follow_symlinks=False)
            leads_to = os.readlink(name, dir_fd=source)
        times = (was.st_atime_ns, was.st_mtime_ns)
        with told(self.target):
            os.symlink(leads_to, new, dir_fd=target)
            os.utime(new, ns=times, dir_fd=target, follow_symlinks=False)

    def _tree(self, source: int, name: str, target: int, new: str) -> None:
        with told(self.target):
            os.mkdir(new, 0o700, dir_fd=target)
        with told(self.source), Cursor(source, name) as here, Cursor(target, new) as there:
            left = [here.names()]
            while left:
                while left[-1]:
                    each = left[-1].pop()
                    if _is_folder(here.folder, each):
                        here.down(each)
                        with told(self.target):
                            os.mkdir(each, 0o700, dir_fd=there.folder)
                            there.down(each)
                        left.append(here.names())
                    else:
                        self.entry(here.folder, each, there.folder, each)
                left.pop()
                with told(self.target):
                    self._leave(here, there, is_top=not left)

    def _leave(self, here: Cursor, there: Cursor, *, is_top: bool) -> None:
        """Leave a folder that is copied. Its mode comes last, as it may forbid to leave it."""
        was, made = os.dup(here.folder), os.dup(there.folder)
        try:
            if not is_top:
                here.up()
                there.up()
            give_some(was, made, owner=self.owner)
        finally:
            os.close(was)
            os.close(made)


def _is_folder(folder: int, name: str) -> bool:
    return stat.S_ISDIR(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
