"""(h) What the session store on SQLite costs: writing an entry, waking a session, the catalogue.

The store alone, on a disk, in this process. A chat of 10,000 turns is written to as an empty
one is; a session of 10,000 is read against the bare statements that fetch its rows; the
catalogue of 10,000 is read against its bare statement. Rounds are taken in turns. How long an
entry waits while the log is folded is reported alone.
"""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from report import Bound, Figure, ratio_of_rounds

from ahpd.interfaces.stores import PutChannel, PutSession
from ahpd.stores.sqlite import COMPACT_AFTER, SqliteSessionStore
from ahpd.testing.store_samples import a_chat, a_row

NAME = "store"
TITLE = "(h) the session store on SQLite"
TURNS = 10_000
SESSIONS = 10_000
ENTRY = b'{"type":"chat/delta","turnId":"0123456789","partId":"p1","text":"%s"}' % (b"x" * 120)
TURN = b'{"id":"0123456789","message":{"text":"%s"}}' % (b"x" * 1400)
APPEND = Bound(1.2)
WAKE = Bound(1.5)


@contextmanager
def opened(**options: Any) -> Iterator[SqliteSessionStore]:
    """A store that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="ahpd-bench-") as folder:
        store = SqliteSessionStore(Path(folder), **options)
        store.open()
        try:
            yield store
        finally:
            store.close()


def seconds(work: Callable[[], object]) -> float:
    """CPU seconds of one call: nothing here waits for a disk, and others use the machine too."""
    began = time.process_time()
    work()
    return time.process_time() - began


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """Writing, and reading."""
    return [partial(_writing, quick), partial(_folding, quick), partial(_reading, quick)]


def _writing(quick: bool) -> list[Figure]:
    """One entry, and the end of a turn, in a long chat and in an empty one."""
    rounds, count = (20, 100) if quick else (60, 200)
    with opened() as store:
        store.apply([PutSession(row=a_row("s")), a_chat("s", "long", turns=[TURN] * TURNS)])
        store.apply([a_chat("s", "empty")])

        def append(chat: str) -> None:
            for _ in range(count):
                store.append([(chat, ENTRY)])

        def fold(chat: str, kept: int) -> None:
            for number in range(count // 10):
                keep = kept + number
                store.apply([a_chat("s", chat, keep_turns=keep, turns=[TURN])])
            store.apply([a_chat("s", chat, keep_turns=kept)])

        entries: dict[str, list[float]] = {"long": [], "empty": []}
        folds: dict[str, list[float]] = {"long": [], "empty": []}
        for _ in range(rounds):
            for chat, kept in (("long", TURNS), ("empty", 0)):
                entries[chat].append(seconds(partial(append, chat)) / count)
                store.apply([a_chat("s", chat, keep_turns=kept)])
                folds[chat].append(seconds(partial(fold, chat, kept)) / (count // 10 + 1))
    return [
        _against(
            f"an entry in a chat of {TURNS} turns / of none", entries["long"], entries["empty"]
        ),
        _against(
            f"a turn's end in a chat of {TURNS} turns / of none", folds["long"], folds["empty"]
        ),
    ]


def _folding(quick: bool) -> list[Figure]:
    """The longest an entry waits while the log is folded into the file beside it.

    Rounds without a fold are taken in turns: what they show is the machine's own.
    """
    rounds, after = (6, 200) if quick else (20, 500)
    waits: dict[str, list[float]] = {"folding": [], "alone": []}
    typical: list[float] = []
    with opened(run_in_thread=asyncio.to_thread) as store:
        store.apply([PutSession(row=a_row("s")), a_chat("s", "c")])

        async def longest(fold: bool) -> float:
            folding = asyncio.ensure_future(store.compact()) if fold else None
            found = []
            left = after
            while left:
                found.append(seconds(partial(store.append, [("c", ENTRY)])))
                await asyncio.sleep(0.0003)  # the thread runs meanwhile, as under a reactor
                left -= folding is None or folding.done()
            if folding is not None:
                await folding
                typical.append(statistics.median(found))
            return max(found)

        for _ in range(rounds):
            while not store.wants_compaction():
                store.append([("c", ENTRY)])
            waits["alone"].append(asyncio.run(longest(False)))
            waits["folding"].append(asyncio.run(longest(True)))
    return [
        Figure(
            NAME,
            f"an entry's longest wait while {COMPACT_AFTER >> 20} MiB of log are folded",
            statistics.median(waits["folding"]) * 1e3,
            unit="ms",
            rounds=[each * 1e3 for each in waits["folding"]],
            raw={
                "worst ms": max(waits["folding"]) * 1e3,
                "ms with no fold": statistics.median(waits["alone"]) * 1e3,
                "worst ms with no fold": max(waits["alone"]) * 1e3,
                "typical us": statistics.median(typical) * 1e6,
            },
        )
    ]


def _against(name: str, ours: list[float], theirs: list[float]) -> Figure:
    value, ratios = ratio_of_rounds(ours, theirs)
    return Figure(
        NAME,
        name,
        value,
        bound=APPEND,
        rounds=ratios,
        raw={"us": statistics.median(ours) * 1e6, "us of none": statistics.median(theirs) * 1e6},
    )


def _reading(quick: bool) -> list[Figure]:
    """One session of many, and all their rows, against the bare statements."""
    count, rounds = (1000, 20) if quick else (SESSIONS, 60)
    with opened() as store:
        for number in range(count):
            name = f"{number:08}"
            store.apply(
                [
                    PutSession(row=a_row(name, number, summary=TURN[:400])),
                    PutChannel(session=name, channel=f"s:/{name}", kind="session", head=TURN[:900]),
                    a_chat(name, f"c:/{name}", turns=[TURN] * 5),
                ]
            )
        asked = [f"{number * 7919 % count:08}" for number in range(40)]
        bare = _Bare(store)
        bare.prepare(asked)
        wakes: tuple[list[float], list[float]] = [], []
        lists: tuple[list[float], list[float]] = [], []
        for _ in range(rounds):
            wakes[0].append(seconds(lambda: [store.read(name) for name in asked]) / len(asked))
            wakes[1].append(seconds(bare.read) / len(asked))
            if len(lists[0]) < rounds // 4:
                lists[0].append(seconds(store.sessions))
                lists[1].append(seconds(bare.catalogue))
        bare.close()
    woken, wake_ratios = ratio_of_rounds(*wakes)
    listed, list_ratios = ratio_of_rounds(*lists)
    return [
        Figure(
            NAME,
            f"reading one of {count} sessions / its rows",
            woken,
            bound=WAKE,
            rounds=wake_ratios,
            raw={
                "us": statistics.median(wakes[0]) * 1e6,
                "us bare": statistics.median(wakes[1]) * 1e6,
            },
        ),
        Figure(
            NAME,
            f"the catalogue of {count} / its rows",
            listed,
            rounds=list_ratios,
            raw={
                "ms": statistics.median(lists[0]) * 1e3,
                "ms bare": statistics.median(lists[1]) * 1e3,
            },
        ),
    ]


class _Bare:
    """The rows of sessions and of the catalogue, and nothing made of them."""

    def __init__(self, store: SqliteSessionStore) -> None:
        import sqlite3

        self._database = sqlite3.connect(store.path, isolation_level=None)
        self._keys: list[list[int]] = []

    def prepare(self, names: list[str]) -> None:
        """Find the channels that `read` is to fetch the rows of."""
        self._keys = [
            [
                key
                for (key,) in self._database.execute(
                    "SELECT channel.key FROM channel JOIN session ON session.key = channel.session"
                    " WHERE session.id = ?",
                    (name,),
                )
            ]
            for name in names
        ]

    def read(self) -> None:
        """Every row of those sessions, by its key."""
        for keys in self._keys:
            for key in keys:
                self._database.execute("SELECT * FROM channel WHERE key = ?", (key,)).fetchall()
                for table in ("turn", "entry"):
                    self._database.execute(
                        f"SELECT body FROM {table} WHERE place >= ? AND place < ?",
                        (key << 32, (key + 1) << 32),
                    ).fetchall()

    def close(self) -> None:
        """The end of it."""
        self._database.close()

    def catalogue(self) -> None:
        """Every session's row."""
        self._database.execute("SELECT * FROM session").fetchall()
