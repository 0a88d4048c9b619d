"""Terminals in SQLite: what they cost, what stays of them, and a file from before there were any."""

import functools
import signal
import sqlite3
import subprocess
import sys
import textwrap

import pytest

from ahpd.interfaces.stores import DropChannel, DropSession, PutSession, ShareTerminals
from ahpd.stores import opening, schema, sqlite
from ahpd.stores.sqlite import COMPACT_AFTER, DATABASE_FILE, SqliteSessionStore
from ahpd.testing.store_samples import a_chat, a_row, a_terminal, everything, named

SECONDS = 60
LONG = bytes(range(256)) * 4096
TABLES = ("terminal", "terminal_part", "naming")


@pytest.fixture
def store(tmp_path):
    made = SqliteSessionStore(tmp_path / "data")
    made.open()
    made.apply([PutSession(row=a_row("a")), PutSession(row=a_row("b", 2))])
    made.apply([a_chat("a", "c", turns=[b"0"]), a_chat("a", "d"), a_chat("b", "e")])
    yield made
    made.close()


def counts(store):
    """How many rows there are of terminals, of their pieces and of who names them."""
    return tuple(
        store._connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES
    )


@pytest.mark.parametrize("size", [0, 1, schema.SLICE - 1, schema.SLICE, schema.SLICE + 1])
def test_what_is_about_as_long_as_a_row_comes_back(store, size):
    store.apply([a_terminal("c", "t", LONG[:size])])
    assert store.terminal("t") == LONG[:size]
    assert counts(store) == (1, 2 if size > schema.SLICE else 1, 1)


@pytest.mark.parametrize(
    ("writes", "left"),
    [
        ([a_terminal("c", "t", b"short")], (2, 5, 3)),
        ([a_terminal("e", "t", LONG)], (2, 8, 4)),
        ([a_chat("b", "c", keep_turns=1)], (2, 8, 3)),
        ([DropChannel(channel="c")], (2, 8, 2)),
        ([DropChannel(channel="c"), DropChannel(channel="d")], (0, 0, 0)),
        ([DropSession(id="a")], (0, 0, 0)),
        ([ShareTerminals(source="d", chat="e"), DropSession(id="a")], (2, 8, 2)),
        ([ShareTerminals(source="c", chat="e"), DropSession(id="a")], (1, 4, 1)),
        ([DropSession(id="b")], (2, 8, 3)),
    ],
)
def test_a_body_stands_once_and_its_rows_go_with_the_last_naming(store, writes, left):
    store.apply([a_terminal("c", "t", LONG), a_terminal("d", "u", LONG)])
    store.apply([ShareTerminals(source="c", chat="d")])
    assert counts(store) == (2, 8, 3)
    store.apply(writes)
    assert counts(store) == left


def test_a_chat_made_under_the_key_of_one_that_is_gone_names_nothing(store):
    store.apply([a_terminal("e", "t", LONG), DropChannel(channel="e")])
    store.apply([a_chat("b", "f"), a_terminal("f", "u", b"u")])
    assert named(store, "b") == {("f", "u")}
    assert counts(store) == (1, 1, 1)


def test_a_session_is_read_without_a_look_at_its_terminals(store):
    store.apply([a_terminal("c", "t", LONG)])
    before = everything(store)
    looked = []

    def allowed(action, table, *_):
        if action == sqlite3.SQLITE_READ and table in TABLES:
            looked.append(table)
            return sqlite3.SQLITE_DENY
        return sqlite3.SQLITE_OK

    store._connection.set_authorizer(allowed)
    assert everything(store) == before
    assert store.session_of("c") == "a"
    assert list(store.unfolded()) == []
    store.append([("c", b"x")])
    assert not looked
    with pytest.raises(Exception, match="prohibited"):
        store.terminal("t")
    assert looked


