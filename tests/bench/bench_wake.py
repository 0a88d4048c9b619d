"""(i) Kept sessions: waking one of 10,000, going on in a long chat, starting with all of them.

A session is woken by a host that asks for its chat, on SQLite on a disk, against the same
store's reading of its rows and the decoding of them. A turn, the whole of it with what is
folded behind it, is run in a chat of 10,000 turns and in a new one. The real daemon is
started on a folder of 10,000 sessions and on an empty one; reading the catalogue is
measured beside it.
"""

import gc
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from host import DAEMON, home, listening
from processes import HERE, Program, cpu_seconds, program
from report import Bound, Figure, ratio_of_rounds
from twisted.internet.task import Clock
from workloads import STARTED, words

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import ISessionStore, PutChannel, PutSession, SessionRow
from ahpd.journal.entries import head_of
from ahpd.sessions.service import SessionsService
from ahpd.stores.sqlite import SqliteSessionStore
from ahpd.testing.agents import ScriptedAgent, answers
from ahpd.wire.codec import decode, encode

NAME = "wake"
TITLE = "(i) kept sessions: waking, going on, starting"
SESSIONS = 10_000
TURNS = 10_000
#: Turns of the sessions that are woken, a day's work of about 75 KB; the others have two.
EACH = 50
#: Every how many of the sessions are such.
_EVERY = 5
WAKE = Bound(1.5)
APPEND = Bound(1.3)
START = Bound(1.5)
PROVIDER = "scripted"


def turn_of(number: int) -> dict[str, Any]:
    """A turn that is over, of about 1.5 KB."""
    return {
        "id": f"turn-{number}",
        "startedAt": STARTED,
        "duration": 1200,
        "message": {"text": words(200), "origin": {"kind": "user"}},
        "responseParts": [
            {"kind": "markdown", "id": "p1", "content": words(600)},
            {"kind": "markdown", "id": "p2", "content": words(400)},
        ],
        "state": "complete",
    }


def states(number: int) -> tuple[dict[str, Any], dict[str, Any]]:
    """A session at rest and its chat, but for the chat's turns."""
    chat = {
        "resource": f"ahp-chat:/c{number}",
        "title": "",
        "status": 1,
        "modifiedAt": STARTED,
        "origin": {"kind": "user"},
    }
    session = {
        "provider": PROVIDER,
        "title": f"Session {number}",
        "status": 1,
        "lifecycle": "ready",
        "activeClients": [],
        "workingDirectories": ["file:///work"],
        "chats": [dict(chat)],
        "defaultChat": chat["resource"],
    }
    return session, chat


def fill(store: ISessionStore, count: int, turns: int) -> None:
    """That many sessions of one chat each; every `_EVERY`th of them of `turns` turns."""
    encoded = [encode(turn_of(number)) for number in range(turns)]
    writes: list[Any] = []
    for number in range(count):
        uri = f"ahp-session:/s{number}"
        session, chat = states(number)
        fields = ("provider", "title", "status", "workingDirectories", "defaultChat")
        row = {"resource": uri, **{field: session[field] for field in fields}}
        times = {"createdAt": STARTED, "modifiedAt": STARTED}
        chats = [{field: chat[field] for field in ("resource", "title", "origin", "status")}]
        row = SessionRow(
            id=f"s{number}",
            uri=uri,
            provider=PROVIDER,
            created_at=STARTED,
            modified_at=STARTED,
            ordinal=number + 1,
            announced=True,
            summary=encode({**row, **times, "chats": chats}),
        )
        writes.append(PutSession(row=row))
        for channel, kind, state, rows in (
            (uri, "session", session, []),
            (chat["resource"], "chat", chat, encoded if number % _EVERY == 0 else encoded[:2]),
        ):
            writes.append(
                PutChannel(
                    session=row.id, channel=channel, kind=kind, head=head_of(state, {}), turns=rows
                )
            )
        if len(writes) >= 900:
            store.apply(writes)
            writes = []
    store.apply(writes)


@contextmanager
def opened(count: int, turns: int) -> Iterator[SqliteSessionStore]:
    """A store of that many sessions, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="ahpd-bench-") as folder:
        store = SqliteSessionStore(Path(folder))
        store.open()
        try:
            fill(store, count, turns)
            yield store
        finally:
            store.close()


class Kept:
    """The sessions of a host on a store, with a clock nobody moves but the bench."""

    def __init__(self, store: ISessionStore) -> None:
        self.clock = Clock()
        self.agent = ScriptedAgent(always=answers("Yes, ", "it ", "does."))
        ids = iter(range(1_000_000_000))
        self.channels = ChannelStore()
        self.service = SessionsService(
            self.channels,
            {PROVIDER: self.agent},
            self.clock,
            now=lambda: datetime(2026, 10, 1, 9, tzinfo=UTC),
            ids=lambda: f"id-{next(ids)}",
            kept=store,
            sleep_after=0,
        )
        self._turns = iter(range(1_000_000_000))

    def turn(self, chat: str) -> None:
        """A client's turn, to its end, and what is written behind it."""
        number = next(self._turns)
        action = {
            "type": "chat/turnStarted",
            "turnId": f"new-{number}",
            "startedAt": STARTED,
            "message": {"text": words(200), "origin": {"kind": "user"}},
        }
        origin = {"clientId": "bench", "clientSeq": number}
        self.service.chat_actions.handle(chat, action, origin)
        self.clock.advance(5)
        self.agent.turns.clear()


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """Waking, going on, starting."""
    return [partial(_waking, quick), partial(_going_on, quick), partial(_starting, quick)]


