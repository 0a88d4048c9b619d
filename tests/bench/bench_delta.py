"""(b) Handling one delta, by what the answer holds already: it must not matter.

Each size has a process of its own, so that none pays for another's memory; they are
asked in turns. A delta goes the whole way inside the host, from the output a backend
emits it on: kept in its journal, sequenced, encoded, reduced, held for replay, handed to
one subscriber that takes its frame. What is kept is written as it is in a host, every 250
ms at a thousand deltas a second, to SQLite. The answer was grown by such deltas, not made
in one piece.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from processes import HERE, Program
from report import Bound, Figure, ratio_of_rounds
from twisted.internet.task import Clock
from workloads import CHAT, SESSION, Sink, delta, new_chat, start_turn, words

from ahpd.channels.store import ChannelStore
from ahpd.chats.output import TurnOutput
from ahpd.interfaces import PutSession
from ahpd.journal.book import Journals
from ahpd.journal.channel import ChannelJournal
from ahpd.protocol.uris import ChannelKind
from ahpd.stores.sqlite import SqliteSessionStore
from ahpd.testing.store_samples import a_row

NAME = "delta"
TITLE = "(b) one delta, by the size of the answer it is appended to"
SIZES = {"10 KB": 10_000, "1 MB": 1_000_000, "10 MB": 10_000_000}
FLAT = Bound(1.3)
ROUNDS = 15
#: Deltas of a round, and their characters: a round grows the smallest answer by half.
DELTAS = 250
CHARACTERS = 20
_TURN = "turn-1"


def journal(channels: ChannelStore, clock: Clock, folder: str) -> ChannelJournal:
    """The journal of the chat, in a store of its own."""
    store = SqliteSessionStore(Path(folder))
    store.open()
    row = a_row("bench")
    store.apply([PutSession(row=row)])
    journals = Journals(store, channels, clock, lambda: 0, lambda session: row)
    return journals.open(row.id, CHAT, ChannelKind.CHAT)


def grown(size: int, clock: Clock) -> TurnOutput:
    """The output of a turn whose answer has `size` characters, on a chat with one subscriber."""
    store = ChannelStore()
    with tempfile.TemporaryDirectory(prefix="ahpd-bench-") as folder:  # it stays open
        new_chat(store, journal(store, clock, folder))
    store.subscribe(CHAT, Sink())
    start_turn(lambda action: store.dispatch(CHAT, action), _TURN)
    output = TurnOutput(store, clock, SESSION, CHAT, _TURN, 0)
    piece = min(100, size // 100)
    for _ in range(size // piece):
        output.emit(delta(_TURN, words(piece)))
    return output


def serve(size: int) -> None:
    """The child: a figure (µs of CPU for each delta) for each line it is sent."""
    clock = Clock()
    output = grown(size, clock)
    text = words(CHARACTERS)
    print("ready", flush=True)
    for _ in sys.stdin:
        if size <= DELTAS * CHARACTERS * 4:
            clock = Clock()
            output = grown(size, clock)
        actions = [delta(_TURN, text) for _ in range(DELTAS)]
        began = time.process_time()
        for action in actions:
            output.emit(action)
        clock.advance(0.25)
        print((time.process_time() - began) / DELTAS * 1e6, flush=True)


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """One part: the sizes are measured in turns."""
    return [partial(_sizes, 5 if quick else ROUNDS)]


def _sizes(count: int) -> list[Figure]:
    """The cost at each size, and how far each is from the smallest answer's."""
    rounds: dict[str, list[float]] = {name: [] for name in SIZES}
    children: dict[str, Program] = {}
    try:
        for name, size in SIZES.items():
            child = Program([sys.executable, str(HERE / "bench_delta.py"), str(size)])
            children[name] = child
            child.line(120)
        for _ in range(count):
            for name, child in children.items():
                child.say("go")
                rounds[name].append(float(child.line(60)))
    finally:
        for child in children.values():
            child.stop()
    base = rounds["10 KB"]
    figures = []
    for name in ("1 MB", "10 MB"):
        value, ratios = ratio_of_rounds(rounds[name], base)
        figures.append(
            Figure(
                NAME,
                f"{name} / 10 KB",
                value,
                bound=FLAT,
                rounds=ratios,
                raw={
                    "µs at 10 KB": statistics.median(base),
                    f"µs at {name}": statistics.median(rounds[name]),
                },
            )
        )
    return figures


if __name__ == "__main__":
    serve(int(sys.argv[1]))
