"""Many rows on an `x-` channel of a host in this process, over connections in memory."""

import itertools
import time
from collections.abc import Callable

import msgspec
from host import initialize
from memory_connection import MemoryConnection
from report import NotMeasured
from twisted.internet.task import Clock

from ahpd.app import make_host
from ahpd.config.settings import Settings
from ahpd.extensions.registry import Extensions
from ahpd.extensions.rows import Rows
from ahpd.interfaces import Channel

SCHEME = "x-bench-rows"
PICKED = "x-bench-picked"


def measured(count: int, readers: int, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each round, by what was done."""
    extensions, join = _served()
    rows = Rows(SCHEME, title="Rows", grant="bench:read")
    rows.attach(extensions.add_channel(SCHEME, rows.channel))
    for number in range(count):
        rows.put(_row(number, 0))
    picked = extensions.add_channel(
        PICKED, Channel(grant="bench:read", snapshot=lambda uri, caller: {"rows": []})
    )
    for _ in range(readers):
        join(PICKED)

    def change(round_: int) -> None:
        rows.put(_row(count // 2, round_ + 1))

    def publish(round_: int) -> None:
        action = {"type": f"{PICKED}/changed", "row": _row(0, round_)}
        picked.publish(f"{PICKED}://", action, visible=lambda reader, client: client[-1] != "0")

    figures = {
        f"{count:,} rows: a subscribe": _timed(rounds, lambda _: join(SCHEME)),
        f"{count:,} rows: one change, {rounds} subscribers": _timed(rounds, change),
        f"one action, {readers} subscribers asked for": _timed(rounds, publish),
    }
    for _ in range(readers - rounds):
        join(SCHEME)
    figures[f"{count:,} rows: one change, {readers} subscribers"] = _timed(rounds, change)
    return figures


def _row(number: int, version: int) -> dict[str, object]:
    return {"id": f"row-{number}", "owner": "host", "title": f"Row {number}", "version": version}


def _timed(rounds: int, work: Callable[[int], object]) -> list[float]:
    taken = []
    for round_ in range(rounds):
        began = time.process_time()
        work(round_)
        taken.append((time.process_time() - began) * 1000)
    return taken


def _served() -> tuple[Extensions, Callable[[str], MemoryConnection]]:
    """What serves channels in a host, and what has one more client subscribe to one of them."""
    settings = Settings(listens=False, without_connection_token=True, demo=False)
    host = make_host(settings, Clock(), {})
    numbers = itertools.count()

    def join(scheme: str) -> MemoryConnection:
        connection = MemoryConnection()
        peer = host.peers.accept(connection)
        for number, method, params in (
            (1, "initialize", initialize(f"bench-{next(numbers)}", ())),
            (2, "subscribe", {"channel": f"{scheme}://"}),
        ):
            said = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            peer.message_received(msgspec.json.encode(said))
        answer = msgspec.json.decode(connection.sent[-1])
        if "result" not in answer:
            raise NotMeasured(f"{scheme} was refused: {answer}")
        return connection

    return host.beside.extensions, join
