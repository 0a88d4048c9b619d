"""Terminals of a host on a clock, with scripted programs and what a test asks in short words."""

import itertools
from datetime import UTC, datetime, timedelta

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import ISubscriber, Refusal, TerminalStart
from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.check import check_strict
from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.text import plain
from ahpd.protocol.uris import ChannelKind
from ahpd.terminals.service import TerminalsService
from ahpd.testing.terminals import ScriptedTerminals
from ahpd.wire.codec import decode

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CLIENT = {"kind": "client", "clientId": "client-1"}


def text_of(content):
    return "".join(part.get("output", part.get("value")) for part in content)


@implementer(ISubscriber)
class Reader:
    """A subscriber that folds what it is told onto the snapshot it began with."""

    def __init__(self, store, channel):
        store.subscribe(channel, self)
        self._store = store
        self._channel = channel
        self.state = plain(store.state(channel))
        self.said = []
        self.behind = False

    def deliver(self, envelope):
        body = decode(envelope.body)
        self.said.append(body)
        if envelope.rejection is None:
            if envelope.origin is None:
                check_strict(body["action"], ACTIONS[envelope.type].shape, envelope.type)
            self.state = REDUCERS[ChannelKind.TERMINAL](self.state, body["action"])

    def notify(self, channel, method, frame):
        raise AssertionError("a terminal's channel has no notifications")

    def lagging(self):
        return self.behind

    def kinds(self):
        return [each["action"]["type"].partition("/")[2] for each in self.said]

    def actions(self, kind):
        return [e["action"] for e in self.said if e["action"]["type"] == f"terminal/{kind}"]

    def text(self):
        """All it was told was printed."""
        return "".join(action["data"] for action in self.actions("data"))

    def agrees(self):
        """What it made of what was said is what a late subscriber reads, but for what was cut."""
        made, late = plain(self.state), plain(self._store.state(self._channel))
        whole, kept = text_of(made.pop("content")), late.pop("content")
        assert made == late
        assert whole.endswith(text_of(kept))
        return kept


class TerminalsHost:
    """`options` are more of `TerminalsService`. What was listed is in `lists`."""

    def __init__(self, terminals=None, **options):
        self.clock = Clock()
        self.store = ChannelStore()
        self.terminals = ScriptedTerminals() if terminals is None else terminals
        self.lists = []
        self.kept = {}
        numbers, self._seqs = itertools.count(1), itertools.count(1)
        options.setdefault("environment", {"SHELL": "/bin/sh", "HOME": "/tmp"})
        options.setdefault("kept", self.kept.get)
        self.service = TerminalsService(
            self.store,
            self.terminals,
            self.clock,
            now=lambda: START + timedelta(seconds=self.clock.seconds()),
            ids=lambda: f"id-{next(numbers)}",
            listed=self.lists.append,
            **options,
        )
        self.service.startService()
        self.readers = []

    def create(self, uri="ahp-terminal:/t1", **params):
        """What a client asks for; the URI."""
        self.service.create({"channel": uri, "claim": CLIENT, **params})
        return uri

    def open(self, uri=None, **start):
        """A terminal of the host's own."""
        return self.service.open(TerminalStart(**{"claim": CLIENT, **start}), uri)

    @property
    def program(self):
        """The program that was started last."""
        return self.terminals.last

    def reader(self, uri):
        reader = Reader(self.store, uri)
        self.readers.append(reader)
        return reader

    def dispatch(self, uri, kind, client="client-1", **fields):
        """A client's action; the words of its refusal, or None."""
        origin = {"clientId": client, "clientSeq": next(self._seqs)}
        try:
            action = {"type": f"terminal/{kind}", **fields}
            assert self.service.actions.handle(uri, action, origin) is None
        except Refusal as refusal:
            return refusal.reason
        return None

    def state(self, uri):
        return plain(self.store.state(uri))

    def run(self, awaitable):
        """Begins it; a list of what it came to, empty while it waits."""
        results = []

        async def wait():
            return await awaitable

        Deferred.fromCoroutine(wait()).addBoth(results.append)
        return results

    def stop(self):
        for reader in self.readers:
            if self.store.is_watching(reader._channel, reader):
                reader.agrees()
        stopped = self.run(self.service.stopService())
        assert stopped == [None], "it waits for a program that does not go"
        assert self.clock.getDelayedCalls() == []


@pytest.fixture
def make_host():
    """Makes `TerminalsHost`s, and stops them when the test is over."""
    made = []

    def make(**options):
        made.append(TerminalsHost(**options))
        return made[-1]

    yield make
    for host in made:
        if host.service.running:
            host.stop()


@pytest.fixture
def host(make_host):
    return make_host()
