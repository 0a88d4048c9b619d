"""Whatever is done in whatever order, no command is lost, run twice, left running or shown wrong."""

import random
import re

import pytest

from ahpd.chats.commands import command_in
from ahpd.interfaces import AgentAbilities
from ahpd.protocol.status import ACTIVITY_MASK, IN_PROGRESS
from ahpd.protocol.uris import ROOT
from ahpd.testing import agents as scripts
from ahpd.testing.agents import ConversationsAgent, Gate
from ahpd.testing.terminals import ScriptedTerminals
from ahpd.wire.codec import decode

S1 = "ahp-session:/s1"
ENDS = ("chat/turnComplete", "chat/error")
STOPPED = "Command was stopped"


async def points(turn):
    turn.markdown("answer")
    turn.point(f"point of {turn.request.turn_id}")


class Crowd:
    """Clients that send commands among questions, and a host that ends now and then."""

    def __init__(self, host, seed):
        self.host = host
        self.random = random.Random(seed)
        self.nested = 0
        self.lines = 0
        self.gates = []
        self.forks = 0
        self.crashed = self.reacts = False
        #: What the command of each line number has printed.
        self.printed = {}
        self.listen()

    def listen(self):
        deliver = self.host.store.watcher.deliver

        def answering(envelope):
            deliver(envelope)
            if self.nested and self.random.random() < 0.2:
                self.nested -= 1
                self.act(nested=True)

        self.host.store.watcher.deliver = answering

    def chats(self):
        return [row["resource"] for row in self.host.state(S1)["chats"]]

    def text(self):
        self.lines += 1
        command = self.random.random() < 0.6
        if command:
            return f"!line {self.lines}"
        gate = Gate()
        self.gates.append(gate)
        self.host.agent.then(
            self.random.choice(
                [points, points, scripts.never_ends, scripts.fails("no"),
                 scripts.fails("no", resumable=True), scripts.waits_at(gate, "late")]
            )
        )  # fmt: skip
        return f"question {self.lines}"

    def act(self, nested=False):
        host, pick = self.host, self.random
        chat = pick.choice(self.chats())
        if host.service.find_chat(chat) is None:
            return  # it is being made, or taken away
        active = host.state(chat).get("activeTurn")
        choice = pick.randrange(12 if nested else 15)
        if choice in (0, 1, 2):
            host.turn(chat, self.text())
        elif choice == 3:
            host.queue(chat, f"q{self.lines}", self.text())
        elif choice == 4:
            host.queue(chat, f"s{self.lines}", self.text(), kind="steering")
        elif choice in (5, 6):
            running = host.programs.running
            if running:
                program = pick.choice(running)
                self.print(program)
                if program.runs:
                    program.exits(pick.choice([0, 0, 1]))
        elif choice == 7:
            host.stop(chat, active["id"] if active else "none")
        elif choice == 8 and self.gates:
            pick.choice(self.gates).open()
        elif choice == 9:
            turns = host.turns(chat)
            kept = {"turnId": pick.choice(turns)["id"]} if turns and pick.random() < 0.8 else {}
            if pick.random() < 0.5:
                host.dispatch(chat, "chat/truncated", **kept)
        elif choice == 10 and host.programs.running:
            self.print(pick.choice(host.programs.running))
        elif choice == 11:
            host.clock.advance(pick.choice([0.01, 0.2, 6]))
        elif choice == 12 and len(self.chats()) < 4:
            turns = host.turns(chat)
            if turns:
                self.forks += 1
                source = {"kind": "fork", "chat": chat, "turnId": pick.choice(turns)["id"]}
                uri = f"ahp-chat:/fork-{self.forks}"
                host.service.create_chat({"channel": S1, "chat": uri, "source": source})
        elif choice == 13 and len(self.chats()) > 1:
            if chat != host.chat():
                host.wait(host.service.dispose_chat(chat))
        elif choice == 14 and pick.random() < 0.3:
            self.end()

    def print(self, program):
        [number] = re.findall(r"line (\d+)", " ".join(program.program.argv))
        words = f"output {number}.{self.random.randrange(1000)}"
        # Noted before it is received: a client may stop it while it is.
        self.printed.setdefault(int(number), []).append(words)
        program.prints(words + "\r\n")

    def end(self):
        host = self.host
        for gate in self.gates:
            gate.open()
        self.gates.clear()
        host.agent._scripts.clear()
        if self.random.random() < 0.5:
            self.crashed = True
            host.crash()
            host.programs.started.clear()  # the guard ended them, and nobody was left to be told
            for backend in host.agent.chats:  # nor by what is collected of it later
                backend.start.host.end()
        else:
            host.restart()
            assert host.programs.running == []
        self.gates.clear()  # what was left behind them is of a life that is over
        self.listen()


