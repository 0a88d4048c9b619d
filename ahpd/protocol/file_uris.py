"""`file:` URIs and the paths of this machine they name. Pure: nothing is looked up.

A path is a string in which a byte that is no UTF-8 is a surrogate escape, as the
standard library's are.
"""

import os
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

from ahpd.protocol.errors import invalid_params
from ahpd.protocol.uris import scheme


def file_uri(path: str) -> str:
    """The URI of an absolute path."""
    return "file://" + quote_from_bytes(os.fsencode(path), safe="/!$&'()*+,;=:@~")


def path_of(uri: str) -> str | None:
    """The path a `file:` URI names on this machine; None for any other URI.

    One that names another machine, a relative path or a NUL names no path here.
    """
    if scheme(uri) != "file":
        return None
    try:
        parts = urlsplit(uri)
    except ValueError:  # a broken IPv6 address as its machine
        return None
    if parts.netloc not in ("", "localhost") or not parts.path.startswith("/"):
        return None
    try:
        raw = unquote_to_bytes(parts.path)
        return None if b"\0" in raw else os.fsdecode(raw)
    except UnicodeEncodeError:  # a lone surrogate is no text
        return None


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
    machine, path = "", rest
    if rest.startswith("//"):
        machine, slash, path = rest[2:].partition("/")
        path = slash + path
    for mark, part in (("?", "query"), ("#", "fragment")):
        if mark in rest:
            raise invalid_params(
                f"{uri!a} has a {part}, which no file has;"
                f" a {mark} in a name is written {quote_from_bytes(mark.encode())}"
            )
    if machine.lower() not in ("", "localhost"):
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
