"""Writing into a file as it is: for appends, and where it cannot be replaced whole.

Here a crash may leave part of what was written. What the system refuses leaves the old
content: room for what is new is taken before anything old is touched.
"""

import errno
import os
from typing import Final

from ahpd.resources.files.contents import CHUNK, write_all
from ahpd.resources.files.splices import Splice

#: How a file system says that it takes no room ahead.
_NO_ROOM_AHEAD: Final = (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS)


def append(file: int, data: bytes) -> None:
    """Write at the end of a file that is open with `O_APPEND`.

    One write is one step to everybody who appends, in this process or another. Where only
    part of it fits that part is taken back, unless somebody has appended behind it.
    Raises `OSError`.
    """
    rest = memoryview(data)
    while rest:
        try:
            rest = rest[os.write(file, rest) :]
        except OSError:
            written = len(data) - len(rest)
            end = os.lseek(file, 0, os.SEEK_CUR)
            if written and os.fstat(file).st_size == end:
                os.ftruncate(file, end - written)
            raise
    os.fsync(file)


def put(file: int, splice: Splice, start: int) -> None:
    """Put the data at `start` of a file open for writing, and for reading if a tail is kept.

    Raises `OSError`, the content as it was unless the disk itself fails.
    """
    size = os.fstat(file).st_size
    count = len(splice.data)
    end = size + count if splice.keeps_tail else start + count
    if end > size:
        _take_room(file, size, end)
    if splice.keeps_tail:
        _shift(file, start, size, count)
    os.lseek(file, start, os.SEEK_SET)
    write_all(file, splice.data)
    if end < size:
        os.ftruncate(file, end)
    os.fsync(file)


def _take_room(file: int, size: int, end: int) -> None:
    try:
        os.posix_fallocate(file, size, end - size)
    except OSError as error:
        os.ftruncate(file, size)
        if error.errno not in _NO_ROOM_AHEAD:
            raise


def _shift(file: int, start: int, end: int, by: int) -> None:
    """Move what is from `start` to `end` up, the last of it first."""
    while end > start:
        begin = max(start, end - CHUNK)
        chunk = os.pread(file, end - begin, begin)
        os.lseek(file, begin + by, os.SEEK_SET)
        write_all(file, chunk)
        end = begin
