"""The host with an agent inside its process, for what the demo agent's pipe would blur.

Started as a program it listens like the daemon and says so in the same words. Its
agent `bench` does what a message says: `instant` ends at once; `burst N B BYTES` emits
N deltas, B of them in each turn of the reactor; `paced RATE N` emits N deltas at RATE
a second, each with the time it was due and the time it was handed over in it.

It keeps its sessions in a file, as the daemon does.

On its standard input it takes one word a line and answers one JSON object: `heap`
(what tracemalloc counts, after a collection), `list` (`listSessions` timed) and `sleep`
(every session that may is put to sleep).
"""

import gc
import json
import os
import sys
import time
import tracemalloc
from pathlib import Path

import msgspec
from memory_connection import MemoryConnection
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.stdio import StandardIO
from twisted.internet.task import deferLater
from twisted.protocols.basic import LineOnlyReceiver
from zope.interface import implementer

from ahpd.app import make_host
from ahpd.config.settings import Settings
from ahpd.interfaces import AgentAbilities, IAgent, IAgentChat
from ahpd.sessions.waking import sleep

LIST_ROUNDS = 15


def turn_of_the_reactor():
    """Resolves once the reactor has been round."""
    return deferLater(reactor, 0)


@implementer(IAgentChat)
class BenchChat:
    """Runs a turn as its text says; nothing is held between turns."""

    __slots__ = ()

    async def run(self, turn, output):
        kind, *numbers = turn.text.split()
        if kind == "burst":
            await self._burst(output, *map(int, numbers))
        elif kind == "paced":
            await self._paced(output, *map(int, numbers))
        else:
            part = {"kind": "markdown", "id": "answer", "content": "Done."}
            output.emit({"type": "chat/responsePart", "part": part})

    async def _burst(self, output, deltas, batch, size):
        text = "x" * size
        _open_part(output)
        for number in range(deltas):
            output.emit({"type": "chat/delta", "partId": "answer", "content": text})
            if number % batch == batch - 1:
                await turn_of_the_reactor()
                await output.drained()

    async def _paced(self, output, rate, deltas):
        _open_part(output)
        done = Deferred()
        step = 1_000_000_000 // rate
        began = time.monotonic_ns() + 50_000_000
        said = 0

        def due():
            nonlocal said
            now = time.monotonic_ns()
            while said < deltas and began + said * step <= now:
                stamp = f"@{began + said * step}/{time.monotonic_ns()}@"
                output.emit({"type": "chat/delta", "partId": "answer", "content": stamp})
                said += 1
            if said == deltas:
                done.callback(None)
            else:
                wait = began + said * step - time.monotonic_ns()
                reactor.callLater(max(wait, 0) / 1e9, due)

        due()
        await done

    async def stop(self, turn_id):
        """A turn here ends by itself."""

    async def close(self):
        """Nothing is held."""


def _open_part(output):
    part = {"kind": "markdown", "id": "answer", "content": ""}
    output.emit({"type": "chat/responsePart", "part": part})


@implementer(IAgent)
class BenchAgent:
    """An agent with nothing behind it."""

    provider = "bench"
    abilities = AgentAbilities()

    def info(self):
        return {
            "provider": "bench",
            "displayName": "Bench",
            "description": "Emits what it is told to",
            "models": [{"id": "bench", "provider": "bench", "name": "Bench"}],
        }

    def config_schema(self, working_directory, values):
        return {"type": "object", "properties": {}}

    async def open_chat(self, start):
        return BenchChat()


class Orders(LineOnlyReceiver):
    """The words on the standard input."""

    delimiter = b"\n"

    def __init__(self, host):
        self.answers = {
            b"heap": heap,
            b"list": lambda: listing(host),
            b"sleep": lambda: asleep(host),
        }

    def lineReceived(self, line):
        try:
            answer = self.answers[line]()
        except Exception as error:
            answer = {"error": repr(error)}
        self.sendLine(json.dumps(answer).encode())


def heap():
    """Bytes that Python holds for objects, by tracemalloc; 0 when it is not on."""
    gc.collect()
    return {"bytes": tracemalloc.get_traced_memory()[0]}


def asleep(host):
    """How many sessions are asleep once all that may be are."""
    registry = host.sessions.registry
    for entry in registry.catalogue.entries():
        if entry.session is not None and host.kept.read(entry.identifier):
            registry.journals.fold(entry.identifier)
            sleep(registry, entry)
    return {"asleep": sum(entry.session is None for entry in registry.catalogue.entries())}


def listing(host):
    """CPU seconds of `listSessions`, request bytes to answer frame, and of its bare encoding."""
    connection = MemoryConnection()
    peer = host.peers.accept(connection)

    def ask(number, method, **params):
        message = {"jsonrpc": "2.0", "id": number, "method": method}
        params["channel"] = "ahp-root://"
        peer.message_received(msgspec.json.encode({**message, "params": params}))
        return connection.sent.pop()

    ask(1, "initialize", protocolVersions=["1.0.0"], clientId="bench-list")
    answer = ask(2, "listSessions")
    plain = msgspec.json.decode(answer)
    ours, bare = [], []
    for _ in range(LIST_ROUNDS):
        began = time.process_time()
        ask(3, "listSessions")
        between = time.process_time()
        msgspec.json.encode(plain)
        bare.append(time.process_time() - between)
        ours.append(between - began)
    peer.connection_lost("the bench is done")
    items = plain["result"]["items"]
    return {"ours": ours, "bare": bare, "sessions": len(items), "bytes": len(answer)}


def main():
    """Listen until told to end."""
    settings = Settings(
        port=0,
        without_connection_token=True,
        delta_window_ms=0,
        demo=False,
        data_directory=Path(os.environ["XDG_DATA_HOME"]) / "ahpd",
    )
    host = make_host(settings, reactor, {BenchAgent.provider: BenchAgent()})
    StandardIO(Orders(host))

    def ready(url):
        print(f"listening on {url}", flush=True)

    def failed(failure):
        print(failure.getTraceback(), file=sys.stderr)
        reactor.stop()

    host.service.privilegedStartService()
    host.service.startService()
    host.ready.addCallbacks(ready, failed)
    reactor.addSystemEventTrigger("before", "shutdown", host.service.stopService)
    reactor.run()


if __name__ == "__main__":
    main()
