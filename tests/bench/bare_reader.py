"""Reads an agent's stream with no host in between, as a program on Twisted would.

`http PORT TOKENS` reads an answer of `token_server.py` through treq, `pipe TOKENS` one of
`acp_streamer.py` through a process protocol. Events, or lines, are split and decoded one by one.
Each prints the seconds from the request to the end, and how many characters came.
"""

import json
import sys
import time
from pathlib import Path
from typing import Any

import treq
from twisted.internet import protocol, reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import react
from twisted.protocols.basic import LineOnlyReceiver

HERE = Path(__file__).resolve().parent


class Events:
    """Splits events and decodes them."""

    def __init__(self) -> None:
        self.rest = b""
        self.characters = 0

    def feed(self, data: bytes) -> None:
        """A piece of the body."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            if line.startswith(b"data: {"):
                delta = json.loads(line[6:])["choices"][0]["delta"]
                self.characters += len(delta.get("content", ""))


async def http(port: int, tokens: int) -> int:
    """Read one answer over HTTP."""
    events = Events()
    asked = {"messages": [{"role": "user", "content": f"burst:{tokens}"}], "stream": True}
    response = await treq.post(
        f"http://127.0.0.1:{port}/v1/chat/completions", json=asked, unbuffered=True
    )
    await treq.collect(response, events.feed)
    return events.characters


class Lines(protocol.ProcessProtocol):
    """The lines of a program's output."""

    def __init__(self) -> None:
        self.began = 0.0
        self.characters = 0
        self.done: Deferred[None] = Deferred()
        self.reader = LineOnlyReceiver()
        self.reader.delimiter = b"\n"
        self.reader.MAX_LENGTH = 1 << 26
        self.reader.lineReceived = self.line  # type: ignore[method-assign]

    def outReceived(self, data: bytes) -> None:
        """A piece of it; the program has started by the first."""
        self.began = self.began or time.perf_counter()
        self.reader.dataReceived(data)

    def line(self, line: bytes) -> None:
        """One of them."""
        self.characters += len(json.loads(line)["params"]["update"]["content"]["text"])

    def processEnded(self, reason: Any) -> None:
        """It has said all."""
        self.done.callback(None)


async def pipe(tokens: int) -> tuple[float, int]:
    """Read one burst from the program's pipe."""
    lines = Lines()
    lines.reader.transport = type("Open", (), {"disconnecting": False})()
    command = [sys.executable, str(HERE / "acp_streamer.py"), "--bare", str(tokens)]
    reactor.spawnProcess(lines, command[0], command, env=None)  # type: ignore[attr-defined]
    await lines.done
    return time.perf_counter() - lines.began, lines.characters


async def main(reactor: Any, kind: str, *numbers: str) -> None:
    """Read, and say how long it took."""
    if kind == "pipe":
        seconds, characters = await pipe(int(numbers[0]))
    else:
        await http(int(numbers[0]), 10)  # what is imported and looked up once
        began = time.perf_counter()
        characters = await http(int(numbers[0]), int(numbers[1]))
        seconds = time.perf_counter() - began
    print(seconds, characters, flush=True)


if __name__ == "__main__":
    react(lambda clock: Deferred.fromCoroutine(main(clock, *sys.argv[1:])))
