"""(b) Handling one delta, by what the answer holds already: it must not matter.

Each size has a process of its own, so that none pays for another's memory; they are
asked in turns. A delta goes the whole way inside the host, from the output a backend
emits it on: sequenced, encoded, reduced, held for replay, handed to one subscriber
that takes its frame. The answer was grown by such deltas, not made in one piece.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial

from processes import HERE, Program
from report import Bound, Figure, ratio_of_rounds
from twisted.internet.task import Clock
from workloads import CHAT, SESSION, Sink, delta, new_chat, start_turn, words

from ahpd.channels.store import ChannelStore
from ahpd.chats.output import TurnOutput

NAME = "delta"
TITLE = "(b) one delta, by the size of the answer it is appended to"
SIZES = {"10 KB": 10_000, "1 MB": 1_000_000, "10 MB": 10_000_000}
FLAT = Bound(1.3)
ROUNDS = 15
#: Deltas of a round, and their characters: a round grows the smallest answer by half.
DELTAS = 250
CHARACTERS = 20
_TURN = "turn-1"


def grown(size: int) -> TurnOutput:
    """The output of a turn whose answer has `size` characters, on a chat with one subscriber."""
    store = ChannelStore()
    new_chat(store)
    store.subscribe(CHAT, Sink())
    start_turn(lambda action: store.dispatch(CHAT, action), _TURN)
    output = TurnOutput(store, Clock(), SESSION, CHAT, _TURN, 0)
    piece = min(100, size // 100)
    for _ in range(size // piece):
        output.emit(delta(_TURN, words(piece)))
    return output


def serve(size: int) -> None:
    """The child: a figure (µs of CPU for each delta) for each line it is sent."""
    output = grown(size)
    text = words(CHARACTERS)
    print("ready", flush=True)
    for _ in sys.stdin:
        if size <= DELTAS * CHARACTERS * 4:
            output = grown(size)
        actions = [delta(_TURN, text) for _ in range(DELTAS)]
        began = time.process_time()
        for action in actions:
            output.emit(action)
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
