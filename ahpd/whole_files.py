"""Small files that are written whole: a reader finds the old content or the new one.

What is on disk when a call returns is there after a power cut too.
"""

import contextlib
import os
from pathlib import Path


def replace(path: Path, data: bytes) -> None:
    """Have `path` hold `data`, for its owner alone; on disk when it returns.

    Its folder is there and is one process's at a time. Raises `OSError`, what was there
    untouched.
    """
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        with os.fdopen(os.open(draft, flags, 0o600), "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        # A disk that is full names no file by itself.
        error.filename = error.filename or str(path)
        raise
    keep_names(path.parent)


def keep_names(folder: Path) -> None:
    """Have the names in a folder outlive the machine's end. Raises `OSError`."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
