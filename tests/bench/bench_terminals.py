"""(j) Terminals: bytes through the host against a bare pty, and echo beside a flood.

Throughput is one file printed by `cat` in a terminal of the real daemon to one client over
a socket, which reads frames and looks no further, against the same `cat` on a pty that a
plain loop reads; both from the start of the command to its end, rounds in turns.

Echo is the time from a client's sending of one key to its reading of the terminal's answer,
with nothing else going on and then while another terminal prints without end to a client
that reads all of it.
"""

import contextlib
import os
import pty
import statistics
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from host import DAEMON, Client, Host, dispatched, host, initialize
from processes import HERE, cpu_seconds, program, resident_bytes
from report import Bound, Figure, NotMeasured, ratio_of_rounds

NAME = "terminals"
TITLE = "(j) terminals: bytes to one client, and echo beside a flood"
MEGABYTES = 100
ROUNDS = 5
KEYS = 400
THROUGHPUT = Bound(0.5, at_least=True)
ECHO = Bound(2.0)
_PLAIN = b"%08d the quick brown fox reads the log, finds the line and says what it means.\n"
_COLOURED = (
    b"\x1b[32m%08d\x1b[0m the \x1b[1;31mquick\x1b[0m brown fox \x1b[38;5;208mreads\x1b[0m on.\n"
)


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """Throughput of two kinds of text, then echo."""
    size = (20 if quick else MEGABYTES) * 1_000_000
    return [
        partial(_throughput, "plain text", _PLAIN, size, THROUGHPUT),
        partial(_throughput, "coloured text", _COLOURED, size, None),
        partial(_echo, KEYS // 4 if quick else KEYS),
    ]


@contextlib.contextmanager
def printed(line: bytes, size: int) -> Iterator[Path]:
    """A file of about `size` bytes of such lines."""
    with tempfile.NamedTemporaryFile(prefix="ahpd-bench-") as held:
        block = b"".join(line % number for number in range(10_000))
        for _ in range(size // len(block) + 1):
            held.write(block)
        held.flush()
        yield Path(held.name)


# -- throughput -------------------------------------------------------------------


def bare_round(path: Path) -> float:
    """Bytes a second of `cat` on a pty that a loop reads."""
    began = time.perf_counter()
    pid, master = pty.fork()
    if pid == 0:
        os.execvp("cat", ["cat", str(path)])
    total = 0
    with contextlib.suppress(OSError):  # EIO is how a pty ends
        while data := os.read(master, 65536):
            total += len(data)
    os.waitpid(pid, 0)
    os.close(master)
    return total / (time.perf_counter() - began)


def new_terminal(client: Client, **more: Any) -> str:
    """A shell opened for `client`, which watches it."""
    terminal = f"ahp-terminal:/{uuid.uuid4()}"
    claim = {"kind": "client", "clientId": client.client_id}
    client.request("createTerminal", {"channel": terminal, "claim": claim, **more})
    client.request("subscribe", {"channel": terminal})
    return terminal


def typed(client: Client, terminal: str, text: str, sequence: int = 1) -> None:
    """Have `client` type `text`."""
    action = {"type": "terminal/input", "data": text}
    client.send(dispatched(terminal, action, sequence))


def host_round(serving: Host, path: Path) -> dict[str, float]:
    """The same through the host, from the command's line to the shell's exit."""
    client = Client(serving.address)
    terminal = new_terminal(client)
    size = path.stat().st_size
    before, began = cpu_seconds(serving.pid), time.perf_counter()
    typed(client, terminal, f"exec cat {path}\n")
    read = messages = 0
    while True:
        message = client.message()
        read += len(message)
        messages += 1
        if b'"terminal/exited"' in message:
            break
        if b'"rejectionReason"' in message:
            raise NotMeasured(f"the host said {message[:300]!r}")
    took = time.perf_counter() - began
    client.close()
    if read < size:
        raise NotMeasured(f"{read} bytes came for a file of {size}")
    return {
        "rate": size / took,
        "messages": messages,
        "cpu": cpu_seconds(serving.pid) - before,
        "took": took,
    }


def _throughput(kind: str, line: bytes, size: int, bound: Bound | None) -> list[Figure]:
    ours, bare = [], []
    with printed(line, size) as path, host(DAEMON, SHELL="/bin/sh") as serving:
        host_round(serving, path)
        resident = resident_bytes(serving.pid)
        for _ in range(ROUNDS):
            ours.append(host_round(serving, path))
            bare.append(bare_round(path))
        grown = resident_bytes(serving.pid) - resident
    value, rounds = ratio_of_rounds([row["rate"] for row in ours], bare)
    return [
        Figure(
            NAME,
            f"{kind}, {size // 1_000_000} MB / a bare pty loop",
            value,
            bound=bound,
            rounds=rounds,
            raw={
                "host MB/s": statistics.median(row["rate"] / 1e6 for row in ours),
                "bare MB/s": statistics.median(rate / 1e6 for rate in bare),
                "messages": statistics.median(row["messages"] for row in ours),
                "host CPU %": statistics.median(100 * row["cpu"] / row["took"] for row in ours),
                "host grew by MB": grown / 1e6,
            },
        )
    ]


# -- echo -------------------------------------------------------------------------


def echo_times(client: Client, terminal: str, keys: int) -> list[float]:
    """Milliseconds from each key's sending to its answer's reading."""
    took = []
    for number in range(keys):
        key = "abcdefghij"[number % 10]
        began = time.perf_counter()
        typed(client, terminal, key, number + 2)
        while True:
            message = client.message()
            if b'"terminal/data"' in message and b'"data":"%s"' % key.encode() in message:
                break
        took.append((time.perf_counter() - began) * 1000)
        time.sleep(0.005)
    return took


@contextlib.contextmanager
def flood(serving: Host) -> Iterator[None]:
    """Another terminal of the host prints without end to a client that reads all of it."""
    owner = Client(serving.address)
    terminal = new_terminal(owner)
    owner.request("subscribe", {"channel": "ahp-root://"})
    owner.send({"jsonrpc": "2.0", "method": "unsubscribe", "params": {"channel": terminal}})
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": initialize(f"drain-{uuid.uuid4()}", [terminal]),
    }
    address = "{}:{}".format(*serving.address)
    words = [sys.executable, str(HERE / "drain.py"), address, msgspec.json.encode(hello).decode()]
    with program(words) as drain:
        if drain.line(30) != "ready":
            raise NotMeasured("the flood's reader did not get ready")
        typed(owner, terminal, "exec yes the quick brown fox reads the log\n")
        time.sleep(0.5)
        yield
    owner.request("disposeTerminal", {"channel": terminal})
    owner.close()


def _echo(keys: int) -> list[Figure]:
    idle: list[float] = []
    beside: list[float] = []
    with host(DAEMON, SHELL="/bin/sh") as serving:
        client = Client(serving.address)
        terminal = new_terminal(client)
        typed(client, terminal, "exec cat > /dev/null\n")
        time.sleep(0.3)
        echo_times(client, terminal, 20)
        ratios = []
        for _ in range(3):
            quiet = echo_times(client, terminal, keys)
            with flood(serving):
                busy = echo_times(client, terminal, keys)
            idle += quiet
            beside += busy
            ratios.append(statistics.median(busy) / statistics.median(quiet))
        client.close()
    return [
        Figure(
            NAME,
            "a key's echo beside a flood / alone, medians",
            statistics.median(ratios),
            bound=ECHO,
            rounds=ratios,
            raw={
                "alone p50 ms": statistics.median(idle),
                "alone p99 ms": _p99(idle),
                "flood p50 ms": statistics.median(beside),
                "flood p99 ms": _p99(beside),
            },
        )
    ]


def _p99(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.99)]
