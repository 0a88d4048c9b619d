"""Whatever clients do in whatever order, each turn is told of by its two ends, in their places."""

import random
from collections import Counter

import pytest

from ahpd.interfaces import AgentAbilities
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate, ScriptedAgent
from ahpd.testing.terminals import ScriptedTerminals

S1 = "ahp-session:/s1"


class Heard:
    """Told of turns: keeps what it was told, and sees that it was told in its place."""

    def __init__(self, host):
        self.host = host
        self.running = Counter()
        self.unstarted = []
        self.placeless = []
        self.ends = Counter()
        self.starts = Counter()

    def _said(self, chat):
        """What was said on a chat, the newest last."""
        said = self.host.store.watcher.said
        return [each["action"] for each in said if each["channel"] == chat]

    def turn_begun(self, session, chat, turn_id, message, *, queued, resumed):
        # A stop that named it may be said by now, and stopped nothing: another was the one that ran.
        kind = "chat/turnResume" if resumed else "chat/turnStarted"
        [*_, start] = [
            each for each in self._said(chat) if each["type"] == kind and each["turnId"] == turn_id
        ]
        assert start.get("queuedMessageId") == queued
        if not resumed:
            assert start["message"] == message
        assert not self.running[turn_id], f"{turn_id} began twice"
        self.running[turn_id] += 1
        self.starts[turn_id] += 1

    def turn_over(self, session, chat, turn_id, message, action, *, rejected, command, queued):
        *_, last = self._said(chat)
        if last != action:  # it had no place any more, and went with the turn that took it
            assert action == {"type": "chat/turnCancelled", "turnId": turn_id}
            self.placeless.append(turn_id)
        elif action["type"] == "chat/turnComplete":
            assert command == message["text"].startswith("!")
        assert action["turnId"] == turn_id
        self.ends[turn_id] += 1
        if rejected:
            assert action["type"] == "chat/error"
            assert not self.running[turn_id]
        elif self.running[turn_id]:
            self.running[turn_id] -= 1
        else:
            self.unstarted.append((turn_id, action["type"]))

    def turn_refused(self, *arguments, **fields):
        raise AssertionError("nothing is refused by a store that has room")

    def session_began(self, session, provider, client):
        pass

    session_over = session_moved = chat_moved = lambda *arguments: None


class Crowd:
    """Clients that do anything, some of it from inside of a delivery."""

    def __init__(self, host, seed, programs):
        self.host = host
        self.programs = programs
        self.random = random.Random(seed)
        self.gates = []
        self.queued = []
        self.sent = 0
        self.nested = 0
        self.archived = False
        deliver = host.store.watcher.deliver

        def answering(envelope):
            deliver(envelope)
            if self.nested and self.random.random() < 0.3:
                self.nested -= 1
                self.act()

        host.store.watcher.deliver = answering

    def script(self):
        kind = self.random.randrange(4)
        if kind == 0:
            return scripts.echo
        if kind == 1:
            return scripts.fails("no", resumable=self.random.random() < 0.5)
        if kind == 2:
            return scripts.never_ends
        gate = Gate()
        self.gates.append(gate)
        return scripts.waits_at(gate, "text")

    def act(self):
        host, pick = self.host, self.random
        chat = host.chat()
        state = host.store.state(chat)
        active, choice = state.get("activeTurn"), pick.randrange(14)
        if choice < 3:
            host.agent.then(self.script())
            self.sent += 1
            host.turn(chat, f"text {self.sent}")
        elif choice < 5:
            host.agent.then(self.script())
            self.queued.append(f"q{len(self.queued)}")
            host.queue(chat, self.queued[-1])
        elif choice == 5:
            host.turn(chat, "!make")
        elif choice == 6 and self.programs.running:
            pick.choice(self.programs.running).exits(0)
        elif choice < 9:
            host.stop(chat, active["id"] if active and pick.random() < 0.8 else "none")
        elif choice == 9 and self.gates:
            pick.choice(self.gates).open()
        elif choice == 10 and state["turns"]:
            host.agent.then(self.script())
            if pick.random() < 0.5:
                host.dispatch(chat, "chat/turnResume", turnId=state["turns"][-1]["id"])
            else:
                kept = pick.choice(state["turns"])["id"]
                host.dispatch(chat, "chat/truncated", turnId=kept)
        elif choice == 11:
            self.archived = not self.archived
            host.dispatch(S1, "session/isArchivedChanged", isArchived=self.archived)
        else:
            host.clock.advance(pick.choice([0.01, 0.2, 6]))


@pytest.mark.parametrize("nested", [0, 60])
@pytest.mark.parametrize("seed", range(12))
def test_each_turn_is_told_of_by_both_its_ends(sessions_host, seed, nested):
    programs = ScriptedTerminals()
    agent = ScriptedAgent(abilities=AgentAbilities(resume=True, reopens=True))
    host = sessions_host(agents={"scripted": agent}, programs=programs)
    host.agent = agent
    host.session()
    heard = host.service.happenings.told = Heard(host)
    crowd = Crowd(host, seed, programs)
    crowd.nested = nested
    for _ in range(120):
        crowd.act()
    crowd.nested = 0
    chat = host.chat()
    for gate in crowd.gates:
        gate.open()
    for _ in range(20):  # what ends lets what waits begin
        for program in programs.running:
            program.exits(0)
        while (running := host.store.state(chat).get("activeTurn")) is not None:
            host.stop(chat, running["id"])
        host.clock.advance(6)
    held = host.service.find_chat(chat)
    # What lost its place to a turn that was refused runs until the host goes.
    host.wait(host.service.drain())
    assert not +heard.running, "a turn that ended was told of by its start alone"
    assert heard.starts
    # One that was stopped while its start was being said was handed to nobody.
    assert {kind for _, kind in heard.unstarted} <= {"chat/turnCancelled"}
    assert not heard.unstarted or nested
    history = {turn["id"] for turn in host.turns(chat)}
    assert not history & set(heard.placeless)
    assert held.ending is None
    for turn in host.turns(chat):
        assert heard.ends[turn["id"]], f"{turn['id']} is over, and nobody was told"
