"""(c) The snapshot of a long chat, against one bare encoding of the same state.

The bare side is one `msgspec.json.encode` of the very objects the host holds. Ours is
what a subscriber costs: the store's snapshot and the encoding of the answer it travels
in. The first one after the channel moved encodes the state; the second subscriber's is
the same bytes again.
"""

import statistics
from collections.abc import Callable
from functools import partial

import msgspec
from report import Bound, Figure, NotMeasured, ratio_of_rounds
from workloads import CHAT, Sink, delta, long_chat, new_chat, seconds, start_turn, words

from ahpd.channels.store import ChannelStore
from ahpd.wire import jsonrpc

NAME = "snapshot"
TITLE = "(c) snapshot of a long chat against one bare encoding"
TURNS = 10_000
ROUNDS = 11
#: How often each side does its work in a round; the round's figure is the mean.
REPEATS = 4
FIRST = Bound(1.3)
SECOND = Bound(0.1)


def answer(store: ChannelStore) -> int:
    """One subscribe as a connection is answered, in parts: the frame's size in bytes."""
    return jsonrpc.result(1, {"snapshot": store.snapshot(CHAT)}).size


def rounds_of(store: ChannelStore, count: int) -> tuple[list[float], list[float], list[float]]:
    """Seconds of the bare encoding, of the first and of the second subscriber, by round."""
    state = store.state(CHAT)

    def encode() -> bytes:
        return msgspec.json.encode(state, enc_hook=str)

    bare, first, second = [], [], []
    draft = {"text": "a draft moves the channel", "origin": {"kind": "user"}}
    if len(encode()) > answer(store):
        raise NotMeasured("the snapshot is smaller than the state it shows")
    for _ in range(count):
        bare.append(seconds(encode, REPEATS))
        firsts = []
        for _ in range(REPEATS):
            store.dispatch(CHAT, {"type": "chat/draftChanged", "draft": draft})
            firsts.append(seconds(lambda: answer(store)))
        first.append(statistics.fmean(firsts))
        second.append(seconds(lambda: answer(store), REPEATS))
    return bare, first, second


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """A chat of 10,000 turns, held to the bounds, and one 10 MB answer still growing."""
    count = 5 if quick else ROUNDS
    return [partial(_long_chat, count), partial(_long_answer, count)]


def _long_chat(count: int) -> list[Figure]:
    return _figures("10,000 turns", long_chat(TURNS), count, bounded=True)


def _long_answer(count: int) -> list[Figure]:
    store = ChannelStore()
    new_chat(store)
    store.subscribe(CHAT, Sink())
    start_turn(lambda action: store.dispatch(CHAT, action), "turn-1")
    for _ in range(100_000):
        store.dispatch(CHAT, delta("turn-1", words(100)))
    return _figures("a 10 MB answer", store, count, bounded=False)


def _figures(what: str, store: ChannelStore, count: int, *, bounded: bool) -> list[Figure]:
    bare, first, second = rounds_of(store, count)
    raw = {"MB": answer(store) / 1e6, "bare ms": statistics.median(bare) * 1e3}
    figures = []
    for name, ours, bound in (("first", first, FIRST), ("second", second, SECOND)):
        value, ratios = ratio_of_rounds(ours, bare)
        figures.append(
            Figure(
                NAME,
                f"{what}, {name} subscriber",
                value,
                bound=bound if bounded else None,
                rounds=ratios,
                raw={**raw, "ours ms": statistics.median(ours) * 1e3},
            )
        )
    return figures
