"""(e) What a start costs: CPU of the daemon's process when it says where it listens."""

import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from host import DAEMON, home, listening
from processes import cpu_seconds, program, resident_bytes
from report import Bound, Figure

NAME = "start"
TITLE = "(e) start to `listening`"
ROUNDS = 7
BOUND = Bound(0.8)


def one_start() -> tuple[float, float, float]:
    """CPU seconds (user and system), seconds on the clock, and MB held at `listening`."""
    with home() as env:
        began = time.perf_counter()
        with program(DAEMON, env, cwd=Path(env["HOME"])) as running:
            listening(running)
            cpu, elapsed = cpu_seconds(running.pid), time.perf_counter() - began
            return cpu, elapsed, resident_bytes(running.pid) / 1e6


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """One part."""
    return [partial(_starts, quick)]


def _starts(quick: bool) -> list[Figure]:
    """The median of seven starts, after one that compiles what was never compiled."""
    one_start()
    rounds = [one_start() for _ in range(3 if quick else ROUNDS)]
    cpu = [row[0] for row in rounds]
    return [
        Figure(
            NAME,
            "CPU to `listening`",
            statistics.median(cpu),
            unit="s",
            bound=BOUND,
            rounds=cpu,
            raw={
                "elapsed s": statistics.median(row[1] for row in rounds),
                "resident MB": statistics.median(row[2] for row in rounds),
            },
        )
    ]
