"""Two calls of the Linux kernel that the standard library of these versions has not.

Where the system's library has none, a caller is told and does without.
"""

import ctypes
import errno
import os
import struct
from typing import Any, Final

_HERE: Final = -100
_NO_FOLLOW: Final = 0x100
_NO_REPLACE: Final = 1
_EXCHANGE: Final = 2
_BIRTH: Final = 0x800
#: Where the birth time is in a `struct statx`: seconds and nanoseconds.
_BIRTH_AT: Final = (80, struct.Struct("=qI"))
_MASK: Final = struct.Struct("=I")
#: What says that a call, or this way of calling it, is not there.
_NOT_HERE: Final = (errno.ENOSYS, errno.EINVAL, errno.EOPNOTSUPP)


def _found(name: str) -> Any:
    try:
        return getattr(ctypes.CDLL(None, use_errno=True), name, None)
    except OSError:
        return None


_renameat2: Final = _found("renameat2")
_statx: Final = _found("statx")


def renamed_to_new(source: int, name: str, target: int, new: str) -> bool:
    """Rename `name` of one folder to `new` of another, which must not be there.

    False where it cannot be done this way. Raises `OSError`, `FileExistsError` for one.
    """
    return _renamed(source, name, target, new, _NO_REPLACE)


def exchanged(source: int, name: str, target: int, new: str) -> bool:
    """Have `name` of one folder and `new` of another each be what the other was, in one step.

    False where it cannot be done this way. Raises `OSError`, nothing done.
    """
    return _renamed(source, name, target, new, _EXCHANGE)


def _renamed(source: int, name: str, target: int, new: str, how: int) -> bool:
    if _renameat2 is None:
        return False
    if _renameat2(source, os.fsencode(name), target, os.fsencode(new), how) == 0:
        return True
    number = ctypes.get_errno()
    if number in _NOT_HERE:
        return False
    raise OSError(number, os.strerror(number), name, None, new)


def birth(path: str) -> int | None:
    """When what is at `path` was made, in nanoseconds of the epoch; a link is not followed.

    None where it is not known.
    """
    if _statx is None:
        return None
    room = ctypes.create_string_buffer(256)
    if _statx(_HERE, os.fsencode(path), _NO_FOLLOW, _BIRTH, room) != 0:
        return None
    (known,) = _MASK.unpack_from(room)
    if not known & _BIRTH:
        return None
    at, layout = _BIRTH_AT
    seconds, nanoseconds = layout.unpack_from(room, at)
    return int(seconds) * 1_000_000_000 + int(nanoseconds)
