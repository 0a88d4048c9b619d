"""`/host`: the demo agent has the host run one of its own tools, a plugin's too."""

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred

from ahpd.agents.demo.agent import DemoAgent
from ahpd.interfaces import ChatStart, HostTool, ToolAnswer, ToolFailure, TurnRequest
from ahpd.testing.agent_contract import check_said
from ahpd.testing.agents import RecordedHost, RecordedOutput


async def count(arguments, at):
    if "session" not in arguments:
        raise ToolFailure("which session?")
    return f"{arguments['session']} has 3 words, call {at.tool_call_id}"


@pytest_twisted.async_yield_fixture
async def begin(reactor, supervisor):
    """Begins a turn of a chat whose host has the tool `tally_count`."""
    agent, host = DemoAgent(reactor, supervisor, pace_ms=0), RecordedHost()
    definition = {"name": "tally_count", "inputSchema": {"type": "object"}}
    host.tools["tally_count"] = HostTool(definition=definition, run=count)
    start = ChatStart(
        session="ahp-session:/s",
        chat="ahp-chat:/c",
        working_directories=(),
        config={},
        host=host,
    )
    chat = await agent.open_chat(start)

    def begun(text, output):
        message = {"text": text, "origin": {"kind": "user"}}
        request = TurnRequest(turn_id=output.turn_id, message=message)
        return Deferred.fromCoroutine(chat.run(request, output))

    yield begun
    await chat.close()


async def told(begin, text, answer):
    output = RecordedOutput("t")
    running = begin(text, output)
    call = await output.asked("confirmed")
    output.confirm(answer, call)
    await running
    check_said(output.history, "t")
    results = [one["result"] for one in output.actions if one["type"] == "chat/toolCallComplete"]
    return output, results


@pytest_twisted.ensureDeferred
async def test_the_tool_runs_once_somebody_allowed_it_and_its_answer_is_said(begin):
    allowed = ToolAnswer(approved=True)
    output, (result,) = await told(begin, '/host tally_count {"session": "s"}', allowed)
    start, ready = output.actions[0], next(a for a in output.actions if "toolInput" in a)
    assert start["toolName"] == "tally_count"
    assert ready["toolInput"] == '{"session": "s"}'
    assert result["success"]
    words = f"s has 3 words, call {start['toolCallId']}"
    assert result["content"] == [{"type": "text", "text": words}]
    assert output.text() == f"Tally count answered: {words}"


@pytest_twisted.ensureDeferred
async def test_a_refused_call_runs_nothing(begin):
    refused = ToolAnswer(approved=False, reason="denied", message="not now")
    output, results = await told(begin, "/host tally_count", refused)
    assert results == []
    assert output.text() == "Tally count was denied: not now."


@pytest.mark.parametrize(
    ("directive", "words"),
    [
        ("/host tally_count", "Tally count failed: which session?"),
        ("/host nothing", "Nothing failed: This host has no tool named nothing."),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_went_wrong_in_it_is_said(begin, directive, words):
    output, (result,) = await told(begin, directive, ToolAnswer(approved=True))
    assert not result["success"]
    assert output.text() == words
