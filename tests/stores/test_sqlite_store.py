"""The store on SQLite: who may open what, what a kill leaves, and what a full disk does."""

import errno
import fcntl
import os
import random
import signal
import sqlite3
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import attrs
import pytest

from ahpd.interfaces.stores import DropSession, PutChannel, PutSession, StoreFailure
from ahpd.stores import opening, schema
from ahpd.stores.sqlite import DATABASE_FILE, SqliteSessionStore
from ahpd.testing.store_samples import a_chat, a_row, everything, records

SECONDS = 60


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "data"


@pytest.fixture
def store(folder):
    made = SqliteSessionStore(folder)
    made.open()
    yield made
    made.close()


@pytest.fixture
def filled(folder):
    """A folder with a closed store of a few sessions, and what is in it."""
    made = SqliteSessionStore(folder)
    made.open()
    fill(made)
    held = everything(made)
    made.close()
    return folder, held


def fill(store, sessions=40):
    for number in range(sessions):
        session = f"s{number}"
        store.apply(
            [
                PutSession(row=a_row(session, number)),
                a_chat(session, f"chat:/{number}", turns=[b"t" * 3000, b"u" * 30]),
            ]
        )
        store.append([(f"chat:/{number}", b"e" * 100)])


def contents(folder):
    """Every file of a folder but the lock and SQLite's scratch file, byte for byte."""
    return {
        path.name: path.read_bytes()
        for path in folder.iterdir()
        if path.name != "sessions.lock" and not path.name.endswith("-shm")
    }


def refused(folder):
    """The words an open is refused with, when it changed nothing."""
    before = contents(folder)
    store = SqliteSessionStore(folder)
    with pytest.raises(StoreFailure) as caught:
        store.open()
    assert contents(folder) == before
    words = str(caught.value)
    assert str(folder) in words
    assert "\n" not in words
    store.close()
    # And nothing is held by it.
    descriptor = os.open(folder / "sessions.lock", os.O_RDWR)
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    os.close(descriptor)
    return words


def child(script, *arguments, **options):
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


# -- the files ---------------------------------------------------------------------------


def test_its_files_are_its_owners_alone(folder, store):
    fill(store, 1)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert {path.name for path in folder.iterdir()} == {
        DATABASE_FILE,
        f"{DATABASE_FILE}-wal",
        f"{DATABASE_FILE}-shm",
        "sessions.lock",
    }
    for path in folder.iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path


def test_a_close_leaves_one_file_that_says_whose_it_is(filled):
    folder, _ = filled
    assert {path.name for path in folder.iterdir()} == {DATABASE_FILE, "sessions.lock"}
    with sqlite3.connect(folder / DATABASE_FILE) as plain:
        assert plain.execute("PRAGMA application_id").fetchone() == (0x61687064,)
        assert plain.execute("PRAGMA user_version").fetchone() == (len(schema.STEPS),)
        assert plain.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    plain.close()


def test_a_store_that_was_being_made_when_its_process_ended_is_made_again(folder):
    folder.mkdir()
    for suffix in ("", "-wal", "-shm"):
        (folder / f"{DATABASE_FILE}.new{suffix}").write_bytes(b"half of something")
    (folder / DATABASE_FILE).touch()
    store = SqliteSessionStore(folder)
    store.open()
    fill(store, 1)
    store.close()
    assert {path.name for path in folder.iterdir()} == {DATABASE_FILE, "sessions.lock"}


def test_the_log_is_never_folded_in_the_middle_of_a_write(folder, store):
    size = (folder / DATABASE_FILE).stat().st_size
    fill(store, 300)
    assert (folder / DATABASE_FILE).stat().st_size == size
    assert (folder / f"{DATABASE_FILE}-wal").stat().st_size > 1000 * 4096


