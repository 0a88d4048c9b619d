"""(d) A client that comes back and is replayed 1000 envelopes.

In the process: the whole `reconnect`, from the bytes of the request to the frame of
the answer, against two bare costs of the same envelopes: joining their encoded bytes
into that answer, and encoding them again from plain objects. Over a socket: the real
daemon after a stream of the demo agent, from sending the request to having read the
answer, its connection open already.
"""

import statistics
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import msgspec
from host import Client, host, initialize
from memory_connection import MemoryConnection
from report import Figure, NotMeasured, ratio_of_rounds
from twisted.internet.task import Clock
from workloads import CHAT, delta, new_chat, seconds, start_turn, words

from ahpd.channels.directory import ChannelDirectory
from ahpd.channels.store import ChannelStore
from ahpd.commands.handshake import Handshake
from ahpd.commands.subscriptions import Subscriptions
from ahpd.peers.clients import ClientRegistry
from ahpd.peers.hub import PeerHub

NAME = "replay"
TITLE = "(d) reconnect, replaying 1000 envelopes"
ENVELOPES = 1000
ROUNDS = 15


def wired() -> tuple[ChannelStore, PeerHub]:
    """A store with a chat in it and what answers `initialize` and `reconnect`."""
    clock, store = Clock(), ChannelStore()
    directory, clients = ChannelDirectory(store), ClientRegistry(clock)
    subscriptions = Subscriptions(store, directory)
    handshake = Handshake(store, directory, subscriptions, clients, dict)
    hub = PeerHub(clock, store, clients, lambda: 0)
    hub.serve({**handshake.commands(), **subscriptions.commands()}, {})
    return store, hub


def exchange(hub: PeerHub, method: str, params: dict[str, Any]) -> bytes:
    """One request on a connection of its own, and the answer."""
    connection = MemoryConnection()
    peer = hub.accept(connection)
    request = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    peer.message_received(msgspec.json.encode(request))
    peer.connection_lost("the bench is done with it")
    return connection.sent[0]


def reconnect(client_id: str, last_seen: int, channels: list[str]) -> dict[str, Any]:
    """The params of a client that comes back."""
    return {
        "channel": "ahp-root://",
        "clientId": client_id,
        "lastSeenServerSeq": last_seen,
        "subscriptions": channels,
    }


def in_process(rounds: int) -> list[Figure]:
    """The command against the bare costs, by round."""
    store, hub = wired()
    new_chat(store)
    start_turn(lambda action: store.dispatch(CHAT, action), "turn-1")
    exchange(hub, "initialize", initialize("bench", [CHAT]))
    seen = store.server_seq
    for _ in range(ENVELOPES):
        store.dispatch(CHAT, delta("turn-1", words(100)))
    # The oldest envelope held has to have been seen, so the buffer covers one fewer.
    params = reconnect("bench", seen + 1, [CHAT])
    answer = exchange(hub, "reconnect", params)
    actions = msgspec.json.decode(answer)["result"].get("actions", [])
    if len(actions) != ENVELOPES - 1:
        raise NotMeasured(f"{len(actions)} envelopes were replayed: {answer[:300]!r}")
    bodies = [msgspec.json.encode(action) for action in actions]
    work: dict[str, Callable[[], object]] = {
        "ours": lambda: exchange(hub, "reconnect", params),
        "join": lambda: _joined(bodies),
        "encode": lambda: msgspec.json.encode({"result": {"actions": actions}}),
    }
    took: dict[str, list[float]] = {name: [] for name in work}
    for _ in range(rounds):
        for name, run in work.items():
            took[name].append(seconds(run, 20))
    medians = {f"{name} ms": statistics.median(rows) * 1e3 for name, rows in took.items()}
    figures = []
    for name, words_ in (("join", "joining the bytes"), ("encode", "encoding again")):
        value, ratios = ratio_of_rounds(took["ours"], took[name])
        figures.append(
            Figure(NAME, f"in process / {words_}", value, rounds=ratios, raw={**medians})
        )
    return figures


def _joined(bodies: list[bytes]) -> bytes:
    head = b'{"jsonrpc":"2.0","id":1,"result":{"type":"replay","actions":['
    return head + b",".join(bodies) + b'],"missing":[]}}'


def over_socket(rounds: int) -> list[Figure]:
    """Milliseconds from the request to the last byte of its answer, against the daemon."""
    with host() as serving:
        gone = Client(serving.address)
        chat = gone.new_chat("demo")
        gone.request("subscribe", {"channel": chat})
        gone.start_turn(chat, f"/stream {ENVELOPES * 2} 100")
        last: int = gone.until("chat/turnComplete")["serverSeq"]
        gone.close()
        took, size, replayed = [], 0, 0
        # What follows a turn (a title, a summary) may still take numbers behind its end.
        params = reconnect(gone.client_id, last - ENVELOPES + 50, [chat])
        for _ in range(rounds):
            back = Client(serving.address, client_id=gone.client_id)
            began = time.perf_counter()
            answer = back.ask("reconnect", params)
            took.append((time.perf_counter() - began) * 1e3)
            back.close()
            size = len(answer)
            replayed = len(msgspec.json.decode(answer)["result"].get("actions", []))
        if replayed < ENVELOPES - 100:
            raise NotMeasured(f"{replayed} envelopes were replayed: {answer[:300]!r}")
    return [
        Figure(
            NAME,
            "over a socket",
            statistics.median(took),
            unit="ms",
            rounds=took,
            raw={"envelopes": replayed, "KB": size / 1e3},
        )
    ]


def parts(quick: bool) -> list[Callable[[], list[Figure]]]:
    """In the process, then over a socket."""
    rounds = 5 if quick else ROUNDS
    return [partial(in_process, rounds), partial(over_socket, rounds)]
