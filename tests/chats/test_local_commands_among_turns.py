"""`!` commands beside the agent's turns: in front of them, behind them, instead of them."""

import pytest

from ahpd.interfaces import AgentAbilities
from ahpd.protocol.uris import ROOT
from ahpd.testing import agents as scripts
from ahpd.testing.agents import Gate, ScriptedAgent
from ahpd.testing.terminals import ScriptedTerminals

S1 = "ahp-session:/s1"


@pytest.fixture
def host(sessions_host):
    agent = ScriptedAgent(abilities=AgentAbilities(steering=True, resume=True))
    host = sessions_host(agents={"scripted": agent}, programs=ScriptedTerminals())
    host.agent = agent
    host.session()
    return host


@pytest.fixture
def chat(host):
    return host.chat()


def active(host, chat):
    turn = host.state(chat).get("activeTurn")
    return None if turn is None else turn["id"]


def asked(host):
    return [turn.text for turn in host.agent.turns]


def ends(host, chat):
    kinds = ("chat/turnComplete", "chat/turnCancelled", "chat/error")
    return [(a["type"], a["turnId"]) for a in host.said(chat) if a["type"] in kinds]


def ran(host):
    return [program.program.argv[-1] for program in host.programs.started]


# -- one in place of the other -------------------------------------------------------------


def test_it_runs_beside_the_turn_it_replaced(host, chat):
    gate = Gate()
    host.agent.then(scripts.waits_at(gate, "answer"))
    question = host.turn(chat, "question")
    command = host.turn(chat, "!ls")
    assert active(host, chat) == command
    assert len(host.programs.started) == 1
    assert not host.agent.chats[0].stops
    host.programs.last.exits(0)
    assert active(host, chat) is None
    gate.open()
    assert ends(host, chat) == [
        ("chat/turnComplete", command),
        ("chat/turnComplete", question),
    ]
    assert [turn["id"] for turn in host.turns(chat)] == [command]


def test_the_turn_it_replaced_may_end_first(host, chat):
    gate = Gate()
    host.agent.then(scripts.waits_at(gate, "answer"))
    question = host.turn(chat, "question")
    command = host.turn(chat, "!ls")
    gate.open()
    assert active(host, chat) == command
    host.programs.last.exits(0)
    assert ends(host, chat) == [
        ("chat/turnComplete", question),
        ("chat/turnComplete", command),
    ]


def test_a_question_does_not_wait_for_the_command_it_replaced(host, chat):
    command = host.turn(chat, "!sleep 100")
    question = host.turn(chat, "question")
    assert asked(host) == ["question"]
    assert [turn["id"] for turn in host.turns(chat)] == [question]
    program = host.programs.last
    assert program.runs
    [row] = host.state(ROOT)["terminals"]
    program.exits(0)
    assert ends(host, chat)[-1] == ("chat/turnComplete", command)
    assert host.state(ROOT)["terminals"] == []
    assert host.kept.terminal(row["resource"]) is None


def test_two_commands_run_beside_each_other(host, chat):
    first, second = host.turn(chat, "!one"), host.turn(chat, "!two")
    assert [program.runs for program in host.programs.started] == [True, True]
    host.programs.started[1].exits(0)
    assert active(host, chat) is None
    assert host.service.find_chat(chat).runs
    host.programs.started[0].exits(0)
    assert not host.service.find_chat(chat).runs
    assert ends(host, chat) == [("chat/turnComplete", second), ("chat/turnComplete", first)]
    assert [turn["id"] for turn in host.turns(chat)] == [second]


def test_a_stop_stops_what_its_turn_replaced(host, chat):
    host.agent.then(scripts.never_ends)
    host.turn(chat, "question")
    command = host.turn(chat, "!one")
    host.turn(chat, "!two")
    stopped = host.turn(chat, "!three")
    host.stop(chat, stopped)
    assert not any(program.runs for program in host.programs.started)
    assert host.agent.chats[0].stops
    assert [turn["id"] for turn in host.turns(chat)] == [stopped]
    assert command not in [turn for _, turn in ends(host, chat)]
    assert host.state(ROOT)["terminals"] == []


def test_of_a_command_that_was_replaced_a_stop_says_what_it_came_to_and_keeps_nothing(host, chat):
    replaced = host.turn(chat, "!one")
    host.programs.last.prints("so far\r\n")
    stopped = host.turn(chat, "!two")
    first, second = [row["resource"] for row in host.state(ROOT)["terminals"]]
    host.stop(chat, stopped)
    reports = [a for a in host.said(chat) if a["type"] == "chat/toolCallComplete"]
    assert [a["turnId"] for a in reports] == [replaced, stopped]
    assert [a["result"]["pastTenseMessage"] for a in reports] == ["Command was stopped"] * 2
    assert reports[0]["result"]["content"][1]["text"] == "so far"
    assert host.kinds(chat)[-1] == "chat/turnCancelled"
    assert host.kept.terminal(first) is None
    assert host.kept.terminal(second) is not None


def test_a_stop_of_a_question_kills_the_command_it_replaced(host, chat):
    host.turn(chat, "!sleep 100")
    host.agent.then(scripts.never_ends)
    question = host.turn(chat, "question")
    host.stop(chat, question)
    assert not host.programs.last.runs


def test_a_replaced_turn_that_fails_ends_in_its_error(host, chat):
    gate = Gate()

    async def fails_late(turn):
        await gate.passed()
        await scripts.fails("no")(turn)

    host.agent.then(fails_late)
    question = host.turn(chat, "question")
    command = host.turn(chat, "!ls")
    gate.open()
    assert ends(host, chat) == [("chat/error", question)]
    assert active(host, chat) == command
    host.programs.last.exits(0)
    assert host.turns(chat)[-1]["state"] == "complete"