def check(host, crowd):
    named = set()
    for chat in crowd.chats():
        state, held = host.state(chat), host.service.find_chat(chat)
        running = state.get("activeTurn")
        assert (held.current and held.current.turn_id) == (running and running["id"])
        assert (state["status"] & ACTIVITY_MASK == IN_PROGRESS) == (running is not None)
        ids = [turn["id"] for turn in state["turns"]]
        assert len(ids) == len(set(ids))
        for turn in state["turns"]:
            check_turn(host, crowd, held, turn)
        if running is not None:
            named |= terminals_in(running)
    check_terminals(host, crowd, named)
    asked = [turn.text for turn in host.agent.turns]
    assert not [text for text in asked if command_in(text)]


def check_turn(host, crowd, held, turn):
    is_command = command_in(turn["message"]["text"]) is not None
    assert held.kept.is_command(turn["id"]) == is_command
    if not is_command:
        return
    for part in turn["responseParts"]:
        if part["kind"] != "toolCall":
            continue
        call = part["toolCall"]
        assert call["status"] in ("completed", "cancelled")
        if call["status"] == "cancelled":  # before it had a terminal, or with the host's life
            assert turn["state"] == "cancelled" or crowd.crashed
            assert crowd.reacts or crowd.crashed
            continue
        assert call["pastTenseMessage"] == STOPPED or turn["state"] != "error"
        assert turn["state"] == "complete" or not call["success"] or crowd.reacts
        assert turn["state"] != "complete" or call["pastTenseMessage"] != STOPPED
        check_report(host, crowd, turn, call)


def check_report(host, crowd, turn, call):
    """What a command's call came to has all it printed, and so has its terminal, exited.

    What one prints while clients are told that it is stopped may be in neither.
    """
    printed = crowd.printed.get(int(turn["message"]["text"].removeprefix("!line ")), [])
    texts = [block["text"] for block in call["content"] if block["type"] == "text"]
    shown = "\n".join(texts).split("\n") if texts else []
    [terminal] = terminals_in(turn)
    kept = host.kept.terminal(terminal)
    assert kept is not None, "a terminal a call names is readable"
    state = decode(kept)
    assert state["lifecycle"]["status"] == "exited"
    read = "".join(part["value"] for part in state["content"]).split("\r\n")[:-1]
    assert shown == read[: len(shown)]
    assert read == printed[: len(read)]
    if not crowd.reacts or call["pastTenseMessage"] != STOPPED:
        assert shown == read == printed


def terminals_in(turn):
    return {
        block["resource"]
        for part in turn["responseParts"]
        for block in part.get("toolCall", {}).get("content", ())
        if block["type"] == "terminal"
    }


def check_terminals(host, crowd, named):
    """What runs is listed, and belongs to a command that was neither stopped nor finished."""
    listed = host.state(ROOT).get("terminals", [])
    assert named <= {row["resource"] for row in listed}
    running = [row for row in listed if row["lifecycle"]["status"] == "running"]
    assert len(running) == len(host.programs.running)
    for row in running:
        chat = host.service.find_chat(row["claim"]["chat"])
        assert chat.runs


@pytest.mark.parametrize("nested", [0, 30])
@pytest.mark.parametrize("seed", range(12))
def test_commands_among_turns_in_any_order(sessions_host, seed, nested):
    agent = ConversationsAgent(
        always=points,
        capabilities={"multipleChats": {"fork": True}},
        abilities=AgentAbilities(reopens=True, resume=True, steering=True),
    )
    agent.keeps_as = lambda start: f"kept-{len(agent.chats)}"
    host = sessions_host(agents={"scripted": agent}, programs=ScriptedTerminals())
    host.agent = agent
    host.session()
    host.turn(host.chat(), "first")
    crowd = Crowd(host, seed)
    crowd.nested = nested
    crowd.reacts = nested > 0
    for _ in range(120):
        crowd.act()
        check(host, crowd)
    crowd.nested = 0
    for gate in crowd.gates:
        gate.open()
    for chat in crowd.chats():
        while (running := host.state(chat).get("activeTurn")) is not None:
            host.stop(chat, running["id"])
    check(host, crowd)
    ends = [a["turnId"] for a in host.said() if a["type"] in ENDS]
    assert len(ends) == len(set(ends))
    agent._scripts.clear()
    host.clock.advance(6)
    chat = host.chat()
    last = host.turn(chat, "!and it still works")
    host.programs.last.exits(0)
    assert last in [turn["id"] for turn in host.turns(chat)]
    host.wait(host.service.drain())
    assert host.programs.running == []
    host.clock.advance(1)
    assert host.clock.getDelayedCalls() == []