def test_no_call_walks_a_whole_table(store):
    store.apply([a_terminal("c", "t", LONG), a_terminal("e", "u", LONG)])
    said = []
    store._connection.set_trace_callback(said.append)
    store.terminal("t")
    store.terminals("a")
    store.apply([a_terminal("c", "t", b"x"), a_terminal("d", "v", b"x")])
    store.apply([ShareTerminals(source="c", chat="d"), DropChannel(channel="c")])
    store.apply([DropSession(id="a")])
    store._connection.set_trace_callback(None)
    plans = [
        (statement, row[3])
        for statement in said
        if statement.split()[0] in ("SELECT", "INSERT", "DELETE")
        for row in store._connection.execute(f"EXPLAIN QUERY PLAN {statement}")
    ]
    assert len(plans) > 10
    assert [plan for plan in plans if plan[1].startswith("SCAN")] == []


def test_what_terminals_take_and_give_back_is_counted_for_compaction(store):
    store.apply([a_terminal("c", "t", b"x" * (COMPACT_AFTER + 1))])
    assert store.wants_compaction()
    store._written = 0
    store.apply([DropChannel(channel="c")])
    assert store.wants_compaction()


# -- a file of the version before ----------------------------------------------------------


@pytest.fixture
def older(tmp_path, monkeypatch):
    """A folder with a closed store that knows no terminals, and what is in it."""
    steps = schema.STEPS[:2]
    with monkeypatch.context() as patched:
        patched.setattr(
            sqlite, "open_database", functools.partial(opening.open_database, steps=steps)
        )
        made = SqliteSessionStore(tmp_path / "older")
        made.open()
        made.apply([PutSession(row=a_row("a")), a_chat("a", "c", turns=[LONG, b"1"], head=LONG)])
        made.append([("c", b"x")])
        held = everything(made)
        assert schema.version(made._connection) == 2
        made.close()
    return tmp_path / "older", held


def judged(folder, held):
    """The store is all it was, and takes terminals."""
    store = SqliteSessionStore(folder)
    store.open()
    try:
        assert schema.version(store._connection) == len(schema.STEPS)
        assert store._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert everything(store) == held
        assert store.terminal("t") is None
        store.apply([a_terminal("c", "t", LONG)])
        assert store.terminal("t") == LONG
        store.apply([DropSession(id="a")])
        assert counts(store) == (0, 0, 0)
    finally:
        store.close()


def test_a_store_from_before_there_were_terminals_is_opened_as_it_is(older):
    judged(*older)


UPGRADER = """
import os, signal, sqlite3, sys
from pathlib import Path
from ahpd.stores import opening, schema
path, left = Path(sys.argv[1]), int(sys.argv[2])
upgrade = opening.upgrade

def killed(connection, steps):
    def said(statement):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
    connection.set_trace_callback(said)
    upgrade(connection, steps)
    connection.set_trace_callback(None)
    print("done", flush=True)

opening.upgrade = killed
opening.open_database(path)
"""


@pytest.mark.parametrize("statement", range(9))
def test_an_upgrade_that_is_killed_at_any_statement_is_done_at_the_next_start(older, statement):
    folder, held = older
    ended = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(UPGRADER), folder / DATABASE_FILE, str(statement)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    # The eight statements: the version asked for, BEGIN, four of the step, its number, COMMIT.
    expected = (0, "done\n") if statement == 8 else (-signal.SIGKILL, "")
    assert (ended.returncode, ended.stdout) == expected, ended.stderr
    judged(folder, held)


def test_a_file_that_says_it_knows_terminals_and_has_no_table_of_them_is_refused(older):
    folder, _ = older
    with sqlite3.connect(folder / DATABASE_FILE) as spoilt:
        spoilt.execute(f"PRAGMA user_version = {len(schema.STEPS)}")
    spoilt.close()
    store = SqliteSessionStore(folder)
    with pytest.raises(Exception, match=r"it is damaged \(it has no table terminal"):
        store.open()