@pytest.mark.parametrize(("sync", "level"), [("process", 1), ("power", 2)])
def test_what_a_write_waits_for_is_as_it_was_asked(folder, sync, level):
    store = SqliteSessionStore(folder, sync=sync)
    store.open()
    assert store._connection.execute("PRAGMA synchronous").fetchone() == (level,)
    store.close()


# -- what is refused -----------------------------------------------------------------------


def test_a_folder_that_another_process_uses_names_it(filled):
    folder, held = filled
    holder = child(
        """
        import sys
        from pathlib import Path
        from ahpd.stores.sqlite import SqliteSessionStore
        store = SqliteSessionStore(Path(sys.argv[1]))
        store.open()
        print("open", flush=True)
        sys.stdin.read()
        """,
        folder,
        stdin=subprocess.PIPE,
    )
    try:
        assert holder.stdout.readline() == "open\n"
        before = contents(folder)
        with pytest.raises(StoreFailure) as caught:
            SqliteSessionStore(folder).open()
        assert f"in use by another ahpd (process {holder.pid})" in str(caught.value)
        assert str(folder) in str(caught.value)
        assert contents(folder) == before
    finally:
        holder.kill()  # the lock goes with it
        holder.communicate(timeout=SECONDS)
    store = SqliteSessionStore(folder)
    store.open()
    assert everything(store) == held
    store.close()


def test_two_stores_of_one_process_do_not_share_a_folder(folder, store):
    with pytest.raises(StoreFailure, match=f"process {os.getpid()}"):
        SqliteSessionStore(folder).open()
    with pytest.raises(StoreFailure, match="open already"):
        store.open()
    fill(store, 1)


def test_what_is_read_after_a_look_for_a_channel_is_what_was_written_since(store):
    fill(store, sessions=2)
    assert store.session_of("chat:/1") == "s1"
    assert [record.channel for record in store.read("s1")] == ["chat:/1"]
    assert [record.channel for record in store.read("s0")] == ["chat:/0"]
    assert store.session_of("chat:/1") == "s1"
    store.apply([DropSession(id="s1")])
    assert store.read("s1") == []
    store.apply(
        [
            PutSession(row=a_row("other", 7)),
            a_chat("other", "chat:/other"),
            PutSession(row=a_row("s1", 8)),
            a_chat("s1", "chat:/again"),
        ]
    )
    assert [record.channel for record in store.read("s1")] == ["chat:/again"]
    assert store.session_of("chat:/1") is None


def test_a_store_that_is_not_open_says_so(folder):
    store = SqliteSessionStore(folder)
    for call in (store.sessions, store.unfolded, lambda: store.append([("c", b"")])):
        with pytest.raises(StoreFailure, match="not open"):
            call()
    store.close()
    assert not folder.exists()


@pytest.mark.parametrize(
    "content", [b"x", b"not a database\n" * 1000, b"SQLite format 3\0", b"\0" * 8192]
)
def test_what_is_no_database_is_refused(folder, content):
    folder.mkdir()
    (folder / DATABASE_FILE).write_bytes(content)
    assert "damaged" in refused(folder)


def spoil_header(path):
    with path.open("r+b") as file:
        file.seek(16)
        file.write(b"\xff" * 60)


def cut(path):
    os.truncate(path, path.stat().st_size - 5 * 4096)


def cut_within_a_page(path):
    os.truncate(path, 3 * 4096 + 100)


def spoil_schema(path):
    with path.open("r+b") as file:
        file.seek(100)
        file.write(b"\xaa" * 300)


