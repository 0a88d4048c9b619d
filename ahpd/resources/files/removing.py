"""Deleting: a file, a link itself, a folder with all that is in it (schema: resourceDelete)."""

import errno
import os
import stat
from typing import Final

from ahpd.protocol.errors import invalid_params
from ahpd.resources.files.at_work import GoOn, always
from ahpd.resources.files.cursor import Cursor
from ahpd.resources.files.places import opened
from ahpd.resources.files.refusals import told

#: How often one name may turn from a folder into something else before it is given up.
_MOST_TURNS: Final = 100


def delete(uri: str, recursive: bool, go_on: GoOn = always) -> None:
    """Delete what a URI names; a folder with something in it only if `recursive`.

    Raises `RpcError`. What is deleted before a failure stays deleted.
    """
    with opened(uri) as place:
        mode = place.there().st_mode
        with told(uri):
            if recursive or not stat.S_ISDIR(mode):
                remove_entry(place.folder, place.name, go_on)
                return
            try:
                os.rmdir(place.name, dir_fd=place.folder)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
                    raise
                raise invalid_params(
                    f"Directory not empty: {uri} (params.recursive deletes what is in it, too)"
                ) from None


def remove_entry(folder: int, name: str, go_on: GoOn = always) -> None:
    """Remove `name` of a folder and all that is in it; no link is followed.

    What others remove meanwhile is no error inside of it. Raises `OSError`, and what `go_on`
    raises.
    """
    for _ in range(_MOST_TURNS):
        if _unlinked(folder, name):
            return
        try:
            cursor = Cursor(folder, name)
        except NotADirectoryError:
            continue
        with cursor:
            _empty(cursor, go_on)
        os.rmdir(name, dir_fd=folder)
        return
    raise OSError(errno.EBUSY, "It changes while it is deleted")


def _empty(cursor: Cursor, go_on: GoOn) -> None:
    """Remove all that is in a folder, deepest first."""
    entered: list[str] = []
    left = [cursor.names()]
    turns = 0
    while True:
        while left[-1]:
            go_on()
            name = left[-1][-1]
            if not _unlinked(cursor.folder, name):
                try:
                    cursor.down(name)
                except FileNotFoundError:
                    pass
                except NotADirectoryError:  # a file or a link by now
                    turns += 1
                    if turns > _MOST_TURNS:
                        raise
                    continue
                else:
                    entered.append(name)
                    left.append(cursor.names())
                    continue
            left[-1].pop()
        left.pop()
        if not entered:
            return
        cursor.up()
        _remove_folder(cursor.folder, entered.pop())
        left[-1].pop()


def _remove_folder(folder: int, name: str) -> None:
    try:
        os.rmdir(name, dir_fd=folder)
    except FileNotFoundError:
        pass
    except NotADirectoryError:  # swapped since it was left: it is a name like any other
        os.unlink(name, dir_fd=folder)


def _unlinked(folder: int, name: str) -> bool:
    """Remove a name that is no folder's; False where it is one."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except (IsADirectoryError, PermissionError):
        # Some systems say EPERM of a folder.
        try:
            mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        except FileNotFoundError:
            return True
        if stat.S_ISDIR(mode):
            return False
        raise
    return True
