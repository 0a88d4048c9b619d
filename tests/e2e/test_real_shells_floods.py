"""Much output over the socket: every byte of it comes, and the host keeps little."""

import hashlib
import random
import subprocess

import attrs
import pytest
import pytest_twisted

from ahpd.client.client import Client
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import PATIENCE
from ahpd.testing.scrollback import SCROLLBACK

from .sitting import house
from .terminal_kit import opens, types

MIB = 1024 * 1024
#: A machine that has much else to do takes minutes for a hundred megabytes.
LONG = 10 * PATIENCE


@attrs.define
class Counted:
    """What was printed, added up while it comes: a client that kept it all would be in the way."""

    length: int = 0
    digest: "hashlib._Hash" = attrs.field(factory=hashlib.sha256)
    pieces: int = 0
    largest: int = 0

    def add(self, text):
        data = text.encode()
        self.length += len(data)
        self.digest.update(data)
        self.pieces += 1
        self.largest = max(self.largest, len(text))

    @property
    def sum(self):
        return self.length, self.digest.hexdigest()


def counted(pieces):
    whole = Counted()
    for piece in pieces:
        whole.add(piece)
    return whole


def counted_by_seq(most):
    """What a terminal shows of `seq`, added up."""
    with subprocess.Popen(["seq", str(most)], stdout=subprocess.PIPE) as process:
        pieces = iter(lambda: process.stdout.read(MIB), b"")
        return counted(piece.decode().replace("\n", "\r\n") for piece in pieces)


class Counter:
    """A client that counts what each command of a terminal prints."""

    def __init__(self, daemon):
        self.client = Client("counter", daemon.reactor, timeout=PATIENCE)
        self.commands = []
        self.over = 0
        self.uri = None
        self.client.on_action(self._said)

    async def open(self, daemon):
        await daemon.attach(self.client)
        await self.client.initialize(subscriptions=[ROOT])
        self.uri = await opens(self.client)
        await self.client.wait_for(
            lambda: self.client.state(self.uri)["supportsCommandDetection"], PATIENCE, "marks"
        )
        return self

    def _said(self, envelope):
        kind = envelope.type
        if kind == "terminal/commandExecuted":
            self.commands.append(Counted())
        elif kind == "terminal/commandFinished":
            self.over += 1
        elif kind == "terminal/data" and self.over < len(self.commands):
            self.commands[-1].add(envelope.action["data"])

    async def run(self, line):
        """Run a line to its end; what it printed."""
        wanted = self.over + 1
        types(self.client, self.uri, line + "\r")
        await self.client.wait_for(lambda: self.over == wanted, LONG, f"the end of {line}")
        return self.commands[-1]

    async def close(self):
        await self.client.call("disposeTerminal", {"channel": self.uri})
        self.client.abort()


async def floods(make_daemon, run):
    """Have `run` flood a terminal; how much memory that took of the host, and what is kept."""
    settings = {"clientQueueBytes": 4 * MIB, "replayBytes": MIB}
    daemon = await house(make_daemon, "bash", settings=settings)
    counter = await Counter(daemon).open(daemon)
    before = daemon.memory()
    await run(daemon, counter)
    took = daemon.memory("VmHWM") - before
    late = await daemon.connect("late", ROOT)
    await late.subscribe(counter.uri)
    content = late.plain_state(counter.uri)["content"]
    late.unsubscribe(counter.uri)
    await counter.close()
    return took, "".join(part.get("output", part.get("value")) for part in content)


async def numbers(make_daemon, most):
    """`seq` counts to `most` and is counted along."""
    expected = counted_by_seq(most)

    async def run(daemon, counter):
        said = await counter.run(f"seq {most}")
        assert said.sum == expected.sum
        assert said.largest < MIB
        assert said.pieces < said.length / 1000

    took, kept = await floods(make_daemon, run)
    assert len(kept) <= SCROLLBACK
    assert f"{most - 1}\r\n{most}\r\n" in kept
    assert len(kept) > SCROLLBACK - 8000
    assert took < 48 * MIB
    return expected.length


@pytest_twisted.ensureDeferred
async def test_every_byte_of_ten_megabytes_comes(make_daemon):
    assert await numbers(make_daemon, 1_300_000) > 10_000_000


@pytest.mark.long
@pytest_twisted.ensureDeferred
async def test_every_byte_of_a_hundred_megabytes_comes(make_daemon):
    assert await numbers(make_daemon, 11_200_000) > 100_000_000


@pytest.mark.long
@pytest_twisted.ensureDeferred
async def test_a_hundred_megabytes_without_an_end_of_line_come(make_daemon):
    expected = counted("x" * 1_000_000 for _ in range(100))

    async def run(daemon, counter):
        said = await counter.run("head -c 100000000 /dev/zero | tr '\\0' x")
        assert said.sum == expected.sum

    took, kept = await floods(make_daemon, run)
    assert len(kept) <= SCROLLBACK
    assert "x" * 190_000 in kept
    assert took < 48 * MIB


@pytest_twisted.ensureDeferred
async def test_binary_output_comes_as_whoever_decodes_it_all_reads_it(make_daemon):
    data = random.Random(5).randbytes(5_000_000).replace(b"\x1b]", b"\x1b[")
    expected = counted([data.decode(errors="replace")])

    async def run(daemon, counter):
        (daemon.home / "binary").write_bytes(data)
        await counter.run("stty -opost")
        said = await counter.run("cat binary")
        assert said.sum == expected.sum
        await counter.run("stty sane")

    took, kept = await floods(make_daemon, run)
    assert len(kept) <= SCROLLBACK
    assert took < 48 * MIB
