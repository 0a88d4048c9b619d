"""Making directories (schema: resourceMkdir), with the parents they need."""

import os
import stat

from ahpd.resources.files.places import path_at
from ahpd.resources.files.refusals import exists, told


def mkdir(uri: str) -> None:
    """Have a directory be at a URI. Raises `RpcError`, -32010 for something else there.

    A link to a directory is one. Parents that were made stay where it fails further down.
    """
    path = path_at(uri)
    with told(uri):
        missing: list[str] = []
        while not _is_directory(path, uri):
            missing.append(path)
            path = path.rpartition("/")[0] or "/"
        while missing:
            path = missing.pop()
            try:
                os.mkdir(path)  # noqa: PTH102
            except FileExistsError:  # made by another, or a link that leads nowhere
                if not _is_directory(path, uri):
                    raise exists(uri) from None


def _is_directory(path: str, uri: str) -> bool:
    """False where nothing is. Raises -32010 for what is no directory, and `OSError`."""
    try:
        mode = os.stat(path).st_mode  # noqa: PTH116
    except FileNotFoundError:
        return False
    except NotADirectoryError:  # further up: found on the way
        return False
    if not stat.S_ISDIR(mode):
        raise exists(uri, "it or what is above it is no directory")
    return True
