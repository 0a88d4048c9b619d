"""A host on a loopback socket, a client that behaves, and bytes as a rude one sends them."""

import json
from pathlib import Path

from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.endpoints import clientFromString
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import deferLater

from ahpd.app import make_host
from ahpd.config.settings import Settings
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.terminals import ScriptedTerminals
from ahpd.transports.admission import Policy
from ahpd.transports.http import HostRouter
from ahpd.transports.websocket import WebSocketListener
from ahpd.transports.websocket_settings import WebSocketSettings

from .fence import FENCE
from .rig import LogWatch

LIMITS = WebSocketSettings(
    max_payload=20_000, handshake_timeout=2, close_timeout=0.5, linger=0.1, request_timeout=2
)
HEAD = (
    b"GET /?tkn=secret HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\n"
    b"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
    b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)
PING = b'{"jsonrpc":"2.0","id":%d,"method":"ping"}'


def plain_host():
    """A host that listens nowhere by itself, on the real reactor. It starts no program and
    serves no file."""
    assert FENCE.stands, "what is thrown here may delete any file of this machine"
    settings = Settings(listens=False, paths=(Path.cwd(),))
    agents = {"scripted": ScriptedAgent()}
    return make_host(settings, reactor, agents, terminals=ScriptedTerminals(), resources={})


class Socket(Protocol):
    """A socket and what came in on it."""

    def __init__(self):
        self.received = b""
        self.ended = Deferred()

    def dataReceived(self, data):
        self.received += data

    def connectionLost(self, reason):
        self.ended.callback(None)

    async def closed_by_host(self, seconds):
        """Whether the host ends it within `seconds`."""
        if not self.ended.called:
            waiting = Deferred()
            self.ended.addCallback(lambda _: waiting.called or waiting.callback(None))
            timer = reactor.callLater(seconds, lambda: waiting.called or waiting.callback(None))
            await waiting
            if timer.active():
                timer.cancel()
        return self.ended.called


def ws_frame(first, payload=b"", masked=True, length=None):
    """A frame with the first byte as it is given; `length` announces another size."""
    size = len(payload) if length is None else length
    bit = 0x80 if masked else 0
    if size < 126:
        head = bytes((first, bit | size))
    elif size < 65536:
        head = bytes((first, bit | 126)) + size.to_bytes(2, "big")
    else:
        head = bytes((first, bit | 127)) + size.to_bytes(8, "big")
    if not masked:
        return head + payload
    mask = b"\x5a\x00\xff\x11"
    return head + mask + bytes(byte ^ mask[at % 4] for at, byte in enumerate(payload))


class Listening:
    """A host on loopback, and a client that is asked after its health."""

    def __init__(self):
        self.host = plain_host()
        self.listener = WebSocketListener(
            reactor,
            "tcp:0:interface=127.0.0.1",
            self.host.peers,
            Policy(token="secret"),
            HostRouter("ahpd", "1", ["1.0.0"]),
            LIMITS,
        )
        self.log = LogWatch()
        self.pings = 0

    async def __aenter__(self):
        self.log.__enter__()
        self.host.service.startService()
        self.listener.startService()
        await self.listener.when_listening()
        self.healthy = await self.connect()
        self.healthy.transport.write(HEAD)
        await self.ping()
        return self

    async def __aexit__(self, *_):
        self.healthy.transport.loseConnection()
        await self.listener.stopService()
        await self.host.service.stopService()
        self.log.__exit__()
        self.log.check()

    async def connect(self):
        endpoint = clientFromString(reactor, f"tcp:127.0.0.1:{self.listener.address.port}")
        return await endpoint.connect(Factory.forProtocol(Socket))

    async def ping(self):
        """A round trip of the client that behaves."""
        self.pings += 1
        self.healthy.transport.write(ws_frame(0x81, PING % self.pings))
        wanted = b'"id":%d' % self.pings
        for _ in range(500):
            if wanted in self.healthy.received:
                return
            await deferLater(reactor, 0.01)
        raise AssertionError("the client beside them is not answered")

    async def quiet(self):
        """Wait until the one client that behaves is all there is."""
        for _ in range(500):
            if self.listener.connections == 1 and len(self.listener._arrivals) == 1:
                break
            await deferLater(reactor, 0.01)
        assert self.listener.connections == 1
        assert len(self.listener._arrivals) == 1
        assert len(self.host.peers.peers) == 1


def judged(received):
    """What an upgraded connection was sent: its messages, and the code it was closed with."""
    head, _, data = received.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 101 "), head
    messages, code = [], None
    while data:
        assert not data[1] & 0x80, "a host's frame has no mask"
        size, at = data[1], 2
        if size >= 126:
            wide = 2 if size == 126 else 8
            size, at = int.from_bytes(data[2 : 2 + wide], "big"), 2 + wide
        payload, first, data = data[at : at + size], data[0], data[at + size :]
        assert code is None, "something follows the close frame"
        if first == 0x81:
            messages.append(json.loads(payload))
        elif first == 0x88:
            code = int.from_bytes(payload[:2], "big")
    return messages, code


def descriptors():
    """How many the process has open."""
    return len(list(Path("/dev/fd").iterdir()))
