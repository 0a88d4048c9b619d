"""One at a time at a plugin root: a command and a daemon may both want to install."""

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from ahpd.plugins.failures import InstallFailure
from ahpd.private_folders import make_private

_LOCK: Final = ".lock"


@contextlib.contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the root `folder`, which is made. Raises `InstallFailure` where another process does.

    Nobody waits here: the reactor's thread may be the one that asks.
    """
    make_private(folder)
    descriptor = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InstallFailure(
                "another ahpd is installing plugins; try again when it is done"
            ) from None
        yield
    finally:
        os.close(descriptor)
