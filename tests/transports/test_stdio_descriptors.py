"""The descriptors a stdio transport is given are its own, and gone with its connection."""

import os

import pytest
import pytest_twisted

from ahpd.client import Client
from ahpd.transports.stdio import Descriptors, StdioTransport


def is_open(descriptor):
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True


@pytest.fixture
def pipes():
    """Two pipes: the transport's ends, and the other side's."""
    ends = [*os.pipe(), *os.pipe()]
    yield Descriptors(ends[0], ends[3]), Descriptors(ends[2], ends[1])
    for end in ends:
        if is_open(end):
            os.close(end)


@pytest.mark.parametrize("how", ["close", "abort", "end of input"])
@pytest_twisted.ensureDeferred
async def test_the_other_side_reads_to_the_end_when_the_connection_is_over(pipes, how):
    from twisted.internet import reactor

    ours, theirs = pipes
    client = Client("c", reactor)
    transport = StdioTransport(reactor, client, ours)
    transport.startService()
    if how == "end of input":
        os.close(theirs.write)
    else:
        getattr(client, how)()
    await transport.when_ended()
    assert not is_open(ours.read)
    assert not is_open(ours.write)
    assert os.read(theirs.read, 1) == b""
    await transport.stopService()
