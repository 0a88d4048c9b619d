"""The first bytes of a connection, however hostile and however cut up, on a clock."""

import itertools

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from twisted.internet.error import ConnectionDone
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport
from twisted.python.failure import Failure

from ahpd.transports.admission import Policy
from ahpd.transports.http import HostRouter
from ahpd.transports.websocket import WebSocketListener
from ahpd.transports.websocket_settings import WebSocketSettings


class Transport(StringTransport):
    """A string transport that ends as a socket does."""

    def __init__(self, clock):
        super().__init__()
        self._clock = clock
        self.protocol = None
        self.gone = False

    def abortConnection(self):
        super().abortConnection()
        self._end()

    def loseConnection(self):
        super().loseConnection()
        if self.producer is None:
            self._end()

    def _end(self):
        if not self.gone:
            self.gone = True
            self._clock.callLater(0, self._lost)

    def _lost(self):
        if self.producer is not None:
            self.producer.stopProducing()
        self.protocol.connectionLost(Failure(ConnectionDone()))


def arrive(kit, token="secret"):
    clock = Clock()
    peers = kit.peers()
    listener = WebSocketListener(
        clock, "tcp:0", peers, Policy(token=token), HostRouter("n", "v", []), WebSocketSettings()
    )
    transport = Transport(clock)
    transport.protocol = arrival = listener.arrive()
    arrival.makeConnection(transport)
    return clock, peers, listener, transport


def feed(clock, transport, data, cuts=()):
    edges = sorted({min(cut, len(data)) for cut in cuts} | {0, len(data)})
    for start, end in itertools.pairwise(edges):
        if transport.gone:
            return
        transport.protocol.dataReceived(data[start:end])
        clock.advance(0)


def finish(clock, listener, transport):
    """Let every timeout pass; nothing may be left then."""
    for _ in range(20):
        clock.advance(31)
    assert transport.gone
    assert not listener._arrivals
    assert listener.connections == 0
    assert not clock.getDelayedCalls()


def test_a_handshake_in_single_bytes_with_a_message_behind_it(kit):
    clock, peers, listener, transport = arrive(kit)
    data = kit.request(b"/?tkn=secret", upgrade=True) + kit.client_frame(1, b'{"a":1}')
    feed(clock, transport, data, range(len(data)))
    assert peers.handlers[0].messages == [b'{"a":1}']
    assert transport.value().startswith(b"HTTP/1.1 101 ")
    finish(clock, listener, transport)
    assert peers.handlers[0].lost == ["it answered no ping"]


def test_silence_is_dropped_unsaid_and_half_a_head_is_told(kit):
    for sent, said in ((b"", b""), (b"GET / HTTP/1.1\r\nHost", b"HTTP/1.1 408 ")):
        clock, _, listener, transport = arrive(kit)
        feed(clock, transport, sent)
        clock.advance(9.9)
        assert not transport.value()
        clock.advance(0.2)
        assert transport.value().startswith(said)
        finish(clock, listener, transport)


@pytest.mark.parametrize("drip", [0.5, 5])
def test_a_head_that_drips_in_has_no_more_time_than_any_other(kit, drip):
    clock, _, listener, transport = arrive(kit)
    data = kit.request(headers=b"X: " + b"x" * 1000)
    elapsed = 0
    for byte in data:
        if transport.value():
            break
        transport.protocol.dataReceived(bytes([byte]))
        clock.advance(drip)
        elapsed += drip
    assert elapsed <= 10.5
    finish(clock, listener, transport)


pieces = st.sampled_from(
    [
        b"GET ", b"POST ", b"/", b"/health", b"?tkn=secret", b" HTTP/1.1", b"\r\n", b"\r\n\r\n",
        b"Host: localhost", b"Host: evil", b"Upgrade: websocket", b"Connection: Upgrade",
        b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
        b"Content-Length: 5", b"Transfer-Encoding: chunked", b"5\r\nhello\r\n0\r\n\r\n",
        b"Origin: null", b"\x00", b"\xff", b":", b"\x81\x05hello", b"\x88\x00", b"\n",
    ]
)  # fmt: skip


valid = st.sampled_from(
    [
        b"GET /?tkn=secret HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\n"
        b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        b"POST /health HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"GET /health HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\n",
        b"",
    ]
)


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    valid,
    st.lists(st.one_of(pieces, st.binary(max_size=20)), max_size=30).map(b"".join),
    st.lists(st.integers(0, 300), max_size=5),
)
def test_no_bytes_make_it_raise_or_leave_anything_behind(kit, begin, data, cuts):
    clock, peers, listener, transport = arrive(kit)
    feed(clock, transport, begin + data, cuts)
    assert all(len(handler.lost) <= 1 for handler in peers.handlers)
    if begin and not begin.startswith(b"GET /?"):
        assert not peers.handlers
    finish(clock, listener, transport)
    assert all(len(handler.lost) == 1 for handler in peers.handlers)
