"""Whatever clients do in whatever order, no message is lost or run twice, no turn ends twice."""

import random

import pytest

from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate


class Crowd:
    """Clients that do anything to one chat, some of it from inside a delivery."""

    def __init__(self, chat, seed, nested):
        self.chat = chat
        self.random = random.Random(seed)
        self.nested = nested
        self.gates = []
        self.sent = 0
        self.accepted = set()
        chat.reader.on = self.answering
        chat.agent.takes_steering = lambda steered: self.random.random() < 0.5

    def answering(self, action):
        if self.nested and self.random.random() < 0.3:
            self.nested -= 1
            self.act()

    def script(self):
        gate = Gate()
        self.gates.append(gate)
        kind = self.random.randrange(8)

        async def reads(turn):
            part = turn.markdown()
            steered = await turn.steering()
            turn.delta(part, steered.text)

        async def fails_late(turn):
            turn.markdown("so far")
            if self.random.random() < 0.5:
                await gate.passed()
            await scripts.fails("no", resumable=True)(turn)

        async def names_its_point(turn):
            turn.host.kept_as("c")
            await gate.passed()
            turn.point(f"p-{turn.request.turn_id}")

        return (
            scripts.echo,
            reads,
            fails_late,
            names_its_point,
            scripts.waits_at(gate, "a", "b"),
            scripts.never_ends,
            fails_late,
            fails_late,
        )[kind]

    def id(self, prefix):
        self.sent += 1
        return f"{prefix}{self.sent}"

    def pend(self, kind):
        identifier = self.id(kind[0])
        if self.chat.pend(identifier, identifier, kind) is None:
            self.accepted.add(identifier)

    def act(self):
        chat, pick = self.chat, self.random
        state = chat.store.state("ahp-chat:/lone")
        active, turns = state.get("activeTurn"), state["turns"]
        choice = pick.randrange(16)
        if turns and turns[-1]["state"] == "error" and pick.random() < 0.3:
            choice = 8
        if choice <= 1:
            chat.agent.then(self.script())
            chat.turn("text", self.id("t"))
        elif choice <= 4:
            chat.agent.then(self.script())
            self.pend("steering")
        elif choice == 5:
            chat.agent.then(self.script())
            self.pend("queued")
        elif choice == 6:
            pending = state.get("steeringMessage")
            chat.take_back(pending["id"] if pending else "none")
        elif choice == 7:
            pending = state.get("steeringMessage")
            if pending is not None:
                chat.steer(pending["id"], pending["message"]["text"])
        elif choice == 8 and turns:
            chat.agent.then(self.script())
            chat.resume(turns[-1]["id"])
        elif choice == 9:
            chat.stop(active["id"] if active else "none")
        elif choice == 10 and self.gates:
            pick.choice(self.gates).open()
        elif choice == 11 and pick.random() < 0.4:
            chat.truncate(pick.choice(turns)["id"] if turns and pick.random() < 0.7 else None)
        elif choice == 12 and chat.agent.chats:
            host = chat.agent.chats[-1].start.host
            held = [steered.id for steered in chat.agent.chats[-1].steered]
            if held:
                speak = pick.choice([host.steering_taken, host.steering_returned])
                speak(pick.choice(held))
        elif choice == 13:
            chat.chat.refresh_backend()
        elif choice == 14:
            chat.chat.config_moved()
        else:
            chat.clock.advance(pick.choice([0.01, 0.2, 6, 700]))

    def check(self):
        chat = self.chat
        state, held = chat.store.state("ahp-chat:/lone"), chat.chat.current
        active = state.get("activeTurn")
        assert (held and held.turn_id) == (active and active["id"])
        ids = [turn["id"] for turn in state["turns"]]
        assert len(ids) == len(set(ids))
        if active is not None:
            assert active["id"] not in ids

    def check_ends(self):
        """A turn ends once for each time it was begun or begun again."""
        begun, over = {}, {}
        for action in self.chat.said("chat/turnStarted", "chat/turnResume"):
            begun[action["turnId"]] = begun.get(action["turnId"], 0) + 1
        for action in self.chat.said("chat/turnComplete", "chat/error"):
            over[action["turnId"]] = over.get(action["turnId"], 0) + 1
        assert all(count <= begun[turn] for turn, count in over.items())

    def check_messages(self):
        """Each that was accepted ran once, was taken out, was replaced, or waits."""
        chat, state = self.chat, self.chat.state
        runs = [a.get("queuedMessageId") for a in chat.said("chat/turnStarted")]
        runs = [identifier for identifier in runs if identifier]
        assert len(runs) == len(set(runs))
        out = {a["id"] for a in chat.said("chat/pendingMessageRemoved")}
        waits = {entry["id"] for entry in state.get("queuedMessages", [])}
        if "steeringMessage" in state:
            waits.add(state["steeringMessage"]["id"])
        replaced = set()
        last = None
        for action in chat.said("chat/pendingMessageSet", "chat/pendingMessageRemoved"):
            if action["kind"] != "steering":
                continue
            if action["type"] == "chat/pendingMessageSet":
                if last not in (None, action["id"]):
                    replaced.add(last)
                last = action["id"]
            elif action["id"] == last:
                last = None
        assert self.accepted <= set(runs) | out | waits | replaced


@pytest.mark.parametrize("nested", [0, 60])
@pytest.mark.parametrize("seed", range(20))
def test_a_chat_keeps_its_promises(lone_chat, seed, nested):
    chat = lone_chat(
        steering=True, resume=True, reopens=True, live_config=seed % 2 == 0, idle_release=600
    )
    chat.agent.keeps_steering = seed % 3 == 0
    chat.agent.ignores_stop = seed % 5 == 0
    crowd = Crowd(chat, seed, nested)
    for _ in range(150):
        crowd.act()
        crowd.check()
    crowd.nested = 0
    crowd.check_ends()
    crowd.check_messages()
    while "activeTurn" in chat.state:
        chat.stop()
    chat.clock.advance(6)
    crowd.check()
    chat.agent._scripts.clear()
    assert chat.turn("and it still works", "last") == "last"
    chat.clock.advance(6)
    for gate in crowd.gates:
        gate.open()
    assert "last" in [turn["id"] for turn in chat.turns]
    chat.wait(chat.chat.close())
    assert all(one.closed for one in chat.agent.chats)
    assert chat.clock.getDelayedCalls() == []
