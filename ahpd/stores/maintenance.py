"""Compaction: folding the log into the file and giving free pages back, beside the writer.

It runs in a thread, on a connection of its own. The writer is never held up for longer than
one step takes: a checkpoint of the passive kind takes no lock the writer needs, and free
pages are given back a few at a time. A log that is folded to its end is begun anew by the next
write, which cuts it to `LONG_LOG` too (`journal_size_limit`); one that is much longer is cut
here, so that its space does not wait for a write that may not come. Statistics for the query planner are not kept
(`PRAGMA optimize`): every statement of the store goes by a key.
"""

import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from ahpd.stores.opening import LONG_LOG, connect

#: Pages given back in one transaction; about a millisecond.
STEP_PAGES: Final = 16
#: Free pages that stay, for what is written next.
SPARE_PAGES: Final = 256
#: Pages given back between two checkpoints, which is what the log grows by meanwhile.
ROUND_PAGES: Final = 2048
#: Checkpoints of the passive kind that are tried before a log counts as never folded.
_PASSES: Final = 8

_PAGE: Final = 4096
#: Seconds the writer is left alone between two steps.
_PAUSE: Final = 0.002
#: Seconds a step waits for the writer. One that waited longer is left for the next time.
_PATIENCE: Final = 0.5


class Compaction:
    """The compaction of one file. `run` is for a thread; `stop` may come from another."""

    def __init__(self, path: Path, pause: Callable[[float], None] = time.sleep) -> None:
        self._path = path
        self._pause = pause
        self._running = threading.Lock()
        self._stopping = threading.Event()
        self._handle = threading.Lock()
        self._connection: sqlite3.Connection | None = None

    def run(self) -> bool:
        """Compact, until done or stopped; False when one ran already. Raises `sqlite3.Error`."""
        if not self._running.acquire(blocking=False):
            return False
        try:
            if not self._stopping.is_set():
                self._compact()
        except sqlite3.OperationalError as error:
            if getattr(error, "sqlite_errorcode", 0) & 0xFF not in (
                sqlite3.SQLITE_BUSY,
                sqlite3.SQLITE_INTERRUPT,
            ):
                raise
        finally:
            self._running.release()
        return True

    def stop(self) -> None:
        """End what runs, wait until it has, and let nothing run after it."""
        self._stopping.set()
        with self._handle:
            if self._connection is not None:
                self._connection.interrupt()
        with self._running:
            pass

    def _compact(self) -> None:
        connection = connect(self._path, patience=_PATIENCE)
        with self._handle:
            self._connection = connection
        try:
            self._fold(connection)
            while not self._stopping.is_set() and self._give_back(connection):
                self._fold(connection)
        finally:
            with self._handle:
                self._connection = None
            connection.close()

    def _fold(self, connection: sqlite3.Connection) -> None:
        """Carry the log into the file, to its end if the writer pauses for long enough."""
        there = 0
        for _ in range(_PASSES):
            if self._stopping.is_set():
                return
            # What is written during a pass is left to the next, which is the shorter for it.
            _, there, folded = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
            if there == folded:
                break
        if there * _PAGE > 2 * LONG_LOG:
            # A pass counts what was there when it began. Where more was written since, the log
            # only grows; nothing but this ends that. The writer waits for a few pages.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _give_back(self, connection: sqlite3.Connection) -> bool:
        """One round of free pages; whether there were any."""
        done = 0
        while done < ROUND_PAGES and not self._stopping.is_set():
            free = connection.execute("PRAGMA freelist_count").fetchone()[0] - SPARE_PAGES
            if free <= 0:
                break
            step = min(STEP_PAGES, free)
            # It gives one page back for each step of the statement, and has no columns:
            # `execute` would end it after the first.
            connection.executescript(f"PRAGMA incremental_vacuum({step})")
            done += step
            self._pause(_PAUSE)
        return done > 0
