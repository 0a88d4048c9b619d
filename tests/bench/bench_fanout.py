"""(a) Fan-out of deltas, against bare servers that broadcast the same bytes.

The host is the real daemon with `deltaWindowMs` 0; its demo agent's `/stream` makes
the deltas, so the host's side also pays for the agent's process, the pipe, the
reduction, the replay buffer and JSON, none of which the bare servers do. What they
broadcast is one of the host's own messages, as often as the host sends one.

A bare server sends as fast as it can and lets its event loop turn between batches, as
it must if anybody else is to be served: after every delta (`1 a turn`), as when deltas
arrive one by one, or after 64, which is how the host reads an agent that is ahead of
it. The bounds hold against both. They hold as well where the host is made to take one
delta a turn itself, by an agent inside its process.

Deliveries a second are the delta messages that the readers took, over the time from
the first to the last of them. All readers are one process; its CPU is printed, so that
it can be seen not to be what was measured. Rounds go in turns over all servers.
"""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import baselines
from host import ANSWERED, DAEMON, HARNESS, Client, Host, begin, hello, host
from processes import Readers, cpu_seconds
from report import Bound, Figure, Skipped, ratio_of_rounds, short

NAME = "fanout"
TITLE = "(a) fan-out of deltas, deliveries a second"
BYTES = 100
#: Subscribers, and the deltas of a bare server's round: about as many deliveries each.
SIZES = {1: 20_000, 100: 2_000, 1000: 200}
#: How many times more is sent where a turn takes a batch, to be busy for about as long.
BATCHED_TIMES = 4
#: The fewest turns a batched round has: what a server does before its first delivery is
#: not on the clock, and a round of one turn would be nothing else.
FEWEST_TURNS = 16
#: Rounds, by subscribers.
ROUNDS = {1: 5, 100: 5, 1000: 3}
#: By subscribers and bare server.
BOUNDS = {(100, "shipped"): Bound(1.0, at_least=True), (100, "ws"): Bound(0.7, at_least=True)}
BATCHES = (1, 64)
LABELS = {"shipped": "Autobahn as shipped", "prepared": "Autobahn prepared", "ws": "Node ws"}


def through_host(serving: Host, provider: str, text: str, subscribers: int, deltas: int) -> Any:
    """One turn of `text` to that many readers of its chat; what they saw, with its `rate`."""
    maker = Client(serving.address)
    chat = maker.new_chat(provider)
    maker.close()
    readers = Readers(
        {
            "address": serving.address,
            "connections": subscribers,
            "hello": [hello(chat)],
            "answer": ANSWERED,
            "marker": baselines.MARKER,
            "expect": deltas,
            "rest": baselines.REST,
            "starts": True,
        }
    )
    before = cpu_seconds(serving.pid)
    readers.start(begin(chat, text))
    seen = readers.result()
    seen["serverCpu"] = cpu_seconds(serving.pid) - before
    return baselines.with_rate(seen, subscribers * deltas)


def daemon_round(subscribers: int, deltas: int) -> Any:
    """The daemon and its demo agent."""
    with host(DAEMON) as serving:
        return through_host(serving, "demo", f"/stream {deltas} {BYTES}", subscribers, deltas)


def paced_round(batch: int, subscribers: int, deltas: int) -> Any:
    """The same host with an agent inside its process that emits `batch` deltas a turn."""
    with host(HARNESS) as serving:
        text = f"burst {deltas} {batch} {BYTES}"
        return through_host(serving, "bench", text, subscribers, deltas)


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """One part for each number of subscribers."""
    return [
        partial(
            _size,
            subscribers,
            deltas // 4 if quick else deltas,
            3 if quick else ROUNDS[subscribers],
        )
        for subscribers, deltas in SIZES.items()
    ]


def _contenders(subscribers: int, deltas: int, sample: str) -> dict[str, Callable[[], Any]]:
    bare = {
        f"{server} {batch}": partial(
            baselines.broadcast, server, sample, subscribers, _of_a_round(deltas, batch), batch
        )
        for server in LABELS
        for batch in BATCHES
    }
    return {
        "host": partial(daemon_round, subscribers, _of_a_round(deltas, max(BATCHES))),
        "host, 1 a turn": partial(paced_round, 1, subscribers, deltas),
        **bare,
    }


def _of_a_round(deltas: int, batch: int) -> int:
    return deltas if batch == 1 else max(deltas * BATCHED_TIMES, FEWEST_TURNS * batch)


def _size(subscribers: int, deltas: int, rounds: int) -> list[Figure]:
    sample: str = daemon_round(subscribers, deltas)["sample"]
    contenders = _contenders(subscribers, deltas, sample)
    seen: dict[str, list[Any]] = {name: [] for name in contenders}
    skipped = ""
    for _ in range(rounds):
        for name, run in contenders.items():
            try:
                seen[name].append(run())
            except Skipped as reason:
                skipped = str(reason)
    if skipped:
        print(f"  SKIPPED: {skipped}")
    figures = [_rate(subscribers, name, rows) for name, rows in seen.items() if rows]
    pairs = [("host", batch) for batch in BATCHES] + [("host, 1 a turn", 1)]
    for ours, batch in pairs:
        for server, label in LABELS.items():
            theirs = seen[f"{server} {batch}"]
            if theirs:
                bound = BOUNDS.get((subscribers, server))
                name = f"{subscribers}: {ours} / {label}, {batch} a turn"
                figures.append(_against(name, seen[ours], theirs, bound))
    return figures


def _against(name: str, ours: list[Any], theirs: list[Any], bound: Bound | None) -> Figure:
    value, ratios = ratio_of_rounds([row["rate"] for row in ours], [row["rate"] for row in theirs])
    by_cpu, _ = ratio_of_rounds(
        [row["serverCpu"] / row["delivered"] for row in theirs],
        [row["serverCpu"] / row["delivered"] for row in ours],
    )
    return Figure(
        NAME, name, value, bound=bound, rounds=ratios, raw={"by the servers' CPU alone": by_cpu}
    )


def _rate(subscribers: int, name: str, rows: list[Any]) -> Figure:
    server, _, batch = name.partition(" ")
    label = f"{LABELS[server]}, {batch} a turn" if server in LABELS else name
    busiest = max(row["cpu"] / row["elapsed"] for row in rows)
    return Figure(
        NAME,
        f"{subscribers}: {label}",
        statistics.median(row["rate"] for row in rows),
        unit="/s",
        rounds=[row["rate"] for row in rows],
        raw={
            "s": statistics.median(row["elapsed"] for row in rows),
            "server CPU µs a delivery": statistics.median(
                row["serverCpu"] / row["delivered"] * 1e6 for row in rows
            ),
            "MB": rows[0]["bytes"] / 1e6,
        },
        note=f"reader's CPU {short(busiest * 100)} % at most"
        + (" READER-BOUND" if busiest > 0.85 else ""),
    )
