"""(g) One stream from the demo agent's process to one client, end to end. Reported only."""

import statistics
from collections.abc import Callable
from functools import partial
from typing import Any

from bench_fanout import through_host
from host import DAEMON, host
from processes import resident_bytes
from report import Figure

NAME = "stream"
TITLE = "(g) the agent's process to one client, end to end"
DELTAS = 20_000
BYTES = 100
ROUNDS = 5


def one_round(deltas: int) -> dict[str, Any]:
    """A stream of that many deltas; what its reader saw, and what the host then held."""
    with host(DAEMON) as serving:
        seen: dict[str, Any] = through_host(serving, "demo", f"/stream {deltas} {BYTES}", 1, deltas)
        seen["resident"] = resident_bytes(serving.pid)
        return seen


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """One part."""
    return [partial(_streams, quick)]


def _streams(quick: bool) -> list[Figure]:
    """Deltas a second, and the host's share of a CPU for each."""
    seen = [one_round(DELTAS // 4 if quick else DELTAS) for _ in range(3 if quick else ROUNDS)]
    rates = [row["rate"] for row in seen]
    return [
        Figure(
            NAME,
            f"/stream {DELTAS} {BYTES}",
            statistics.median(rates),
            unit="deltas/s",
            rounds=rates,
            raw={
                "host CPU µs a delta": statistics.median(
                    row["serverCpu"] / row["delivered"] * 1e6 for row in seen
                ),
                "host resident MB": statistics.median(row["resident"] / 1e6 for row in seen),
            },
        )
    ]
