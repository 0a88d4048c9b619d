"""What each directive of the demo agent does, in its own process."""

import ast
import os
from pathlib import Path

import pytest
import pytest_twisted

from ahpd.agents import demo
from ahpd.agents.demo.agent import DemoAgent
from ahpd.interfaces import AgentFailure, ChatStart, TurnRequest
from ahpd.testing.agent_contract import check_said
from ahpd.testing.agents import RecordedOutput

START = ChatStart(session="ahp-session:/s", chat="ahp-chat:/c", working_directories=(), config={})


@pytest_twisted.async_yield_fixture
async def chat(reactor, supervisor):
    chat = await DemoAgent(reactor, supervisor, pace_ms=0).open_chat(START)
    yield chat
    await chat.close()


@pytest.fixture
def tell(chat):
    """Runs one turn and gives back what it said, checked against the protocol."""
    count = 0

    async def tell(text, model=None):
        nonlocal count
        count += 1
        output = RecordedOutput(f"t{count}")
        request = TurnRequest(
            turn_id=output.turn_id,
            message={"text": text, "origin": {"kind": "user"}},
            model=model,
        )
        try:
            await chat.run(request, output)
        finally:
            check_said(output.actions, output.turn_id)
        return output

    return tell


def said(output):
    """(what was said, its content) of each action, the parts' openings left out."""
    return [
        (action["type"].removeprefix("chat/"), action.get("content"))
        for action in output.actions
        if action["type"] != "chat/responsePart"
    ]


@pytest_twisted.ensureDeferred
async def test_plain_text_is_thought_about_and_said_back_word_by_word(tell):
    output = await tell("what a\nfine day")
    assert said(output) == [
        ("reasoning", "I was told 4 words, and I will say what I was told."),
        *(("delta", word) for word in ("You ", "said: ", "what ", "a\n", "fine ", "day")),
    ]
    kinds = [a["part"]["kind"] for a in output.actions if a["type"] == "chat/responsePart"]
    assert kinds == ["reasoning", "markdown"]


@pytest_twisted.ensureDeferred
async def test_the_same_message_gets_the_same_answer(tell):
    first, second = await tell("over and over"), await tell("over and over")
    assert said(first) == said(second)


@pytest_twisted.ensureDeferred
async def test_text_in_any_script_survives(tell):
    assert (await tell("naïve 日本 🎉")).text() == "You said: naïve 日本 🎉"
    assert (await tell('quote " and \\ and \x00')).text() == 'You said: quote " and \\ and \x00'


@pytest_twisted.ensureDeferred
async def test_an_empty_message_is_answered(tell):
    assert (await tell("")).text() == "You said nothing."
    assert (await tell(" \n ")).text() == "You said nothing."


@pytest_twisted.ensureDeferred
async def test_directives_and_text_run_in_order(tell):
    output = await tell("/say one\nand two\n\n/think three\n/say four")
    assert said(output) == [
        ("delta", "one"),
        ("reasoning", "I was told 2 words, and I will say what I was told."),
        ("delta", "You "),
        ("delta", "said: "),
        ("delta", "and "),
        ("delta", "two"),
        ("reasoning", "three"),
        ("delta", "four"),
    ]


@pytest_twisted.ensureDeferred
async def test_stream_says_as_many_deltas_of_as_many_bytes(tell):
    output = await tell("/stream 1234 5")
    deltas = [action["content"] for action in output.actions[1:]]
    assert len(deltas) == 1234
    assert {len(delta) for delta in deltas} == {5}
    assert deltas[:2] + deltas[-1:] == ["0....", "1....", "1233."]
    assert len((await tell("/stream 3")).text()) == 48
    assert (await tell("/stream 0")).text() == ""


@pytest_twisted.ensureDeferred
async def test_tool_streams_its_input_runs_and_answers(tell):
    output = await tell('/tool read_file all of the "text" it holds')
    kinds = [action["type"].removeprefix("chat/toolCall") for action in output.actions]
    assert kinds[0] == "Start"
    assert set(kinds[1:-2]) == {"Delta"}
    assert len(kinds) > 4, "the input came in one piece"
    assert kinds[-2:] == ["Ready", "Complete"]
    start, *deltas, ready, complete = output.actions
    assert (start["toolName"], start["displayName"]) == ("read_file", "Read file")
    given = '{"text": "all of the \\"text\\" it holds"}'
    assert "".join(delta["content"] for delta in deltas) == ready["toolInput"] == given
    assert ready["confirmed"] == "not-needed"
    assert complete["result"] == {
        "success": True,
        "pastTenseMessage": "Ran Read file",
        "content": [{"type": "text", "text": 'all of the "text" it holds'}],
    }


@pytest_twisted.ensureDeferred
async def test_usage_is_reported_with_the_model(tell):
    output = await tell("/usage 12 34")
    assert output.actions[0]["usage"] == {
        "inputTokens": 12,
        "outputTokens": 34,
        "model": "demo-plain",
    }


@pytest_twisted.ensureDeferred
async def test_sleep_takes_its_time(tell, reactor):
    begun = reactor.seconds()
    await tell("/sleep 80")
    assert reactor.seconds() - begun >= 0.08


@pytest.mark.parametrize(
    ("text", "words"),
    [("/fail", "The demo agent was told to fail"), ("/fail out of luck", "out of luck")],
)
@pytest_twisted.ensureDeferred
async def test_fail_fails_and_the_process_goes_on(tell, chat, text, words):
    await tell("hello")
    pid = chat.pid
    with pytest.raises(AgentFailure) as failure:
        await tell(f"/say first\n{text}\n/say never")
    assert (failure.value.message, failure.value.error_type) == (words, "demoFailure")
    await tell("hello")
    assert chat.pid == pid


