"""The folder sessions are kept in: made where it is missing, and one process's at a time.

The lock is on a file of its own, which also says whose it is. It is the system's and goes
with the process, however that ends; the file stays and means nothing by itself.
"""

import contextlib
import fcntl
import os
from pathlib import Path
from typing import Final

from ahpd.interfaces.stores import StoreFailure
from ahpd.private_folders import make_private
from ahpd.stores.failures import reason, store_failure

LOCK_FILE: Final = "sessions.lock"


class FolderLock:
    """The right to what is in one folder. Made by `hold`."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor: int | None = descriptor

    @classmethod
    def hold(cls, folder: Path) -> "FolderLock":
        """Take the folder, made with mode 0700 where it is missing.

        Raises `StoreFailure` when another process has it, or it cannot be made or written.
        """
        path = folder / LOCK_FILE
        try:
            make_private(folder)
            # Not inherited by the programs the host starts, which may outlive it.
            descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except FileExistsError:
            raise StoreFailure(f"{folder}: it is no folder, and sessions are kept in one") from None
        except OSError as error:
            raise StoreFailure(
                f"{error.filename or path}: {reason(error)}; sessions are kept in the folder that "
                "dataDirectory names"
            ) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        except BlockingIOError:
            holder = _holder(descriptor)
            os.close(descriptor)
            raise StoreFailure(
                f"{folder}: the sessions in it are in use by another ahpd{holder}; stop it, or "
                "name another folder with dataDirectory"
            ) from None
        except OSError as error:
            os.close(descriptor)
            raise store_failure(path, error) from None
        return cls(descriptor)

    def release(self) -> None:
        """Let go of the folder; again is no error."""
        descriptor, self._descriptor = self._descriptor, None
        if descriptor is not None:
            os.close(descriptor)


def _holder(descriptor: int) -> str:
    with contextlib.suppress(OSError, ValueError):
        return f" (process {int(os.pread(descriptor, 20, 0))})"
    return ""
