"""Opening `sessions.sqlite`: looked at without touching it, refused with words, or made anew.

The caller holds the folder (`FolderLock`), so nobody else writes meanwhile.
"""

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from ahpd.interfaces.stores import StoreFailure
from ahpd.stores.failures import store_failure
from ahpd.stores.schema import APPLICATION_ID, STEPS, TABLES, Step, upgrade, version

#: Up to this size all pages are looked at before a file is used. A larger one would hold up
#: the start: of it only what the catalogue is read from is.
CHECKED_BYTES: Final = 32 * 1024 * 1024

#: Bytes a log keeps when it is begun anew.
LONG_LOG: Final = 16 * 1024 * 1024

_MAGIC: Final = b"SQLite format 3\0"
_HEADER: Final = 100
_PAGE: Final = 4096
#: Seconds a statement waits for a step of the compaction to be over.
_PATIENCE: Final = 5.0


def connect(path: Path, query: str = "mode=rw", patience: float = _PATIENCE) -> sqlite3.Connection:
    """A connection that begins no transactions by itself and makes no file.

    It never checkpoints in the middle of a commit. Raises `sqlite3.Error`.
    """
    connection = sqlite3.connect(
        f"file:{quote(os.fspath(path))}?{query}",
        uri=True,
        isolation_level=None,
        timeout=patience,
    )
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def open_database(
    path: Path, steps: Sequence[Step] = STEPS, *, power: bool = False
) -> sqlite3.Connection:
    """A connection to the file, which has gone through all `steps`.

    With `power` a commit waits until the disk has it; without, the system's cache does, which
    outlives this process.

    Raises `StoreFailure`, the files untouched, where what is there cannot be used.
    """
    try:
        if _is_there(path):
            _examine(path, len(steps))
        else:
            _make(path, steps)
        connection = connect(path)
        try:
            # SQLite opens what it may not write for reading, and tells at the first write.
            connection.execute("BEGIN IMMEDIATE")
            connection.execute("ROLLBACK")
            upgrade(connection, steps)
            connection.execute(f"PRAGMA synchronous = {'FULL' if power else 'NORMAL'}")
            connection.execute(f"PRAGMA journal_size_limit = {LONG_LOG}").fetchone()
        except BaseException:
            connection.close()
            raise
    except (sqlite3.Error, OSError) as error:
        raise store_failure(path, error) from None
    return connection


def _log(path: Path) -> Path:
    return path.with_name(path.name + "-wal")


def _is_there(path: Path) -> bool:
    try:
        if path.stat().st_size:
            return True
    except FileNotFoundError:
        pass
    try:
        unowned = _log(path).stat().st_size > 0
    except FileNotFoundError:
        unowned = False
    if unowned:
        # It would be taken for the log of the file that is made now.
        raise StoreFailure(
            f"{path}: the file is gone or empty while what was to go into it is still in "
            f"{_log(path)}; put the file back, or move the other away"
        )
    return False


def _make(path: Path, steps: Sequence[Step]) -> None:
    """Make the file whole or not at all, readable by its owner alone."""
    draft = path.with_name(path.name + ".new")
    _remove(draft)
    os.close(os.open(draft, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
    try:
        connection = connect(draft)
        try:
            # A draft that did not come to its end is thrown away, so only its end is waited for.
            connection.execute("PRAGMA journal_mode = MEMORY").fetchone()
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute(f"PRAGMA page_size = {_PAGE}")
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            upgrade(connection, steps)
            # Last, so that the draft is one file at each moment and can be put in place.
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
        finally:
            connection.close()
        with draft.open("rb") as file:
            os.fsync(file.fileno())
        draft.replace(path)
    except BaseException:
        _remove(draft)
        raise


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _examine(path: Path, newest: int) -> None:
    """Refuse what is no store of ours, is newer than this program, or is damaged.

    Nothing is written but SQLite's own scratch file. Raises `StoreFailure`, `sqlite3.Error`
    and `OSError`.
    """
    with path.open("rb") as file:
        header = file.read(_HEADER)
    if len(header) < _HEADER or not header.startswith(_MAGIC):
        raise StoreFailure(f"{path}: it is damaged, or no SQLite database at all")
    # Without a log the file is all there is, and need not even be locked to be read.
    connection = connect(path, "mode=ro" if _has_log(path) else "immutable=1")
    try:
        _check_owner(connection, path, newest)
        _check_pages(connection, path, newest)
    finally:
        connection.close()


def _has_log(path: Path) -> bool:
    try:
        return _log(path).stat().st_size > 0
    except FileNotFoundError:
        return False


def _check_owner(connection: sqlite3.Connection, path: Path, newest: int) -> None:
    owner = connection.execute("PRAGMA application_id").fetchone()[0]
    if owner != APPLICATION_ID:
        raise StoreFailure(f"{path}: it is a database of another program, not ahpd's sessions")
    found = version(connection)
    if found > newest:
        raise StoreFailure(
            f"{path}: it was written by a newer ahpd (version {found} of its tables, this one "
            f"knows up to {newest}); use that ahpd, or name another folder with dataDirectory"
        )


def _check_pages(connection: sqlite3.Connection, path: Path, newest: int) -> None:
    size = path.stat().st_size
    if size <= CHECKED_BYTES:
        (words,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if words != "ok":
            raise StoreFailure(f"{path}: it is damaged ({' '.join(words.split())})")
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    page_size = connection.execute("PRAGMA page_size").fetchone()[0]
    if not _has_log(path) and size < pages * page_size:
        raise StoreFailure(
            f"{path}: it is damaged (it has {size} bytes where {pages * page_size} belong)"
        )
    if version(connection) < newest:
        return
    found = {
        name
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
    }
    missing = [name for name in TABLES if name not in found]
    if missing:
        raise StoreFailure(f"{path}: it is damaged (it has no table {missing[0]})")
    connection.execute("SELECT count(*), total(length(summary)) FROM session").fetchone()
    connection.execute("SELECT count(*) FROM channel INDEXED BY channel_of_session").fetchone()