@pytest_twisted.ensureDeferred
async def test_crash_is_told_and_the_next_turn_has_a_new_process(tell, chat):
    await tell("hello")
    pid = chat.pid
    with pytest.raises(AgentFailure) as failure:
        await tell("/say first\n/crash")
    assert failure.value.message == "The demo agent's process exited with code 70"
    assert (await tell("hello")).text() == "You said: hello"
    assert chat.pid != pid


@pytest_twisted.ensureDeferred
async def test_a_process_that_dies_between_turns_is_replaced(tell, chat, pause):
    await tell("hello")
    pid = chat.pid
    os.kill(pid, 9)
    while chat._process.alive:
        await pause(0.01)
    assert (await tell("again")).text() == "You said: again"
    assert chat.pid != pid


@pytest.mark.parametrize(
    ("directive", "words"),
    [
        ("/stream", "/stream takes one or two numbers: /stream N [BYTES]"),
        ("/stream 1 2 3", "/stream takes one or two numbers: /stream N [BYTES]"),
        ("/stream many", "/stream: N must be a whole number from 0 to 10000000, not 'many'"),
        ("/stream -1", "/stream: N must be a whole number from 0 to 10000000, not '-1'"),
        ("/stream \u0661", "/stream: N must be a whole number from 0 to 10000000, not '\u0661'"),
        ("/stream 1 0", "/stream: BYTES must be a whole number from 1 to 1048576, not '0'"),
        ("/stream 9" + "9" * 5000, "/stream: N must be a whole number from 0 to 10000000"),
        ("/sleep", "/sleep: MS must be a whole number from 0 to 3600000, not ''"),
        ("/sleep 1.5", "/sleep: MS must be a whole number from 0 to 3600000, not '1.5'"),
        ("/tool name", "/tool takes a name and a text: /tool NAME TEXT"),
        ("/tool na/me x", "/tool: NAME must be at most 64 letters, digits, '_', '-' and '.'"),
        ("/usage 1", "/usage takes two numbers: /usage IN OUT"),
        ("/usage 1 -2", "/usage: OUT must be a whole number from 0 to 1000000000, not '-2'"),
        ("/say", "/say takes a text: /say TEXT"),
        ("/think  ", "/think takes a text: /think TEXT"),
        ("/crash now", "/crash takes nothing, not 'now'"),
        ("/ask  | a", "/ask takes a text: /ask TEXT [| CHOICE]..."),
        ("/confirm run", "/confirm takes a name and a text: /confirm NAME TEXT"),
        ("/client", "/client takes a tool and its input: /client TOOL [JSON]"),
        ("/client look [1]", "/client: JSON must be an object, not '[1]'"),
        ("/client look {", "/client: JSON must be an object, not '{'"),
        ("/client look " + "[" * 100_000, "/client: JSON must be an object, not '[[["),
        ("/task reader", "/task takes a name and a text: /task NAME TEXT"),
        ("/background x", "/background takes a name and a number: /background NAME SECONDS"),
        ("/background x 3601", "/background: SECONDS must be a whole number from 0 to 3600"),
        ("/background a/b 1", "/background: NAME must be at most 64 letters"),
        ("/retry 0", "/retry: N must be a whole number from 1 to 10, not '0'"),
        ("/help me", "/help takes nothing, not 'me'"),
        ("/nonsense", "/nonsense is no directive of the demo agent; it knows /say, /think"),
        ("/", "/ is no directive of the demo agent"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_wrong_directive_fails_the_turn_before_anything_is_run(tell, directive, words):
    with pytest.raises(AgentFailure) as failure:
        await tell(f"/say before\n{directive}")
    assert failure.value.message.startswith(words)
    assert len(failure.value.message) < 300
    assert failure.value.error_type == "invalidDirective"


@pytest_twisted.ensureDeferred
async def test_nothing_is_said_before_a_wrong_directive(chat):
    output = RecordedOutput("t")
    with pytest.raises(AgentFailure):
        await chat.run(TurnRequest(turn_id="t", message={"text": "/say a\n/stream x"}), output)
    assert output.actions == []


@pytest_twisted.ensureDeferred
async def test_thinking_longer_is_seen(tell):
    thoughts = {}
    for level in ("low", "medium", "high", None):
        config = {} if level is None else {"thinkingLevel": level}
        output = await tell("x", {"id": "demo-thinking", "config": config})
        thoughts[level] = said(output)[0][1]
    assert len(thoughts["low"]) < len(thoughts["medium"]) < len(thoughts["high"])
    assert thoughts[None] == thoughts["medium"]


@pytest.mark.parametrize(
    ("model", "words"),
    [
        ({"id": "gpt"}, "has no model 'gpt'; it has demo-plain and demo-thinking"),
        (
            {"id": "demo-thinking", "config": {"thinkingLevel": "max"}},
            "thinkingLevel of demo-thinking is one of low, medium, high, not 'max'",
        ),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_model_it_does_not_have_fails_the_turn(tell, model, words):
    with pytest.raises(AgentFailure, match=words):
        await tell("hello", model)


@pytest_twisted.ensureDeferred
async def test_the_process_waits_for_the_first_turn_and_is_one_of_its_own(tell, chat):
    assert chat.pid is None
    await tell("hello")
    assert os.getsid(chat.pid) == chat.pid


def test_the_program_imports_none_of_this_package():
    folder = Path(demo.__file__).parent
    files = [folder / "program.py", *sorted((folder / "acts").glob("*.py"))]
    assert len(files) > 5
    nodes = [node for file in files for node in ast.walk(ast.parse(file.read_text()))]
    imported = {
        alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names
    }
    imported |= {
        node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.level == 0
    }
    assert imported <= {
        "__future__",
        "collections.abc",
        "json",
        "os",
        "select",
        "sys",
        "time",
        "typing",
    }
