"""`file:` URIs and the paths of this machine they name. Pure: nothing is looked up.

A path is a string in which a byte that is no UTF-8 is a surrogate escape, as the
standard library's are.
"""

import os
import re
from typing import Final
from urllib.parse import quote_from_bytes, unquote_to_bytes

from ahpd.protocol.errors import invalid_params
from ahpd.protocol.uris import scheme

_THIS_MACHINE: Final = ("", "localhost")
#: Where the query or the fragment of a URI begins.
_SUFFIX: Final = re.compile(r"[?#]")


def file_uri(path: str) -> str:
    """The URI of an absolute path."""
    return "file://" + quote_from_bytes(os.fsencode(path), safe="/!$&'()*+,;=:@~")


def path_of(uri: str) -> str | None:
    """The path a `file:` URI names on this machine; None for any other URI.

    One that names another machine, a relative path or a NUL names no path here. A query or
    a fragment, which says where in a file, is passed over.
    """
    if scheme(uri) != "file":
        return None
    machine, path = _parts(_SUFFIX.split(uri[len("file:") :], maxsplit=1)[0])
    if machine.lower() not in _THIS_MACHINE or not path.startswith("/"):
        return None
    try:
        raw = unquote_to_bytes(path)
        return None if b"\0" in raw else os.fsdecode(raw)
    except UnicodeEncodeError:  # a lone surrogate is no text
        return None


def _parts(rest: str) -> tuple[str, str]:
    """The machine and the path of what stands behind `file:`, every character as it is."""
    if not rest.startswith("//"):
        return "", rest
    machine, slash, path = rest[2:].partition("/")
    return machine, slash + path


def named_path(uri: str) -> str:
    """The path a `file:` URI names on this machine, in its shortest spelling.

    Dot segments, encoded ones too, are taken out of the text before any link is looked at
    (RFC 3986, 5.2.4), and so are doubled and trailing slashes. Nothing else is changed or
    left out, as a resource command must touch what was named or nothing.

    Raises `RpcError` -32602 in words for one that names another machine, a relative path or
    a NUL, and for one with a query or a fragment: `?` and `#` of a name are percent-encoded.
    """
    if scheme(uri) != "file":
        raise invalid_params(f"{uri!a} is no file: URI")
    rest = uri[len("file:") :]
    machine, path = _parts(rest)
    for mark, part in (("?", "query"), ("#", "fragment")):
        if mark in rest:
            raise invalid_params(
                f"{uri!a} has a {part}, which no file has;"
                f" a {mark} in a name is written {quote_from_bytes(mark.encode())}"
            )
    if machine.lower() not in _THIS_MACHINE:
        raise invalid_params(
            f"{uri!a} names a file of another machine, {machine!a};"
            " one of this machine is file:///PATH"
        )
    if not path.startswith("/"):
        raise invalid_params(f"{uri!a} names no absolute path; one is file:///PATH")
    try:
        raw = unquote_to_bytes(path)
    except UnicodeEncodeError:
        raise invalid_params(f"{uri!a} holds half a surrogate pair, which is no text") from None
    if b"\0" in raw:
        raise invalid_params(f"{uri!a} holds a NUL, which no path has")
    return "/" + os.path.normpath(os.fsdecode(raw)).lstrip("/")


def shown(path: str) -> str:
    """A path or name as text that can travel: what is no UTF-8 in it is replaced."""
    return os.fsencode(path).decode(errors="replace")
