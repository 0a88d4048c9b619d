"""The tables of `sessions.sqlite`, as numbered steps.

A file says whose it is in its `application_id` and how many of the steps it went through
in its `user_version`. A step is never changed once it was released: a change of the tables
is a step more. Each is one transaction, so that a file is always between two steps.

Turns and entries are rows whose key is their place, `channel << 32 | number`. That keeps a
channel's rows together and in order in the table's own tree: reading them is one walk,
writing one touches one page, and no index is kept beside it.

A head or a turn longer than `SLICE` is cut: what its own row holds is its beginning, and
the rest follows as rows of `part`. SQLite takes several copies of each row it writes or
reads, and a statement goes on holding what it wrote last.

A terminal's body stands once, in pieces as a turn's is, in tables of its own: reading a
session looks at none of it. `naming` says which channels name which terminals.
"""

import sqlite3
from collections.abc import Sequence
from typing import Final

#: "ahpd" in ASCII: marks the file as this program's.
APPLICATION_ID: Final = 0x61687064

#: A step is its statements, in order.
Step = Sequence[str]

STEPS: Final[Sequence[Step]] = (
    (
        "CREATE TABLE session ("
        " key INTEGER PRIMARY KEY,"
        " id TEXT NOT NULL UNIQUE,"
        " uri TEXT NOT NULL,"
        " provider TEXT NOT NULL,"
        " created_at TEXT NOT NULL,"
        " modified_at TEXT NOT NULL,"
        " ordinal INTEGER NOT NULL,"
        " announced INTEGER NOT NULL,"
        " summary BLOB NOT NULL)",
        # The key of a channel counts up, so it is its age too.
        "CREATE TABLE channel ("
        " key INTEGER PRIMARY KEY,"
        " name TEXT NOT NULL UNIQUE,"
        " session INTEGER NOT NULL,"
        " kind TEXT NOT NULL,"
        " head BLOB NOT NULL)",
        "CREATE INDEX channel_of_session ON channel (session, key)",
        "CREATE TABLE turn (place INTEGER PRIMARY KEY, body BLOB NOT NULL)",
        "CREATE TABLE entry (place INTEGER PRIMARY KEY, body BLOB NOT NULL)",
    ),
    (
        # `place` is that of the turn, or `head_place` of the channel.
        "CREATE TABLE part ("
        " place INTEGER NOT NULL,"
        " number INTEGER NOT NULL,"
        " body BLOB NOT NULL,"
        " PRIMARY KEY (place, number)) WITHOUT ROWID",
    ),
    (
        "CREATE TABLE terminal (key INTEGER PRIMARY KEY, uri TEXT NOT NULL UNIQUE)",
        # `place` is `first_place` of the terminal, and up.
        "CREATE TABLE terminal_part (place INTEGER PRIMARY KEY, body BLOB NOT NULL)",
        "CREATE TABLE naming ("
        " channel INTEGER NOT NULL,"
        " terminal INTEGER NOT NULL,"
        " PRIMARY KEY (channel, terminal)) WITHOUT ROWID",
        "CREATE INDEX naming_of_terminal ON naming (terminal, channel)",
    ),
)

#: What a file of the newest version holds.
TABLES: Final = (
    "session",
    "channel",
    "turn",
    "entry",
    "part",
    "terminal",
    "terminal_part",
    "naming",
)

#: Bytes of a head, a turn or a terminal that one row holds at most.
SLICE: Final = 256 * 1024


def first_place(key: int) -> int:
    """The place of number 0 of the channel or terminal with that key; `key + 1` gives the end."""
    return key << 32


def head_place(channel: int) -> int:
    """The last place of the channel with that key, where no turn is: its head's, among parts."""
    return first_place(channel + 1) - 1


def version(connection: sqlite3.Connection) -> int:
    """How many steps the file went through."""
    found: int = connection.execute("PRAGMA user_version").fetchone()[0]
    return found


def upgrade(connection: sqlite3.Connection, steps: Sequence[Step] = STEPS) -> None:
    """Take the file through the steps it lacks. Raises `sqlite3.Error`, and then the file
    is as the last whole step left it. `connection` begins no transactions by itself."""
    for number in range(version(connection), len(steps)):
        connection.execute("BEGIN IMMEDIATE")
        try:
            for statement in steps[number]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise
