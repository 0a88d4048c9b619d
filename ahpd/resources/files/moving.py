"""Moving and renaming (schema: resourceMove).

One rename where the system can; between file systems a copy that is put in place whole and
then the end of the original. A link is moved itself.
"""

import errno
import os
import stat
from collections.abc import Callable

from ahpd.protocol.errors import RpcError, internal_error
from ahpd.resources.files.at_work import GoOn, always
from ahpd.resources.files.copying import copy_to, same_or_refused
from ahpd.resources.files.drafts import put_over, rename_to_new
from ahpd.resources.files.places import Place, identity, opened
from ahpd.resources.files.refusals import denied, not_found, refusal, told
from ahpd.resources.files.removing import remove_entry


def move(
    source: str,
    destination: str,
    fail_if_exists: bool,
    ids: Callable[[], str],
    go_on: GoOn = always,
) -> None:
    """Move what one URI names to another. Raises `RpcError`, both ends as they were.

    Where the original cannot be deleted after it was copied to another file system, it says
    so: then both are there.
    """
    with opened(source) as origin, opened(destination) as place:
        if same_or_refused(origin, place, fail_if_exists):
            return
        try:
            _rename(origin, place, fail_if_exists, ids)
        except FileNotFoundError as error:
            raise not_found(source) from error
        except OSError as error:
            if error.errno != errno.EXDEV:
                raise _refused(error, origin, place) from error
            copy_to(origin, place, ids, go_on, new=fail_if_exists, owner=True)
            _end(origin, place, go_on)
        place.keep_names()
        origin.keep_names()


def _refused(error: OSError, origin: Place, place: Place) -> RpcError:
    """A rename does not say which of its ends is not allowed."""
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return denied(f"{origin.uri} or {place.uri}")
    return refusal(error, place.uri)


def _rename(origin: Place, place: Place, new: bool, ids: Callable[[], str]) -> None:
    if new:
        rename_to_new(origin.folder, origin.name, place.folder, place.name)
        return
    moved, there = origin.there(), place.look()
    put_over(origin.folder, origin.name, place, ids)
    if there is not None and identity(there) == identity(moved):
        _drop_other_name(origin, place, moved)


def _drop_other_name(origin: Place, place: Place, moved: os.stat_result) -> None:
    """A rename of one name of a file to another of its names does nothing: drop the first.

    A file system that takes `a` and `A` for one has renamed it, and has one name of it.
    """
    if stat.S_ISDIR(moved.st_mode) or moved.st_nlink == 1:
        return
    if origin.shares_folder(place) and not {origin.name, place.name} <= set(place.siblings()):
        return
    os.unlink(origin.name, dir_fd=origin.folder)


def _end(origin: Place, place: Place, go_on: GoOn) -> None:
    """Delete what was copied, once the copy is on disk."""
    os.sync()
    try:
        with told(origin.uri):
            remove_entry(origin.folder, origin.name, go_on)
    except RpcError as error:
        raise internal_error(
            f"{place.uri} is there, but what it was moved from was not all deleted: {error.message}"
        ) from error
