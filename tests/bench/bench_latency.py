"""(a) Delivery latency of a steady 2,000 deltas a second.

The host's own tree of services, with an agent inside its process so that nothing but
the host is on the clock. The agent puts two times into each delta: when it was due
and when it was handed to the turn's output; the reader takes the time at which it has
read the bytes (all CLOCK_MONOTONIC). `handed` is the host's latency and held to the
bound; `due` adds what the agent's timer was late by, a stall of the whole process
included. Beside each stands what a bare Autobahn server with Nagle's algorithm off
makes of the same pace in the same minute: where that is past the bound too, the
machine was not free to measure on.
"""

import json
import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import baselines
from host import ANSWERED, HARNESS, Client, begin, hello, host
from processes import Readers, cpu_seconds
from report import Bound, Figure

NAME = "latency"
TITLE = "(a) delivery latency at a steady 2,000 deltas a second"
RATE = 2_000
SECONDS = 4
SUBSCRIBERS = (1, 10, 50)
#: The most subscribers whose p99 is held to the bound; beyond, it is reported.
HELD = 10
BOUND = Bound(3.0)
ROUNDS = 3


def one_round(subscribers: int, seconds: int) -> dict[str, Any]:
    """What the readers of one paced turn saw."""
    deltas = RATE * seconds
    with host(HARNESS) as serving:
        maker = Client(serving.address)
        chat = maker.new_chat("bench")
        maker.close()
        readers = Readers(
            {
                "address": serving.address,
                "connections": subscribers,
                "hello": [hello(chat)],
                "answer": ANSWERED,
                "marker": baselines.MARKER,
                "expect": deltas,
                "stamped": True,
                "starts": True,
            }
        )
        before = cpu_seconds(serving.pid)
        readers.start(begin(chat, f"paced {RATE} {deltas}"))
        seen = baselines.with_rate(readers.result(), subscribers * deltas)
        seen["serverCpu"] = cpu_seconds(serving.pid) - before
        return seen


#: A delta's message about as long as the host's, with a place for the clocks.
_BARE = json.dumps(
    {
        "jsonrpc": "2.0",
        "method": "action",
        "params": {
            "channel": "c" * 80,
            "action": {
                "type": "chat/delta",
                "turnId": "t" * 36,
                "partId": "answer",
                "content": "@0/0@",
            },
            "serverSeq": 1000,
        },
    },
    separators=(",", ":"),
)


def bare_round(subscribers: int, seconds: int) -> dict[str, Any]:
    """The same pace from a bare Autobahn server."""
    return baselines.broadcast("prepared", _BARE, subscribers, RATE * seconds, 1, RATE)


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """One part for each number of subscribers."""
    seconds = 2 if quick else SECONDS
    return [partial(_size, subscribers, seconds) for subscribers in SUBSCRIBERS]


def _size(subscribers: int, seconds: int) -> list[Figure]:
    seen, bare = [], []
    for _ in range(ROUNDS):
        seen.append(one_round(subscribers, seconds))
        bare.append(bare_round(subscribers, seconds))
    raw = {
        f"{clock} {point}": statistics.median(row[clock][point] for row in seen)
        for clock in ("handed", "due")
        for point in ("p50", "p99", "p99.9", "max")
        if (clock, point) != ("handed", "p99")
    }
    raw |= {
        f"bare Autobahn {point}": statistics.median(row["handed"][point] for row in bare)
        for point in ("p50", "p99", "max")
    }
    raw["deltas/s"] = statistics.median(row["rate"] for row in seen) / subscribers
    raw["host CPU %"] = statistics.median(100 * row["serverCpu"] / row["elapsed"] for row in seen)
    raw["reader CPU %"] = statistics.median(100 * row["cpu"] / row["elapsed"] for row in seen)
    return [
        Figure(
            NAME,
            f"{subscribers} subscribers, p99",
            statistics.median(row["handed"]["p99"] for row in seen),
            unit="ms",
            bound=BOUND if subscribers <= HELD else None,
            rounds=[row["handed"]["p99"] for row in seen],
            raw=raw,
        )
    ]