def spoil_pages(path):
    with path.open("r+b") as file:
        for page in range(4, path.stat().st_size // 4096, 3):
            file.seek(page * 4096)
            file.write(os.urandom(4096))


def spoil_one_page(path):
    with path.open("r+b") as file:
        file.seek(10 * 4096)
        file.write(b"\x77" * 64)


SPOILED = [spoil_header, cut, cut_within_a_page, spoil_schema, spoil_pages, spoil_one_page]


@pytest.mark.parametrize("spoil", SPOILED)
def test_a_damaged_store_is_refused(filled, spoil):
    folder, _ = filled
    spoil(folder / DATABASE_FILE)
    assert "damaged" in refused(folder)


@pytest.mark.parametrize("spoil", [spoil_header, cut, cut_within_a_page, spoil_schema])
def test_a_damaged_store_too_large_to_be_looked_at_whole_is_refused(filled, spoil, monkeypatch):
    monkeypatch.setattr(opening, "CHECKED_BYTES", 0)
    folder, _ = filled
    spoil(folder / DATABASE_FILE)
    assert "damaged" in refused(folder)


def test_damage_that_is_found_later_fails_the_call_with_words(filled, monkeypatch):
    monkeypatch.setattr(opening, "CHECKED_BYTES", 0)
    folder, held = filled
    store = SqliteSessionStore(folder)
    store.open()
    (root,) = store._connection.execute(
        "SELECT rootpage FROM sqlite_master WHERE name = 'turn'"
    ).fetchone()
    store.close()
    with (folder / DATABASE_FILE).open("r+b") as file:
        file.seek((root - 1) * 4096)
        file.write(b"\x77" * 64)
    store.open()
    assert len(store.sessions()) == len(held)
    with pytest.raises(StoreFailure, match="damaged"):
        store.read("s1")
    store.close()


def test_a_database_of_another_program_is_refused(folder):
    folder.mkdir()
    with sqlite3.connect(folder / DATABASE_FILE) as other:
        other.execute("CREATE TABLE session (id)")
        other.execute("PRAGMA user_version = 1")
    other.close()
    assert "another program" in refused(folder)


def test_a_store_without_its_tables_is_refused(filled):
    folder, _ = filled
    with sqlite3.connect(folder / DATABASE_FILE) as other:
        other.execute("DROP TABLE entry")
    other.close()
    assert "it has no table entry" in refused(folder)


def test_a_newer_store_is_refused(filled):
    folder, _ = filled
    with sqlite3.connect(folder / DATABASE_FILE) as newer:
        newer.execute(f"PRAGMA user_version = {len(schema.STEPS) + 1}")
    newer.close()
    assert f"newer ahpd (version {len(schema.STEPS) + 1}" in refused(folder)


def test_a_newer_store_whose_host_was_killed_is_refused_and_keeps_its_log(filled):
    folder, _ = filled
    newer = child(
        """
        import os, sqlite3, sys
        newer = sqlite3.connect(sys.argv[1], isolation_level=None)
        newer.execute("PRAGMA wal_autocheckpoint = 0")
        newer.execute("CREATE TABLE later (x)")
        newer.execute("PRAGMA user_version = 77")
        os.kill(os.getpid(), 9)
        """,
        folder / DATABASE_FILE,
    )
    newer.communicate(timeout=SECONDS)
    assert (folder / f"{DATABASE_FILE}-wal").stat().st_size > 0
    assert "version 77" in refused(folder)


def test_a_log_without_its_file_is_refused(filled):
    folder, _ = filled
    (folder / f"{DATABASE_FILE}-wal").write_bytes(b"x" * 5000)
    (folder / DATABASE_FILE).unlink()
    assert "put the file back" in refused(folder)
    (folder / DATABASE_FILE).touch()
    assert "put the file back" in refused(folder)


def test_a_store_another_program_writes_to_is_refused(filled, monkeypatch):
    monkeypatch.setattr(opening, "_PATIENCE", 0.05)
    monkeypatch.setattr(opening.connect, "__defaults__", ("mode=rw", 0.05))
    folder, _ = filled
    other = sqlite3.connect(folder / DATABASE_FILE, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    assert "another program is using it" in refused(folder)
    other.close()


@pytest.mark.parametrize("place", ["/dev/null/data", "/proc/ahpd-data"])
def test_a_folder_that_cannot_be_made_is_refused(place):
    with pytest.raises(StoreFailure, match=place):
        SqliteSessionStore(Path(place)).open()


# -- read-only places and full disks ------------------------------------------------------

MOUNT = """
import ctypes, os, subprocess, sys

def mount(what, at, kind, flags, options=None):
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(what, at, kind, flags, options):
        print("cannot mount:", os.strerror(ctypes.get_errno()), flush=True)
        sys.exit(77)

# A namespace of its own: no mount outlives this process, or is seen by another.
if ctypes.CDLL(None, use_errno=True).unshare(0x00020000):
    print("cannot mount: no namespace", flush=True)
    sys.exit(77)
mount(b"none", b"/", None, 0x4000 | 0x40000)
from pathlib import Path
from ahpd.interfaces.stores import *
from ahpd.stores.sqlite import SqliteSessionStore
from ahpd.testing.store_samples import a_chat, a_row, everything, records
folder = Path(sys.argv[1])
"""


def in_a_namespace(script, folder):
    """Run `script`, where it may mount, and say what it printed; skips where nobody may."""
    done = subprocess.run(
        [sys.executable, "-c", MOUNT + textwrap.dedent(script), str(folder)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode == 77:
        pytest.skip(f"{done.stdout.strip()}: this needs a user who may mount")
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_read_only_folder_is_refused(filled):
    folder, _ = filled
    before = contents(folder)
    said = in_a_namespace(
        """
        mount(os.fsencode(folder), os.fsencode(folder), None, 4096)
        mount(None, os.fsencode(folder), None, 4096 | 32 | 1)
        try:
            SqliteSessionStore(folder).open()
        except StoreFailure as failure:
            print(failure)
        """,
        folder,
    )
    assert str(folder) in said
    assert os.strerror(errno.EROFS) in said
    assert contents(folder) == before


def test_a_store_that_becomes_read_only_fails_writes_and_not_reads(store):
    fill(store, 2)
    held = everything(store)
    # What SQLite answers when the file may only be read.
    store._connection.execute("PRAGMA query_only = ON")
    for write in (
        lambda: store.append([("chat:/1", b"x")]),
        lambda: store.append([("chat:/1", b"x"), ("chat:/0", b"x")]),
        lambda: store.apply([PutSession(row=a_row("new"))]),
    ):
        with pytest.raises(StoreFailure, match=r"sessions\.sqlite: it cannot be written"):
            write()
    assert everything(store) == held
    store._connection.execute("PRAGMA query_only = OFF")
    store.append([("chat:/1", b"x")])
    assert records(store, "s1")[0].entries == (b"e" * 100, b"x")


FULL = """
mount(b"none", os.fsencode(folder), b"tmpfs", 0, b"size=1m")
store = SqliteSessionStore(folder)
store.open()
store.apply([PutSession(row=a_row("a")), a_chat("a", "chat:/1"), PutSession(row=a_row("b", 2))])
written = 0
failed = None
while failed is None:
    try:
        {write}
        written += 1
    except StoreFailure as failure:
        failed = failure
assert written > 5, written
print(failed)
held = everything(store)
assert len(records(store, "a")[0].entries) in (0, written, 2 * written)
for _ in range(3):
    try:
        {write}
    except StoreFailure as failure:
        assert "disk is full" in str(failure)
    else:
        raise SystemExit("it was not full")
    assert everything(store) == held
mount(b"none", os.fsencode(folder), b"tmpfs", 32, b"size=8m")
{write}
assert everything(store) != held
store.append([("chat:/1", b"last")])
held = everything(store)
store.close()
store.open()
assert everything(store) == held
print("went on")
"""


@pytest.mark.parametrize(
    "write",
    [
        'store.append([("chat:/1", b"x" * 10_000)])',
        'store.append([("chat:/1", b"x" * 5_000), ("chat:/1", b"y" * 5_000)])',
        'store.apply([a_chat("b", "chat:/2"), a_chat("b", f"c{written}", turns=[b"t" * 9000])])',
    ],
    ids=["append one", "append two", "apply"],
)
def test_a_full_disk_fails_the_write_and_nothing_else(folder, write):
    folder.mkdir()
    first, second = in_a_namespace(FULL.replace("{write}", write), folder).splitlines()
    assert first == f"{folder / DATABASE_FILE}: the disk is full"
    assert second == "went on"


def test_a_disk_that_is_full_when_the_store_is_made(folder):
    folder.mkdir()
    said = in_a_namespace(
        """
        mount(b"none", os.fsencode(folder), b"tmpfs", 0, b"size=256k")
        filler = folder / "filler"
        filler.write_bytes(b"x" * 236_000)
        try:
            SqliteSessionStore(folder).open()
        except StoreFailure as failure:
            print(failure)
        print(sorted(path.name for path in folder.iterdir()))
        filler.unlink()
        store = SqliteSessionStore(folder)
        store.open()
        store.apply([PutSession(row=a_row("a"))])
        print(len(store.sessions()))
        """,
        folder,
    )
    failure, left, count = said.splitlines()
    assert failure == f"{folder / DATABASE_FILE}: the disk is full"
    assert left == "['filler', 'sessions.lock']"
    assert count == "1"


def test_a_file_that_may_grow_no_more_fails_the_write_and_nothing_else(folder):
    # A limit of the process in place of a full disk: works for every user.
    done = child(
        """
        import resource, sys
        from pathlib import Path
        from ahpd.interfaces.stores import *
        from ahpd.stores.sqlite import SqliteSessionStore
        from ahpd.testing.store_samples import a_chat, a_row, everything
        store = SqliteSessionStore(Path(sys.argv[1]))
        store.open()
        store.apply([PutSession(row=a_row("a")), a_chat("a", "chat:/1")])
        resource.setrlimit(resource.RLIMIT_FSIZE, (300_000, resource.RLIM_INFINITY))
        written = 0
        try:
            while True:
                store.append([("chat:/1", b"%d" % written + b"x" * 10_000)])
                written += 1
        except StoreFailure as failure:
            print(failure)
        (record,) = store.read("a")
        assert len(record.entries) == written > 10, written
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
        store.append([("chat:/1", b"last")])
        store.close()
        store.open()
        (record,) = store.read("a")
        assert record.entries[-1] == b"last"
        assert [int(each.split(b"x")[0]) for each in record.entries[:-1]] == list(range(written))
        print("went on")
        """,
        folder,
    )
    first, second = done.communicate(timeout=SECONDS)[0].splitlines()
    assert str(folder / DATABASE_FILE) in first
    assert "failed" in first or "full" in first
    assert second == "went on"


def test_more_pages_than_it_may_have_rolls_a_call_back(folder, store):
    fill(store, 3)
    held = everything(store)
    pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
    store._connection.execute(f"PRAGMA max_page_count = {pages + 2}")
    with pytest.raises(StoreFailure, match="disk is full"):
        store.apply(
            [
                PutSession(row=a_row("s0", 99)),
                DropSession(id="s1"),
                a_chat("s0", "chat:/0", turns=[b"x" * 500_000]),
            ]
        )
    assert everything(store) == held
    store._connection.execute("PRAGMA max_page_count = 1000000")
    store.append([("chat:/0", b"more")])
    assert records(store, "s0")[0].entries == (b"e" * 100, b"more")


def test_text_that_is_no_unicode_is_refused_with_words(store):
    fill(store, 1)
    for call in (
        lambda: store.apply([PutSession(row=a_row("s", uri="\ud800"))]),
        lambda: store.append([("\ud800", b"")]),
        lambda: store.session_of("\ud800"),
        lambda: store.read("\ud800"),
    ):
        with pytest.raises(StoreFailure, match="surrogate"):
            call()
    fill(store, 2)


# -- kill -9 -----------------------------------------------------------------------------

WRITER = """
import random, sys
from pathlib import Path
from ahpd.interfaces.stores import DropSession, PutChannel, PutSession
from ahpd.stores.sqlite import SqliteSessionStore
from ahpd.testing.store_samples import a_chat, a_row
folder, first, seed = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
store = SqliteSessionStore(folder)
store.open()
chance = random.Random(seed)
number = first
say = lambda: print(number, flush=True)
while True:
    # Each call adds one number to chat a and the same to chat b.
    number += 1
    body = b"%d:" % number + b"x" * chance.choice([10, 200, 9000])
    if chance.random() < 0.7:
        store.append([("a", body), ("b", body)])
    else:
        # What was said so far is folded into turns.
        held = {each.channel: each for each in store.read("s")}
        store.apply(
            [
                PutSession(row=a_row("s", summary=b"%d" % number)),
                *(
                    PutChannel(
                        session="s", channel=name, kind="chat", head=b"%d" % number,
                        keep_turns=len(held[name].turns),
                        turns=[*held[name].entries, body],
                    )
                    for name in "ab"
                ),
                PutSession(row=a_row(f"t{number}")),
                DropSession(id=f"t{number - chance.randrange(20)}"),
            ]
        )
    say()
    if chance.random() < 0.02:
        import asyncio
        asyncio.run(store.compact())
"""


@pytest.mark.parametrize("seed", range(4))
def test_nothing_that_was_done_is_lost_to_a_kill(folder, seed):
    store = SqliteSessionStore(folder)
    store.open()
    store.apply([PutSession(row=a_row("s")), a_chat("s", "a"), a_chat("s", "b")])
    store.close()
    chance, last = random.Random(seed), 0
    for life in range(3):
        writer = child(WRITER, folder, last, seed * 10 + life)
        done = last
        for _ in range(chance.randrange(1, 120)):
            done = int(writer.stdout.readline())
        os.kill(writer.pid, signal.SIGKILL)
        rest = writer.stdout.read().split("\n")[:-1]
        done = int(rest[-1]) if rest else done
        writer.stdout.close()
        writer.wait(SECONDS)
        store = SqliteSessionStore(folder)
        store.open()
        a, b = records(store, "s")
        assert (a.turns, a.entries) == (b.turns, b.entries)
        numbers = [int(each.split(b":")[0]) for each in (*a.turns, *a.entries)]
        # One call more may have been done than was said, and none less.
        assert numbers == list(range(1, len(numbers) + 1))
        assert len(numbers) in (done, done + 1)
        assert store._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        last = len(numbers)
        store.close()


# -- the numbered steps -------------------------------------------------------------------

LATER = (
    *schema.STEPS,
    ("ALTER TABLE session ADD COLUMN note TEXT", "UPDATE session SET note = id || '!'"),
    ("CREATE TABLE extra (x)", "INSERT INTO extra SELECT note FROM session"),
)


def test_an_older_store_goes_through_the_steps_it_lacks(filled):
    folder, held = filled
    database = opening.open_database(folder / DATABASE_FILE, LATER)
    assert schema.version(database) == len(LATER)
    assert database.execute("SELECT count(*) FROM extra").fetchone() == (len(held),)
    assert database.execute("SELECT note FROM session WHERE id = 's1'").fetchone() == ("s1!",)
    database.close()
    database = opening.open_database(folder / DATABASE_FILE, LATER)  # and not again
    assert database.execute("SELECT count(*) FROM extra").fetchone() == (len(held),)
    database.close()


def test_a_new_store_goes_through_all_steps_in_order(folder):
    folder.mkdir()
    database = opening.open_database(folder / DATABASE_FILE, LATER)
    assert schema.version(database) == len(LATER)
    assert database.execute("SELECT count(*) FROM extra").fetchone() == (0,)
    database.close()


def test_a_step_that_fails_leaves_the_last_whole_one(filled):
    folder, _ = filled
    broken = (*LATER, ("CREATE TABLE late (x)", "INSERT INTO nowhere VALUES (1)"))
    with pytest.raises(StoreFailure, match="no such table: nowhere"):
        opening.open_database(folder / DATABASE_FILE, broken)
    database = opening.open_database(folder / DATABASE_FILE, LATER)
    assert schema.version(database) == len(LATER)
    assert not database.execute("SELECT 1 FROM sqlite_master WHERE name = 'late'").fetchall()
    database.close()
    broken = (("CREATE TABLE x (y)",), ("nonsense",))
    (folder / DATABASE_FILE).unlink()
    with pytest.raises(StoreFailure, match="syntax error"):
        opening.open_database(folder / DATABASE_FILE, broken)
    assert {path.name for path in folder.iterdir()} == {"sessions.lock"}


# -- what a call costs ----------------------------------------------------------------------


def plans(store, act):
    """The query plan of every statement `act` runs."""
    said = []
    store._connection.set_trace_callback(said.append)
    act()
    store._connection.set_trace_callback(None)
    return {
        (statement, row[3])
        for statement in said
        if statement.split()[0] in ("SELECT", "DELETE", "UPDATE", "WITH")
        for row in store._connection.execute(f"EXPLAIN QUERY PLAN {statement}")
    }


def test_no_call_but_the_catalogue_looks_at_other_sessions(store):
    fill(store)
    calls = [
        lambda: store.read("s7"),
        lambda: store.session_of("chat:/7"),
        lambda: store.append([("chat:/7", b"x")]),
        lambda: store.apply([a_chat("s7", "chat:/7", keep_turns=1, turns=[b"x"])]),
        lambda: store.apply([a_chat("s8", "chat:/7")]),
        lambda: store.apply([PutSession(row=a_row("s7"))]),
        lambda: store.apply([DropSession(id="s8")]),
        store.unfolded,
    ]
    for call in calls:
        for statement, plan in plans(store, call):
            assert not plan.startswith("SCAN") or plan == "SCAN found", (statement, plan)


def test_kept_turns_are_not_written_again(store):
    store.apply([PutSession(row=a_row("a")), a_chat("a", "c", turns=[b"t" * 2000] * 5000)])
    log = store.path.with_name(f"{DATABASE_FILE}-wal")
    before = log.stat().st_size
    for kept in range(5000, 5020):
        store.append([("c", b"e" * 100)])
        store.apply([a_chat("a", "c", keep_turns=kept, turns=[b"t"])])
    assert log.stat().st_size - before < 20 * 12 * 4096


def test_many_channels_are_not_all_remembered(store, monkeypatch):
    monkeypatch.setattr("ahpd.stores.sqlite._REMEMBERED", 3)
    fill(store, 10)
    for number in (*range(10), *range(10)):
        store.append([(f"chat:/{number}", b"%d" % number)])
    assert len(store._places) <= 3
    for number in range(10):
        (record,) = records(store, f"s{number}")
        assert record.entries == (b"e" * 100, b"%d" % number, b"%d" % number)


def test_a_call_forgets_nothing_of_what_it_places(store, monkeypatch):
    monkeypatch.setattr("ahpd.stores.sqlite._REMEMBERED", 1)
    fill(store, 3)
    numbers = [0, 1, 2, 0, 1, 0]
    store.append([(f"chat:/{number}", b"%d" % at) for at, number in enumerate(numbers)])
    found = [records(store, f"s{number}")[0].entries[1:] for number in range(3)]
    assert found == [(b"0", b"3", b"5"), (b"1", b"4"), (b"2",)]


def test_a_row_has_every_field_of_the_port(store):
    row = a_row("a")
    store.apply([PutSession(row=row)])
    (found,) = store.sessions()
    assert attrs.asdict(found) == attrs.asdict(row)
    assert type(found.announced) is bool
    assert isinstance(found.summary, bytes)
    store.apply([PutChannel(session="a", channel="c", kind="chat", head=b"{}")])
    assert isinstance(store.read("a")[0].head, bytes)
