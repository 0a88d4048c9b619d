"""What tells one state of a file from another without opening it."""

import os
import stat
import time
from typing import Final, NamedTuple

#: The mark of a file that may have been written to again without its times moving.
UNSURE: Final = 0

#: How far a clock stands still, in nanoseconds: a tick, and two seconds where a file system
#: keeps whole ones.
_TICK: Final = 20_000_000
_WHOLE: Final = 1_000_000_000
_TWO_SECONDS: Final = 2_000_000_000


class SeenFolder(NamedTuple):
    """A folder as it was found: whose it is and who may read it, and which one it is."""

    mark: int
    inode: tuple[int, int]


#: What was found under a name: a folder, or the mark of anything else.
Seen = SeenFolder | int


def seen(found: os.stat_result) -> Seen:
    """What `found` says. A file's mark is another one after every change of it or its metadata.

    A file that changed a moment ago is `UNSURE`: one more change may leave its times as they are.
    """
    if stat.S_ISDIR(found.st_mode):
        mark = hash((found.st_mode, found.st_uid, found.st_gid))
        return SeenFolder(mark, (found.st_dev, found.st_ino))
    changed = found.st_ctime_ns
    still = _TICK if changed % _WHOLE else _TWO_SECONDS
    if -still < time.time_ns() - changed < still:
        return UNSURE
    return hash((found.st_ino, found.st_size, found.st_mtime_ns, changed)) or 1


def seen_at(path: str, *, follow: bool = False) -> Seen | None:
    """What is at `path`; None for nothing, and for what cannot be reached. Blocks."""
    try:
        return seen(os.stat(path, follow_symlinks=follow))  # noqa: PTH116 - may be no UTF-8
    except (OSError, ValueError):
        return None


def seen_in(path: str, *, follow: bool = False) -> dict[str, Seen]:
    """What is in the folder at `path`, by name. Blocks; raises `OSError`.

    A link is read through with `follow` alone. What goes while this reads is left out.
    """
    found: dict[str, Seen] = {}
    flags = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | (0 if follow else os.O_NOFOLLOW)
    descriptor = os.open(path, flags)
    try:
        with os.scandir(descriptor) as entries:
            for entry in entries:
                try:
                    found[entry.name] = seen(entry.stat(follow_symlinks=False))
                except OSError:
                    continue
    finally:
        os.close(descriptor)
    return found
