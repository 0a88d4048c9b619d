"""The rows of sessions and channels in `sessions.sqlite`: what is read and written of them.

Each function is a statement or a few on a connection, within whatever transaction it is in,
and raises `sqlite3.Error`.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from typing import Final, Literal

from ahpd.interfaces.stores import Body, PutChannel, SessionRow
from ahpd.stores.schema import SLICE, first_place, head_place

#: The tables that hold what a channel has many of.
Table = Literal["turn", "entry", "part"]

_SESSIONS: Final = (
    "SELECT id, uri, provider, created_at, modified_at, ordinal, announced, summary FROM session"
)
_PUT_SESSION: Final = (
    "INSERT INTO session"
    " (id, uri, provider, created_at, modified_at, ordinal, announced, summary)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    " ON CONFLICT (id) DO UPDATE SET uri = excluded.uri, provider = excluded.provider,"
    " created_at = excluded.created_at, modified_at = excluded.modified_at,"
    " ordinal = excluded.ordinal, announced = excluded.announced, summary = excluded.summary"
)
_SESSION_OF: Final = (
    "SELECT session.id, session.key FROM channel"
    " JOIN session ON session.key = channel.session WHERE channel.name = ?"
)
# From channel to channel, without looking at the entries in between.
_UNFOLDED: Final = (
    "WITH RECURSIVE found (place) AS ("
    " SELECT min(place) FROM entry UNION ALL"
    " SELECT (SELECT min(place) FROM entry WHERE place >= ((found.place >> 32) + 1) << 32)"
    " FROM found WHERE found.place IS NOT NULL)"
    " SELECT DISTINCT session.id FROM found"
    " JOIN channel ON channel.key = found.place >> 32"
    " JOIN session ON session.key = channel.session"
)


def sessions(connection: sqlite3.Connection) -> list[SessionRow]:
    """Every session's row, in no order."""
    return [
        SessionRow(
            id=identifier,
            uri=uri,
            provider=provider,
            created_at=created_at,
            modified_at=modified_at,
            ordinal=ordinal,
            announced=bool(announced),
            summary=summary,
        )
        for (
            identifier,
            uri,
            provider,
            created_at,
            modified_at,
            ordinal,
            announced,
            summary,
        ) in connection.execute(_SESSIONS)
    ]


def put_session(connection: sqlite3.Connection, row: SessionRow) -> None:
    """Write a session's row, new or not."""
    connection.execute(
        _PUT_SESSION,
        (
            row.id,
            row.uri,
            row.provider,
            row.created_at,
            row.modified_at,
            row.ordinal,
            row.announced,
            row.summary,
        ),
    )


def unfolded(connection: sqlite3.Connection) -> list[str]:
    """The ids of the sessions that have entries."""
    return [identifier for (identifier,) in connection.execute(_UNFOLDED)]


def session_of(connection: sqlite3.Connection, channel: str) -> tuple[str, int] | None:
    """The id and the key of the session a channel is kept for."""
    found: list[tuple[str, int]] = connection.execute(_SESSION_OF, (channel,)).fetchall()
    return found[0] if found else None


def entries(connection: sqlite3.Connection, session: int) -> dict[int, list[bytes]]:
    """The entries of all channels of a session that have any, in order, by the channel's key."""
    held: dict[int, list[bytes]] = {}
    for place, body in _in_order(connection, "entry", "place", session):
        held.setdefault(place >> 32, []).append(body)
    return held


def heads_and_turns(
    connection: sqlite3.Connection, session: int
) -> Iterator[tuple[int, str, str, bytes, list[bytes]]]:
    """Of each channel of a session, oldest first: key, name, kind, head, turns in order.

    All three tables are walked once, side by side; a head's parts stand behind the turns'.
    """
    channels = connection.execute(
        "SELECT key, name, kind, head FROM channel WHERE session = ? ORDER BY key", (session,)
    )
    turns = _in_order(connection, "turn", "place", session)
    parts = _in_order(connection, "part", "place, number", session)
    turn, part = next(turns, None), next(parts, None)

    def whole(place: int, beginning: bytes) -> bytes:
        nonlocal part
        if part is None or part[0] != place:
            return beginning
        slices = [beginning]
        while part is not None and part[0] == place:
            slices.append(part[1])
            part = next(parts, None)
        return b"".join(slices)

    for key, name, kind, head in channels:
        held: list[bytes] = []
        while turn is not None and turn[0] >> 32 == key:
            held.append(whole(*turn))
            turn = next(turns, None)
        yield key, name, kind, whole(head_place(key), head), held


