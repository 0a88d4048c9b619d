"""Writing a file (schema: resourceWrite).

The new content is written beside the old and renamed over it, so a reader and a crash find
one of the two, whole. It is on disk when it is answered. The file keeps its mode, owner,
access list and other attributes. A new file is made with the mode of any new file.

In place instead, where a crash may leave part of a write, are

- an append to the very end: another program's append at the same time loses nothing, which
  a file replaced under it would;
- a file with several names (hard links), which are to stay one file;
- a file whose owner or attributes this process may not give to another, one in a folder it
  may not write to, one it may write but not read, and one that something is mounted on.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import attrs

from ahpd.protocol.errors import invalid_params
from ahpd.resources.files import in_place
from ahpd.resources.files.at_work import GoOn, always
from ahpd.resources.files.contents import NotKept, give_all, pour, write_all
from ahpd.resources.files.drafts import Draft
from ahpd.resources.files.facts import etag
from ahpd.resources.files.locks import Locks
from ahpd.resources.files.places import Place, identity, opened
from ahpd.resources.files.refusals import conflict, denied, exists, only_regular, told
from ahpd.resources.files.splices import Splice, splice

#: How often a file that others change is begun again with.
_ATTEMPTS: Final = 10
_SAFE: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NOT_ALLOWED: Final = (errno.EACCES, errno.EPERM)


class _Changed(Exception):
    """The file is not what it was when the write began."""


@attrs.frozen
class Writer:
    """Writes files. `ids` never repeat, and are of letters, digits and dashes."""

    ids: Callable[[], str]
    go_on: GoOn = always
    _locks: Locks = attrs.field(factory=Locks, init=False)

    def write(self, params: Mapping[str, Any]) -> None:
        """Write what `params` say (schema: ResourceWriteParams, checked). Raises `RpcError`."""
        uri = params["uri"]
        if uri.endswith("/"):
            raise invalid_params(f"Not a file: {uri} names a directory")
        wanted = splice(params)
        with opened(uri) as place, told(uri):
            name = (identity(os.fstat(place.folder)), place.name)
            with self._locks.at(name):
                for _ in range(_ATTEMPTS):
                    try:
                        self._try(place, wanted, params)
                    except _Changed:
                        continue
                    return
        raise conflict(uri, "is being changed by others, over and over")

    def _try(self, place: Place, wanted: Splice, params: Mapping[str, Any]) -> None:
        old = place.look()
        if old is not None:
            self._check(place, old, params)
            start = wanted.start(old.st_size, place.uri)
            with self._locks.at(identity(old)):
                self._change(place, wanted, start, old, exact=params.get("ifMatch") is not None)
            return
        if params.get("ifMatch") is not None:
            raise conflict(place.uri, "is not there any more")
        wanted.start(0, place.uri)
        try:
            with Draft(place, self.ids) as draft:
                file = draft.file(0o666)
                write_all(file, wanted.data)
                os.fsync(file)
                draft.put(new=True)
        except FileExistsError as error:  # somebody was faster
            if params.get("createOnly"):
                raise exists(place.uri) from error
            raise _Changed from error

    def _check(self, place: Place, old: os.stat_result, params: Mapping[str, Any]) -> None:
        if params.get("createOnly"):
            raise exists(place.uri)
        if stat.S_ISLNK(old.st_mode):
            raise denied(
                place.uri, "it is a symbolic link; what it leads to is written by its own URI"
            )
        only_regular(old.st_mode, place.uri)
        held = params.get("ifMatch")
        if held is not None and held != etag(old):
            raise conflict(place.uri, "was changed since params.ifMatch was read")

    def _change(
        self, place: Place, wanted: Splice, start: int, old: os.stat_result, *, exact: bool
    ) -> None:
        """Change the file `old` is of; with `exact`, only while it is as it was then."""
        if wanted.is_append:
            with _open(place, old, os.O_WRONLY | os.O_APPEND, exact=exact) as file:
                in_place.append(file, wanted.data)
            return
        # What is kept of the old content, and where, was worked out for it as it was.
        exact = exact or not wanted.is_whole
        if old.st_nlink == 1 and _may_be_written(place):
            try:
                self._replace(place, wanted, start, old, exact=exact)
            except NotKept:
                pass
            else:
                return
        access = os.O_RDWR if wanted.keeps_tail else os.O_WRONLY
        with _open(place, old, access, exact=exact) as file:
            in_place.put(file, wanted, start)

    def _replace(
        self, place: Place, wanted: Splice, start: int, old: os.stat_result, *, exact: bool
    ) -> None:
        """Put a new file in its place. Raises `NotKept` where it would not be the same."""
        with (
            _not_kept(errno.EBUSY),
            _open(place, old, os.O_RDONLY, exact=exact) as source,
            Draft(place, self.ids) as draft,
        ):
            file = draft.file(0o600)
            give_all(source, file)
            pour(source, file, 0, start, self.go_on)
            write_all(file, wanted.data)
            if wanted.keeps_tail:
                pour(source, file, start, old.st_size - start, self.go_on)
            os.fsync(file)
            _still(old, place.look(), exact=exact)
            draft.put()


def _still(old: os.stat_result, now: os.stat_result | None, *, exact: bool) -> None:
    """Raise `_Changed` if it is another file now or, with `exact`, was written to."""
    if now is None or identity(now) != identity(old) or (exact and etag(now) != etag(old)):
        raise _Changed


@contextmanager
def _open(place: Place, old: os.stat_result, flags: int, *, exact: bool) -> Iterator[int]:
    """The file `old` is of, open. Raises `_Changed` and `OSError`."""
    try:
        file = os.open(place.name, flags | _SAFE, dir_fd=place.folder)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENOENT, errno.ENXIO, errno.EISDIR):
            raise _Changed from error
        raise
    try:
        _still(old, os.fstat(file), exact=exact)
        yield file
    finally:
        os.close(file)


@contextmanager
def _not_kept(*more: int) -> Iterator[None]:
    """Have what is not allowed to be done to another file be done in place."""
    try:
        yield
    except OSError as error:
        if error.errno not in (*_NOT_ALLOWED, *more):
            raise
        raise NotKept from error


def _may_be_written(place: Place) -> bool:
    """Whether the file itself may be, whatever its folder allows: else it is not replaced."""
    effective = os.access in os.supports_effective_ids
    return os.access(place.name, os.W_OK, dir_fd=place.folder, effective_ids=effective)
