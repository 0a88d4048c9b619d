"""Compaction gives space back, beside a writer who is never held up for long."""

import asyncio
import sqlite3
import threading
import time

import pytest

from ahpd.interfaces.stores import DropSession, PutSession, StoreFailure
from ahpd.stores import maintenance
from ahpd.stores.maintenance import SPARE_PAGES, Compaction
from ahpd.stores.sqlite import COMPACT_AFTER, DATABASE_FILE, SqliteSessionStore
from ahpd.testing.store_samples import a_chat, a_row, everything, records


async def in_thread(work):
    return await asyncio.to_thread(work)


@pytest.fixture
def store(tmp_path):
    made = SqliteSessionStore(tmp_path, run_in_thread=in_thread)
    made.open()
    yield made
    made.close()


def log_bytes(store):
    return store.path.with_name(f"{DATABASE_FILE}-wal").stat().st_size


def fill(store, sessions, size=20_000):
    for number in range(sessions):
        store.apply(
            [
                PutSession(row=a_row(f"s{number}", number)),
                a_chat(f"s{number}", f"chat:/{number}", turns=[b"t" * size] * 3),
            ]
        )


def test_it_is_wanted_once_enough_was_written_and_no_more_after_it(store):
    fill(store, 1)
    assert not store.wants_compaction()
    count = 0
    while not store.wants_compaction():
        store.append([("chat:/0", b"x" * 5000)])
        count += 1
    assert COMPACT_AFTER / 4 < log_bytes(store) < COMPACT_AFTER * 4
    asyncio.run(store.compact())
    assert not store.wants_compaction()
    assert len(records(store, "s0")[0].entries) == count


def test_a_log_a_kill_left_long_is_wanted_to_be_folded(tmp_path, store):
    fill(store, 200)
    copy = tmp_path / "copy"
    copy.mkdir()
    for name in (DATABASE_FILE, f"{DATABASE_FILE}-wal"):
        (copy / name).write_bytes((tmp_path / name).read_bytes())
    again = SqliteSessionStore(copy)
    again.open()
    assert again.wants_compaction()
    assert everything(again) == everything(store)
    asyncio.run(again.compact())
    assert not again.wants_compaction()
    assert everything(again) == everything(store)
    again.close()


def test_the_log_is_begun_anew_and_cut(store, monkeypatch):
    store._connection.execute("PRAGMA journal_size_limit = 100000").fetchone()
    fill(store, 100)
    assert log_bytes(store) > 5_000_000
    asyncio.run(store.compact())
    store.append([("chat:/0", b"x")])
    assert log_bytes(store) <= 100_000


class WrittenTo:
    """The compaction's connection, with a writer who writes right behind each pass."""

    def __init__(self, connection, write):
        self._connection = connection
        self._write = write

    def __getattr__(self, name):
        return getattr(self._connection, name)

    def execute(self, statement):
        [row] = self._connection.execute(statement).fetchall()
        if "PASSIVE" in statement:
            self._write()
        self.fetchone = lambda: row
        return self


def test_a_log_somebody_always_writes_to_does_not_grow_without_end(store, monkeypatch):
    limit, connect = 200_000, maintenance.connect
    monkeypatch.setattr(maintenance, "LONG_LOG", limit)
    write = lambda: store.append([("chat:/0", b"x" * 4000)])  # noqa: E731
    monkeypatch.setattr(
        maintenance, "connect", lambda *given, **more: WrittenTo(connect(*given, **more), write)
    )
    fill(store, 1)
    lengths = []
    for _ in range(10):
        for _ in range(50):
            write()
        assert Compaction(store.path).run()
        write()
        lengths.append(log_bytes(store))
    assert max(lengths) < 4 * limit
    assert len(records(store, "s0")[0].entries) >= 510


def test_a_long_log_is_given_back_though_nobody_writes_after_it(store, monkeypatch):
    monkeypatch.setattr(maintenance, "LONG_LOG", 200_000)
    fill(store, 100)
    held = everything(store)
    assert log_bytes(store) > 5_000_000
    asyncio.run(store.compact())
    assert log_bytes(store) == 0
    assert everything(store) == held


