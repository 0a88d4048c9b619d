"""Sessions, chats and turns in any order, by several clients, over several lives of the host.

A model keeps what clients were told. Whatever happens: the host never raises; a chat has
one active turn at most and every turn once; every pending message waits, ran, or was
taken back; the catalogue equals the chats; and a late subscriber reads what the early
ones made of what they were told. A host that is cut off and started again on the same
store has all of it.
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

from ahpd.interfaces import AgentAbilities, AgentFailure
from ahpd.protocol.errors import RpcError
from ahpd.protocol.text import plain
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import Gate, ScriptedAgent
from ahpd.testing.host import MemoryHost

CLIENTS = ("ann", "bob")
SESSIONS = ("ahp-session:/one", "ahp-session:/two", "ahp-session:/three")
DECIDED = ("completed", "cancelled")

clients = st.sampled_from(CLIENTS)
sessions = st.sampled_from(SESSIONS)
words = st.sampled_from(["plain", "fails", "again", "asks", "question", "works"])


class SessionsModel(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.ids = itertools.count(1)
        self.gates = []
        self.pending = {}
        """By chat: what clients were told is pending, by id: its kind."""
        self.taken = set()
        """Ids of messages that a turn was started for, or that went into one."""
        self.withdrawn = set()
        self.left = {}
        """By the chat they were in: turns that ended, as they were when they did."""
        self.settled_store = None
        self.host = None
        self.probes = {}

    # -- one life of the host ------------------------------------------------------

    def agent(self):
        agent = ScriptedAgent(
            abilities=AgentAbilities(
                steering=True, resume=True, reopens=True, workers=True, live_config=True
            ),
            capabilities={"multipleChats": {"fork": True, "sideChat": True}},
        )
        agent.always = self.script
        return agent

    async def script(self, turn):
        """A turn that waits between its pieces, and ends as its message says."""
        kind = turn.request.text
        part = turn.markdown("")
        await self.gate()
        turn.delta(part, "half")
        if kind == "asks":
            call = turn.ask("tool", "May I?")
            answer = await turn.output.confirmed(call)
            turn.delta(part, f" {answer.approved}")
        elif kind == "question":
            identifier = turn.question("Which?")
            answer = await turn.output.answered(identifier)
            turn.delta(part, f" {answer.response}")
        elif kind == "works":
            call = turn.tool("work", "done")
            turn.delta(part, call[:0])
        await self.gate()
        turn.delta(part, " whole")
        turn.output.ended_at(f"point-{turn.request.turn_id}")
        if kind == "fails":
            raise AgentFailure("it failed")
        if kind == "again":
            raise AgentFailure("it failed for now", resumable=True)

    async def gate(self):
        gate = Gate()
        self.gates.append(gate)
        await gate.passed()

    @initialize()
    def begins(self):
        self.live(None)

    def live(self, store):
        agent = self.agent()
        self.host = MemoryHost({agent.provider: agent}, session_store=store)
        self.watched = set()
        self.probes = {name: self.host.connect(name, ROOT) for name in CLIENTS}
        for probe in self.probes.values():
            probe.dispatch(ROOT, {"type": "root/configChanged", "config": MOVES})
        self.host.settle()
        for name in CLIENTS:
            self.watch_all(name)

    def watch_all(self, name):
        """Every client watches whatever there is, as soon as it may."""
        probe = self.probes[name]
        if not probe.connected:
            return
        for session in self.known_sessions():
            for channel in (session, *self.chats_of(session)):
                if channel not in probe.subscriptions:
                    with contextlib.suppress(RpcError):
                        self.host.run(probe.subscribe(channel))

    def known_sessions(self):
        return [row.uri for row in self.host.session_store.sessions()]

    def chats_of(self, session):
        state = self.host.store.find(session)
        return [] if state is None else [row["resource"] for row in state["chats"]]

    def chats(self):
        return [chat for session in self.known_sessions() for chat in self.chats_of(session)]

    @rule(clean=st.booleans())
    def the_host_begins_anew(self, clean):
        """It is stopped, or it is cut off as by a kill, and started on the same store."""
        self.host.settle()
        store = self.host.session_store
        before = {chat: self.remembered(chat) for chat in self.chats()}
        while self.gates:
            self.gates.pop()
        if clean:
            self.host.stop()
        self.live(store)
        for chat, (ended, waiting, draft) in before.items():
            now = self.host.store.find(chat)
            assert now is not None, f"{chat} is gone"
            ids = [turn["id"] for turn in now["turns"]]
            assert ids[: len(ended)] == ended, f"{chat}: {ended} became {ids}"
            still = {message["id"] for message in now.get("queuedMessages") or []}
            assert set(waiting) <= still | self.taken, f"{chat}: {waiting} became {still}"
            assert plain(now).get("draft") == draft

    def remembered(self, chat):
        state = plain(self.host.store.state(chat))
        ended = [turn["id"] for turn in state["turns"]]
        waiting = [message["id"] for message in state.get("queuedMessages") or []]
        return ended, waiting, state.get("draft")

    # -- the network -----------------------------------------------------------------

    @rule(name=clients)
    def drops(self, name):
        if self.probes[name].connected:
            self.host.cut(self.probes[name])

    @rule(name=clients)
    def comes_back(self, name):
        probe = self.probes[name]
        if not probe.connected:
            self.host.attach(probe)
            try:
                self.host.run(probe.reconnect())
            except RpcError:  # it was forgotten: it begins again
                self.host.attach(probe)
                self.host.run(probe.initialize(subscriptions=[ROOT]))
            self.watch_all(name)

    @rule(seconds=st.sampled_from([0.05, 0.11, 3, 31, 400]))
    def time_passes(self, seconds):
        self.host.advance(seconds)

    # -- sessions and chats ----------------------------------------------------------

    def attempt(self, name, method, **params):
        """Ask for something that may be refused; whether it was done."""
        if not self.probes[name].connected:
            return False
        try:
            self.host.run(self.probes[name].request(method, **params))
        except RpcError:
            return False
        for each in CLIENTS:
            self.watch_all(each)
        return True

    @rule(name=clients, session=sessions)
    def makes_a_session(self, name, session):
        self.attempt(name, "createSession", channel=session, workingDirectories=["file:///w"])

    @rule(name=clients, session=sessions)
    def disposes_of_a_session(self, name, session):
        gone = self.chats_of(session)
        if self.attempt(name, "disposeSession", channel=session):
            self.let_go(session, *gone)

    def let_go(self, *channels):
        for probe in self.probes.values():
            for channel in channels:
                if probe.connected and channel in probe.subscriptions:
                    probe.unsubscribe(channel)
        for channel in channels:
            self.pending.pop(channel, None)

    @rule(
        name=clients,
        session=sessions,
        kind=st.sampled_from([None, "fork", "sideChat"]),
        data=st.data(),
    )
    def makes_a_chat(self, name, session, kind, data):
        params = {"channel": session, "chat": f"ahp-chat:/extra-{next(self.ids)}"}
        chats = self.chats_of(session)
        if kind is not None and chats:
            source = data.draw(st.sampled_from(chats))
            turns = self.host.store.state(source)["turns"]
            turn = data.draw(st.sampled_from([turn["id"] for turn in turns] or ["none"]))
            params["source"] = {"kind": kind, "chat": source, "turnId": turn}
        self.attempt(name, "createChat", **params)

    @precondition(lambda self: self.chats())
    @rule(name=clients, data=st.data())
    def disposes_of_a_chat(self, name, data):
        chat = data.draw(st.sampled_from(self.chats()))
        self.attempt(name, "disposeChat", channel=chat)
        if not self.host.store.is_open(chat):
            self.let_go(chat)

    @precondition(lambda self: self.chats())
    @rule(name=clients, data=st.data(), where=st.sampled_from(["first", "after", "new"]))
    def moves_a_chat(self, name, data, where):
        chat = data.draw(st.sampled_from(self.chats()))
        if where == "new":
            destination = {"kind": "newSession"}
        else:
            session = data.draw(st.sampled_from(self.known_sessions()))
            destination = {"kind": "session", "session": session}
            if where == "after":
                destination["after"] = data.draw(st.sampled_from(self.chats()))
        self.attempt(name, "moveChat", channel=chat, destination=destination)

    # -- turns -------------------------------------------------------------------------

    def perform(self, name, channel, action):
        """Dispatch an action; whether it was taken."""
        probe = self.probes[name]
        if not probe.connected:
            return False
        sequence = probe.dispatch(channel, action)
        self.host.settle()
        for envelope in reversed(probe.envelopes()):
            if envelope.is_answer_to(name, sequence):
                return envelope.rejection is None
        return False

    @precondition(lambda self: self.chats())
    @rule(name=clients, data=st.data(), text=words)
    def sends_a_message(self, name, data, text):
        chat = data.draw(st.sampled_from(self.chats()))
        action = {
            "type": "chat/turnStarted",
            "turnId": f"turn-{next(self.ids)}",
            "startedAt": "2026-01-01T00:00:00.000Z",
            "message": {"text": text, "origin": {"kind": "user"}},
        }
        self.perform(name, chat, action)

    @precondition(lambda self: self.chats())
    @rule(name=clients, data=st.data(), text=words, kind=st.sampled_from(["queued", "steering"]))
    def leaves_a_message(self, name, data, text, kind):
        chat = data.draw(st.sampled_from(self.chats()))
        identifier = f"message-{next(self.ids)}"
        action = {
            "type": "chat/pendingMessageSet",
            "kind": kind,
            "id": identifier,
            "message": {"text": text, "origin": {"kind": "user"}},
        }
        before = self.host.store.state(chat).get("steeringMessage")
        if self.perform(name, chat, action):
            held = self.pending.setdefault(chat, {})
            held[identifier] = kind
            if kind == "steering" and before is not None:
                self.withdrawn.add(before["id"])  # another one took its place

    @precondition(lambda self: self.chats())
    @rule(name=clients, data=st.data())
    def takes_a_message_back(self, name, data):
        chat = data.draw(st.sampled_from(self.chats()))
        state = self.host.store.state(chat)
        waiting = [("queued", each["id"]) for each in state.get("queuedMessages") or []]
        if state.get("steeringMessage"):
            waiting.append(("steering", state["steeringMessage"]["id"]))
        if waiting:
            kind, identifier = data.draw(st.sampled_from(waiting))
            action = {"type": "chat/pendingMessageRemoved", "kind": kind, "id": identifier}
            if self.perform(name, chat, action):
                self.withdrawn.add(identifier)

    @precondition(lambda self: self.chats())
    @rule(name=clients, data=st.data())
    def reorders_the_queue(self, name, data):
        chat = data.draw(st.sampled_from(self.chats()))
        order = [each["id"] for each in self.host.store.state(chat).get("queuedMessages") or []]
        if order:
            action = {"type": "chat/queuedMessagesReordered", "order": order[::-1]}
            self.perform(name, chat, action)

    @precondition(lambda self: self.chats())
    @rule(
        name=clients,
        data=st.data(),
        act=st.sampled_from(
            ["stop", "resume", "cut", "clear", "draft", "read", "archive", "title"]
        ),
    )
    def acts_on_a_chat(self, name, data, act):
        chat = data.draw(st.sampled_from(self.chats()))
        state = self.host.store.state(chat)
        turns = [turn["id"] for turn in state["turns"]] or ["none"]
        number = next(self.ids)
        action = {
            "stop": {
                "type": "chat/turnCancelled",
                "turnId": state.get("activeTurn", {}).get("id", "none"),
                "duration": 1,
            },
            "resume": {"type": "chat/turnResume", "turnId": turns[-1]},
            "cut": {"type": "chat/truncated", "turnId": turns[number % len(turns)]},
            "clear": {"type": "chat/truncated"},
            "draft": {
                "type": "chat/draftChanged",
                "draft": {"text": f"draft {number}", "origin": {"kind": "user"}},
            },
            "read": {"type": "chat/isReadChanged", "isRead": number % 2 == 0},
            "archive": {"type": "chat/isArchivedChanged", "isArchived": number % 2 == 0},
            "title": {"type": "session/titleChanged", "title": f"title {number}"},
        }[act]
        self.perform(name, chat, action)

    @precondition(lambda self: self.chats())
    @rule(data=st.data(), both=st.booleans())
    def answers_what_waits(self, data, both):
        """One client approves and the other denies; one of the two counts."""
        chat = data.draw(st.sampled_from(self.chats()))
        active = self.host.store.state(chat).get("activeTurn")
        for part in plain(active)["responseParts"] if active else []:
            call = part.get("toolCall") or {}
            if call.get("status") == "pending-confirmation":
                yes = {
                    "type": "chat/toolCallConfirmed",
                    "turnId": active["id"],
                    "toolCallId": call["toolCallId"],
                    "approved": True,
                    "confirmed": "user-action",
                }
                no = {**yes, "approved": False, "reason": "denied"}
                del no["confirmed"]
                self.perform("ann", chat, yes)
                if both:
                    self.perform("bob", chat, no)
            if part["kind"] == "inputRequest" and "response" not in part:
                action = {
                    "type": "chat/inputCompleted",
                    "requestId": part["request"]["id"],
                    "response": "accept",
                }
                self.perform("bob", chat, action)

    @rule(name=clients, session=sessions, act=st.sampled_from(["title", "read", "archive"]))
    def acts_on_a_session(self, name, session, act):
        number = next(self.ids)
        action = {
            "title": {"type": "session/titleChanged", "title": f"title {number}"},
            "read": {"type": "session/isReadChanged", "isRead": number % 2 == 0},
            "archive": {"type": "session/isArchivedChanged", "isArchived": number % 3 == 0},
        }[act]
        self.perform(name, session, action)

    @precondition(lambda self: self.gates)
    @rule(which=st.integers(0, 5))
    def an_agent_goes_on(self, which):
        self.gates.pop(which % len(self.gates)).open()
        self.host.settle()

    # -- what holds ----------------------------------------------------------------------

    @invariant()
    def nothing_is_wrong(self):
        if self.host is None:
            return
        self.host.settle()
        for probe in self.probes.values():
            probe.check()
        seen = set()
        for session in self.known_sessions():
            for chat in self.chats_of(session):
                assert chat not in seen, f"{chat} is in two sessions"
                seen.add(chat)
                self.one_chat_holds(session, chat)

    def one_chat_holds(self, session, chat):
        state = plain(self.host.store.state(chat))
        ids = [turn["id"] for turn in state["turns"]]
        if "activeTurn" in state:
            ids.append(state["activeTurn"]["id"])
        assert len(ids) == len(set(ids)), f"{chat}: {ids}"
        for turn in state["turns"]:
            for part in turn["responseParts"]:
                call = part.get("toolCall")
                assert call is None or call["status"] in DECIDED, f"{chat}: {call['status']}"
        [row] = [
            row for row in plain(self.host.store.state(session))["chats"] if row["resource"] == chat
        ]
        for field in ("status", "modifiedAt", "origin", "interactivity", "title"):
            assert row.get(field) == state.get(field), f"{chat}: {field} of its row"
        self.pending_messages_hold(chat, state)

    def pending_messages_hold(self, chat, state):
        waiting = {message["id"] for message in state.get("queuedMessages") or []}
        if "steeringMessage" in state:
            waiting.add(state["steeringMessage"]["id"])
        for probe in self.probes.values():
            for envelope in probe.envelopes(chat):
                action = envelope.action
                if envelope.rejection is None and "queuedMessageId" in action:
                    self.taken.add(action["queuedMessageId"])
                elif envelope.rejection is None and action["type"] == "chat/pendingMessageRemoved":
                    self.withdrawn.add(action["id"])
        away = not any(probe.connected for probe in self.probes.values())
        for identifier in () if away else self.pending.get(chat, ()):
            somewhere = waiting | self.taken | self.withdrawn
            assert identifier in somewhere, f"{chat}: {identifier} is nowhere"

    def teardown(self):
        if self.host is None:
            return
        while self.gates:
            self.gates.pop().open()
            self.host.settle()
        self.host.advance(1)
        for name in CLIENTS:
            self.comes_back(name)
        self.host.settle()
        self.the_catalogue_equals_the_chats()
        late = self.host.connect("late", ROOT)
        for name in CLIENTS:
            self.host.run(self.probes[name].assert_late_subscriber_agrees(late))
        self.host.stop()

    def the_catalogue_equals_the_chats(self):
        listed = self.host.run(self.probes["ann"].request("listSessions"))["items"]
        for row in listed:
            state = plain(self.host.store.find(row["resource"]) or {"chats": []})
            if state["chats"]:
                shown = [chat["resource"] for chat in row["chats"]]
                there = [
                    chat["resource"]
                    for chat in state["chats"]
                    if chat.get("origin", {}).get("kind") != "tool"
                ]
                assert shown == there, row["resource"]


MOVES = {"chatMoves.enabled": True}

# As tests/fuzz: a bounded, repeatable run among the tests, a long random one apart.
LONG = os.environ.get("AHPD_LONG", "") not in ("", "0")
pytestmark = [pytest.mark.long] if LONG else []

SessionsModel.TestCase.settings = settings(
    max_examples=1000 if LONG else 60,
    stateful_step_count=50,
    derandomize=not LONG,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestSessionsModel = SessionsModel.TestCase
