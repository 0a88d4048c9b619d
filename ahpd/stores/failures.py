"""What went wrong with a file, in words a person can act on."""

import sqlite3
from pathlib import Path
from typing import Final

from ahpd.interfaces.stores import StoreFailure

# By the low byte of SQLite's result code.
_WORDS: Final = {
    sqlite3.SQLITE_PERM: "this user may not open it",
    sqlite3.SQLITE_BUSY: "another program is using it",
    sqlite3.SQLITE_LOCKED: "another program is using it",
    sqlite3.SQLITE_NOMEM: "there is not enough memory",
    sqlite3.SQLITE_READONLY: "it cannot be written: the file or its folder is read-only",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened; its folder must be one this user may write",
    sqlite3.SQLITE_NOTADB: "it is damaged, or no SQLite database at all",
}


def reason(error: Exception) -> str:
    """Why a call failed, without the file's name."""
    if isinstance(error, OSError):
        return error.strerror or str(error)
    if isinstance(error, UnicodeEncodeError):
        return "it takes no text with half of a surrogate pair"
    code = getattr(error, "sqlite_errorcode", None)
    if code == sqlite3.SQLITE_IOERR_SHMSIZE:  # no room for the scratch file beside it
        code = sqlite3.SQLITE_FULL
    if code is None:
        return str(error)
    if code & 0xFF == sqlite3.SQLITE_IOERR:
        return f"reading or writing it failed ({error.sqlite_errorname})"  # type: ignore[attr-defined]
    return _WORDS.get(code & 0xFF, str(error))


def store_failure(path: Path, error: Exception) -> StoreFailure:
    """The failure to raise for an `sqlite3.Error`, an `OSError` or text that cannot be stored."""
    return StoreFailure(f"{path}: {reason(error)}")
