"""A host without domains: the store, the peers and the commands that need nothing else."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.channels.directory import ChannelDirectory
from ahpd.channels.store import ChannelStore
from ahpd.commands.dispatch import Dispatcher
from ahpd.commands.handshake import Handshake
from ahpd.commands.subscriptions import Subscriptions
from ahpd.interfaces import IActionHandler, IChannelSource, IConnection, Refusal
from ahpd.peers.clients import ClientRegistry
from ahpd.peers.hub import PeerHub
from ahpd.protocol.uris import ROOT, ChannelKind
from ahpd.root.service import RootService
from ahpd.testing.frames import FrameChecker
from ahpd.wire.codec import decode, encode


@implementer(IConnection)
class Wire:
    """The client's end: what it sends goes straight in, what it is sent is kept and checked."""

    def __init__(self, hub, name, faults, foreign=False):
        self.name = name
        self._faults = faults
        self.received = []
        self.pending = 0
        self.is_progressing = True
        self.closed = None
        self._checker = FrameChecker(foreign)
        self._ids = 0
        self._handler = hub.accept(self)

    # IConnection
    def send(self, frame):
        assert self.closed is None, "written to after it was closed"
        message = decode(frame.payload)
        try:
            self._checker.host_sent(message)
        except AssertionError as fault:  # told at the end: the store keeps a subscriber's to itself
            self._faults.append(fault)
        self.received.append(message)

    def pending_bytes(self):
        return self.pending

    def progressing(self):
        return self.is_progressing

    def close(self, code, reason):
        self.closed = (code, reason)

    def abort(self):
        self.closed = (1006, "aborted")

    # the client
    def raw(self, data):
        self._handler.message_received(data)

    def ask(self, method, _id=None, **params):
        """Send a request; its id."""
        self._ids += 1
        identifier = self._ids if _id is None else _id
        message = {"jsonrpc": "2.0", "id": identifier, "method": method, "params": params}
        self._checker.client_sent(message)
        self.raw(encode(message))
        return identifier

    def tell(self, method, **params):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self._checker.client_sent(message)
        self.raw(encode(message))

    def answer(self, identifier):
        found = [m for m in self.received if m.get("id") == identifier and "method" not in m]
        assert len(found) <= 1, "answered twice"
        return found[0] if found else None

    def call(self, method, **params):
        answer = self.answer(self.ask(method, **params))
        assert answer is not None, f"{method} was not answered"
        assert "error" not in answer, answer
        return answer["result"]

    def refused(self, method, **params):
        answer = self.answer(self.ask(method, **params))
        assert answer is not None, f"{method} was not answered"
        return answer["error"]

    def hello(self, client_id="me", version="1.0.0", **params):
        return self.call(
            "initialize",
            channel=ROOT,
            protocolVersions=[version],
            clientId=client_id,
            **params,
        )

    def dispatch(self, channel, action, seq=1):
        self.tell("dispatchAction", channel=channel, clientSeq=seq, action=action)

    @property
    def envelopes(self):
        return [m["params"] for m in self.received if m.get("method") == "action"]

    def hang_up(self):
        self._handler.connection_lost("hung up")


@implementer(IChannelSource, IActionHandler)
class Naps:
    """Sessions that may be asleep: `awake` ones are in the store, others wake when told."""

    def __init__(self, store):
        self.store = store
        self.known = {}
        self.waking = {}
        self.handled = []
        self.hold = None

    def add(self, uri, asleep=False):
        self.known[uri] = asleep
        if not asleep:
            self.open(uri)

    def open(self, uri):
        self.store.open(uri, ChannelKind.SESSION, session_state(uri))

    def resolve(self, channel):
        return channel if channel in self.known else None

    def ready(self, channel):
        if self.store.is_open(channel):
            return None
        return self._wait(channel)

    def sought(self, channel):
        return None

    async def _wait(self, channel):
        gate = Deferred()
        self.waking.setdefault(channel, []).append(gate)
        await gate
        if not self.store.is_open(channel):
            self.open(channel)

    def wake(self, channel):
        for gate in self.waking.pop(channel):
            gate.callback(None)

    def handle(self, channel, action, origin):
        self.handled.append(origin["clientSeq"])
        if action.get("title") == "boom":
            raise RuntimeError("a secret the client must not see")
        if action.get("title") == "no":
            raise Refusal("No.")
        if self.hold is not None and action.get("title") == "hold":
            return self._held(channel, action, origin)
        self.store.dispatch(channel, action, origin)
        return None

    async def _held(self, channel, action, origin):
        await self.hold
        self.store.dispatch(channel, action, origin)


def session_state(uri, title="A session"):
    return {
        "provider": "demo",
        "title": title,
        "status": 1,
        "lifecycle": "ready",
        "activeClients": [],
        "chats": [],
    }


class HostWithoutDomains:
    def __init__(self):
        self.faults = []
        self.clock = Clock()
        self.store = ChannelStore()
        self.directory = ChannelDirectory(self.store)
        self.clients = ClientRegistry(self.clock)
        self.root = RootService(self.store, [], 16 * 1024 * 1024, 32 * 1024 * 1024)
        self.naps = Naps(self.store)
        self.directory.register(ChannelKind.SESSION, self.naps)
        self.hub = PeerHub(self.clock, self.store, self.clients, self.root.client_queue_bytes)
        subscriptions = Subscriptions(self.store, self.directory)
        handshake = Handshake(
            self.store,
            self.directory,
            subscriptions,
            self.clients,
            lambda: {"serverInfo": {"name": "ahpd", "version": "0"}},
        )
        dispatcher = Dispatcher(self.store, self.directory)
        dispatcher.register(ChannelKind.SESSION, self.naps)
        dispatcher.register(ChannelKind.ROOT, self.root)
        self.hub.serve(
            {**handshake.commands(), **subscriptions.commands()},
            {**subscriptions.notifications(), **dispatcher.notifications()},
        )

    def connect(self, name="test", foreign=False):
        return Wire(self.hub, name, self.faults, foreign)

    def client(self, client_id="me", foreign=False, **params):
        wire = self.connect(client_id, foreign)
        wire.hello(client_id, **params)
        return wire


@pytest.fixture
def host():
    """A host; every frame it sent fits the strict shapes, and it is told here when one did not."""
    host = HostWithoutDomains()
    yield host
    assert not host.faults, host.faults[0]
