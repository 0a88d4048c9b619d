"""The bytes of files and what is kept beside them, from one descriptor to another."""

import errno
import os
import stat
from collections.abc import Callable
from typing import Final

from ahpd.resources.files.at_work import GoOn, always

#: How many bytes are held at a time.
CHUNK: Final = 1 << 20
#: How many the file system is asked to carry at a time: it cannot be asked to stop.
_STEP: Final = 64 * CHUNK

_NO_SHORTCUT: Final = {
    errno.EXDEV, errno.EINVAL, errno.ENOSYS, errno.EOPNOTSUPP, errno.EBADF, errno.EPERM,
    errno.ETXTBSY, errno.EOVERFLOW,
}  # fmt: skip
#: Attributes that speak of the bytes, which the kernel drops when those are changed.
_OF_THE_BYTES: Final = {"security.capability", "security.ima", "security.evm"}
#: Who may do what beyond the owner; with one, the bits of the group are the most it lets do.
_ACCESS_LIST: Final = "system.posix_acl_access"


class NotKept(Exception):
    """What belongs to a file cannot be given to another."""


def write_all(target: int, data: bytes | memoryview) -> None:
    """Write all of `data` where `target` is. Raises `OSError`."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(target, rest) :]


def pour(source: int, target: int, start: int, count: int, go_on: GoOn = always) -> int:
    """Write `count` bytes of `source`, from `start` on, where `target` is; how many there were.

    The file system does it where it can, without the bytes passing through here.
    Raises `OSError`, and what `go_on` raises.
    """
    done = 0
    while done < count:
        go_on()
        most = min(_STEP, count - done)
        try:
            step = os.copy_file_range(source, target, most, offset_src=start + done)
        except OSError as error:
            if error.errno not in _NO_SHORTCUT:
                raise
            step = 0
        if step == 0:  # the end, or a file system that only seems to do it
            return done + _carry(source, target, start + done, count - done, go_on)
        done += step
    return done


def _carry(source: int, target: int, start: int, count: int, go_on: GoOn) -> int:
    done = 0
    while done < count:
        go_on()
        chunk = os.pread(source, min(CHUNK, count - done), start + done)
        if not chunk:
            break
        write_all(target, chunk)
        done += len(chunk)
    return done


def give_all(source: int, target: int) -> None:
    """Give a new file the owner, mode and attributes of the one it takes the place of.

    Raises `NotKept` where it may not have them.
    """
    was, now = os.fstat(source), os.fstat(target)
    try:
        if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
            os.fchown(target, was.st_uid, was.st_gid)
        kept = _attributes(source)
        for name, value in _attributes(target).items():
            if name not in kept:
                os.removexattr(target, name)
            elif kept[name] == value:
                del kept[name]
        for name, value in kept.items():
            os.setxattr(target, name, value)
        # Last: until the access list is there the bits of the group let in more than it does.
        os.fchmod(target, stat.S_IMODE(was.st_mode))
    except OSError as error:
        raise NotKept from error


def give_some(source: int, target: int, *, owner: bool) -> None:
    """Give a copy the mode, times and attributes of its source, and its owner if it can.

    A copy of another owner is nobody's to run as (set-user-ID and set-group-ID go). One that
    cannot have the access list is its owner's and everybody else's: of whom the list let in,
    the bits of the group say too much. Raises `OSError`.
    """
    was = os.fstat(source)
    mode = stat.S_IMODE(was.st_mode)
    if owner:
        _try(os.fchown, target, was.st_uid, was.st_gid)
    now = os.fstat(target)
    if (was.st_uid, was.st_gid) != (now.st_uid, now.st_gid):
        mode &= ~(stat.S_ISUID | stat.S_ISGID)
    for name, value in _attributes(source).items():
        if not _try(os.setxattr, target, name, value) and name == _ACCESS_LIST:
            mode &= ~stat.S_IRWXG
    os.fchmod(target, mode)
    os.utime(target, ns=(was.st_atime_ns, was.st_mtime_ns))


def _try(call: Callable[..., None], *arguments: object) -> bool:
    """Give what may be given, and whether it was: what there is no room for is still an error."""
    try:
        call(*arguments)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        return False
    return True


def _attributes(file: int) -> dict[str, bytes]:
    """The extended attributes of a file, its access list among them. Raises `OSError`."""
    if not hasattr(os, "listxattr"):
        return {}
    try:
        names = os.listxattr(file)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.ENOSYS):
            return {}
        raise
    return {name: os.getxattr(file, name) for name in names if name not in _OF_THE_BYTES}
