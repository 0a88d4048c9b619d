"""Sessions in one SQLite file.

One connection, used in the caller's thread: a call writes what it was given to the log
(`sessions.sqlite-wal`) and returns. That survives the end of the process at any moment;
with `sync="power"` each call also waits until the disk has it, and so it survives the
machine's too. The log is folded into the file by `compact`, in a thread, never by a write.
"""

import contextlib
import sqlite3
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Literal

from zope.interface import implementer

from ahpd.interfaces.stores import (
    ChannelRecord,
    DropChannel,
    DropSession,
    ISessionStore,
    PutChannel,
    PutSession,
    PutTerminal,
    SessionRow,
    ShareTerminals,
    StoreFailure,
    Write,
)
from ahpd.stores import rows, terminal_rows
from ahpd.stores.failures import store_failure
from ahpd.stores.folder import FolderLock
from ahpd.stores.maintenance import Compaction
from ahpd.stores.opening import open_database
from ahpd.stores.schema import first_place

DATABASE_FILE: Final = "sessions.sqlite"

#: Bytes written since the last compaction that make another one worth its while.
COMPACT_AFTER: Final = 4 * 1024 * 1024

#: What survives the end of the process alone, and what survives a power cut.
Sync = Literal["process", "power"]

#: Runs a function, in a thread or not, and gives its end.
RunInThread = Callable[[Callable[[], object]], Awaitable[object]]

#: Places of channels that are remembered; beyond it they are looked up again.
_REMEMBERED: Final = 4096
_PAGE: Final = 4096


class _Place:
    """Where a channel's rows are: its key, and the place of its next entry."""

    __slots__ = ("key", "next")

    def __init__(self, key: int, next_place: int) -> None:
        self.key = key
        self.next = next_place


async def _at_once(work: Callable[[], object]) -> object:
    return work()


