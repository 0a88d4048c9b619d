"""Sessions, chats and turns in any order, by several clients, over several lives of the host.

An `Account` hears all that is said and says what has to be so. Whatever happens: the host
never raises; a chat has one active turn at most and every turn one end; every pending
message waits, runs once or is taken back; no turn has another's words; the catalogue equals
the chats, and what was told of it equals the catalogue; what waits for a person is what the
chats wait for; and a late subscriber reads what the early ones made of what they were told.
A host that is stopped or cut off and started again on the same store has all of it, and of
what is disposed of nothing is left.
"""

import copy
import itertools
import os
import re
from collections import Counter

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
from twisted.internet.task import Clock
from twisted.logger import formatEvent, globalLogPublisher

from ahpd.interfaces import AgentAbilities, AgentFailure
from ahpd.protocol.errors import RpcError
from ahpd.protocol.text import plain
from ahpd.protocol.timestamps import instant
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import Gate, ScriptedAgent
from ahpd.testing.differences import first_difference
from ahpd.testing.host import MemoryHost

from .account import ACTIVITY, ERROR, IS_ARCHIVED, Account

CLIENTS = ("ann", "bob")
SESSIONS = ("ahp-session:/one", "ahp-session:/two", "ahp-session:/three")
DECIDED = ("completed", "cancelled")
MOVES = {"chatMoves.enabled": True}
INPUT_NEEDED, IN_PROGRESS = 24, 8
PIECE = re.compile(r"<([^<>]+)\.(\d+)>")

clients = st.sampled_from(CLIENTS)
sessions = st.sampled_from(SESSIONS)
words = st.sampled_from(["plain", "fails", "again", "asks", "question", "works", "reads", "spawns"])


