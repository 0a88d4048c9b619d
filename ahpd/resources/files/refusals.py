"""What a client is told when the system refuses: the one place errors are translated.

Codes: docs of the error family (AHP 1.0.0): -32008 not there, -32009 not permitted, -32010
there already, -32011 a precondition failed. -32602 is a request that cannot be acted on,
-32603 what is wrong with the machine. Every message names the URI it is about.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from ahpd.protocol.errors import (
    ALREADY_EXISTS,
    CONFLICT,
    NOT_FOUND,
    RpcError,
    internal_error,
    invalid_params,
    permission_denied,
)

_KINDS: Final = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISFIFO, "a named pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)

_FULL: Final = {
    errno.ENOSPC: "there is no space left for it",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "it would be larger than a file may be",
}


def not_found(uri: str, why: str = "") -> RpcError:
    """-32008, in the reference host's words."""
    return RpcError(NOT_FOUND, f"Resource not found: {uri}{why and f' ({why})'}")


def denied(uri: str, why: str = "") -> RpcError:
    """-32009; no `resourceRequest` would help."""
    return permission_denied(f"Permission denied: {uri}{why and f' ({why})'}")


def exists(uri: str, why: str = "") -> RpcError:
    """-32010."""
    return RpcError(ALREADY_EXISTS, f"Resource already exists: {uri}{why and f' ({why})'}")


def conflict(uri: str, why: str) -> RpcError:
    """-32011."""
    return RpcError(CONFLICT, f"Conflict: {uri} {why}")


def kind_of(mode: int) -> str:
    """What is no regular file, in words."""
    return next((words for test, words in _KINDS if test(mode)), "no regular file")


def only_regular(mode: int, uri: str) -> None:
    """Refuse what is no regular file."""
    if not stat.S_ISREG(mode):
        raise invalid_params(f"Not a file: {uri} is {kind_of(mode)}")


def refusal(error: OSError, uri: str) -> RpcError:
    """What a client is told of `error`, met on behalf of `uri`."""
    match error.errno:
        case errno.ENOENT | errno.ENOTDIR:
            return not_found(uri)
        case errno.ELOOP:
            return not_found(uri, "its symbolic links lead in a circle")
        case errno.EACCES | errno.EPERM:
            return denied(uri)
        case errno.EROFS:
            return denied(uri, "its file system is read-only")
        case errno.EEXIST:
            return exists(uri)
        case errno.ENAMETOOLONG:
            return invalid_params(f"Name too long for this machine: {uri}")
        case errno.EISDIR:
            return invalid_params(f"Not a file: {uri} is a directory")
        case errno.ENOTEMPTY:
            return invalid_params(f"Directory not empty: {uri}")
        case errno.ENOSPC | errno.EDQUOT | errno.EFBIG as number:
            return internal_error(f"Not written: {uri}, {_FULL[number]}")
        case number:
            words = os.strerror(number) if number else "the system refused"
            return internal_error(f"{words}: {uri}")


@contextmanager
def told(uri: str) -> Iterator[None]:
    """Have an `OSError` of what is done inside be told as one about `uri`."""
    try:
        yield
    except OSError as error:
        raise refusal(error, uri) from error
