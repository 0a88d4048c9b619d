"""What the transport tests share: recording peers, listeners on loopback, raw clients."""

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import clientFromString
from twisted.internet.protocol import Factory, Protocol
from zope.interface import implementer

from ahpd.interfaces import IMessageHandler, IPeerFactory
from ahpd.transports.admission import Policy
from ahpd.transports.http import HostRouter
from ahpd.transports.websocket import WebSocketListener
from ahpd.transports.websocket_settings import WebSocketSettings

#: Seconds after which what a test waits for is taken not to come.
PATIENCE = 10


@implementer(IMessageHandler)
class RecordingHandler:
    """Keeps what it is told, and lets a test wait for it."""

    def __init__(self, connection):
        self.connection = connection
        self.messages = []
        self.lost = []
        self.on_message = None
        self._waiters = []

    def message_received(self, data):
        assert type(data) is bytes
        self.messages.append(data)
        if self.on_message is not None:
            self.on_message(data)
        self._wake()

    def connection_lost(self, reason):
        self.lost.append(reason)
        self._wake()

    def _wake(self):
        for waiter in [w for w in self._waiters if w[0](self)]:
            self._waiters.remove(waiter)
            waiter[1].callback(None)

    async def until(self, condition):
        """Wait until `condition(self)` holds, as messages arrive and at the end."""
        if condition(self):
            return
        done = Deferred()
        self._waiters.append((condition, done))
        done.addTimeout(PATIENCE, reactor)
        await done

    async def gone(self):
        await self.until(lambda h: h.lost)
        return self.lost[0]


@implementer(IPeerFactory)
class RecordingPeers:
    """Makes a `RecordingHandler` of each connection; `prepare` may arrange it."""

    def __init__(self, prepare=None):
        self.handlers = []
        self._prepare = prepare
        self._waiters = []

    def accept(self, connection):
        handler = RecordingHandler(connection)
        if self._prepare is not None:
            self._prepare(handler)
        self.handlers.append(handler)
        for count, waiter in list(self._waiters):
            if len(self.handlers) >= count:
                self._waiters.remove((count, waiter))
                waiter.callback(None)
        return handler

    async def at_least(self, count):
        if len(self.handlers) < count:
            waiter = Deferred()
            self._waiters.append((count, waiter))
            waiter.addTimeout(PATIENCE, reactor)
            await waiter
        return self.handlers


class RawClient(Protocol):
    """A socket and what came in on it, for requests no client would send."""

    def __init__(self):
        self.received = bytearray()
        self.ended = None
        self._waiters = []

    def dataReceived(self, data):
        self.received += data
        self._wake()

    def connectionLost(self, reason):
        self.ended = reason
        self._wake()

    def _wake(self):
        for waiter in [w for w in self._waiters if w[0](self)]:
            self._waiters.remove(waiter)
            waiter[1].callback(None)

    async def until(self, condition):
        if not condition(self):
            done = Deferred()
            self._waiters.append((condition, done))
            done.addTimeout(PATIENCE, reactor)
            await done
        return self.received

    async def all(self):
        """Everything that comes until the other side closes."""
        return await self.until(lambda c: c.ended is not None)


async def raw_client(address):
    """A raw connection to a listener's `address`."""
    endpoint = clientFromString(reactor, f"tcp:127.0.0.1:{address.port}")
    return await endpoint.connect(Factory.forProtocol(RawClient))


UPGRADE = (
    b"Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
)


def request(path=b"/", method=b"GET", host=b"127.0.0.1", headers=b"", upgrade=False):
    """The bytes of a request's head."""
    return b"%s %s HTTP/1.1\r\nHost: %s\r\n%s%s\r\n" % (
        method,
        path,
        host,
        UPGRADE if upgrade else b"",
        headers,
    )


