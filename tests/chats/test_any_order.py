"""Whatever clients do in whatever order, a chat keeps its promises."""

import random

import pytest

from ahpd.protocol.status import ACTIVITY_MASK, IN_PROGRESS
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate

S1 = "ahp-session:/s1"


class Crowd:
    """Clients that do anything, some of it from inside a delivery."""

    def __init__(self, host, seed):
        self.host = host
        self.random = random.Random(seed)
        self.gates = []
        self.seen = []
        self.queued = []
        self.nested = 0
        deliver = host.store.watcher.deliver

        def answering(envelope):
            deliver(envelope)
            if self.nested and self.random.random() < 0.3:
                self.nested -= 1
                self.act()

        host.store.watcher.deliver = answering

    def script(self):
        kind = self.random.randrange(5)
        if kind == 0:
            return scripts.echo
        if kind == 1:
            return scripts.fails("no", resumable=self.random.random() < 0.3)
        if kind == 2:
            return scripts.never_ends
        gate = Gate()
        self.gates.append(gate)
        return scripts.waits_at(gate, "text")

    def chats(self):
        return [row["resource"] for row in self.host.store.state(S1)["chats"]]

    def act(self):
        host, pick = self.host, self.random
        chat = pick.choice(self.chats())
        if not host.store.is_open(chat):
            return
        active = host.store.state(chat).get("activeTurn")
        choice = pick.randrange(12)
        if choice in (0, 1, 2):
            host.agent.then(self.script())
            self.seen.append(host.turn(chat, f"text {len(self.seen)}"))
        elif choice in (3, 4):
            host.agent.then(self.script())
            self.queued.append(f"q{len(self.queued)}")
            host.queue(chat, self.queued[-1])
        elif choice == 5 and self.queued:
            name = pick.choice(self.queued)
            host.dispatch(chat, "chat/pendingMessageRemoved", kind="queued", id=name)
        elif choice in (6, 7):
            host.stop(chat, active["id"] if active else "none")
        elif choice == 8 and self.gates:
            pick.choice(self.gates).open()
        elif choice == 9:
            turns = host.store.state(chat)["turns"]
            kept = {"turnId": pick.choice(turns)["id"]} if turns else {}
            host.dispatch(chat, "chat/truncated", **kept)
        elif choice == 10:
            host.dispatch(chat, "chat/isReadChanged", isRead=pick.random() < 0.5)
        else:
            host.clock.advance(pick.choice([0.01, 0.2, 6]))


def check(host, crowd):
    active = 0
    for chat in crowd.chats():
        state, held = host.store.state(chat), host.service.find_chat(chat)
        running = state.get("activeTurn")
        assert (held.current and held.current.turn_id) == (running and running["id"])
        assert (state["status"] & ACTIVITY_MASK == IN_PROGRESS) == (running is not None)
        ids = [turn["id"] for turn in state["turns"]]
        assert len(ids) == len(set(ids))
        row = next(row for row in host.store.state(S1)["chats"] if row["resource"] == chat)
        for field in ("title", "status", "modifiedAt"):
            assert row[field] == state[field]
        active += running is not None
    assert host.store.state("ahp-root://")["activeSessions"] == int(active > 0)


@pytest.mark.parametrize("nested", [0, 40])
@pytest.mark.parametrize("window", [0, 20])
@pytest.mark.parametrize("seed", range(6))
def test_a_chat_keeps_its_promises(sessions_host, seed, window, nested):
    host = sessions_host(window=window)
    host.session()
    host.service.create_chat({"channel": S1, "chat": "ahp-chat:/c2"})
    crowd = Crowd(host, seed)
    crowd.nested = nested
    for _ in range(100):
        crowd.act()
        check(host, crowd)
    crowd.nested = 0
    for gate in crowd.gates:
        gate.open()
    for chat in crowd.chats():
        while (running := host.store.state(chat).get("activeTurn")) is not None:
            host.stop(chat, running["id"])
    host.clock.advance(6)
    check(host, crowd)
    chat = host.chat()
    host.agent._scripts.clear()
    last = host.turn(chat, "and it still works")
    assert last in [turn["id"] for turn in host.turns(chat)]
    ends = [a["turnId"] for a in host.said() if a["type"] in ("chat/turnComplete", "chat/error")]
    assert len(ends) == len(set(ends))
    host.wait(host.service.drain())
    assert all(chat.closed for chat in host.agent.chats)
    host.clock.advance(1)
    assert host.clock.getDelayedCalls() == []