def _waking(quick: bool) -> list[Figure]:
    """Sessions in turns: some are woken, the next ones are read and decoded."""
    rounds, count = (10, 20) if quick else (30, 30)
    ours, bare = [], []
    with opened(SESSIONS, EACH) as store:
        kept = Kept(store)
        numbers = iter(range(0, SESSIONS, _EVERY))

        def woken() -> None:
            chat = kept.service.find_chat(f"ahp-chat:/c{next(numbers)}")
            assert chat is not None, "the session was not woken"

        held: list[Any] = []  # as a session that is awake holds what was read of it

        def read() -> None:
            for record in store.read(f"s{next(numbers)}"):
                held.append(decode(record.head))
                held.extend(decode(row) for row in record.turns)

        for work in (woken, read):
            work()
        gc.collect()
        gc.disable()
        try:
            for _ in range(rounds):
                ours.append(_each(woken, count))
                bare.append(_each(read, count))
        finally:
            gc.enable()
    value, ratios = ratio_of_rounds(ours, bare)
    return [
        Figure(
            NAME,
            f"wake one of {SESSIONS} / read and decode its rows",
            value,
            bound=WAKE,
            rounds=ratios,
            raw={
                "µs ours": statistics.median(ours) * 1e6,
                "µs bare": statistics.median(bare) * 1e6,
            },
        )
    ]


def _each(work: Callable[[], None], count: int) -> float:
    began = time.process_time()
    for _ in range(count):
        work()
    return (time.process_time() - began) / count


def serve(turns: int) -> None:
    """The child: a figure (µs of CPU for each turn) for each line it is sent."""
    with opened(1, turns) as store:
        kept = Kept(store)
        for _ in range(5):
            kept.turn("ahp-chat:/c0")
        gc.collect()
        print("ready", flush=True)
        for _ in sys.stdin:
            began = time.process_time()
            for _ in range(20):
                kept.turn("ahp-chat:/c0")
            print((time.process_time() - began) / 20 * 1e6, flush=True)


def _going_on(quick: bool) -> list[Figure]:
    """The same turns in a long chat and in a new one, each in a process of its own."""
    figures: dict[int, list[float]] = {TURNS: [], 0: []}
    children: dict[int, Program] = {}
    try:
        for turns in figures:
            child = Program([sys.executable, str(HERE / "bench_wake.py"), str(turns)])
            children[turns] = child
            child.line(120)
        for _ in range(10 if quick else 30):
            for turns, child in children.items():
                child.say("go")
                figures[turns].append(float(child.line(60)))
    finally:
        for child in children.values():
            child.stop()
    value, ratios = ratio_of_rounds(figures[TURNS], figures[0])
    return [
        Figure(
            NAME,
            f"a turn in a chat of {TURNS} turns / in a new one",
            value,
            bound=APPEND,
            rounds=ratios,
            raw={
                "µs in a long one": statistics.median(figures[TURNS]),
                "µs in a new one": statistics.median(figures[0]),
            },
        )
    ]


def _starting(quick: bool) -> list[Figure]:
    """CPU of the daemon until it listens, with all of them and with none."""
    full, empty, reads = [], [], []
    with home() as many, home() as none:
        folder = Path(many["XDG_DATA_HOME"]) / "ahpd"
        store = SqliteSessionStore(folder)
        store.open()
        fill(store, SESSIONS, 2)
        store.close()
        for _ in range(2):
            _start(many)
            _start(none)
        for _ in range(4 if quick else 9):
            full.append(_start(many))
            empty.append(_start(none))
            reads.append(_catalogue(folder))
    value, ratios = ratio_of_rounds(
        full, [start + read for start, read in zip(empty, reads, strict=True)]
    )
    return [
        Figure(
            NAME,
            f"start with {SESSIONS} sessions / with none, and reading the catalogue",
            value,
            bound=START,
            rounds=ratios,
            raw={
                "CPU s with all": statistics.median(full),
                "CPU s with none": statistics.median(empty),
                "CPU s reading": statistics.median(reads),
            },
        )
    ]


def _start(env: dict[str, str]) -> float:
    with program(DAEMON, env, cwd=Path(env["HOME"])) as running:
        listening(running)
        return cpu_seconds(running.pid)


def _catalogue(folder: Path) -> float:
    store = SqliteSessionStore(folder)
    began = time.process_time()
    store.open()
    rows = store.sessions()
    spent = time.process_time() - began
    store.close()
    assert len(rows) == SESSIONS, "the sessions are not there"
    return spent


if __name__ == "__main__":
    serve(int(sys.argv[1]))
