"""(f) What an idle session costs, and what a list of 10,000 of them does.

The host's own tree of services with an agent inside the process that answers at
once. A session is made and announced as a client does it: `createSession`, one turn,
its end; every client but the one that asks is gone by the time memory is read. The
growth of the process between 500 sessions and the last is divided by their number,
and measured a second time, over fewer sessions, as what Python's allocator holds, before
and after they are all put to sleep. They are kept in a file, as the daemon's are.
`listSessions` is timed inside the process, from the bytes of the request to the frame
of the answer, against one encoding of the same result from plain objects.
"""

import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from host import HARNESS, Client, Host, host
from processes import cpu_seconds, resident_bytes
from report import Bound, Figure, NotMeasured, ratio_of_rounds

NAME = "sessions"
TITLE = "(f) idle sessions"
SESSIONS = 10_000
TRACED = 2_000
WARM = 500
MEMORY = Bound(20.0)
ASLEEP = Bound(5.0)
LIST = Bound(3.0)


def make_sessions(client: Client, count: int) -> None:
    """That many sessions, each announced by one completed turn."""
    for _ in range(count):
        chat = client.new_chat("bench")
        client.request("subscribe", {"channel": chat})
        client.start_turn(chat, "instant")
        client.until("chat/turnComplete")
        client.send({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": chat}})


def harness(serving: Host, order: str) -> dict[str, Any]:
    """What the harness answers to one word on its standard input."""
    serving.program.say(order)
    answer: dict[str, Any] = json.loads(serving.program.line(120))
    if "error" in answer:
        raise NotMeasured(f"{order}: {answer['error']}")
    return answer


@dataclass
class Grown:
    """What each session came to: KB resident, KB held by Python awake and asleep, CPU ms."""

    resident: float
    held: float
    asleep: float
    cpu: float
    listed: list[Figure]


def grown(count: int, **env: str) -> Grown:
    """A host that is given that many sessions. The list's figures where no `env` is given."""
    with host(HARNESS, **env) as serving:
        client = Client(serving.address)
        make_sessions(client, WARM)
        before = harness(serving, "heap")["bytes"]
        resident, cpu = resident_bytes(serving.pid), cpu_seconds(serving.pid)
        make_sessions(client, count - WARM)
        spent = (cpu_seconds(serving.pid) - cpu) / (count - WARM) * 1e3
        held = (harness(serving, "heap")["bytes"] - before) / (count - WARM) / 1e3
        resident_each = (resident_bytes(serving.pid) - resident) / (count - WARM) / 1e3
        listed = listing(harness(serving, "list"), count) if not env else []
        if harness(serving, "sleep")["asleep"] != count:
            raise NotMeasured("a session stays awake")
        # The first ones were awake when it was begun to count.
        asleep = (harness(serving, "heap")["bytes"] - before + WARM * held * 1e3) / count / 1e3
        client.close()
    return Grown(resident_each, held, asleep, spent, listed)


def listing(answer: dict[str, Any], count: int) -> list[Figure]:
    """`listSessions` in the process against the bare encoding of its result."""
    if answer["sessions"] != count:
        raise NotMeasured(f"{answer['sessions']} sessions of {count} were listed")
    value, ratios = ratio_of_rounds(answer["ours"], answer["bare"])
    return [
        Figure(
            NAME,
            f"listSessions of {count} / bare encoding",
            value,
            bound=LIST,
            rounds=ratios,
            raw={
                "ours ms": statistics.median(answer["ours"]) * 1e3,
                "bare ms": statistics.median(answer["bare"]) * 1e3,
                "MB": answer["bytes"] / 1e6,
            },
        )
    ]


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """One part: the list is of the sessions that memory was read of."""
    return [partial(_sessions, quick)]


def _sessions(quick: bool) -> list[Figure]:
    """Resident memory over 10,000, traced memory over 2,000, and the list."""
    count = 2_000 if quick else SESSIONS
    plain = grown(count)
    traced = grown(TRACED, PYTHONTRACEMALLOC="1")
    return [
        Figure(
            NAME,
            f"resident for each of {count} sessions",
            plain.resident,
            unit="KB",
            bound=MEMORY,
            raw={"traced KB": traced.held, "CPU ms to make one": plain.cpu},
        ),
        Figure(
            NAME,
            f"held by Python for each of {TRACED}",
            traced.held,
            unit="KB",
            bound=MEMORY,
        ),
        Figure(
            NAME,
            f"held by Python for each of {TRACED} asleep",
            traced.asleep,
            unit="KB",
            bound=ASLEEP,
        ),
        *plain.listed,
    ]
