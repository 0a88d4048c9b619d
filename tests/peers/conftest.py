"""A host that serves nothing but what clients alone have, and clients over the real wire."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import formatEvent, globalLogPublisher
from twisted.python.failure import Failure

from ahpd.channels.directory import ChannelDirectory
from ahpd.channels.store import ChannelStore
from ahpd.commands.handshake import Handshake
from ahpd.commands.resources import resource_commands
from ahpd.commands.subscriptions import Subscriptions
from ahpd.peers.client_files import ClientFiles
from ahpd.peers.clients import ClientRegistry
from ahpd.peers.hub import PeerHub
from ahpd.protocol.client_uris import wrapped
from ahpd.protocol.errors import RpcError
from ahpd.resources.service import Resources
from ahpd.testing.client import ProbeClient
from ahpd.testing.frames import FrameChecker
from ahpd.transports.memory import pair


class NoWatches:
    def create(self, request):
        raise AssertionError("no test asks for a channel here")


class RelayHost:
    def __init__(self):
        self.clock = Clock()
        self.registry = ClientRegistry(self.clock)
        self.files = ClientFiles(self.registry, self.clock)
        self.files.startService()
        self.resources = Resources({}, self.files)
        self.queue_bytes = 0
        store = ChannelStore()
        directory = ChannelDirectory(store)
        subscriptions = Subscriptions(store, directory)
        handshake = Handshake(store, directory, subscriptions, self.registry, dict)
        self.hub = PeerHub(self.clock, store, self.registry, lambda: self.queue_bytes)
        self.hub.serve(
            {
                **handshake.commands(),
                **subscriptions.commands(),
                **resource_commands(self.resources, NoWatches(), self.clock),
            },
            {**subscriptions.notifications(), **self.files.notifications()},
        )
        self.links = {}

    # -- time

    def settle(self):
        while any(call.getTime() <= self.clock.seconds() for call in self.clock.getDelayedCalls()):
            self.clock.advance(0)

    def advance(self, seconds):
        self.settle()
        self.clock.advance(seconds)
        self.settle()

    # -- clients

    def connect(self, client_id, foreign=False, ready=lambda probe: None):
        """A client that is introduced; `ready` has it serve something before that."""
        probe = ProbeClient(client_id, self.clock, checker=FrameChecker(foreign), timeout=None)
        ready(probe)
        self.attach(probe)
        self.run(probe.initialize())
        return probe

    def attach(self, probe):
        self.links[probe] = pair(self.clock, self.hub, probe, probe.client_id).link
        return self.links[probe]

    def cut(self, probe):
        self.links[probe].cut()
        self.settle()

    def reconnect(self, probe):
        self.attach(probe)
        self.run(probe.reconnect())

    # -- asking

    def start(self, work):
        """What `work` comes to, as a list that has one item once it is done."""
        results = []
        Deferred.fromCoroutine(work).addBoth(results.append)
        self.settle()
        return results

    def run(self, work):
        return outcome(self.start(work))

    def asked(self, probe, method, owner, uri, **params):
        """Have `probe` ask about `uri` of client `owner`; see `start`."""
        return self.start(probe.request(method, uri=wrapped(owner, uri), **params))

    def ask(self, *arguments, **params):
        return outcome(self.asked(*arguments, **params))

    def refused(self, *arguments, **params):
        (result,) = self.asked(*arguments, **params)
        return error_of([result])


def outcome(results):
    assert results, "it waits for something that does not come by itself"
    if isinstance(results[0], Failure):
        results[0].raiseException()
    return results[0]


def error_of(results):
    """The `RpcError` it came to."""
    assert results, "it waits for something that does not come by itself"
    assert isinstance(results[0], Failure), f"it was answered: {results[0]}"
    assert isinstance(results[0].value, RpcError), results[0]
    return results[0].value


@pytest.fixture
def host():
    host = RelayHost()
    yield host
    for probe in host.links:
        probe.check()


@pytest.fixture
def logged():
    """Every line that is logged meanwhile, as it reads."""
    lines = []

    def note(event):
        lines.append(formatEvent(event))

    globalLogPublisher.addObserver(note)
    yield lines
    globalLogPublisher.removeObserver(note)
