"""What a URI is: its kind, size, times and version (schema: resourceResolve)."""

import mimetypes
import os
import stat
from datetime import UTC, datetime, timedelta
from functools import cache

from ahpd.protocol import State
from ahpd.protocol.file_uris import file_uri, named_path
from ahpd.protocol.timestamps import stamp
from ahpd.resources.files import kernel
from ahpd.resources.files.names import on_disk
from ahpd.resources.files.refusals import told

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def resolve(uri: str, follow: bool) -> State:
    """What is at a URI, seen through links if `follow` (schema: ResourceResolveResult).

    What is neither a directory nor a link is a `file`; of one that has no bytes to read (a
    pipe, a device) no size is said. The canonical URI says the bytes of each name, and is
    the URI that was asked for where no link led elsewhere. Raises `RpcError`.
    """
    named = named_path(uri)
    path = on_disk(named)
    with told(uri):
        real = os.path.realpath(path, strict=True) if follow else path
        found = os.lstat(real)
        born = _born(real, found)
    answer: State = {"uri": uri if real == named else file_uri(real), "type": _type(found.st_mode)}
    if stat.S_ISREG(found.st_mode):
        answer["size"] = found.st_size
        answer["etag"] = etag(found)
        kind = content_type(real)
        if kind is not None:
            answer["contentType"] = kind
    for name, nanoseconds in (("mtime", found.st_mtime_ns), ("ctime", born)):
        said = None if nanoseconds is None else _moment(nanoseconds)
        if said is not None:
            answer[name] = said
    return answer


def etag(info: os.stat_result) -> str:
    """The version of a file: it differs when the file was written to or is another one.

    Two writes of one length within a tick of the system's clock (a few milliseconds at
    most) into the same inode are not told apart.
    """
    parts = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
    return "-".join(f"{part:x}" for part in parts)


def content_type(path: str) -> str | None:
    """The media type a file's name promises; None where it promises none."""
    kind, packed = _types().guess_type(path, strict=False)
    return None if packed else kind


@cache
def _types() -> mimetypes.MimeTypes:
    """Python's own table, which is the same on every machine, and what it lacks of note."""
    types = mimetypes.MimeTypes()
    types.add_type("text/markdown", ".md")
    return types


def _type(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "directory"
    return "symlink" if stat.S_ISLNK(mode) else "file"


def _born(path: str, info: os.stat_result) -> int | None:
    """When it was made, in nanoseconds; on Linux, `st_ctime` is another time."""
    born: float | None = getattr(info, "st_birthtime", None)
    return kernel.birth(path) if born is None else int(born * 1e9)


def _moment(nanoseconds: int) -> str | None:
    """None for a time outside the years that can be written."""
    try:
        return stamp(_EPOCH + timedelta(microseconds=nanoseconds // 1000))
    except OverflowError:
        return None
