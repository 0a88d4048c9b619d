"""AHP over pipes, and what keeps standard output clean."""

import json
import os
import subprocess
import sys

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.threads import deferToThread
from zope.interface.verify import verifyObject

from ahpd.interfaces import IConnection
from ahpd.transports.stdio import Descriptors, StdioTransport
from ahpd.wire.codec import Frame


class Pipes:
    """A transport on two pipes, and this side's ends of them."""

    def __init__(self, peers, **options):
        theirs_in, self.write_fd = os.pipe()
        self.read_fd, theirs_out = os.pipe()
        self.service = StdioTransport(
            reactor, peers, Descriptors(theirs_in, theirs_out), close_timeout=0.2, **options
        )
        self.service.startService()
        self.peers = peers
        self.handler = peers.handlers[0]

    def write(self, data):
        os.write(self.write_fd, data)

    def end(self):
        os.close(self.write_fd)
        self.write_fd = -1

    async def read_all(self):
        def read():
            with os.fdopen(self.read_fd, "rb") as stream:
                return stream.read()

        data = await deferToThread(read)
        self.read_fd = -1
        return data

    def clean(self):
        for fd in (self.write_fd, self.read_fd):
            if fd >= 0:
                os.close(fd)


@pytest.fixture
def pipes(kit):
    made = []

    def make(**options):
        made.append(Pipes(kit.peers(), **options))
        return made[-1]

    yield make
    for one in made:
        pytest_twisted.blockon(one.service.stopService())
        one.clean()


@pytest_twisted.ensureDeferred
async def test_one_message_a_line_both_ways(pipes):
    stdio = pipes()
    assert verifyObject(IConnection, stdio.handler.connection)
    stdio.write(b'{"a":1}\n{"b"')
    stdio.write(b":2}\r\n\n")
    await stdio.handler.until(lambda h: len(h.messages) == 2)
    assert stdio.handler.messages == [b'{"a":1}', b'{"b":2}']
    frame = Frame(b'{"c":3}')
    stdio.handler.connection.send(frame)
    assert frame.framed is None, "that is the WebSocket's"
    stdio.end()
    assert await stdio.read_all() == b'{"c":3}\n'


@pytest_twisted.ensureDeferred
async def test_end_of_input_ends_the_connection_after_what_was_sent(pipes):
    stdio = pipes()
    stdio.handler.connection.send(Frame(b"x" * 1_000_000))
    stdio.end()
    reading = stdio.read_all()
    assert len(await reading) == 1_000_001
    assert await stdio.service.when_ended() == "end of input"
    assert stdio.handler.lost == ["end of input"]


@pytest_twisted.ensureDeferred
async def test_a_reader_that_stands_still_is_counted_and_cut(pipes):
    stdio = pipes()
    connection = stdio.handler.connection
    for _ in range(50):
        connection.send(Frame(b"x" * 100_000))
    assert connection.pending_bytes() > 4_000_000
    connection.close(1000, "bye")
    assert await stdio.handler.gone() == "closed here: 1000 bye"
    assert connection.pending_bytes() == 0


@pytest_twisted.ensureDeferred
async def test_an_abort_ends_it_though_nobody_reads(pipes):
    stdio = pipes()
    stdio.handler.connection.send(Frame(b"x" * 5_000_000))
    stdio.handler.connection.abort()
    assert await stdio.handler.gone() == "cut off here"


@pytest_twisted.ensureDeferred
async def test_a_line_too_long_is_answered_and_the_next_is_read(pipes):
    stdio = pipes(limit=20)
    stdio.write(b"x" * 50 + b"\n" + b'{"ok":1}\n')
    await stdio.handler.until(lambda h: h.messages)
    assert stdio.handler.messages == [b'{"ok":1}']
    stdio.end()
    answer = json.loads(await stdio.read_all())
    assert answer["error"]["code"] == -32700
    assert "20 bytes" in answer["error"]["message"]
    assert answer["id"] is None


@pytest_twisted.ensureDeferred
async def test_an_output_that_was_closed_ends_the_connection(pipes):
    stdio = pipes()
    os.close(stdio.read_fd)
    stdio.read_fd = -1
    stdio.handler.connection.send(Frame(b"{}"))
    await stdio.handler.gone()


CHILD = """
import os, subprocess, sys
from twisted.internet import reactor
from zope.interface import implementer
from ahpd.interfaces import IMessageHandler, IPeerFactory
from ahpd.transports.stdio import StdioTransport
from ahpd.wire.codec import Frame

@implementer(IMessageHandler)
class Echo:
    def __init__(self, connection):
        self.connection = connection
    def message_received(self, data):
        print("a stray print", flush=True)
        os.write(1, b"a stray write\\n")
        subprocess.run(["echo", "a child's output"])
        assert sys.stdin.buffer.read() == b""
        self.connection.send(Frame(data))
    def connection_lost(self, reason):
        pass

@implementer(IPeerFactory)
class Peers:
    def accept(self, connection):
        return Echo(connection)

service = StdioTransport(reactor, Peers())
service.startService()

async def run():
    await service.when_ended()
    await service.stopService()
    print("put back", flush=True)
    reactor.stop()

from twisted.internet.defer import Deferred
Deferred.fromCoroutine(run())
reactor.run()
"""


@pytest_twisted.ensureDeferred
async def test_standard_output_carries_the_protocol_only():
    done = await deferToThread(
        subprocess.run,
        [sys.executable, "-c", CHILD],
        input=b'{"n":1}\n{"n":2}\n',
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b'{"n":1}\n{"n":2}\nput back\n'
    for stray in (b"a stray print", b"a stray write", b"a child's output"):
        assert done.stderr.count(stray) == 2
