"""`file:` URIs and the paths of this machine they name. Pure: nothing is looked up.

A path is a string in which a byte that is no UTF-8 is a surrogate escape, as the
standard library's are.
"""

import os
from urllib.parse import quote_from_bytes, unquote_to_bytes, urlsplit

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


def shown(path: str) -> str:
    """A path or name as text that can travel: what is no UTF-8 in it is replaced."""
    return os.fsencode(path).decode(errors="replace")
