"""What a backend says through `TurnWriter` is what a client can follow."""

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred

from ahpd.agents.output import TurnWriter, text_content
from ahpd.interfaces import InputAnswer, ToolAnswer, TurnOver
from ahpd.protocol.actions import TURN_ACTIONS
from ahpd.testing.agent_contract import check_said
from ahpd.testing.agents import RecordedOutput


@pytest.fixture
def output():
    return RecordedOutput("t1")


@pytest.fixture
def writer(output):
    return TurnWriter(output)


def test_everything_it_says_fits_the_protocol(writer, output):
    thought = writer.reasoning()
    thought.append("hm")
    answer = writer.markdown("So: ")
    answer.append("yes")
    call = writer.tool_call("read", "Read a file", "Look at it")
    call.input('{"path":')
    call.input('"x"}')
    call.ready("Reading x", '{"path":"x"}')
    call.complete("Read x", [text_content("content")])
    failing = writer.tool_call("run", "Run")
    failing.ready("Running")
    failing.fail("Tried to run", "no such program")
    writer.usage(3, 4)
    writer.usage(3, 5, "m")
    writer.activity("thinking")
    writer.activity(None)
    check_said(output.actions, "t1")
    assert output.text() == "So: yes"
    assert {action["type"] for action in output.actions} <= TURN_ACTIONS


@pytest_twisted.ensureDeferred
async def test_what_people_and_clients_decide_is_awaited_and_fits(writer, output):
    output.confirm(ToolAnswer(approved=True, option="once"))
    output.confirm(ToolAnswer(approved=False, reason="skipped"))
    output.confirm_result(ToolAnswer(approved=True))
    output.return_result({"success": True, "pastTenseMessage": "Looked"})
    output.answer(InputAnswer(response="cancel", answers={}))
    asking = writer.tool_call("run", "Run")
    option = {"id": "once", "label": "Allow once", "kind": "approve"}
    asking.ready("Running", "ls", ask=True, options=[option], editable=True)
    assert (await asking.confirmed()).option == "once"
    asking.content([text_content("so far")])
    asking.complete("Ran", review=True)
    assert (await asking.result_confirmed()).approved
    denied = writer.tool_call("run", "Run")
    denied.ready("Running", ask=True)
    assert (await denied.confirmed()).reason == "skipped"
    with pytest.raises(RuntimeError, match="is cancelled and cannot become completed"):
        denied.complete("Ran")
    clients = writer.tool_call("look", "Look", client="editor")
    clients.ready("Looking")
    assert (await clients.client_result())["success"]
    with pytest.raises(RuntimeError, match="is completed and runs nowhere"):
        await clients.client_result()
    question = writer.question("Sure?", {"id": "q", "kind": "boolean", "message": "Sure?"})
    assert (await question.answered()).response == "cancel"
    writer.question("Sign in", url="https://sign.in/")
    writer.ends_at("here")
    check_said(output.history, "t1")
    ready = next(a for a in output.actions if a["type"] == "chat/toolCallReady")
    assert ready["options"] == [option]
    assert ready["editable"]
    assert "confirmed" not in ready
    assert output.points == ["here"]
    assert output.actions[-1]["request"] == {
        "id": "t1:5",
        "message": "Sign in",
        "url": "https://sign.in/",
    }


@pytest_twisted.ensureDeferred
async def test_a_call_that_asked_nobody_waits_for_nobody(writer):
    call = writer.tool_call("run", "Run")
    with pytest.raises(RuntimeError, match="is streaming and spawns no worker"):
        call.worker({"text": "x", "origin": {"kind": "agent"}}, "Worker")
    call.ready("Running")
    for wait in (call.confirmed, call.result_confirmed):
        with pytest.raises(RuntimeError, match="is running and waits for nobody"):
            await wait()


@pytest_twisted.ensureDeferred
async def test_a_turn_that_is_over_raises_in_what_waits(writer, output):
    call = writer.tool_call("run", "Run")
    call.ready("Running", ask=True)
    waiting = Deferred.fromCoroutine(call.confirmed())
    output.over()
    with pytest.raises(TurnOver):
        await waiting
    with pytest.raises(TurnOver):
        await writer.question("Sure?").answered()


def test_a_worker_is_of_its_call(writer, output):
    call = writer.tool_call("task", "Task")
    call.ready("Running")
    worker = call.worker({"text": "x", "origin": {"kind": "agent"}}, "Reader")
    assert output.workers[call.id] is worker
    TurnWriter(worker).markdown("seen")
    worker.complete()
    assert (worker.text(), worker.ended, worker.title) == ("seen", "complete", "Reader")


def test_ids_are_of_the_turn_and_never_used_twice(writer, output):
    ids = [writer.markdown().id, writer.reasoning().id, writer.tool_call("a", "A").id]
    assert ids == ["t1:1", "t1:2", "t1:3"]
    assert TurnWriter(output, first=4).markdown().id == "t1:4"


def test_an_empty_piece_says_nothing(writer, output):
    part = writer.markdown()
    part.append("")
    assert [action["type"] for action in output.actions] == ["chat/responsePart"]


@pytest.mark.parametrize(
    ("steps", "words"),
    [
        (["complete"], "is streaming and cannot become completed"),
        (["ready", "input"], "is running and cannot become streaming"),
        (["ready", "ready"], "is running and cannot become running"),
        (["ready", "complete", "complete"], "is completed and cannot become completed"),
    ],
)
def test_a_tool_call_out_of_order_is_a_bug_that_shows(writer, output, steps, words):
    call = writer.tool_call("a", "A")
    for step in steps[:-1]:
        getattr(call, step)("x")
    said = len(output.actions)
    with pytest.raises(RuntimeError, match=words):
        getattr(call, steps[-1])("x")
    assert len(output.actions) == said


@pytest_twisted.ensureDeferred
async def test_drained_is_the_outputs(writer):
    await writer.drained()


@pytest_twisted.ensureDeferred
async def test_a_call_that_the_host_s_rules_refused_may_fail_in_its_backend_s_words(writer, output):
    output.confirm(ToolAnswer(approved=False, decision_source="host_policy"))
    output.confirm(ToolAnswer(approved=False, reason="denied", decision_source="host_policy"))
    refused = writer.tool_call("run", "Run")
    refused.ready("Running", ask=True)
    await refused.confirmed()
    with pytest.raises(RuntimeError, match="is refused and cannot become completed"):
        refused.complete("Ran")
    refused.fail("Could not run", "The rules refuse it")
    with pytest.raises(RuntimeError, match="is completed and cannot become completed"):
        refused.fail("Could not run", "again")
    turned_down = writer.tool_call("run", "Run")
    turned_down.ready("Running", ask=True)
    await turned_down.confirmed()
    with pytest.raises(RuntimeError, match="is cancelled and cannot become completed"):
        turned_down.fail("Could not run", "A person refused it")
    check_said(output.history, "t1")
