"""Names of files and folders made of what a client said: each stays inside its folder."""

import hashlib
import re
from typing import Final

#: Bytes a name may have on the file systems there are.
_LONGEST: Final = 255
#: No name longer than this is kept of an id as it is.
_LONGEST_ID: Final = 120

_BAD: Final = re.compile(r'[\x00-\x1f\x7f/\\:*?"<>|\ud800-\udfff]')
_PLAIN_ID: Final = re.compile(r"[A-Za-z0-9_-]")
_FOLDER_NAME: Final = re.compile(r"[A-Za-z0-9_%-]+")

#: Image types a model takes, and how a file of each ends.
IMAGE_ENDINGS: Final = {
    "image/jpeg": (".jpg", ".jpeg"),
    "image/png": (".png",),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
}


def folder_name(identifier: str) -> str:
    """A session's folder: of each id another one, and never a way out of the one it is in.

    Whatever is no letter, digit, `_` or `-` is written `%XX`, so no name is `.` or `..`;
    a long one is cut, and told apart by its digest.
    """
    raw = identifier.encode(errors="surrogatepass")
    name = "".join(char if _PLAIN_ID.match(char := chr(byte)) else f"%{byte:02X}" for byte in raw)
    if not name:
        return "%"
    if len(name) > _LONGEST_ID:
        return f"{name[:_LONGEST_ID]}%{hashlib.sha256(raw).hexdigest()}"
    return name


def is_folder_name(name: str) -> bool:
    """Whether `folder_name` may have made it, so that it names a folder inside another."""
    return _FOLDER_NAME.fullmatch(name) is not None


def file_name(label: str, content_type: str = "") -> str:
    """The name of a file for an attachment of this label.

    What a path segment cannot hold is replaced by `_`. A picture whose label does not say
    what it is gets its ending, which is what a tool that opens it goes by.
    """
    name = _BAD.sub("_", label).strip()
    if name.strip(".") == "":
        name = "_" * len(name) or "attachment"
    endings = IMAGE_ENDINGS.get(content_type)
    if endings is not None and not name.lower().endswith(endings):
        name += endings[0]
    return _cut(name)


def _cut(name: str) -> str:
    """The name in as many bytes as it may have, its ending kept."""
    if len(name.encode()) <= _LONGEST:
        return name
    stem, dot, ending = name.rpartition(".")
    if not dot or not stem or len(ending.encode()) > 20:
        stem, dot, ending = name, "", ""
    room = _LONGEST - len((dot + ending).encode())
    return stem.encode()[:room].decode(errors="ignore") + dot + ending