# -- the queue -------------------------------------------------------------------------------


@pytest.mark.parametrize("code", [0, 1])
def test_the_queue_goes_on_however_it_went(host, chat, code):
    host.turn(chat, "!one")
    host.queue(chat, "q1", "!two")
    host.queue(chat, "q2", "three")
    assert len(host.programs.started) == 1
    host.programs.last.exits(code)
    assert len(host.programs.started) == 2
    start = [a for a in host.said(chat) if a["type"] == "chat/turnStarted"][-1]
    assert (start["queuedMessageId"], start["message"]["text"]) == ("q1", "!two")
    assert asked(host) == []
    host.programs.last.exits(code)
    assert asked(host) == ["three"]
    assert "queuedMessages" not in host.state(chat)


def test_one_that_cannot_run_does_not_hold_the_queue(host, chat):
    gate = Gate()
    host.agent.then(scripts.waits_at(gate))
    host.turn(chat, "question")
    host.queue(chat, "q1", "!ls")
    host.queue(chat, "q2", "after")
    host.programs.failure = "no such file"
    gate.open()
    assert asked(host) == ["question", "after"]
    assert [turn["state"] for turn in host.turns(chat)] == ["complete"] * 3


def test_a_stopped_one_starts_nothing(host, chat):
    command = host.turn(chat, "!one")
    host.queue(chat, "q1", "after")
    host.stop(chat, command)
    assert asked(host) == []
    assert [pending["id"] for pending in host.state(chat)["queuedMessages"]] == ["q1"]


def test_what_waits_behind_it_runs_behind_the_turn_it_replaced(host, chat):
    gate = Gate()
    host.agent.then(scripts.waits_at(gate, "answer"))
    host.turn(chat, "question")
    host.turn(chat, "!ls")
    host.queue(chat, "q1", "after")
    host.programs.last.exits(0)
    assert host.state(chat)["activeTurn"]["message"]["text"] == "after"
    assert asked(host) == ["question"]
    gate.open()
    assert asked(host) == ["question", "after"]


def test_behind_a_failure_that_can_be_resumed_it_runs_when_a_client_sends_it(host, chat):
    host.agent.then(scripts.fails("no", resumable=True))
    failed = host.turn(chat, "question")
    host.queue(chat, "q1", "after")
    assert asked(host) == ["question"]
    host.turn(chat, "!ls")
    host.programs.last.exits(0)
    assert asked(host) == ["question", "after"]
    assert host.dispatch(chat, "chat/turnResume", turnId=failed) is not None


def test_a_command_that_failed_cannot_be_resumed(host, chat):
    command = host.turn(chat, "!false")
    host.programs.last.exits(1)
    assert host.dispatch(chat, "chat/turnResume", turnId=command) == (
        "The requested turn is not the latest resumable errored turn."
    )


# -- steering -----------------------------------------------------------------------------------


def test_steering_that_becomes_a_turn_runs_as_a_command(host, chat):
    host.queue(chat, "s1", "!ls", kind="steering")
    assert len(host.programs.started) == 1
    assert asked(host) == []
    start = [a for a in host.said(chat) if a["type"] == "chat/turnStarted"][-1]
    assert start["queuedMessageId"] == "s1"
    assert "steeringMessage" not in host.state(chat)


def test_steering_sent_while_it_runs_runs_next(host, chat):
    host.turn(chat, "!ls")
    host.queue(chat, "q1", "queued")
    host.queue(chat, "s1", "steering", kind="steering")
    assert host.agent.chats == []
    host.programs.last.exits(0)
    assert asked(host) == ["steering", "queued"]


def test_steering_goes_into_the_turn_that_runs_whatever_its_text(host, chat):
    host.agent.then(scripts.never_ends)
    host.turn(chat, "question")
    host.queue(chat, "s1", "!ls", kind="steering")
    assert [each.text for each in host.agent.chats[0].steered] == ["!ls"]
    assert host.programs.started == []


# -- what the backend is told ---------------------------------------------------------------------


def test_the_backend_is_handed_no_command(host, chat):
    host.turn(chat, "!one")
    host.programs.last.exits(0)
    host.turn(chat, "question")
    assert asked(host) == ["question"]
    history = host.agent.chats[0].start.history
    assert [turn["message"]["text"] for turn in history] == []
    host.turn(chat, "!two")
    host.programs.last.exits(0)
    host.service.find_chat(chat).refresh_backend()
    host.turn(chat, "more")
    history = host.agent.chats[1].start.history
    assert [turn["message"]["text"] for turn in history] == ["question"]


def test_no_backend_is_opened_for_it(host, chat):
    host.turn(chat, "!one")
    host.programs.last.exits(0)
    assert host.agent.chats == []


# -- workers ----------------------------------------------------------------------------------


def test_a_command_in_a_read_only_chat_waits_for_no_admission(sessions_host):
    agent = ScriptedAgent(abilities=AgentAbilities(workers=True))
    host = sessions_host(agents={"scripted": agent}, programs=ScriptedTerminals())
    host.session()

    async def delegates(turn):
        turn.worker(turn.running("task"), "do it").done()

    agent.then(delegates)
    host.turn(host.chat(), "go")
    worker = host.state(S1)["chats"][1]["resource"]
    assert host.state(worker)["interactivity"] == "read-only"
    host.turn(worker, "!ls")
    assert len(host.programs.started) == 1
    assert host.turn(worker, "!two").startswith("The chat is read-only")
    host.programs.last.exits(0)
    assert host.turns(worker)[-1]["state"] == "complete"