def _in_order(
    connection: sqlite3.Connection, table: Table, order: str, session: int
) -> Iterator[tuple[int, bytes]]:
    """Places and bodies of all channels of a session."""
    return connection.execute(
        f"SELECT place, body FROM channel CROSS JOIN {table}"  # noqa: S608
        " ON place >= channel.key << 32 AND place < (channel.key + 1) << 32"
        f" WHERE channel.session = ? ORDER BY channel.key, {order}",
        (session,),
    )


def end_of(connection: sqlite3.Connection, table: Table, key: int) -> int:
    """The place behind the last row of the channel with that key."""
    (last,) = connection.execute(
        f"SELECT max(place) FROM {table} WHERE place >= ? AND place < ?",  # noqa: S608
        (first_place(key), first_place(key + 1)),
    ).fetchone()
    return first_place(key) if last is None else last + 1


def take_away(connection: sqlite3.Connection, table: Table, start: int, key: int) -> None:
    """Delete a channel's rows from a place on."""
    connection.execute(
        f"DELETE FROM {table} WHERE place >= ? AND place < ?",  # noqa: S608
        (start, first_place(key + 1)),
    )


def put_head(
    connection: sqlite3.Connection, write: PutChannel, session: int
) -> tuple[int, bool, int]:
    """Write a channel's own row with its head; its key, whether it is new, the head's bytes.

    The parts of the head before it go, and those of turns that are not to stay.
    """
    beginning, rest = _cut(write.head)
    key, is_new = _put_row(connection, write, session, beginning)
    if not is_new:
        take_away(connection, "part", first_place(key) + write.keep_turns, key)
    return key, is_new, len(beginning) + _put_parts(connection, head_place(key), rest)


def put_turns(connection: sqlite3.Connection, turns: Iterable[Body], start: int) -> int:
    """Write turns from a place on; their bytes."""
    size = 0

    def beginnings() -> Iterator[tuple[int, bytes]]:
        nonlocal size
        for place, turn in enumerate(turns, start):
            beginning, rest = _cut(turn)
            yield place, beginning
            size += len(beginning) + _put_parts(connection, place, rest)

    connection.executemany("INSERT INTO turn VALUES (?, ?)", beginnings())
    return size


def _put_parts(connection: sqlite3.Connection, place: int, rest: Iterable[bytes]) -> int:
    """Write what follows on the beginning in the row itself; its bytes."""
    size = 0
    for number, each in enumerate(rest):
        connection.execute("INSERT INTO part VALUES (?, ?, ?)", (place, number, each))
        size += len(each)
    return size


def _cut(body: Body) -> tuple[bytes, Iterable[bytes]]:
    """What the row itself holds of a body, and what follows on it."""
    if isinstance(body, bytes) and len(body) <= SLICE:
        return body, ()
    slices = _sliced(body)
    return next(slices, b""), slices


def _sliced(body: Body) -> Iterator[bytes]:
    """A body in pieces of at most `SLICE` bytes, none of them empty."""
    gathered: list[bytes] = []
    size = 0
    for part in (body,) if isinstance(body, bytes) else body:
        if size and size + len(part) > SLICE:
            yield b"".join(gathered)
            gathered, size = [], 0
        if len(part) > SLICE:
            for start in range(0, len(part), SLICE):
                yield part[start : start + SLICE]
        else:
            gathered.append(part)
            size += len(part)
    if size:
        yield b"".join(gathered)


def _put_row(
    connection: sqlite3.Connection, write: PutChannel, session: int, head: bytes
) -> tuple[int, bool]:
    found = connection.execute(
        "SELECT key, session, kind FROM channel WHERE name = ?", (write.channel,)
    ).fetchall()
    if not found:
        key = connection.execute(
            "INSERT INTO channel (name, session, kind, head) VALUES (?, ?, ?, ?)",
            (write.channel, session, write.kind, head),
        ).lastrowid
        assert key is not None, "an INSERT has a row"
        return key, True
    key, *rest = found[0]
    if rest == [session, write.kind]:  # and the index on them need not be written
        connection.execute("UPDATE channel SET head = ? WHERE key = ?", (head, key))
    else:
        connection.execute(
            "UPDATE channel SET session = ?, kind = ?, head = ? WHERE key = ?",
            (session, write.kind, head, key),
        )
    return key, False


def drop_channel(connection: sqlite3.Connection, key: int) -> None:
    """Delete a channel and all that hangs on it."""
    take_away(connection, "turn", first_place(key), key)
    take_away(connection, "entry", first_place(key), key)
    take_away(connection, "part", first_place(key), key)
    connection.execute("DELETE FROM channel WHERE key = ?", (key,))
