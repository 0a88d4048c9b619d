"""What arrives on real pipes: lines of any kind, too long, cut off, of bytes that are no text."""

import contextlib
import json
import os
from random import Random

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.task import deferLater

from ahpd.transports.stdio import Descriptors, StdioTransport

from .messages import any_frame
from .oracle import SILENCE, expected_answer
from .profile import LONG, marks
from .rig import LogWatch
from .wire import plain_host

pytestmark = marks


@pytest.mark.parametrize("seed", range(200 if LONG else 10))
@pytest_twisted.ensureDeferred
async def test_lines_of_any_kind_over_pipes_are_answered_and_the_end_is_seen(seed, nothing_left):
    random = Random(seed)
    host = plain_host()
    their_read, our_write = os.pipe()
    our_read, their_write = os.pipe()
    stdio = StdioTransport(reactor, host.peers, Descriptors(their_read, their_write), limit=20_000)
    with LogWatch() as log:
        host.service.startService()
        stdio.startService()
        lines = [any_frame(random).replace(b"\n", b" ").strip(b"\r") for _ in range(25)]
        wanted = [
            expected_answer(line) if len(line) <= 20_000 else ("error", None, -32700)
            for line in lines
            if line
        ]
        data = b"".join(line + random.choice([b"\n", b"\r\n"]) for line in lines)
        data += random.choice([b"", b'{"jsonrpc":', b"\xff" * 30_000])
        received = b""
        os.set_blocking(our_read, False)
        os.set_blocking(our_write, False)
        while data:
            with contextlib.suppress(BlockingIOError):
                data = data[os.write(our_write, data[: random.randrange(1, 70_000)]) :]
            await deferLater(reactor, 0)
            received += drained(our_read)
        await deferLater(reactor, 0.02)
        os.close(our_write)
        assert await stdio.when_ended() == "end of input"
        received += drained(our_read)
        os.close(our_read)
        await stdio.stopService()
        assert not host.peers.peers
        await host.service.stopService()
        log.check()
    answers = [json.loads(line) for line in received.splitlines()]
    answers = [answer for answer in answers if "method" not in answer]
    errors = sum(1 for want in wanted if want[0] == "error")
    owed = sum(1 for want in wanted if want is not SILENCE)
    assert errors <= len(answers) <= owed + 1


def drained(descriptor):
    """What can be read now."""
    data = b""
    while True:
        try:
            piece = os.read(descriptor, 65536)
        except BlockingIOError:
            return data
        if not piece:
            return data
        data += piece