@implementer(ISessionStore)
class SqliteSessionStore:
    """`ISessionStore` in `sessions.sqlite` under `folder`, which it holds while it is open.

    `run_in_thread` runs the compaction; without one it is run in the caller's thread.
    """

    def __init__(
        self, folder: Path, *, sync: Sync = "process", run_in_thread: RunInThread | None = None
    ) -> None:
        self.path = folder / DATABASE_FILE
        self._folder = folder
        self._sync = sync
        self._run_in_thread = run_in_thread or _at_once
        self._lock: FolderLock | None = None
        self._database: sqlite3.Connection | None = None
        self._compaction: Compaction | None = None
        self._places: dict[str, _Place] = {}
        #: The session that was asked about last and its key, for whoever reads it next.
        self._last: tuple[str, int] | None = None
        self._written = 0

    # -- its life -----------------------------------------------------------------------

    def open(self) -> None:
        if self._database is not None:
            raise StoreFailure(f"{self.path}: it is open already")
        lock = FolderLock.hold(self._folder)
        try:
            self._database = open_database(self.path, power=self._sync == "power")
        except BaseException:
            lock.release()
            raise
        self._lock = lock
        self._compaction = Compaction(self.path)
        # What the last life left in the log was not folded.
        self._written = self._log_bytes()

    def close(self) -> None:
        if self._compaction is not None:
            self._compaction.stop()
        database, self._database = self._database, None
        self._last = None
        self._places.clear()
        try:
            if database is not None:
                database.close()
        except sqlite3.Error as error:
            raise store_failure(self.path, error) from None
        finally:
            if self._lock is not None:
                self._lock.release()

    def _log_bytes(self) -> int:
        try:
            return self.path.with_name(self.path.name + "-wal").stat().st_size
        except OSError:
            return 0

    @property
    def _connection(self) -> sqlite3.Connection:
        if self._database is None:
            raise StoreFailure(f"{self.path}: it is not open")
        return self._database

    # -- reading ------------------------------------------------------------------------

    def sessions(self) -> Sequence[SessionRow]:
        try:
            held = rows.sessions(self._connection)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise store_failure(self.path, error) from None
        held.sort(key=lambda row: row.ordinal)
        return held

    def unfolded(self) -> Sequence[str]:
        try:
            return rows.unfolded(self._connection)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise store_failure(self.path, error) from None

    def session_of(self, channel: str) -> str | None:
        try:
            self._last = rows.session_of(self._connection, channel)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise store_failure(self.path, error) from None
        return None if self._last is None else self._last[0]

    def read(self, session: str) -> Sequence[ChannelRecord]:
        connection, last = self._connection, self._last
        try:
            if last is not None and last[0] == session:
                key = last[1]
            else:
                found = connection.execute(
                    "SELECT key FROM session WHERE id = ?", (session,)
                ).fetchall()
                if not found:
                    return []
                key = found[0][0]
            entries = rows.entries(connection, key)
            return [
                ChannelRecord(
                    channel=name,
                    kind=kind,
                    head=head,
                    turns=turns,
                    entries=entries.get(channel, ()),
                )
                for channel, name, kind, head, turns in rows.heads_and_turns(connection, key)
            ]
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise store_failure(self.path, error) from None

    def terminal(self, uri: str) -> bytes | None:
        try:
            return terminal_rows.body(self._connection, uri)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise store_failure(self.path, error) from None

    def terminals(self, session: str) -> Sequence[tuple[str, str]]:
        try:
            return terminal_rows.named(self._connection, session)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise store_failure(self.path, error) from None

    # -- entries ------------------------------------------------------------------------

    def append(self, entries: Iterable[tuple[str, bytes]]) -> None:
        connection, places = self._connection, self._places
        self._remember_no_more()
        placed: list[tuple[int, bytes]] = []
        try:
            for channel, entry in entries:
                place = places.get(channel) or self._find(channel)
                placed.append((place.next, entry))
                place.next += 1
            if len(placed) == 1:
                # A statement by itself is a transaction, and the cheapest there is.
                connection.execute("INSERT INTO entry VALUES (?, ?)", placed[0])
            elif placed:
                with self._transaction(connection):
                    connection.executemany("INSERT INTO entry VALUES (?, ?)", placed)
        except (sqlite3.Error, UnicodeEncodeError) as error:
            places.clear()
            raise store_failure(self.path, error) from None
        for _, entry in placed:
            self._written += _PAGE + len(entry)

    def _find(self, channel: str) -> _Place:
        """The place of a channel that is held. Raises `StoreFailure` for one that is not."""
        key = self._key(channel)
        return self._remember(channel, key, rows.end_of(self._connection, "entry", key))

    def _key(self, channel: str) -> int:
        """The key of a channel that is held. Raises `StoreFailure` for one that is not."""
        found = self._connection.execute(
            "SELECT key FROM channel WHERE name = ?", (channel,)
        ).fetchall()
        if not found:
            raise StoreFailure(f"{self.path}: it holds no channel {channel}")
        key: int = found[0][0]
        return key

    def _remember(self, channel: str, key: int, next_place: int) -> _Place:
        place = self._places[channel] = _Place(key, next_place)
        return place

    def _remember_no_more(self) -> None:
        """Between two calls alone: what a call has placed so far is known nowhere else."""
        if len(self._places) >= _REMEMBERED:
            self._places.clear()

    # -- the rest of what is written ----------------------------------------------------

    def apply(self, writes: Iterable[Write]) -> None:
        connection, written = self._connection, 0
        self._last = None
        self._remember_no_more()
        try:
            with self._transaction(connection):
                for write in writes:
                    written += self._do(write)
        except (sqlite3.Error, UnicodeEncodeError, OverflowError) as error:
            raise store_failure(self.path, error) from None
        self._written += written

    def _do(self, write: Write) -> int:
        """One write, within a transaction; about how many bytes that put into the log."""
        match write:
            case PutSession(row=row):
                rows.put_session(self._connection, row)
                return 2 * _PAGE + len(row.summary)
            case PutChannel():
                return self._put_channel(write)
            case DropChannel(channel=channel):
                return self._drop_channel(channel)
            case PutTerminal(chat=chat, terminal=uri, state=state):
                terminal_rows.put(self._connection, self._key(chat), uri, state)
                return 3 * _PAGE + len(state)
            case ShareTerminals(source=source, chat=chat):
                terminal_rows.share(self._connection, self._key(source), self._key(chat))
                return 2 * _PAGE
            case DropSession(id=session):
                return self._drop_session(session)

    @contextlib.contextmanager
    def _transaction(self, connection: sqlite3.Connection) -> Iterator[None]:
        connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            connection.execute("COMMIT")
        except BaseException:
            # What was remembered may be of rows that are gone again.
            self._places.clear()
            # A full disk ends a transaction by itself.
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _put_channel(self, write: PutChannel) -> int:
        connection = self._connection
        found = connection.execute(
            "SELECT key FROM session WHERE id = ?", (write.session,)
        ).fetchall()
        if not found:
            raise StoreFailure(f"{self.path}: it holds no session {write.session}")
        key, is_new, size = rows.put_head(connection, write, found[0][0])
        first = first_place(key)
        if not is_new:
            rows.take_away(connection, "entry", first, key)
            if rows.end_of(connection, "turn", key) > first + write.keep_turns:
                rows.take_away(connection, "turn", first + write.keep_turns, key)
        held = 0 if is_new else rows.end_of(connection, "turn", key) - first
        if held < write.keep_turns:
            raise StoreFailure(
                f"{self.path}: it holds {held} turns of {write.channel}, not {write.keep_turns}"
            )
        size += rows.put_turns(connection, write.turns, first + held)
        connection.executemany("INSERT INTO entry VALUES (?, ?)", enumerate(write.entries, first))
        self._remember(write.channel, key, first + len(write.entries))
        return 3 * _PAGE + size + sum(map(len, write.entries))

    def _drop_channel(self, channel: str) -> int:
        found = self._connection.execute(
            "SELECT key FROM channel WHERE name = ?", (channel,)
        ).fetchall()
        freed = sum(self._drop_rows(key) for (key,) in found)
        self._places.pop(channel, None)
        return 2 * _PAGE * len(found) + freed

    def _drop_rows(self, key: int) -> int:
        """Delete a channel and what it alone names; the bytes of terminals that went."""
        rows.drop_channel(self._connection, key)
        return terminal_rows.forget(self._connection, key)

    def _drop_session(self, session: str) -> int:
        found = self._connection.execute(
            "SELECT channel.key FROM session JOIN channel ON channel.session = session.key"
            " WHERE session.id = ?",
            (session,),
        ).fetchall()
        freed = sum(self._drop_rows(key) for (key,) in found)
        self._connection.execute("DELETE FROM session WHERE id = ?", (session,))
        self._places.clear()
        return 2 * _PAGE * (1 + len(found)) + freed

    # -- compaction ---------------------------------------------------------------------

    def wants_compaction(self) -> bool:
        return self._written >= COMPACT_AFTER

    async def compact(self) -> None:
        if self._compaction is None or self._database is None:
            raise StoreFailure(f"{self.path}: it is not open")
        compaction, before = self._compaction, self._written
        try:
            ran = await self._run_in_thread(compaction.run)
        except (sqlite3.Error, OSError) as error:
            raise store_failure(self.path, error) from None
        if ran:
            self._written = max(0, self._written - before)
