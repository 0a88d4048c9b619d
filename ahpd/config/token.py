"""The token file: one line of text that only its owner reads."""

import contextlib
import os
import secrets
import stat
from pathlib import Path

from ahpd.config.errors import ConfigError, WrongValue
from ahpd.config.kinds import Token
from ahpd.private_folders import make_private


def read_or_make(path: Path) -> tuple[str, list[str]]:
    """The token in `path` and the warnings about it; a file that is absent is made, 0600.

    Two processes that start at once agree on one token. Raises `ConfigError`.
    """
    try:
        try:
            return _read(path)
        except FileNotFoundError:
            _make(path)
            return _read(path)
    except OSError as error:
        raise ConfigError(f"the token file {path} cannot be used: {error.strerror}") from None


def look(path: Path) -> list[str] | None:
    """The warnings about the token in `path`; None where there is no file yet.

    Makes nothing. Raises `ConfigError` where it cannot be used.
    """
    try:
        return _read(path)[1]
    except FileNotFoundError:
        return None
    except OSError as error:
        raise ConfigError(f"the token file {path} cannot be used: {error.strerror}") from None


def _read(path: Path) -> tuple[str, list[str]]:
    with path.open("rb") as file:
        mode = os.fstat(file.fileno()).st_mode
        content = file.read(64 * 1024)
    try:
        token: str = Token().check(content.decode("ascii", "replace").strip(), path.parent)
    except WrongValue as wrong:
        raise ConfigError(
            f"the token file {path}: found {wrong.found}, allowed: one line of {wrong.allowed}"
        ) from None
    if stat.S_IMODE(mode) & 0o077:
        return token, [f"the token file {path} can be read by others; run chmod 600 on it"]
    return token, []


def _make(path: Path) -> None:
    make_private(path.parent)
    # Written whole under another name, then linked: nobody ever reads half a token, and
    # of two that make it the second takes the first's.
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.fchmod(descriptor, 0o600)
        os.write(descriptor, secrets.token_urlsafe(32).encode() + b"\n")
        os.fsync(descriptor)
        with contextlib.suppress(FileExistsError):
            os.link(draft, path)
    finally:
        os.close(descriptor)
        draft.unlink()
