"""What is kept of terminals in `sessions.sqlite`, and which channels name them.

Each function is a statement or a few on a connection, within whatever transaction it is in,
and raises `sqlite3.Error`. A terminal nobody names any more is deleted with its last naming.
"""

import sqlite3
from typing import Final

from ahpd.stores.schema import SLICE, first_place

_BODY: Final = (
    "SELECT terminal_part.body FROM terminal CROSS JOIN terminal_part"
    " ON place >= terminal.key << 32 AND place < (terminal.key + 1) << 32"
    " WHERE terminal.uri = ? ORDER BY place"
)
_NAMED: Final = (
    "SELECT channel.name, terminal.uri FROM session"
    " CROSS JOIN channel ON channel.session = session.key"
    " CROSS JOIN naming ON naming.channel = channel.key"
    " CROSS JOIN terminal ON terminal.key = naming.terminal"
    " WHERE session.id = ?"
)


def body(connection: sqlite3.Connection, uri: str) -> bytes | None:
    """What is kept of a terminal, None for one nothing is kept of."""
    pieces = [piece for (piece,) in connection.execute(_BODY, (uri,))]
    return b"".join(pieces) if pieces else None


def named(connection: sqlite3.Connection, session: str) -> list[tuple[str, str]]:
    """The channels of a session with an id and the terminals they name, in pairs."""
    return connection.execute(_NAMED, (session,)).fetchall()


def put(connection: sqlite3.Connection, channel: int, uri: str, state: bytes) -> None:
    """Write a terminal, new or not, which the channel with that key names."""
    found = connection.execute("SELECT key FROM terminal WHERE uri = ?", (uri,)).fetchall()
    if found:
        key = found[0][0]
        _take_away(connection, key)
    else:
        key = connection.execute("INSERT INTO terminal (uri) VALUES (?)", (uri,)).lastrowid
    connection.executemany(
        "INSERT INTO terminal_part VALUES (?, ?)",
        # One piece at least: an empty body is a body.
        enumerate(
            (state[start : start + SLICE] for start in range(0, len(state) or 1, SLICE)),
            first_place(key),
        ),
    )
    connection.execute("INSERT OR IGNORE INTO naming VALUES (?, ?)", (channel, key))


def share(connection: sqlite3.Connection, source: int, channel: int) -> None:
    """Have a channel name what another one does, each by its key."""
    connection.execute(
        "INSERT OR IGNORE INTO naming SELECT ?, terminal FROM naming WHERE channel = ?",
        (channel, source),
    )


def forget(connection: sqlite3.Connection, channel: int) -> int:
    """Have the channel with that key name nothing; the bytes of what went with that."""
    held = connection.execute(
        "SELECT terminal FROM naming WHERE channel = ?", (channel,)
    ).fetchall()
    if not held:
        return 0
    connection.execute("DELETE FROM naming WHERE channel = ?", (channel,))
    size = 0
    for (key,) in held:
        if not connection.execute(
            "SELECT 1 FROM naming WHERE terminal = ? LIMIT 1", (key,)
        ).fetchall():
            size += _take_away(connection, key)
            connection.execute("DELETE FROM terminal WHERE key = ?", (key,))
    return size


def _take_away(connection: sqlite3.Connection, key: int) -> int:
    """Delete the body of the terminal with that key; its bytes, by whole rows."""
    return (
        SLICE
        * connection.execute(
            "DELETE FROM terminal_part WHERE place >= ? AND place < ?",
            (first_place(key), first_place(key + 1)),
        ).rowcount
    )
