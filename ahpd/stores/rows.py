"""The rows of sessions and channels in `sessions.sqlite`: what is read and written of them.

Each function is a statement or a few on a connection, within whatever transaction it is in,
and raises `sqlite3.Error`.
"""

import sqlite3
from typing import Final, Literal

from ahpd.interfaces.stores import PutChannel, SessionRow
from ahpd.stores.schema import first_place

#: The tables that hold what a channel has many of.
Table = Literal["turn", "entry"]

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


def bodies(connection: sqlite3.Connection, table: Table, session: int) -> dict[int, list[bytes]]:
    """The rows of all channels of a session that have any, in order, by the channel's key."""
    found = connection.execute(
        f"SELECT channel.key, body FROM channel CROSS JOIN {table}"  # noqa: S608
        " ON place >= channel.key << 32 AND place < (channel.key + 1) << 32"
        " WHERE channel.session = ? ORDER BY channel.key, place",
        (session,),
    )
    held: dict[int, list[bytes]] = {}
    for key, body in found:
        if key in held:
            held[key].append(body)
        else:
            held[key] = [body]
    return held


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


def put_head(connection: sqlite3.Connection, write: PutChannel, session: int) -> tuple[int, bool]:
    """Write a channel's own row; its key, and whether it is new."""
    found = connection.execute(
        "SELECT key, session, kind FROM channel WHERE name = ?", (write.channel,)
    ).fetchall()
    if not found:
        key = connection.execute(
            "INSERT INTO channel (name, session, kind, head) VALUES (?, ?, ?, ?)",
            (write.channel, session, write.kind, write.head),
        ).lastrowid
        assert key is not None, "an INSERT has a row"
        return key, True
    key, *rest = found[0]
    if rest == [session, write.kind]:  # and the index on them need not be written
        connection.execute("UPDATE channel SET head = ? WHERE key = ?", (write.head, key))
    else:
        connection.execute(
            "UPDATE channel SET session = ?, kind = ?, head = ? WHERE key = ?",
            (session, write.kind, write.head, key),
        )
    return key, False


def drop_channel(connection: sqlite3.Connection, key: int) -> None:
    """Delete a channel and all that hangs on it."""
    take_away(connection, "turn", first_place(key), key)
    take_away(connection, "entry", first_place(key), key)
    connection.execute("DELETE FROM channel WHERE key = ?", (key,))
