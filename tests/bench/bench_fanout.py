"""(a) Fan-out of deltas, against bare servers that broadcast the same bytes.

The host is the real daemon with `deltaWindowMs` 0; its demo agent's `/stream` makes
the deltas, so the host's side also pays for the agent's process, the pipe, the
reduction, the replay buffer and JSON, none of which the bare servers do. What they
broadcast is one of the host's own messages, as often as the host sends one.

A bare server sends as fast as it can and lets its event loop turn between batches, as
it must if anybody else is to be served: after every delta (`1 a turn`), which is what a
server does whose deltas arrive one by one, or after 64. The bounds hold against
the first; the second, which is how the host reads its agent, is printed beside it. Deliveries a second are the delta messages
that the readers took, over the time from the first to the last of them. All readers
are one process; its CPU is printed, so that it can be seen not to be what was measured.
"""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

import baselines
from host import ANSWERED, DAEMON, HARNESS, Client, Host, hello, host
from processes import Readers, cpu_seconds
from report import Bound, Figure, Skipped, ratio_of_rounds, short

NAME = "fanout"
TITLE = "(a) fan-out of deltas, deliveries a second"
BYTES = 100
#: Subscribers, and the deltas of a round: about as many deliveries each.
SIZES = {1: 20_000, 100: 2_000, 1000: 200}
ROUNDS = 5
#: By subscribers and bare server.
BOUNDS = {(100, "shipped"): Bound(1.0, at_least=True), (100, "ws"): Bound(0.7, at_least=True)}
BATCHES = (1, 64)
LABELS = {"shipped": "Autobahn as shipped", "prepared": "Autobahn prepared", "ws": "Node ws"}


def through_host(serving: Host, provider: str, text: str, subscribers: int, deltas: int) -> Any:
    """One turn of `text` to that many readers of its chat; what they saw, with its `rate`."""
    control = Client(serving.address)
    chat = control.new_chat(provider)
    readers = Readers(
        {
            "address": serving.address,
            "connections": subscribers,
            "hello": [hello(chat)],
            "answer": ANSWERED,
            "marker": baselines.MARKER,
            "expect": deltas,
            "rest": baselines.REST,
        }
    )
    before = cpu_seconds(serving.pid)
    control.start_turn(chat, text)
    seen = readers.result()
    seen["serverCpu"] = cpu_seconds(serving.pid) - before
    control.close()
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


def measure(quick: bool) -> list[Figure]:
    """All sizes; the rounds of one size are taken in turns over all servers."""
    figures = []
    for subscribers, deltas in SIZES.items():
        figures += _size(subscribers, deltas // 4 if quick else deltas, 3 if quick else ROUNDS)
    return figures


def _size(subscribers: int, deltas: int, rounds: int) -> list[Figure]:
    sample: str = daemon_round(subscribers, deltas)["sample"]
    contenders: dict[str, Callable[[], Any]] = {
        "host": partial(daemon_round, subscribers, deltas),
        **{
            f"host, {batch} a turn": partial(paced_round, batch, subscribers, deltas)
            for batch in BATCHES
        },
    }
    for server in ("shipped", "prepared", "ws"):
        for batch in BATCHES:
            contenders[f"{server} {batch}"] = partial(
                baselines.broadcast, server, sample, subscribers, deltas, batch
            )
    seen: dict[str, list[Any]] = {}
    skipped = ""
    for _ in range(rounds):
        for name, run in contenders.items():
            try:
                seen.setdefault(name, []).append(run())
            except Skipped as reason:
                skipped = str(reason)
    figures = [_rate(subscribers, name, rows) for name, rows in seen.items() if rows]
    for server, label in LABELS.items():
        for batch in BATCHES:
            theirs = seen.get(f"{server} {batch}")
            if theirs:
                bound = BOUNDS.get((subscribers, server)) if batch == 1 else None
                name = f"{subscribers}: host / {label}, {batch} a turn"
                figures.append(_against(name, seen["host"], theirs, bound))
    if skipped:
        print(f"  SKIPPED: {skipped}")
    return figures


def _against(name: str, ours: list[Any], theirs: list[Any], bound: Bound | None) -> Figure:
    value, ratios = ratio_of_rounds([row["rate"] for row in ours], [row["rate"] for row in theirs])
    # What the host leaves to its agent's process is no work of the host's either way.
    by_cpu, _ = ratio_of_rounds(
        [row["serverCpu"] for row in theirs], [row["serverCpu"] for row in ours]
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
            "server CPU s": statistics.median(row["serverCpu"] for row in rows),
            "MB": rows[0]["bytes"] / 1e6,
        },
        note=f"reader's CPU {short(busiest * 100)} % at most"
        + (" READER-BOUND" if busiest > 0.85 else ""),
    )
