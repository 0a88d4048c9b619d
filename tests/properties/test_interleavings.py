"""Random interleavings of several clients, drops and reconnects at any point.

Whatever happens in whatever order: every client and the host end in the same state,
numbers only rise, and of what was said on a channel while a client watched it nothing
reaches that client twice and nothing is lost.
"""

import contextlib
import itertools
import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from zope.interface import implementer

from ahpd.interfaces import AgentFailure, ISubscriber
from ahpd.protocol.errors import RpcError
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import Gate
from ahpd.testing.host import MemoryHost

CLIENTS = ("ann", "bob", "cid")
SESSIONS = ("ahp-session:/one", "ahp-session:/two")

clients = st.sampled_from(CLIENTS)
sessions = st.sampled_from(SESSIONS)
words = st.text(st.characters(codec="utf-8"), max_size=12)


@implementer(ISubscriber)
class Chronicle:
    """Every number said on every channel, as the store said it."""

    def __init__(self):
        self.said = {}

    def deliver(self, envelope):
        self.said.setdefault(envelope.channel, []).append(envelope.seq)

    def notify(self, channel, method, frame):
        pass

    def lagging(self):
        return False


class Interleavings(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.host = MemoryHost(replay_bytes=0)
        self.chronicle = Chronicle()
        self.open_channel = self.host.store.open
        self.ids = itertools.count(1)
        self.gates = []
        self.probes = {}
        self.stalled = set()
        self.windowed = set()

        # A channel is written down from its first action on.
        def opened(channel, *rest):
            self.open_channel(channel, *rest)
            self.host.store.subscribe(channel, self.chronicle)

        self.host.store.open = opened
        self.host.store.subscribe(ROOT, self.chronicle)
        self.host.agent.always = self.script

    async def script(self, turn):
        """A turn that stops at a gate between its pieces and then ends somehow."""
        text = turn.request.text
        thinking = turn.reasoning("")
        part = turn.markdown("")
        for piece in (text[:3], text[3:]):
            turn.think(thinking, "hm ")
            gate = Gate()
            self.gates.append(gate)
            await gate.passed()
            if piece:
                turn.delta(part, piece)
        turn.tool("look", "seen")
        if text.startswith("f"):
            raise AgentFailure("it failed")

    @initialize()
    def everybody_arrives(self):
        for name in CLIENTS:
            self.probes[name] = self.host.connect(name, ROOT)

    # -- the network -------------------------------------------------------------

    @rule(name=clients)
    def drop(self, name):
        if self.probes[name].connected:
            self.host.cut(self.probes[name])
            self.stalled.discard(name)

    @rule(name=clients)
    def come_back(self, name):
        probe = self.probes[name]
        if not probe.connected:
            self.host.attach(probe)
            self.host.run(probe.reconnect())
            self.windowed = {(n, c) for n, c in self.windowed if n != name}

    @rule(name=clients)
    def stop_reading(self, name):
        if self.probes[name].connected:
            self.host.links[self.probes[name]].server.hold()
            self.stalled.add(name)

    @rule(name=clients)
    def read_again(self, name):
        if name in self.stalled:
            self.host.links[self.probes[name]].server.release()
            self.stalled.discard(name)

    @rule(seconds=st.sampled_from([0.001, 0.05, 0.11, 1]))
    def time_passes(self, seconds):
        self.host.advance(seconds)

    # -- the clients -------------------------------------------------------------

    def awake(self, name):
        return self.probes[name].connected and name not in self.stalled

    def chats(self):
        return [
            row["resource"]
            for session in SESSIONS
            if (state := self.host.store.find(session)) is not None
            for row in state["chats"]
        ]

    def attempt(self, work):
        with contextlib.suppress(RpcError):
            self.host.run(work)

    @rule(name=clients, session=sessions)
    def make_session(self, name, session):
        if self.awake(name):
            self.attempt(self.probes[name].request("createSession", channel=session))

    @rule(name=clients, session=sessions)
    def dispose_session(self, name, session):
        if self.awake(name):
            chats = self.chats()
            self.attempt(self.probes[name].request("disposeSession", channel=session))
            # A client that is told lets go of what is gone; one that is away learns it later.
            for probe in self.probes.values():
                for channel in probe.subscriptions if probe.connected else ():
                    if channel in (session, *chats) and not self.host.store.is_open(channel):
                        probe.unsubscribe(channel)

    @rule(name=clients, session=sessions)
    def make_chat(self, name, session):
        if self.awake(name):
            chat = f"ahp-chat:/extra-{next(self.ids)}"
            self.attempt(self.probes[name].request("createChat", channel=session, chat=chat))

    @precondition(lambda self: self.chats())
    @rule(name=clients, data=st.data())
    def dispose_chat(self, name, data):
        if self.awake(name):
            chat = data.draw(st.sampled_from(self.chats()))
            self.attempt(self.probes[name].request("disposeChat", channel=chat))
            for probe in self.probes.values():
                if not self.host.store.is_open(chat) and probe.connected:
                    probe.unsubscribe(chat)

    @rule(
        name=clients,
        data=st.data(),
        window=st.sampled_from([None, 0, 60]),
        turns=st.sampled_from([None, 1, 2]),
    )
    def watch(self, name, data, window, turns):
        if self.awake(name):
            channel = data.draw(st.sampled_from([*SESSIONS, *self.chats()]))
            delivery = None if window is None else {"maxLatencyMs": window}
            self.attempt(self.probes[name].subscribe(channel, delivery=delivery, turns=turns))
            (self.windowed.add if window else self.windowed.discard)((name, channel))

    @rule(name=clients, data=st.data())
    def fetch_older(self, name, data):
        probe = self.probes[name]
        cursors = {
            channel: cursor
            for channel in (probe.subscriptions if self.awake(name) else ())
            if (cursor := probe.state(channel).get("turnsNextCursor")) is not None
        }
        if cursors:
            chat = data.draw(st.sampled_from(sorted(cursors)))
            self.attempt(probe.request("fetchTurns", channel=chat, cursor=cursors[chat]))

    @rule(name=clients, data=st.data())
    def stop_watching(self, name, data):
        probe = self.probes[name]
        watched = [channel for channel in probe.subscriptions if channel != ROOT]
        if probe.connected and watched:
            probe.unsubscribe(data.draw(st.sampled_from(watched)))

    @precondition(lambda self: self.chats())
    @rule(
        name=clients,
        data=st.data(),
        text=words,
        kind=st.sampled_from(
            [
                "turn",
                "turn",
                "queue",
                "unqueue",
                "stop",
                "truncate",
                "draft",
                "read",
                "archive",
                "title",
                "forged",
            ]
        ),
    )
    def act_on_a_chat(self, name, data, text, kind):
        if self.probes[name].connected:
            chat = data.draw(st.sampled_from(self.chats()))
            self.probes[name].dispatch(chat, self.action(kind, chat, text))

    def action(self, kind, chat, text):
        message = {"text": text, "origin": {"kind": "user"}}
        state = self.host.store.state(chat)
        running = state.get("activeTurn", {}).get("id", "none")
        queued = (state.get("queuedMessages") or [{"id": "none"}])[0]["id"]
        number = next(self.ids)
        return {
            "turn": {
                "type": "chat/turnStarted",
                "turnId": f"turn-{number}",
                "startedAt": "2026-01-01T00:00:00.000Z",
                "message": message,
            },
            "queue": {
                "type": "chat/pendingMessageSet",
                "kind": "queued",
                "id": f"message-{number}",
                "message": message,
            },
            "unqueue": {"type": "chat/pendingMessageRemoved", "kind": "queued", "id": queued},
            "stop": {"type": "chat/turnCancelled", "turnId": running, "duration": 5},
            "truncate": {
                "type": "chat/truncated",
                "turnId": state["turns"][number % len(state["turns"])]["id"]
                if state["turns"]
                else "none",
            },
            "draft": {"type": "chat/draftChanged", "draft": message},
            "read": {"type": "chat/isReadChanged", "isRead": number % 2 == 0},
            "archive": {"type": "chat/isArchivedChanged", "isArchived": number % 3 == 0},
            "title": {"type": "session/titleChanged", "title": text},
            "forged": {"type": "chat/delta", "turnId": running, "partId": "p", "content": text},
        }[kind]

    @rule(
        name=clients,
        session=sessions,
        text=words,
        kind=st.sampled_from(["title", "read", "archive"]),
    )
    def act_on_a_session(self, name, session, text, kind):
        if self.probes[name].connected:
            action = {
                "title": {"type": "session/titleChanged", "title": text},
                "read": {"type": "session/isReadChanged", "isRead": len(text) % 2 == 0},
                "archive": {"type": "session/isArchivedChanged", "isArchived": len(text) % 3 == 0},
            }[kind]
            self.probes[name].dispatch(session, action)

    # -- the agents --------------------------------------------------------------

    @precondition(lambda self: self.gates)
    @rule(which=st.integers(0, 5))
    def an_agent_goes_on(self, which):
        self.gates.pop(which % len(self.gates)).open()

    # -- what holds --------------------------------------------------------------

    @invariant()
    def no_client_saw_anything_wrong(self):
        self.host.settle()
        for probe in self.probes.values():
            probe.check()

    def teardown(self):
        for name in list(self.stalled):
            self.read_again(name)
        while self.gates:
            self.gates.pop().open()
            self.host.settle()
        self.host.advance(1)
        for name in CLIENTS:
            self.come_back(name)
        self.host.settle()
        self.host.check()
        for probe in self.probes.values():
            self.nothing_lost_nothing_twice(probe)
        self.host.stop()

    def nothing_lost_nothing_twice(self, probe):
        for channel in probe.subscriptions:
            record = probe._records.get(channel)
            if record is None or (probe.client_id, channel) in self.windowed:
                continue
            told = [envelope.seq for envelope in record.envelopes]
            assert told == sorted(set(told)), f"{channel}: {told}"
            said = [seq for seq in self.chronicle.said.get(channel, []) if seq > record.from_seq]
            assert set(said) >= set(told)
            last = max(record.from_seq, *told) if told else record.from_seq
            assert not [seq for seq in said if seq > last and probe.client_id not in self.stalled]


# As tests/fuzz: a bounded, repeatable run among the tests, a long random one apart.
LONG = os.environ.get("AHPD_LONG", "") not in ("", "0")
pytestmark = [pytest.mark.long] if LONG else []

Interleavings.TestCase.settings = settings(
    max_examples=1500 if LONG else 60,
    stateful_step_count=40,
    derandomize=not LONG,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestInterleavings = Interleavings.TestCase