def client_frame(opcode, payload=b"", fin=True, masked=True):
    """One frame as a client sends it."""
    size = len(payload)
    mask_bit = 0x80 if masked else 0
    if size < 126:
        length = bytes((mask_bit | size,))
    elif size < 65536:
        length = bytes((mask_bit | 126,)) + size.to_bytes(2, "big")
    else:
        length = bytes((mask_bit | 127,)) + size.to_bytes(8, "big")
    head = bytes(((0x80 if fin else 0) | opcode,)) + length
    if not masked:
        return head + payload
    mask = b"\x01\x02\x03\x04"
    return head + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


def server_frames(data):
    """The frames in what a server sent: (opcode, payload) each, and what is left over."""
    frames = []
    while len(data) >= 2:
        size, offset = data[1] & 0x7F, 2
        assert not data[1] & 0x80, "a server's frame has no mask"
        if size >= 126:
            wide = 2 if size == 126 else 8
            size, offset = int.from_bytes(data[2 : 2 + wide], "big"), 2 + wide
        if len(data) < offset + size:
            break
        frames.append((data[0], data[offset : offset + size]))
        data = data[offset + size :]
    return frames, data


class Listening:
    """A started listener, its peers and its router."""

    def __init__(self, listener, peers, router):
        self.listener = listener
        self.peers = peers
        self.router = router

    @property
    def address(self):
        return self.listener.address

    @property
    def url(self):
        return self.listener.url

    async def raw(self, data=b""):
        client = await raw_client(self.address)
        if data:
            client.transport.write(data)
        return client

    async def answer(self, data):
        """Send `data` and read until the host closes."""
        client = await self.raw(data)
        return await client.all()

    async def opened(self, headers=b"", path=b"/"):
        """A raw client with its handshake done, and the host's handler of it."""
        before = len(self.peers.handlers)
        client = await self.raw(request(path=path, headers=headers, upgrade=True))
        await client.until(lambda c: b"\r\n\r\n" in c.received)
        assert client.received.startswith(b"HTTP/1.1 101 "), client.received
        del client.received[: client.received.index(b"\r\n\r\n") + 4]
        handlers = await self.peers.at_least(before + 1)
        return client, handlers[before]


class ServerSide:
    """What the helpers above are called by in a test."""

    request = staticmethod(request)
    client_frame = staticmethod(client_frame)
    server_frames = staticmethod(server_frames)
    peers = RecordingPeers
    handler = RecordingHandler
    raw_client = RawClient


@pytest.fixture
def kit():
    return ServerSide


@pytest.fixture
def listening():
    """A function that starts a listener; all are stopped after the test, and nothing is left."""
    started = []

    async def start(
        token="secret", settings=None, endpoint="tcp:0:interface=127.0.0.1", prepare=None, **policy
    ):
        peers = RecordingPeers(prepare)
        router = HostRouter("ahpd", "1.2.3", ["1.0.0", "0.10.0"])
        listener = WebSocketListener(
            reactor,
            endpoint,
            peers,
            Policy(token=token, **policy),
            router,
            settings or WebSocketSettings(close_timeout=1.0, linger=0.2),
        )
        started.append(listener)
        listener.startService()
        await listener.when_listening()
        return Listening(listener, peers, router)

    yield start
    for listener in started:
        if listener.running:
            pytest_twisted.blockon(listener.stopService())
        assert listener.connections == 0
        assert not listener._arrivals


def sockets():
    """What the reactor reads, but for its own means of waking up."""
    return {r for r in reactor.getReaders() if "Waker" not in type(r).__name__}


@pytest.fixture(autouse=True)
def nothing_left_behind():
    """A test leaves the reactor without delayed calls and sockets of its own."""
    calls = set(reactor.getDelayedCalls())
    readers = sockets()
    yield

    def settled():
        mine = [call for call in reactor.getDelayedCalls() if call not in calls]
        return not mine and not sockets() - readers

    for _ in range(200):
        if settled():
            break
        pause = Deferred()
        reactor.callLater(0.01, pause.callback, None)
        pytest_twisted.blockon(pause)
    left = [call for call in reactor.getDelayedCalls() if call not in calls]
    assert not left, left
    assert not sockets() - readers