class SessionsModel(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.ids = itertools.count(1)
        self.minted = itertools.count(1)
        self.gates = []
        self.account = Account()
        self.pieces = Counter()
        """How many pieces were said of each turn, by its id."""
        self.answers = {}
        """What came of each question whether a tool may run, by its call."""
        self.torn = set()
        """Turns with gaps in their words: a host was cut off under them, or they were forked,
        and go on in two chats."""
        self.host = None
        self.probes = {}
        self.broken = []
        globalLogPublisher.addObserver(self.note)

    def note(self, event):
        if "log_failure" in event:
            failure = event["log_failure"]
            self.broken.append(f"{formatEvent(event)}\n{failure.getTraceback()}")

    # -- the agent -----------------------------------------------------------------

    def agent(self):
        agent = ScriptedAgent(
            abilities=AgentAbilities(
                steering=True, resume=True, reopens=True, workers=True, live_config=True
            ),
            capabilities={"multipleChats": {"fork": True, "sideChat": True}},
        )
        agent.always = self.script
        agent.keeps_as = lambda start: f"conversation-{next(self.ids)}"
        agent.takes_steering = lambda steered: steered.text != "again"
        agent.withdraws = self.withdraws
        return agent

    async def script(self, turn):
        """A turn that waits between its pieces, and ends as its message says."""
        kind = turn.request.text
        part = turn.markdown("")
        self.piece(turn, part)
        await self.gate()
        self.piece(turn, part)
        if kind == "asks":
            call = turn.ask("tool", "May I?")
            self.answers[call] = (await turn.output.confirmed(call)).approved
        elif kind == "question":
            await turn.output.answered(turn.question("Which?"))
        elif kind == "works":
            turn.tool("work", "done")
        elif kind == "spawns":
            worker = turn.worker(turn.running("task"), "go")
            answer = worker.markdown("")
            self.piece(worker, answer)
            await self.gate()
            self.piece(worker, answer)
            worker.done()
        self.piece(turn, part)
        await self.gate()
        if kind == "reads":
            for steered in tuple(turn._steering.messages):
                await turn.steering(read=False)
                self.account.read.add(steered.id)
                turn.host.steering_taken(steered.id)
        part = turn.markdown("")
        self.piece(turn, part)
        turn.output.ended_at(f"point-{turn.request.turn_id}")
        if kind == "fails":
            raise AgentFailure("it failed")
        if kind == "again":
            raise AgentFailure("it failed for now", resumable=True)

    def piece(self, turn, part):
        """A piece of text that says whose it is and which of them."""
        identifier = turn.request.turn_id
        self.pieces[identifier] += 1
        turn.delta(part, f"<{identifier}.{self.pieces[identifier]}>")

    async def gate(self):
        gate = Gate()
        self.gates.append(gate)
        await gate.passed()

    # -- one life of the host after another ------------------------------------------

    @initialize(
        withdraws=st.booleans(),
        window=st.sampled_from([0, 30]),
        text=words,
        kinds=st.lists(st.sampled_from(["queued", "steering"]), max_size=3),
    )
    def begins(self, withdraws, window, text, kinds):
        self.withdraws, self.window = withdraws, window
        self.lives(None, 0)
        for session in SESSIONS[:2]:  # so that there is something to do at once
            self.makes_a_session("ann", session, watched=True)
            self.perform("ann", self.lists(session)[0], start(f"turn-{next(self.ids)}", "plain"))
            while self.gates:
                self.an_agent_goes_on(0)
        chat = self.lists(SESSIONS[0])[0]
        self.perform("bob", chat, start(f"turn-{next(self.ids)}", text))
        for kind in kinds:
            self.leave("bob", chat, kind, "plain")

    def lives(self, kept, time):
        agent = self.agent()
        clock = Clock()
        clock.advance(time)
        self.host = MemoryHost(
            {agent.provider: agent},
            kept=kept,
            clock=clock,
            ids=lambda: f"id-{next(self.minted)}",
            delta_window_ms=self.window,
        )
        self.account.listen(self.host.store)
        self.eve = self.host.connect("eve", ROOT)
        self.rows = {row["resource"]: row for row in self.listed()}
        self.heard = 0
        self.probes = {name: self.host.connect(name, ROOT) for name in CLIENTS}
        self.probes["ann"].dispatch(ROOT, {"type": "root/configChanged", "config": MOVES})
        self.host.settle()

    @rule(cut=st.booleans())
    def the_host_begins_anew(self, cut):
        """It is stopped, or it is cut off as by a kill, and started on the same store."""
        self.host.settle()
        before = self.listed()
        if cut:
            kept = copy.deepcopy(self.host.kept)
            kept.close()
            for chat in self.account.chats.values():
                self.torn |= chat.running
        else:
            self.host.stop()
            kept = self.host.kept
            self.hear_of_rows()
            before = list(self.rows.values())
        for probe in (self.eve, *self.probes.values()):
            probe.check()
        self.account.begins_again()
        if cut:
            for call in self.host.clock.getDelayedCalls():
                call.cancel()
        old, self.gates = self.gates, []
        self.lives(kept, self.host.clock.seconds())
        self.rows_came_back(before)
        del old

    def rows_came_back(self, before):
        after = {row["resource"]: row for row in self.listed()}
        assert set(after) >= {row["resource"] for row in before}
        for row in before:
            now = after[row["resource"]]
            for field in ("title", "createdAt", "provider", "defaultChat", "workingDirectories"):
                assert now.get(field) == row.get(field), f"{row['resource']}: {field}"
            assert now["status"] & ~ACTIVITY == row["status"] & ~ACTIVITY
            assert now["status"] & IN_PROGRESS == 0
            chats = [(chat["resource"], chat["title"]) for chat in row["chats"]]
            assert [(chat["resource"], chat["title"]) for chat in now["chats"]] == chats

    def listed(self):
        return self.host.run(self.eve.request("listSessions"))["items"]

    # -- the network -----------------------------------------------------------------

    @rule(name=clients, what=st.sampled_from(["drops", "comes_back", "watches", "looks_away"]))
    def a_client(self, name, what):
        getattr(self, what)(name)

    def drops(self, name):
        if self.probes[name].connected:
            self.host.cut(self.probes[name])

    def comes_back(self, name):
        probe = self.probes[name]
        if not probe.connected:
            self.host.attach(probe)
            try:
                self.host.run(probe.reconnect())
            except RpcError:  # it was forgotten: it begins again
                self.host.attach(probe)
                self.host.run(probe.initialize(subscriptions=[ROOT]))

    def watches(self, name):
        """It watches whatever there is."""
        probe = self.probes[name]
        if not probe.connected:
            return
        for session in self.known():
            self.watch(probe, session)
            for chat in self.lists(session):
                self.watch(probe, chat)

    def watch(self, probe, channel):
        if channel not in probe.subscriptions:
            self.host.run(probe.subscribe(channel))

    def looks_away(self, name):
        probe = self.probes[name]
        for channel in tuple(probe.subscriptions) if probe.connected else ():
            if channel != ROOT:
                probe.unsubscribe(channel)

    @rule(seconds=st.sampled_from([0.05, 0.11, 3, 31, 400, 900]))
    def time_passes(self, seconds):
        self.host.advance(seconds)
        self.host.check()
        if seconds > 0.1:
            self.what_was_told_is_the_catalogue()

    # -- sessions and chats ----------------------------------------------------------

    def known(self):
        return sorted(self.account.sessions)

    def lists(self, session):
        return self.account.sessions[session][0] if session in self.account.sessions else []

    def chats(self):
        return sorted(self.account.chats)

    def any_chat(self, data):
        """One of all of them; one with a turn more often than that."""
        running = [chat.uri for chat in self.account.chats.values() if chat.active is not None]
        return data.draw(st.sampled_from([*self.chats(), *sorted(running)]))

    def state(self, channel):
        """A channel's state; a session that is asleep is woken for it."""
        if not self.host.store.is_open(channel):
            self.host.host.sessions.channels.ready(channel)
        return plain(self.host.store.state(channel))

    def attempt(self, name, method, **params):
        """Ask for something that may be refused; its result, None where it was refused."""
        if not self.probes[name].connected:
            return None
        try:
            result = self.host.run(self.probes[name].request(method, **params))
        except RpcError:
            return None
        self.let_go()
        return result or {}

    def let_go(self):
        """A client that is told lets go of what is gone; one that is away learns it later."""
        gone = {*SESSIONS, *self.ever} - {*self.account.sessions, *self.account.chats}
        for probe in self.probes.values():
            for channel in gone & set(probe.subscriptions) if probe.connected else ():
                probe.unsubscribe(channel)

    @property
    def ever(self):
        return {channel for probe in self.probes.values() for channel in probe.subscriptions} - {
            ROOT
        }

    @rule(name=clients, session=sessions, watched=st.booleans())
    def makes_a_session(self, name, session, watched):
        made = self.attempt(
            name, "createSession", channel=session, workingDirectories=["file:///w"]
        )
        if made is not None and watched:
            self.watches(name)

    @precondition(lambda self: self.account.sessions)
    @rule(
        name=clients,
        kind=st.sampled_from([None, "fork", "sideChat"]),
        text=st.none() | words,
        data=st.data(),
    )
    def makes_a_chat(self, name, kind, text, data):
        session = data.draw(st.sampled_from(self.known()))
        params = {"channel": session, "chat": f"ahp-chat:/extra-{next(self.ids)}"}
        chats = self.lists(session)
        if kind is not None and chats:
            source = data.draw(st.sampled_from(chats))
            turns = [turn["id"] for turn in self.state(source)["turns"]]
            turn = data.draw(st.sampled_from(turns or ["none"]))
            params["source"] = {"kind": kind, "chat": source, "turnId": turn}
        elif text is not None:
            params["initialMessage"] = {"text": text, "origin": {"kind": "user"}}
        made = self.attempt(name, "createChat", **params)
        if made is not None and kind == "fork" and chats:
            copied = [turn["id"] for turn in self.state(params["chat"])["turns"]]
            assert copied == turns[: turns.index(turn) + 1]
            self.torn.update(copied)

    @precondition(lambda self: self.account.chats)
    @rule(name=clients, data=st.data(), what=st.sampled_from(["session", "chat", "chat"]))
    def something_is_disposed_of(self, name, data, what):
        chat = self.any_chat(data)
        if what == "session":
            self.attempt(name, "disposeSession", channel=self.account.owners[chat])
        else:
            self.disposes_of_a_chat(name, chat)

    def disposes_of_a_chat(self, name, chat):
        session = self.account.owners[chat]
        lead = self.state(session)["defaultChat"]
        if self.attempt(name, "disposeChat", channel=chat) is not None:
            assert (chat in self.account.chats) == (chat == lead)
            assert (chat in self.host.host.sessions.registry.open_chats) == (chat == lead)

    @precondition(lambda self: self.account.chats)
    @rule(name=clients, data=st.data(), where=st.sampled_from(["first", "after", "new"]))
    def moves_a_chat(self, name, data, where):
        chat = self.any_chat(data)
        source = self.account.owners[chat]
        if where == "new":
            destination = {"kind": "newSession"}
        else:
            target = data.draw(st.sampled_from(self.known()))
            destination = {"kind": "session", "session": target}
            if where == "after":
                destination["after"] = self.any_chat(data)
        movable = self.state(chat).get("movable", False)
        result = self.attempt(name, "moveChat", channel=chat, destination=destination)
        if result is not None:
            # Within a session that is archived a chat changes its place all the same.
            assert movable or result["session"] == source
            assert chat in self.lists(result["session"])
            self.account.moved(chat, source, result["session"])

    # -- turns -------------------------------------------------------------------------

    def perform(self, name, channel, action):
        """Dispatch an action; whether it was taken."""
        probe = self.probes[name]
        if not probe.connected:
            return False
        sequence = probe.dispatch(channel, action)
        self.host.settle()
        taken = self.account.taken[name, sequence]
        refused = sum(
            said.is_answer_to(name, sequence) and said.rejection is not None
            for said in probe.envelopes()
        )
        is_known = channel in self.account.sessions or channel in self.account.chats
        assert taken + refused == 1 or (taken + refused == 0 and not is_known), (
            f"{action['type']} on {channel}: said {taken} times, refused {refused} times"
        )
        return taken == 1

    @precondition(lambda self: self.account.chats)
    @rule(name=clients, data=st.data(), text=words)
    def sends_a_message(self, name, data, text):
        action = start(f"turn-{next(self.ids)}", text)
        self.perform(name, self.any_chat(data), action)

    @precondition(lambda self: self.account.chats)
    @rule(name=clients, data=st.data())
    def sends_one_again(self, name, data):
        """A repeated turn id starts no second turn."""
        chat = self.any_chat(data)
        held = self.account.chats[chat]
        turns = [*(turn[0] for turn in held.turns), *held.running]
        if turns:
            action = start(data.draw(st.sampled_from(sorted(turns))), "plain")
            assert not self.perform(name, chat, action)

    @precondition(lambda self: self.account.chats)
    @rule(
        name=clients,
        data=st.data(),
        text=words,
        kinds=st.sampled_from([["queued"], ["steering"], ["queued", "steering"]]),
    )
    def leaves_a_message(self, name, data, text, kinds):
        chat = self.any_chat(data)
        for kind in kinds:
            self.leave(name, chat, kind, text)

    def leave(self, name, chat, kind, text):
        identifier = f"message-{next(self.ids)}"
        action = {
            "type": "chat/pendingMessageSet",
            "kind": kind,
            "id": identifier,
            "message": {"text": text, "origin": {"kind": "user"}},
        }
        taken = self.perform(name, chat, action)
        assert taken == (identifier in self.account.known)

    @precondition(lambda self: any(chat.waiting for chat in self.account.chats.values()))
    @rule(name=clients, data=st.data())
    def takes_a_message_back(self, name, data):
        waits = [chat.uri for chat in self.account.chats.values() if chat.waiting]
        chat = self.account.chats[data.draw(st.sampled_from(sorted(waits)))]
        waiting = [("queued", each) for each in chat.queue]
        if chat.steering is not None:
            waiting.append(("steering", chat.steering))
        kind, identifier = data.draw(st.sampled_from(waiting))
        action = {"type": "chat/pendingMessageRemoved", "kind": kind, "id": identifier}
        if self.perform(name, chat.uri, action):
            assert identifier not in chat.waiting
            assert not self.account.started[identifier]
        elif self.probes[name].connected:
            assert kind == "steering"
            assert not self.withdraws
            assert identifier == chat.steering

    @precondition(lambda self: any(chat.queue for chat in self.account.chats.values()))
    @rule(name=clients, data=st.data())
    def reorders_the_queue(self, name, data):
        waits = [chat.uri for chat in self.account.chats.values() if chat.queue]
        chat = self.account.chats[data.draw(st.sampled_from(sorted(waits)))]
        order = data.draw(st.permutations(chat.queue))
        action = {"type": "chat/queuedMessagesReordered", "order": order}
        assert not self.perform(name, chat.uri, action) or chat.queue in (order, order[1:])

    @precondition(lambda self: self.account.chats)
    @rule(
        name=clients,
        data=st.data(),
        act=st.sampled_from(["stop", "stop", "resume", "resume", "cut", "clear"]),
    )
    def acts_on_the_turns(self, name, data, act):
        chat = self.account.chats[self.any_chat(data)]
        turns = [turn[0] for turn in chat.turns] or ["none"]
        active = chat.active
        action = {
            "stop": {"type": "chat/turnCancelled", "turnId": active or "none", "duration": 1},
            "resume": {"type": "chat/turnResume", "turnId": turns[-1]},
            "cut": {"type": "chat/truncated", "turnId": data.draw(st.sampled_from(turns))},
            "clear": {"type": "chat/truncated"},
        }[act]
        may = chat.held_up and active is None
        taken = self.perform(name, chat.uri, action)
        if act == "resume":
            assert may or not taken
        elif self.probes[name].connected:
            assert taken or chat.worker

    @precondition(lambda self: self.account.chats)
    @rule(
        name=clients,
        data=st.data(),
        act=st.sampled_from(["draft", "read", "read", "archive", "title"]),
        on=st.booleans(),
        of=st.sampled_from(["chat", "session"]),
    )
    def marks(self, name, data, act, on, of):
        if of == "chat":
            self.marks_a_chat(name, self.any_chat(data), act, on)
        elif act != "draft":
            session = data.draw(st.sampled_from([*self.known(), "ahp-session:/never-made"]))
            self.marks_a_session(name, session, act, on)

    def marks_a_chat(self, name, chat, act, on):
        number = next(self.ids)
        message = {"text": f"draft {number}", "origin": {"kind": "user"}}
        action = {
            "draft": {"type": "chat/draftChanged", "draft": message},
            "read": {"type": "chat/isReadChanged", "isRead": on},
            "archive": {"type": "chat/isArchivedChanged", "isArchived": on},
            "title": {"type": "session/titleChanged", "title": f"title {number}"},
        }[act]
        if self.perform(name, chat, action):
            lead = self.state(self.account.owners[chat])["defaultChat"]
            state = self.state(chat)
            assert act != "archive" or chat != lead
            assert act != "draft" or state["draft"] == message
            assert act != "title" or state["title"] == f"title {number}"

    def marks_a_session(self, name, session, act, on):
        number = next(self.ids)
        action = {
            "title": {"type": "session/titleChanged", "title": f"title {number}"},
            "read": {"type": "session/isReadChanged", "isRead": on},
            "archive": {"type": "session/isArchivedChanged", "isArchived": on},
        }[act]
        if self.perform(name, session, action) and act == "title":
            assert self.state(session)["title"] == f"title {number}"

    def asked(self):
        """The chats that wait for a person."""
        states = [self.host.store.find(chat) for chat in self.chats()]
        return [s["resource"] for s in states if s and s["status"] & ACTIVITY == INPUT_NEEDED]

    @precondition(lambda self: self.asked())
    @rule(data=st.data(), allows=st.permutations([("ann", True), ("bob", False)]))
    def answers_what_waits(self, data, allows):
        """One client approves and the other denies: both are said, and the first counts."""
        chat = data.draw(st.sampled_from(self.asked()))
        active = self.state(chat)["activeTurn"]
        for part in active["responseParts"]:
            call = part.get("toolCall") or {}
            if call.get("status") == "pending-confirmation":
                said = [
                    approved
                    for name, approved in allows
                    if self.perform(name, chat, allow(active["id"], call["toolCallId"], approved))
                ]
                assert self.answers.get(call["toolCallId"]) == (said[0] if said else None)
            if part["kind"] == "inputRequest" and "response" not in part:
                action = {
                    "type": "chat/inputCompleted",
                    "requestId": part["request"]["id"],
                    "response": "accept",
                }
                self.perform("bob", chat, action)

    @precondition(lambda self: self.gates)
    @rule(which=st.integers(0, 5))
    def an_agent_goes_on(self, which):
        self.gates.pop(which % len(self.gates)).open()
        self.host.settle()

    @precondition(lambda self: self.gates)
    @rule(steps=st.integers(1, 6))
    def the_latest_turn_goes_on(self, steps):
        """Far enough to end, often: what waits behind it goes next."""
        for _ in range(steps):
            if self.gates:
                self.an_agent_goes_on(-1)

    # -- what holds ----------------------------------------------------------------------

    @invariant()
    def nothing_is_wrong(self):
        if self.host is None:
            return
        self.host.settle()
        assert not self.broken, "\n".join(self.broken)
        for probe in (self.eve, *self.probes.values()):
            probe.check()
        self.account.settled()
        owners = {}
        for session in self.known():
            state = self.host.store.find(session)
            if state is None:
                continue
            for row in plain(state)["chats"]:
                chat = row["resource"]
                assert chat not in owners, f"{chat} is in {session} and in {owners[chat]}"
                owners[chat] = session
                self.one_chat_holds(plain(state), row, plain(self.host.store.state(chat)))
            self.what_waits_for_a_person_is_what_the_chats_wait_for(plain(state))

    def one_chat_holds(self, session, row, state):
        chat = row["resource"]
        active = [state["activeTurn"]] if "activeTurn" in state else []
        for turn in (*state["turns"], *active):
            self.has_its_own_words(chat, turn)
            for part in turn["responseParts"]:
                call = part.get("toolCall")
                if call is not None and turn not in active:
                    assert call["status"] in DECIDED, f"{chat}: {call['status']}"
        fields = ("status", "modifiedAt", "origin", "interactivity", "title", "movable", "changes")
        for field in fields:
            assert row.get(field) == state.get(field), f"{chat}: {field} of its row"
        may = (
            bool(state["turns"])
            and not active
            and chat != session["defaultChat"]
            and state.get("origin", {}).get("kind") != "tool"
            and not session["status"] & IS_ARCHIVED
        )
        assert state.get("movable", False) == may, f"{chat}: movable"

    def has_its_own_words(self, chat, turn):
        text = "".join(
            part["content"] for part in turn["responseParts"] if part["kind"] == "markdown"
        )
        said = PIECE.findall(text)
        assert PIECE.sub("", text) == "", f"{chat}: {turn['id']} says {text}"
        numbers = [int(number) for _, number in said]
        assert {whose for whose, _ in said} <= {turn["id"]}, f"{chat}: {turn['id']} says {text}"
        if turn["id"] in self.torn:
            assert numbers == sorted(set(numbers)), f"{chat}: {turn['id']} says {text}"
            return
        assert numbers == list(range(1, len(numbers) + 1)), f"{chat}: {turn['id']} says {text}"
        if turn.get("state") in ("complete", "error"):
            assert len(numbers) == self.pieces[turn["id"]], f"{chat}: {turn['id']} says {text}"

    def what_waits_for_a_person_is_what_the_chats_wait_for(self, session):
        waits = set()
        for row in session["chats"]:
            chat = row["resource"]
            active = plain(self.host.store.state(chat)).get("activeTurn") or {}
            for part in active.get("responseParts", ()):
                call = part.get("toolCall") or {}
                if call.get("status") == "pending-confirmation":
                    waits.add((chat, "toolConfirmation", call["toolCallId"]))
                elif part["kind"] == "inputRequest" and part.get("response") is None:
                    waits.add((chat, "chatInput", part["request"]["id"]))
        said = {
            (
                entry["chat"],
                entry["kind"],
                entry["toolCall"]["toolCallId"] if "toolCall" in entry else entry["request"]["id"],
            )
            for entry in session.get("inputNeeded") or ()
        }
        assert said == waits
        assert len(session.get("inputNeeded") or ()) == len(waits)
        assert bool(waits) == (session["status"] & INPUT_NEEDED == INPUT_NEEDED)

    def what_was_told_is_the_catalogue(self):
        """The rows a client of the root holds are those a client that asks now is given."""
        self.hear_of_rows()
        listed = self.listed()
        assert {row["resource"]: row for row in listed} == self.rows
        moments = [instant(row["modifiedAt"]) for row in listed]
        assert moments == sorted(moments, reverse=True)
        for row in listed:
            state = self.host.store.find(row["resource"])
            if state is not None:
                self.row_equals_the_chats(row, plain(state))

    def hear_of_rows(self):
        """Lay what was told of the rows since over those a client of the root holds."""
        for method, params in self.eve.notifications[self.heard :]:
            if method == "root/sessionAdded":
                row = params["summary"]
                assert row["resource"] not in self.rows, f"{row['resource']} is added twice"
                self.rows[row["resource"]] = row
            elif method == "root/sessionRemoved":
                del self.rows[params["session"]]
            elif method == "root/sessionSummaryChanged":
                row = self.rows[params["session"]] | params["changes"]
                self.rows[params["session"]] = {k: v for k, v in row.items() if v is not None}
        self.heard = len(self.eve.notifications)

    def row_equals_the_chats(self, row, session):
        shown = [chat for chat in session["chats"] if chat.get("origin", {}).get("kind") != "tool"]
        expected = [
            {
                **{k: chat[k] for k in ("resource", "title", "origin", "status") if k in chat},
                **({"archived": True} if chat["status"] & IS_ARCHIVED else {}),
            }
            for chat in shown
        ]
        assert first_difference(expected, row["chats"]) is None, row["resource"]
        assert row["title"] == session["title"]
        assert row["defaultChat"] == session["defaultChat"]
        assert row.get("activity") == session.get("activity")
        moved = [instant(chat["modifiedAt"]) for chat in session["chats"]]
        assert instant(row["modifiedAt"]) == max(*moved, instant(row["createdAt"]))
        doing = {chat["resource"]: chat["status"] & ACTIVITY for chat in session["chats"]}
        lead = doing[session["defaultChat"]]
        for promoted in (ERROR, INPUT_NEEDED):
            if promoted in doing.values():
                lead = promoted
        assert row["status"] & ACTIVITY == lead, row["resource"]
        assert row["status"] & ~ACTIVITY == session["status"] & ~ACTIVITY, row["resource"]

    # -- the end ---------------------------------------------------------------------------

    def teardown(self):
        try:
            if self.host is not None:
                self.ends()
        finally:
            globalLogPublisher.removeObserver(self.note)

    def ends(self):
        for name in CLIENTS:
            self.comes_back(name)
            self.watches(name)
        self.all_turns_end()
        self.host.advance(1)
        self.nothing_is_wrong()
        self.account.is_done()
        assert not self.account.asleep, f"{list(self.account.asleep)} never came back"
        self.what_was_told_is_the_catalogue()
        late = self.host.connect("late", ROOT)
        for name in CLIENTS:
            self.host.run(self.probes[name].assert_late_subscriber_agrees(late))
        for session in self.known():
            assert self.attempt("ann", "disposeSession", channel=session) is not None
        self.nothing_is_left()
        self.host.stop()

    def all_turns_end(self):
        """Every question is answered and every agent goes on until none has anything to do."""
        for _ in range(200):
            while self.gates:
                self.gates.pop().open()
                self.host.settle()
            for chat in self.chats():
                waits = plain(self.host.store.state(chat)).get("activeTurn")
                if waits is not None and not self.gates:
                    self.perform("ann", chat, cancel(waits["id"]))
            if not self.gates and not any(chat.running for chat in self.account.chats.values()):
                return
        raise AssertionError("turns run on")

    def nothing_is_left(self):
        sessions = self.host.host.sessions
        self.host.advance(1)
        assert self.listed() == []
        self.what_was_told_is_the_catalogue()
        assert len(sessions) == 0
        assert sessions.registry.open_chats == {}
        assert sessions.journals._journals == {}
        assert sessions.journals._of_session == {}
        assert sessions.journals._unfolded == {}
        assert list(self.host.store._channels) == [ROOT]
        assert [row for row in self.host.kept.sessions() if row.id] == []
        assert self.account.sessions == self.account.chats == {}


def start(turn_id, text):
    return {
        "type": "chat/turnStarted",
        "turnId": turn_id,
        "startedAt": "2026-01-01T00:00:00.000Z",
        "message": {"text": text, "origin": {"kind": "user"}},
    }


def allow(turn_id, call, approved):
    answer = {"type": "chat/toolCallConfirmed", "turnId": turn_id, "toolCallId": call}
    how = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    return {**answer, "approved": approved, **how}


def cancel(turn_id):
    return {"type": "chat/turnCancelled", "turnId": turn_id, "duration": 1}


# As tests/fuzz: a bounded, repeatable run among the tests, a long random one apart.
LONG = os.environ.get("AHPD_LONG", "") not in ("", "0")
pytestmark = [pytest.mark.long] if LONG else []

SessionsModel.TestCase.settings = settings(
    max_examples=1000 if LONG else 40,
    stateful_step_count=50,
    derandomize=not LONG,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestSessionsModel = SessionsModel.TestCase