def test_what_was_deleted_is_given_back(store):
    fill(store, 300)
    asyncio.run(store.compact())
    full = store.path.stat().st_size
    assert full > 15_000_000
    store.apply([DropSession(id=f"s{number}") for number in range(290)])
    held = everything(store)
    asyncio.run(store.compact())
    store.append([("chat:/299", b"x")])
    assert store.path.stat().st_size < full / 10 + SPARE_PAGES * 4096
    store.apply([a_chat("s299", "chat:/299", keep_turns=3)])
    assert everything(store) == held
    assert store._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_a_writer_goes_on_while_it_runs(store):
    fill(store, 400)
    store.append([("chat:/0", b"0")])
    store.apply([DropSession(id=f"s{number}") for number in range(1, 390)])
    waits, count = [], 1

    async def write():
        nonlocal count
        running = asyncio.ensure_future(store.compact())
        while not running.done():
            began = time.perf_counter()
            store.append([("chat:/0", b"%d" % count)])
            waits.append(time.perf_counter() - began)
            count += 1
            await asyncio.sleep(0.0005)
        await running

    asyncio.run(write())
    assert count > 20
    assert sorted(waits)[len(waits) // 2] < 0.05
    assert records(store, "s0")[0].entries == tuple(b"%d" % each for each in range(count))
    assert store._connection.execute("PRAGMA freelist_count").fetchone()[0] <= SPARE_PAGES + 16


def test_free_pages_are_given_back_a_few_at_a_time(store):
    fill(store, 300)
    store.apply([DropSession(id=f"s{number}") for number in range(300)])
    before = store._connection.execute("PRAGMA freelist_count").fetchone()[0]
    counts = []

    def pause(seconds):
        assert seconds > 0
        # The writer may write now: nothing is held between two steps.
        store.append([("chat:/x", b"x")])
        counts.append(store._connection.execute("PRAGMA freelist_count").fetchone()[0])

    store.apply([PutSession(row=a_row("x")), a_chat("x", "chat:/x")])
    assert Compaction(store.path, pause).run()
    steps = [first - second for first, second in zip([before, *counts], counts, strict=False)]
    assert len(counts) > 50
    assert max(steps) <= maintenance.STEP_PAGES + 4
    assert counts[-1] <= SPARE_PAGES + maintenance.STEP_PAGES


def test_one_at_a_time_is_enough(store):
    fill(store, 300)
    store.apply([DropSession(id=f"s{number}") for number in range(300)])
    entered, go_on = threading.Event(), threading.Event()

    def pause(seconds):
        entered.set()
        assert go_on.wait(30)

    compaction = Compaction(store.path, pause)
    thread = threading.Thread(target=compaction.run)
    thread.start()
    assert entered.wait(30)
    assert compaction.run() is False
    go_on.set()
    thread.join(30)
    assert not thread.is_alive()


def test_a_close_ends_it(tmp_path):
    store = SqliteSessionStore(tmp_path)
    store.open()
    fill(store, 300)
    store.apply([DropSession(id=f"s{number}") for number in range(290)])
    held = everything(store)
    entered = threading.Event()
    steps = []

    def pause(seconds):
        entered.set()
        steps.append(1)
        time.sleep(0.02)

    store._compaction = Compaction(store.path, pause)
    thread = threading.Thread(target=store._compaction.run)
    thread.start()
    assert entered.wait(30)
    store.close()
    done = len(steps)
    thread.join(30)
    assert not thread.is_alive()
    assert done == len(steps) < 100
    # All of it was folded by the close, and the folder is free.
    assert not store.path.with_name(f"{DATABASE_FILE}-wal").exists()
    store.open()
    assert everything(store) == held
    store.close()
    with pytest.raises(StoreFailure, match="not open"):
        asyncio.run(store.compact())


def test_another_programs_lock_puts_it_off(store, monkeypatch):
    monkeypatch.setattr(maintenance, "_PATIENCE", 0.05)
    fill(store, 300)
    store.apply([DropSession(id=f"s{number}") for number in range(300)])
    other = sqlite3.connect(store.path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    asyncio.run(store.compact())
    assert store._connection.execute("PRAGMA freelist_count").fetchone()[0] > SPARE_PAGES
    other.execute("ROLLBACK")
    other.close()
    asyncio.run(store.compact())
    assert store._connection.execute("PRAGMA freelist_count").fetchone()[0] <= SPARE_PAGES


def test_a_failure_of_it_has_words_and_the_store_goes_on(store, monkeypatch):
    fill(store, 5)

    def broken(self):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(Compaction, "_compact", broken)
    with pytest.raises(StoreFailure, match=r"sessions\.sqlite: disk I/O error"):
        asyncio.run(store.compact())
    store.append([("chat:/0", b"x")])
