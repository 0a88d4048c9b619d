"""The contract of a backend, on the real one, on the fake one, and on broken ones."""

from copy import deepcopy

import pytest
import pytest_twisted
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.agents.demo.agent import DemoAgent
from ahpd.interfaces import AgentFailure, ChatStart, IAgentChat, TurnRequest
from ahpd.testing.agent_contract import AgentContract, check_agent, check_said
from ahpd.testing.agents import (
    Gate,
    RecordedOutput,
    ScriptedAgent,
    answers,
    echo,
    ends_itself,
    fails,
    never_ends,
    speaks_after_the_end,
    speaks_of_another_turn,
    streams,
    waits_at,
)

START = ChatStart(session="ahp-session:/s", chat="ahp-chat:/c", working_directories=(), config={})


async def by_text(turn):
    await (never_ends if turn.request.text == "endless" else echo)(turn)


def scripted():
    return ScriptedAgent(always=by_text)


@pytest.fixture
def contract(reactor):
    return AgentContract(reactor=reactor, endless="endless", bound=0.5)


@pytest_twisted.ensureDeferred
async def test_the_scripted_agent_holds_it():
    await check_agent(scripted, AgentContract(reactor=Clock(), endless="endless"))


LOOK = {"clientId": "editor", "name": "look", "title": "Look"}


@pytest.mark.parametrize("endless", ["/say a\n/sleep 600000", "/stream 10000000"])
@pytest_twisted.ensureDeferred
async def test_the_demo_agent_holds_it(reactor, supervisor, endless):
    await check_agent(
        lambda: DemoAgent(reactor, supervisor, pace_ms=0),
        AgentContract(
            reactor=reactor,
            endless=endless,
            supervisor=supervisor,
            flooding="/stream 30000 60",
            failing="/say a\n/tool look b\n/retry 1\n/say c",
            steered="/say a\n/sleep 50\n/say b",
            delegating="/task reader what is there",
            delegating_endlessly="/task reader /sleep 600000",
            asking=["/ask Red?", "/confirm run it", '/client look {"at": 1}'],
            client_tools=[LOOK],
            config={"pace": "instant"},
        ),
    )
    assert supervisor.children == (), "a closed chat left its process"


def broken_info(change):
    def make():
        agent = scripted()
        info = deepcopy(agent.info())
        change(info)
        agent.info = lambda: info
        return agent

    return make


def broken_script(script):
    return lambda: ScriptedAgent(
        always=lambda turn: (never_ends if turn.request.text == "endless" else script)(turn)
    )


async def unopened(turn):
    turn.delta("nowhere", "x")


async def twice_opened(turn):
    for _ in range(2):
        turn.say("chat/responsePart", part={"kind": "markdown", "id": "same", "content": ""})


async def misshapen(turn):
    part = turn.markdown()
    turn.say("chat/delta", partId=part, content=5)


async def undeclared(turn):
    part = turn.markdown()
    turn.say("chat/delta", partId=part, content="x", extra=1)


async def unready_tool(turn):
    turn.say("chat/toolCallStart", toolCallId="c", toolName="n", displayName="N")
    result = {"success": True, "pastTenseMessage": "Ran"}
    turn.say("chat/toolCallComplete", toolCallId="c", result=result)


async def silent(turn):
    pass


def with_same_ids():
    async def script(turn):
        turn.say("chat/responsePart", part={"kind": "markdown", "id": "1", "content": "x"})

    return script


def ignoring_stops():
    agent = scripted()
    agent.ignores_stop = True
    return agent


@implementer(IAgentChat)
class Reopening:
    """A chat that takes turns after it was closed."""

    def __init__(self, chat):
        self._chat = chat
        self.stop = chat.stop

    async def run(self, turn, output):
        if not self._chat.closed:
            await self._chat.run(turn, output)

    async def close(self):
        await self._chat.close()


def reopening():
    agent = scripted()
    open_chat = agent.open_chat

    async def wrapped(start):
        return Reopening(await open_chat(start))

    agent.open_chat = wrapped
    return agent


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (broken_info(lambda info: info.pop("description")), "description"),
        (broken_info(lambda info: info.update(extra=1)), "extra"),
        (broken_info(lambda info: info.update(provider="other")), "another provider"),
        (broken_info(lambda info: info["models"].append(info["models"][0])), "same id"),
        (broken_info(lambda info: info["models"][0].update(provider="x")), "another provider"),
        (broken_script(ends_itself), "chat/turnComplete is not a turn's to say"),
        (broken_script(speaks_of_another_turn), "names the turn another-turn"),
        (broken_script(unopened), "not open"),
        (broken_script(twice_opened), "opened twice"),
        (broken_script(with_same_ids()), "opened twice"),
        (broken_script(misshapen), "content"),
        (broken_script(undeclared), "extra"),
        (broken_script(unready_tool), "chat/toolCallComplete of c, which is streaming"),
        (broken_script(silent), "said nothing"),
        (broken_script(never_ends), "the turn first took more than"),
        (ignoring_stops, "the end of a stopped turn took more than"),
        (reopening, "a closed chat took a turn"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_breaks_it_is_found(contract, make, words):
    with pytest.raises(AssertionError, match=words):
        await check_agent(make, contract)


# -- the scripted agent itself ----------------------------------------------------------


async def run(agent, text="hello", output=None):
    chat = await agent.open_chat(START)
    output = output or RecordedOutput("t")
    await chat.run(TurnRequest(turn_id=output.turn_id, message={"text": text}), output)
    return output


@pytest_twisted.ensureDeferred
async def test_scripts_are_taken_in_order_and_then_the_usual_one():
    agent = ScriptedAgent().then(answers("a", "b"), streams(3, 2))
    assert [(await run(agent)).text() for _ in range(3)] == ["ab", "......", "hello"]
    assert [turn.text for turn in agent.turns] == ["hello"] * 3


@pytest_twisted.ensureDeferred
async def test_a_gate_holds_a_turn_until_it_is_opened():
    from twisted.internet.defer import Deferred

    gate = Gate()
    output = RecordedOutput("t")
    running = Deferred.fromCoroutine(run(ScriptedAgent().then(waits_at(gate, "on")), output=output))
    await gate.reached()
    assert output.text() == ""
    assert not running.called
    gate.open()
    await running
    assert output.text() == "on"


@pytest_twisted.ensureDeferred
async def test_failures_are_raised_and_late_words_can_be_tried():
    later = []
    agent = ScriptedAgent().then(fails("no", "why", True), speaks_after_the_end(later))
    with pytest.raises(AgentFailure, match="no") as failure:
        await run(agent)
    assert (failure.value.error_type, failure.value.resumable) == ("why", True)
    output = await run(agent)
    later[0]()
    assert output.text() == "in timetoo late"


@pytest_twisted.ensureDeferred
async def test_opening_can_fail():
    agent = ScriptedAgent()
    agent.open_failure = AgentFailure("not today")
    with pytest.raises(AgentFailure, match="not today"):
        await agent.open_chat(START)


def test_a_tool_call_of_the_scripted_agent_fits():
    from ahpd.testing.agents import ScriptedTurn

    output = RecordedOutput("t")
    turn = ScriptedTurn(TurnRequest(turn_id="t", message={"text": ""}), output)
    turn.tool("look", "seen")
    part = turn.reasoning()
    turn.think(part, "hm")
    check_said(output.actions, "t")
