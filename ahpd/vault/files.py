"""`vault.json`: secrets by name, in a file that its owner alone reads.

`{"host:stripe": "..."}`, plain JSON with mode 0600 in a folder made with 0700. It is replaced
as a whole and never written to in place. The daemon and the command line use it side by side:
who changes it holds the lock file beside it, and who reads it looks at the file each time.

- A file that others may read or write is refused until its owner mended that: what it held may
  be known by now.
- A symbolic link is refused, because replacing it would leave the secrets behind in the file it
  leads to. A second name of the same file (a hard link, as some backups make them) is no way in
  for anybody, and keeps what was there before the next change.
- No words say a value, and no `repr` does.

Source: PLUGINS.txt, "Reading a secret".
"""

import contextlib
import fcntl
import json
import os
import stat
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final

from zope.interface import implementer

from ahpd import whole_files
from ahpd.interfaces.vault import IVault, SecretFailure
from ahpd.private_folders import make_private
from ahpd.vault.names import parse
from ahpd.vault.values import check_text

#: More than a thousand secrets of the largest size: another file stands in its place.
_LARGEST_FILE: Final = 128 * 1024 * 1024
#: A pipe that stands in its place keeps nobody waiting.
_READ: Final = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
#: Seconds for which a file that was just written may change again and look the same: a file
#: system tells times in steps, and gives an inode's number to the next file.
_UNSURE: Final = 0.1


class VaultFile:
    """The file, read and written in the calling thread: any thread, several at a time.

    Everything raises `SecretFailure` where the file cannot be used. `now` is the wall clock in
    seconds.
    """

    def __init__(self, path: Path, now: Callable[[], float] = time.time) -> None:
        self._path = path
        self._now = now
        #: What the file looked like, and what was in it then.
        self._read: tuple[tuple[int, ...], Mapping[str, str]] | None = None

    def get(self, name: str) -> str | None:
        """The secret; None where there is none under `name`."""
        return self._secrets().get(name)

    def list(self) -> Sequence[str]:
        """The names, sorted."""
        return sorted(self._secrets())

    def set(self, name: str, value: str) -> None:
        """Keep a secret of at most 64 KiB in place of what was there; on disk when it returns."""
        parse(name)
        check_text(name, value)
        with self._locked():
            held = self._secrets()
            if held.get(name) != value:
                self._replace({**held, name: value})

    def delete(self, name: str) -> bool:
        """Forget a secret; True where it was there."""
        if name not in self._secrets():
            return False
        with self._locked():
            held = dict(self._secrets())
            if held.pop(name, None) is None:
                return False
            self._replace(held)
            return True

    def _secrets(self) -> Mapping[str, str]:
        try:
            descriptor = os.open(self._path, _READ)
        except FileNotFoundError:
            return {}
        except OSError as error:
            if self._path.is_symlink():
                raise SecretFailure(
                    f"{self._path} is a link and is not used; put the file itself there"
                ) from None
            raise self._failure("read", error) from None
        try:
            return self._in(descriptor)
        except OSError as error:
            raise self._failure("read", error) from None
        finally:
            os.close(descriptor)

    def _in(self, descriptor: int) -> Mapping[str, str]:
        status = os.fstat(descriptor)
        self._check(status)
        looks = (
            status.st_dev,
            status.st_ino,
            status.st_size,
            status.st_mtime_ns,
            status.st_ctime_ns,
        )
        known = self._read
        if known is not None and known[0] == looks:
            return known[1]
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            found = self._parsed(file.read(_LARGEST_FILE + 1))
        sure = abs(self._now() - status.st_mtime) > _UNSURE
        self._read = (looks, found) if sure else None
        return found

    def _check(self, status: os.stat_result) -> None:
        mode = stat.S_IMODE(status.st_mode)
        if not stat.S_ISREG(status.st_mode):
            raise SecretFailure(f"{self._path} is no file")
        if mode & 0o077:
            raise SecretFailure(
                f"{self._path} can be read or written by others (its mode is {mode:04o}) and is "
                f"not used; run chmod 600 on it, and replace what others may have seen"
            )
        if status.st_size > _LARGEST_FILE:
            raise SecretFailure(f"{self._path} is too large to be a vault")

    def _parsed(self, content: bytes) -> Mapping[str, str]:
        try:
            found = json.loads(content.decode("utf-8-sig"))
        except json.JSONDecodeError as error:
            where = f"line {error.lineno}, column {error.colno}"
            # The error holds the whole text, and goes no further.
            raise SecretFailure(f"{self._path} is not JSON: {where}") from None
        except (UnicodeDecodeError, RecursionError, ValueError):
            raise SecretFailure(f"{self._path} is not JSON") from None
        if not isinstance(found, dict):
            raise SecretFailure(f"{self._path} must hold an object of secrets by name")
        if not all(isinstance(value, str) for value in found.values()):
            raise SecretFailure(f"{self._path} must hold a text under each name")
        return found

    def _replace(self, secrets: Mapping[str, str]) -> None:
        text = json.dumps(secrets, ensure_ascii=False, indent=2, sort_keys=True)
        self._read = None
        try:
            whole_files.replace(self._path, f"{text}\n".encode("utf-8", "surrogatepass"))
        except OSError as error:
            raise self._failure("written", error) from None

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the vault for one change; waits for another one that is under way."""
        beside = self._path.with_name(f"{self._path.name}.lock")
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        try:
            make_private(self._path.parent)
            descriptor = os.open(beside, flags, 0o600)
        except OSError as error:
            raise self._failure("written", error) from None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)

    def _failure(self, wanted: str, error: OSError) -> SecretFailure:
        return SecretFailure(f"{self._path} cannot be {wanted}: {error.strerror or 'no reason'}")


@implementer(IVault)
class FileVault:
    """`VaultFile` beside the reactor's thread: `run_blocking(function)` calls it elsewhere."""

    def __init__(self, path: Path, run_blocking: Callable[..., Awaitable[Any]]) -> None:
        self._file = VaultFile(path)
        self._run = run_blocking

    async def get(self, name: str) -> str | None:
        """See `IVault`."""
        found: str | None = await self._run(partial(self._file.get, name))
        return found

    async def set(self, name: str, value: str) -> None:
        """See `IVault`. Raises `SecretFailure` where the file cannot be used."""
        await self._run(partial(self._file.set, name, value))

    async def delete(self, name: str) -> bool:
        """See `IVault`. Raises `SecretFailure` where the file cannot be used."""
        gone: bool = await self._run(partial(self._file.delete, name))
        return gone

    async def list(self) -> Sequence[str]:
        """See `IVault`."""
        names: Sequence[str] = await self._run(self._file.list)
        return names
