"""What a backend says through `TurnWriter` is what a client can follow."""

import pytest
import pytest_twisted

from ahpd.agents.output import TurnWriter, text_content
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
