"""Terminals an ACP agent opens: the host's own."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from twisted.internet.defer import Deferred

from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes import shape
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import RecordedOutput
from ahpd.testing.host import MemoryHost
from ahpd.testing.terminals import ScriptedTerminals
from ahpd_agent_acp import asks_terminals
from ahpd_agent_acp.asks import ClientRequests
from ahpd_agent_acp.connection import RequestError
from ahpd_agent_acp.printed import newest, readable
from ahpd_agent_acp.updates import TurnUpdates


class Agent:
    """An agent that opens terminals of a host, which a client watches."""

    def __init__(self):
        self.programs = ScriptedTerminals()
        self.host = MemoryHost(terminals=self.programs)
        self.requests = ClientRequests(
            resources=None,
            terminals=self.host.host.service.getServiceNamed("terminals"),
            ids=self.host.ids,
            session="ahp-session:/1",
            chat="ahp-chat:/1",
            directory="/work",
            session_id="s1",
        )
        self.output = RecordedOutput("t1")
        self.turn = TurnUpdates(self.output, terminals=self.requests.shown_terminal)
        self.ann = self.host.connect("ann", ROOT)

    def asking(self, method, **params):
        answers = []
        asked = self.requests.answer(f"terminal/{method}", {"sessionId": "s1", **params}, self.turn)
        self.waiting = Deferred.fromCoroutine(asked)
        self.waiting.addBoth(answers.append)
        self.host.settle()
        return answers

    def ask(self, method, **params):
        (answer,) = self.asking(method, **params)
        if hasattr(answer, "raiseException"):
            answer.raiseException()
        return answer

    def create(self, command="make", **params):
        return self.ask("create", command=command, **params)["terminalId"]

    def prints(self, text):
        self.programs.last.prints(text)
        self.host.advance(1)

    def exits(self, *how):
        self.programs.last.exits(*how)
        self.host.settle()

    @property
    def listed(self):
        return self.ann.plain_state(ROOT).get("terminals", [])


@pytest.fixture
def agent():
    made = Agent()
    yield made
    made.requests.close()
    made.host.settle()
    made.host.stop()


def test_a_program_is_opened_as_one_of_the_hosts_for_the_turn_that_runs(agent):
    env = [
        {"name": "A", "value": "1"},
        {"name": "A", "value": "2"},
        {"name": "B=C", "value": "x"},
        {"name": "D"},
        5,
    ]
    agent.create("git", args=["commit", "-m", "a b"], cwd="/tmp", env=env)
    program = agent.programs.last.program
    assert list(program.argv) == ["git", "commit", "-m", "a b"]
    assert program.cwd == "/tmp"
    assert program.env["A"] == "2"
    assert not {"B=C", "D"} & set(program.env)
    (listed,) = agent.listed
    assert listed["title"] == "git commit -m a b"
    assert listed["claim"] == {
        "kind": "session",
        "session": "ahp-session:/1",
        "chat": "ahp-chat:/1",
        "turnId": "t1",
    }
    assert agent.requests.capabilities()["terminal"] is True


def test_a_whole_line_as_the_program_is_for_the_shell(agent):
    agent.create("cd src && make")
    assert agent.programs.last.program.argv[-1].endswith("cd src && make")
    assert agent.programs.last.program.cwd == "/work"
    agent.create("/usr/bin/make")
    assert list(agent.programs.last.program.argv) == ["/usr/bin/make"]


def test_what_it_printed_is_answered_as_text_with_how_it_ended(agent):
    terminal = agent.create()
    assert agent.ask("output", terminalId=terminal) == {"output": "", "truncated": False}
    agent.prints("\x1b[32mok\x1b[0m\r\n10%\r100%\r\n")
    assert agent.ask("output", terminalId=terminal)["output"] == "ok\n100%\n"
    agent.exits(3)
    answer = agent.ask("output", terminalId=terminal)
    assert answer["exitStatus"] == {"exitCode": 3, "signal": None}


def test_the_newest_is_kept_within_the_limit_and_no_character_is_cut(agent):
    terminal = agent.create(outputByteLimit=5)
    agent.prints("abcé")
    assert agent.ask("output", terminalId=terminal) == {"output": "abcé", "truncated": False}
    agent.prints("déf")
    assert agent.ask("output", terminalId=terminal) == {"output": "déf", "truncated": True}


def test_output_whose_beginning_the_host_dropped_says_so(agent):
    terminal = agent.create()
    agent.prints("the beginning\r\n")
    assert agent.ask("output", terminalId=terminal)["truncated"] is False
    for number in range(30):
        agent.prints(f"{number:03}" + "." * 10_000 + "\r\n")
    assert agent.ask("output", terminalId=terminal)["truncated"] is True


def test_whoever_waits_for_the_exit_is_told_and_so_is_who_asks_later(agent):
    terminal = agent.create()
    waiting = [agent.asking("wait_for_exit", terminalId=terminal) for _ in range(3)]
    agent.waiting.cancel()
    agent.exits(None, "SIGTERM")
    told = {"exitCode": None, "signal": "SIGTERM"}
    assert waiting[:2] == [[told], [told]]
    assert agent.ask("wait_for_exit", terminalId=terminal) == told


def test_a_killed_one_can_still_be_read(agent):
    terminal = agent.create()
    agent.prints("half")
    assert agent.ask("kill", terminalId=terminal) == {}
    assert agent.ask("wait_for_exit", terminalId=terminal)["signal"] == "SIGHUP"
    assert agent.ask("output", terminalId=terminal)["output"] == "half"
    assert agent.ask("kill", terminalId=terminal) == {}


def test_a_released_one_no_call_shows_is_gone(agent):
    terminal = agent.create()
    agent.ask("release", terminalId=terminal)
    assert not agent.programs.last.runs
    assert agent.listed == []
    for method in ("output", "wait_for_exit", "kill", "release"):
        with pytest.raises(RequestError) as refused:
            agent.ask(method, terminalId=terminal)
        assert refused.value.code == -32002


def show(agent, terminal, call="c1", **fields):
    content = [{"type": "terminal", "terminalId": terminal}]
    update = {"sessionUpdate": "tool_call", "toolCallId": call, "title": "Run", "kind": "execute"}
    agent.turn.update({**update, "status": "in_progress", "content": content, **fields})


def test_a_call_shows_the_hosts_terminal_and_in_the_end_what_it_came_to(agent):
    terminal = agent.create("make", args=["all"])
    show(agent, terminal)
    shown = {
        "type": "terminal",
        "resource": agent.listed[0]["resource"],
        "title": "make all",
        "isPty": True,
    }
    assert agent.output.actions[-1]["content"] == [shown]
    agent.prints("built\r\n")
    agent.exits(0)
    agent.ask("release", terminalId=terminal)
    show(agent, terminal, status="completed")
    result = agent.output.actions[-1]["result"]
    outcome = {"preview": "built\n", "truncated": False, "exitCode": 0}
    assert result["content"] == [{**shown, "result": outcome}]
    check_strict(result, shape("tool_calls.ToolCallResult"), "result")
    assert [each["resource"] for each in agent.listed] == [shown["resource"]]


def test_released_ones_are_kept_for_their_calls_up_to_a_number(agent):
    for number in range(asks_terminals.MOST_SHOWN + 3):
        terminal = agent.create()
        show(agent, terminal, call=f"c{number}")
        agent.ask("release", terminalId=terminal)
    assert len(agent.listed) == asks_terminals.MOST_SHOWN
    assert agent.programs.running == []


def test_a_program_that_is_not_there_is_a_terminal_that_says_so(agent):
    agent.programs.failure = "There is no program named nope"
    terminal = agent.create("nope")
    answer = agent.ask("output", terminalId=terminal)
    assert answer["output"].startswith("There is no program named nope")
    assert answer["exitStatus"] == {"exitCode": 127, "signal": None}


def test_a_session_has_so_many_open_and_no_more(agent):
    for _ in range(asks_terminals.MOST_OPEN):
        agent.create()
    with pytest.raises(RequestError) as refused:
        agent.create()
    assert refused.value.code == -32603


@pytest.mark.parametrize(
    "params",
    [
        {"command": ""},
        {"command": 5},
        {"command": "ls", "args": "x"},
        {"command": "ls", "args": [5]},
        {"command": "l\0s"},
        {"command": "ls", "cwd": "src"},
        {"command": "ls", "outputByteLimit": -1},
    ],
)
def test_params_that_say_no_program_open_nothing(agent, params):
    with pytest.raises(RequestError) as refused:
        agent.ask("create", **params)
    assert refused.value.code == -32602
    assert agent.programs.started == []


def test_a_session_that_closes_ends_all_of_them_and_refuses_who_waits(agent):
    terminal = agent.create()
    waiting = agent.asking("wait_for_exit", terminalId=terminal)
    named = agent.create()
    show(agent, named)
    agent.ask("release", terminalId=named)
    closed = []
    agent.requests.close().addBoth(closed.append)
    agent.host.settle()
    assert closed == [None]
    assert waiting[0].check(RequestError)
    assert agent.programs.running == []
    assert agent.listed == []


# -- what is read of it ---------------------------------------------------------------------------


@settings(deadline=None)
@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40), st.integers(0, 60))
def test_the_newest_of_a_text_is_its_end_in_whole_characters(text, limit):
    kept = newest(text, limit)
    assert text.endswith(kept)
    size = len(kept.encode())
    assert size <= limit
    rest = text[: len(text) - len(kept)]
    assert not rest or size + len(rest[-1].encode()) > limit


@settings(deadline=None)
@given(st.text(st.sampled_from("ab\r\n\x1b[0;m]\x07\x00\t"), max_size=60))
def test_what_is_readable_has_nothing_of_a_terminal_in_it(printed):
    assert not set(readable(printed)) & set("\x1b\x07\x00\r")
