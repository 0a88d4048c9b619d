"""A host without domains that serves things beside the protocol, to clients of several people."""

import attrs
import pytest
from twisted.internet.task import Clock
from twisted.logger import globalLogPublisher
from zope.interface import implementer

from ahpd.channels.directory import ChannelDirectory
from ahpd.channels.store import ChannelStore
from ahpd.commands.dispatch import Dispatcher
from ahpd.commands.handshake import Handshake
from ahpd.commands.subscriptions import Subscriptions
from ahpd.extensions.registry import Extensions
from ahpd.interfaces import Caller, IAccess, IConnection, Reader
from ahpd.peers.clients import ClientRegistry
from ahpd.peers.hub import PeerHub
from ahpd.protocol.uris import ROOT, ChannelKind
from ahpd.root.service import RootService
from ahpd.testing.frames import FrameChecker
from ahpd.wire.codec import decode, encode


@implementer(IAccess)
class Directory:
    """An `IAccess` with people in it: a client's id is its person's, `ada` or `ada:phone`."""

    def __init__(self):
        self.grants = {}

    def give(self, person, *grants):
        self.grants.setdefault(person, set()).update(grants)

    def take(self, person, *grants):
        self.grants[person].difference_update(grants)

    def reader(self, connection):
        person = connection.record.client_id.partition(":")[0]
        return None if person == "root" else Reader(principal=f"user:{person}")

    def holds(self, reader, grant):
        return reader is None or grant in self.grants.get(reader.principal[5:], ())

    def owns(self, reader, owner):
        return reader is None or owner in ("host", reader.principal)

    def owner(self, reader):
        return "root:here" if reader is None else reader.principal

    def may(self, owner, grant):
        return f"{owner.partition(':')[2]} may not {grant} here"


@implementer(IConnection)
class Client:
    """The client's end. What it is sent is kept, and held to the protocol."""

    def __init__(self, rig, name):
        self.name = name
        self.address = "192.0.2.7"
        self.forwarded_for = None
        self.received = []
        self.closed = None
        self._rig = rig
        self._checker = FrameChecker()
        self._ids = 0
        self._handler = rig.hub.accept(self)

    # IConnection
    def send(self, frame):
        message = decode(frame.payload)
        try:
            self._checker.host_sent(message)
        except AssertionError as fault:
            self._rig.faults.append(fault)
        self.received.append(message)

    def pending_bytes(self):
        return 0

    def progressing(self):
        return True

    def close(self, code, reason):
        self.closed = (code, reason)

    def abort(self):
        self.closed = (1006, "aborted")

    # the client
    def ask(self, method, **params):
        self._ids += 1
        message = {"jsonrpc": "2.0", "id": self._ids, "method": method, "params": params}
        self._checker.client_sent(message)
        self._handler.message_received(encode(message))
        return self._ids

    def tell(self, method, **params):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        self._checker.client_sent(message)
        self._handler.message_received(encode(message))

    def answer(self, identifier):
        found = [m for m in self.received if m.get("id") == identifier and "method" not in m]
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

    def hello(self, **params):
        return self.call(
            "initialize", channel=ROOT, protocolVersions=["1.0.0"], clientId=self.name, **params
        )

    def watch(self, channel):
        return self.call("subscribe", channel=channel)["snapshot"]["state"]

    def unwatch(self, channel):
        self.tell("unsubscribe", channel=channel)

    @property
    def actions(self):
        """The actions it was sent, as `(channel, action)`."""
        params = [m["params"] for m in self.received if m.get("method") == "action"]
        return [(one["channel"], one["action"]) for one in params]

    @property
    def types(self):
        return [action["type"] for _, action in self.actions]

    def hang_up(self):
        self._handler.connection_lost("hung up")


class Rig:
    def __init__(self, access):
        self.faults = []
        self.access = access
        self.clock = Clock()
        self.store = ChannelStore(0)
        self.clients = ClientRegistry(self.clock)
        self.dropped = []
        self.extensions = Extensions(
            self.store, access, lambda plugin, line: self.dropped.append((plugin, line))
        )
        self.root = RootService(self.store, [], 0, 0)
        directory = ChannelDirectory(self.store)
        directory.register(ChannelKind.EXTENSION, self.extensions)
        subscriptions = Subscriptions(self.store, directory, None, self.extensions)
        dispatcher = Dispatcher(self.store, directory)
        handshake = Handshake(self.store, directory, subscriptions, self.clients, dict)
        self.hub = PeerHub(self.clock, self.store, self.clients, lambda: 0)
        self.own = {**handshake.commands(), **subscriptions.commands()}
        self.notifications = {**subscriptions.notifications(), **dispatcher.notifications()}
        self.hub.serve(_Both(self.own, self.extensions.commands), self.notifications)

    def client(self, name, *subscriptions, **params):
        """A client that said hello."""
        client = Client(self, name)
        client.hello(initialSubscriptions=list(subscriptions), **params)
        return client

    def stranger(self, name):
        """One that did not yet."""
        return Client(self, name)

    def back(self, name, last_seen, *subscriptions, **params):
        """A client that came back: it, and what it was answered."""
        client = Client(self, name)
        answer = client.call(
            "reconnect",
            channel=ROOT,
            clientId=name,
            lastSeenServerSeq=last_seen,
            subscriptions=list(subscriptions),
            **params,
        )
        return client, answer


class _Both:
    def __init__(self, own, beside):
        self._maps = own, beside

    def get(self, name):
        own, beside = self._maps
        return own.get(name) or beside.get(name)


@attrs.define
class Notes:
    """A channel of notes, as a plugin has one."""

    notes: list = attrs.field(factory=list)
    joined: list = attrs.field(factory=list)
    left: list = attrs.field(factory=list)
    asked: list = attrs.field(factory=list)

    def snapshot(self, uri, caller):
        self.asked.append((uri, caller))
        return {"notes": list(self.notes)}


@pytest.fixture
def access():
    return Directory()


@pytest.fixture
def rig(access):
    rig = Rig(access)
    yield rig
    assert not rig.faults, rig.faults


@pytest.fixture
def caught_failures():
    """Answers the failures the host has logged so far: those of one class, where it is named."""
    failures = []

    def note(event):
        if "log_failure" in event:
            failures.append(event["log_failure"].value)

    globalLogPublisher.addObserver(note)
    yield lambda kind=Exception: [one for one in failures if isinstance(one, kind)]
    globalLogPublisher.removeObserver(note)


def caller(person=None, locale=None, client="somebody"):
    reader = None if person is None else Reader(principal=f"user:{person}")
    owner = "root:here" if reader is None else reader.principal
    return Caller(client=client, reader=reader, owner=owner, locale=locale)
