"""Heads and turns of many megabytes in SQLite: what they cost, and that nothing stays behind."""

import subprocess
import sys
import textwrap

import pytest

from ahpd.interfaces.stores import DropChannel, DropSession, PutSession
from ahpd.stores import schema
from ahpd.stores.opening import open_database
from ahpd.stores.sqlite import DATABASE_FILE, SqliteSessionStore
from ahpd.testing.store_samples import a_chat, a_row, everything, records

LONG = bytes(range(256)) * 4096
MIB = 1024 * 1024


@pytest.fixture
def store(tmp_path):
    made = SqliteSessionStore(tmp_path / "data")
    made.open()
    made.apply([PutSession(row=a_row("a")), PutSession(row=a_row("b", 2))])
    yield made
    made.close()


def parts(store):
    return store._connection.execute("SELECT count(*) FROM part").fetchone()[0]


@pytest.mark.parametrize(
    ("writes", "left"),
    [
        ([a_chat("a", "c", head=LONG, keep_turns=2)], 9),
        ([a_chat("a", "c", keep_turns=2)], 6),
        ([a_chat("a", "c", keep_turns=1, turns=[b"x"])], 3),
        ([a_chat("b", "c", head=LONG, keep_turns=2), DropSession(id="a")], 9),
        ([a_chat("a", "c")], 0),
        ([DropChannel(channel="c")], 0),
        ([DropSession(id="a")], 0),
    ],
)
def test_parts_go_with_what_they_are_of(store, writes, left):
    store.apply([a_chat("a", "c", head=LONG, turns=[LONG, LONG])])
    assert parts(store) == 9
    store.apply(writes)
    assert parts(store) == left


@pytest.mark.parametrize("size", [0, 1, schema.SLICE - 1, schema.SLICE, schema.SLICE + 1])
@pytest.mark.parametrize("in_parts", [False, True])
def test_what_is_about_as_long_as_a_row_comes_back(store, size, in_parts):
    body = LONG[:size]
    written = (body[at : at + 7000] for at in range(0, size, 7000)) if in_parts else body
    store.apply([a_chat("a", "c", turns=[written])])
    assert records(store, "a")[0].turns == (body,)
    assert parts(store) == (1 if size > schema.SLICE else 0)


def test_what_a_row_held_whole_in_the_first_version_is_read_and_written_in_parts(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir(mode=0o700)
    older = open_database(folder / DATABASE_FILE, schema.STEPS[:1])
    older.execute("INSERT INTO session VALUES (1, 'a', 'u', 'p', 'c', 'm', 1, 1, x'7b7d')")
    older.execute("INSERT INTO channel VALUES (5, 'c', 1, 'chat', ?)", (LONG,))
    for number in range(3):
        older.execute("INSERT INTO turn VALUES (?, ?)", (schema.first_place(5) + number, LONG))
    older.close()
    store = SqliteSessionStore(folder)
    store.open()
    (record,) = records(store, "a")
    assert (record.head, record.turns) == (LONG, (LONG, LONG, LONG))
    store.apply([a_chat("a", "c", head=LONG[1:], keep_turns=2, turns=[LONG[2:]])])
    before = everything(store)
    (record,) = records(store, "a")
    assert (record.head, record.turns) == (LONG[1:], (LONG, LONG, LONG[2:]))
    store.close()
    store.open()
    assert everything(store) == before
    assert store._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    store.close()


def test_a_read_sorts_nothing(store):
    store.apply([a_chat("a", "c", head=LONG, turns=[LONG, LONG])])
    said = []
    store._connection.set_trace_callback(said.append)
    store.read("a")
    store._connection.set_trace_callback(None)
    plans = [
        row[3]
        for statement in said
        for row in store._connection.execute(f"EXPLAIN QUERY PLAN {statement}")
    ]
    assert len(plans) >= 5
    assert not [plan for plan in plans if "TEMP" in plan]


SCRIPT = """
import sys
from pathlib import Path
from ahpd.interfaces.stores import PutSession
from ahpd.stores.sqlite import SqliteSessionStore
from ahpd.testing.store_samples import a_chat, a_row

def memory(field):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return int(line.split()[1]) * 1024

def most(act):
    before = memory("VmRSS")
    result = act()
    print(memory("VmHWM") - before)
    return result

store = SqliteSessionStore(Path(sys.argv[1]))
store.open()
store.apply([PutSession(row=a_row("a")), a_chat("a", "c", turns=[b"t" * 1000] * 100)])
store.read("a")
part = b"x" * 65536
parts = lambda: (part for _ in range(640))
most(lambda: store.apply([a_chat("a", "c", head=parts(), turns=[parts()])]))
whole = b"".join(parts())
most(lambda: store.apply([a_chat("a", "c", turns=[whole, whole])]))
del whole
most(lambda: store.read("a"))
"""


def test_it_takes_no_copy_of_what_it_writes_and_two_of_a_turn_it_reads(tmp_path):
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(SCRIPT), str(tmp_path / "data")],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    in_parts, whole, reading = map(int, ran.stdout.split())
    assert in_parts < 12 * MIB
    assert whole < 12 * MIB
    assert reading < 2 * 40 * MIB + 40 * MIB + 12 * MIB  # two turns, and one's slices
