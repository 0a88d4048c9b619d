"""What a call of the host's own tools has produced so far."""

import pytest

from ahpd.app.produced import ProducedContent
from ahpd.interfaces import HostTool, ToolCallContext

S1 = "ahp-session:/s1"
SAID = "chat/toolCallContentChanged"


def block(text):
    return {"type": "text", "text": text}


@pytest.fixture
def producing(tool_host):
    """A host with a tool that says what it produced: each of `parts`, one after another."""
    host = tool_host()
    host.parts, host.kept = [], []
    produced = ProducedContent(host.host.store, host.sessions.find_chat)

    async def run(given, context):
        say = produced(context)
        host.kept.append(say)
        for part in host.parts:
            say(part)
        return "done"

    host.registry.register(HostTool(definition={"name": "make"}, run=run))
    host.produced = produced
    host.session()
    return host


def called(host, shown=True):
    """A turn in which an agent calls the tool, and shows the call as running."""
    results = []

    async def script(turn):
        call = "unknown"
        if shown:
            call = turn.ready(turn.begin("make"), "Making", confirmed="not-needed")
        results.append(await turn.host.run_tool("make", {}, call))
        if shown:
            turn.complete(call, "Made")

    host.turn(host.chat(), script=script)
    return results[0]


def contents(host):
    return [action["content"] for action in host.said(host.chat(), SAID)]


def test_it_is_shown_while_the_call_runs(producing):
    producing.parts = [[block("a")], [block("a"), block("b")]]
    assert called(producing)["success"]
    assert contents(producing) == producing.parts


def test_a_call_nobody_shows_and_one_that_is_over_have_none(producing):
    producing.parts = [[block("a")]]
    assert called(producing, shown=False)["success"]
    assert contents(producing) == []
    producing.parts = []
    called(producing)
    producing.kept[-1]([block("late")])
    producing.host.settle()
    assert contents(producing) == []


@pytest.mark.logs_failures
@pytest.mark.parametrize("part", [{"type": "text"}, {"type": "text", "text": "\ud800"}])
def test_what_is_no_content_is_refused_where_it_is_said(producing, part):
    producing.parts = [[part]]
    assert not called(producing)["success"]
    assert contents(producing) == []


def test_a_chat_that_is_gone_has_none(producing):
    gone = ToolCallContext(session=S1, chat="ahp-chat:/gone", tool_call_id="1")
    assert producing.produced(gone) is None
