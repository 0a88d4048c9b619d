"""Conversations on disk: gone on with, cut, forked, listed, read, and torn by a crash."""

import os
import stat

import pytest
import pytest_twisted

from ahpd.interfaces import AgentFailure, ConversationPoint, ToolAnswer, ToolEffects
from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes import shape
from ahpd.testing.agents import RecordedHost, RecordedOutput
from ahpd.wire.codec import decode, encode
from ahpd_agent_openai.conversation import Conversation, request_messages
from ahpd_agent_openai.testing import Answer, calls, chunk, says, sse


def files(bench):
    return sorted((bench.folder / "data" / "conversations").glob("*"))


def said(bench):
    """The conversation of the newest request, without its system message."""
    return [one["content"] for one in bench.endpoint.completions[-1]["messages"][1:]]


async def three_turns(bench, agent):
    host = RecordedHost()
    bench.endpoint.answers += [says("A1"), says("A2"), says("A3")]
    chat = await bench.chat(agent, host)
    outputs = [await bench.turn(chat, f"q{n}", f"t{n}") for n in (1, 2, 3)]
    await chat.close()
    assert host.kept == ["conversation-1"]
    return [output.points[-1] for output in outputs]


@pytest.mark.parametrize("memory", [False, True])
@pytest_twisted.ensureDeferred
async def test_a_chat_goes_on_with_its_conversation_and_is_cut_back(bench, memory):
    agent = bench.agent(memory=memory)
    points = await three_turns(bench, agent)
    newest = ConversationPoint(conversation="conversation-1")
    chat = await bench.chat(agent, resume=newest)
    await bench.turn(chat, "q4", "t4")
    assert said(bench) == ["q1", "A1", "q2", "A2", "q3", "A3", "q4"]
    await chat.close()
    chat = await bench.chat(
        agent, resume=ConversationPoint(conversation="conversation-1", point=points[1])
    )
    await bench.turn(chat, "q5", "t5")
    assert said(bench) == ["q1", "A1", "q2", "A2", "q5"]
    await chat.close()
    chat = await bench.chat(agent, resume=newest)
    await bench.turn(chat, "q6", "t6")
    assert said(bench) == ["q1", "A1", "q2", "A2", "q5", "Hello there", "q6"]
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_fork_goes_on_under_an_id_of_its_own(bench):
    agent = bench.agent()
    points = await three_turns(bench, agent)
    before = files(bench)[0].read_bytes()
    host = RecordedHost()
    chat = await bench.chat(
        agent, host, fork=ConversationPoint(conversation="conversation-1", point=points[0])
    )
    assert len(files(bench)) == 1, "a fork that was never used left a file"
    await bench.turn(chat, "q4", "t4")
    assert said(bench) == ["q1", "A1", "q4"]
    assert host.kept == ["conversation-2"]
    assert files(bench)[0].read_bytes() == before
    read = await agent.read_conversation("conversation-2")
    assert [turn["message"]["text"] for turn in read.turns] == ["q1", "q4"]
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_chat_without_its_conversation_begins_with_what_was_said(bench):
    history = [{
        "id": "old", "startedAt": "2026-01-01T00:00:00.000Z", "state": "complete",
        "message": {"text": "q0", "origin": {"kind": "user"}},
        "responseParts": [
            {"kind": "reasoning", "id": "r", "content": "hm"},
            {"kind": "markdown", "id": "m", "content": "A0"},
        ],
    }]  # fmt: skip
    gone = ConversationPoint(conversation="gone", point="old")
    for start in ({"resume": gone}, {"fork": gone}, {}):
        chat = await bench.chat(bench.agent(), history=history, **start)
        await bench.turn(chat, "q1", "t1")
        assert said(bench) == ["q0", "A0", "q1"]
        await chat.close()


@pytest_twisted.ensureDeferred
async def test_they_are_listed_read_and_deleted(bench):
    agent = bench.agent()
    bench.tools["shell"] = lambda arguments, call: "out"
    bench.effects["shell"] = ToolEffects(writes=True, destructive=True)
    bench.endpoint.answers += [calls("shell", {"command": "ls"}, text="Let me"), says("Done", usage=(3, 4)),
                               calls("shell", {"command": "rm"}), says("Fine"),
                               Answer(body=sse(chunk({"content": "Par"}), done=False))]  # fmt: skip
    chat = await bench.chat(agent, working_directories=("file:///work/a",))
    for turn, approved in (("t1", True), ("t2", False)):
        output = RecordedOutput(turn)
        output.confirm(
            ToolAnswer(approved=approved, reason=None if approved else "denied", message="no")
        )
        await bench.turn(chat, "  \nlist it\nplease", turn, output)
    with pytest.raises(AgentFailure):
        await bench.turn(chat, "q3", "t3")
    await chat.close()
    (listed,) = await agent.list_conversations()
    assert listed.id == "conversation-1"
    assert listed.title == "list it"
    assert listed.working_directories == ("file:///work/a",)
    assert listed.created_at == "2026-01-02T03:04:05.000Z"
    read = await agent.read_conversation("conversation-1")
    for turn in read.turns:
        check_strict(turn, shape("turns.Turn"), "turn")
    first, second, third = read.turns
    assert [part["kind"] for part in first["responseParts"]] == ["markdown", "toolCall", "markdown"]
    assert first["responseParts"][1]["toolCall"]["status"] == "completed"
    assert first["usage"]["outputTokens"] == 4
    assert second["responseParts"][0]["toolCall"]["status"] == "cancelled"
    assert [turn["state"] for turn in read.turns] == ["complete", "complete", "error"]
    assert third["responseParts"][0]["content"] == "Par"
    assert read.points == {"t1": "t1", "t2": "t2", "t3": "t3"}
    await agent.delete_conversation("conversation-1")
    await agent.delete_conversation("conversation-1")
    assert await agent.list_conversations() == []
    with pytest.raises(AgentFailure, match="keeps no conversation"):
        await agent.read_conversation("conversation-1")


@pytest.mark.parametrize("name", ["../../etc/passwd", "", ".", "a/b", "x" * 300])
@pytest_twisted.ensureDeferred
async def test_a_name_that_leads_elsewhere_is_no_conversation(bench, name):
    agent = bench.agent()
    with pytest.raises(AgentFailure):
        await agent.read_conversation(name)
    await agent.delete_conversation(name)


@pytest_twisted.ensureDeferred
async def test_files_are_for_their_owner_alone(bench):
    agent = bench.agent()
    await three_turns(bench, agent)
    (path,) = files(bench)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest_twisted.ensureDeferred
async def test_a_file_torn_anywhere_is_read_and_written_on(bench):
    agent = bench.agent()
    await three_turns(bench, agent)
    (path,) = files(bench)
    whole = path.read_bytes()
    at = ConversationPoint(conversation="conversation-1")
    ends = [i + 1 for i, byte in enumerate(whole) if byte == ord("\n")]
    for cut in [*range(0, len(whole), 37), *ends]:
        path.write_bytes(whole[:cut])
        chat = await bench.chat(agent, resume=at)
        await bench.turn(chat, "go on", "t9")
        await chat.close()
        assert said(bench)[-1].endswith("go on")
        (written,) = [other for other in files(bench) if other != path] or [path]
        for line in written.read_bytes().splitlines():
            decode(line)
        if written != path:  # its head was torn, so it was begun anew
            assert cut < ends[0]
            written.unlink()


@pytest_twisted.ensureDeferred
async def test_lines_that_are_no_records_are_passed_over(bench):
    agent = bench.agent()
    await three_turns(bench, agent)
    (path,) = files(bench)
    lines = path.read_bytes().splitlines(keepends=True)
    bad = [b"\xff\xfe\n", b"[]\n", b'{"k": []}\n', b'{"k": "turn"}\n', b'{"k": "new", "x": 1}\n']
    path.write_bytes(b"".join([lines[0], *bad, *lines[1:]]))
    read = await agent.read_conversation("conversation-1")
    assert len(read.turns) == 3


@pytest_twisted.ensureDeferred
async def test_a_full_disk_fails_the_turn_in_words(bench, monkeypatch):
    agent = bench.agent()
    chat = await bench.chat(agent)
    await bench.turn(chat)
    (path,) = files(bench)
    before = path.read_bytes()

    def full(descriptor, data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("ahpd_agent_openai.store.os.write", full)
    with pytest.raises(AgentFailure, match="No space left"):
        await bench.turn(chat, "q2", "t2")
    monkeypatch.undo()
    path.write_bytes(before + b'{"k": "turn", "tu')  # what got there before it was full
    await bench.turn(chat, "q3", "t3")
    for line in path.read_bytes().splitlines():
        decode(line)
    assert said(bench) == ["hello", "Hello there", "q3"]
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_turn_is_on_disk_before_it_ends(bench, monkeypatch):
    synced = []
    fsync = os.fsync
    monkeypatch.setattr(
        "ahpd_agent_openai.store.os.fsync", lambda fd: synced.append(1) or fsync(fd)
    )
    chat = await bench.chat()
    await bench.turn(chat)
    assert len(synced) == 2, "the file and its folder"
    await bench.turn(chat, turn_id="t2")
    assert len(synced) == 3
    await chat.close()


# -- what a request is made of --------------------------------------------------------------


def test_calls_without_results_are_given_one_and_users_are_not_in_a_row():
    turn = {"k": "turn", "at": "", "message": {}}
    call = {"name": "look", "arguments": ""}
    kept = Conversation([
        {"k": "head", "id": "c"},
        {**turn, "turn": "1", "content": "one"},
        {"k": "assistant", "text": "", "calls": [{"id": "a", **call}, {"id": "b", **call}]},
        {"k": "tool", "id": "a", "text": "saw"},
        {**turn, "turn": "2", "content": "two"},
        {"k": "user", "content": [{"type": "text", "text": "three"}]},
        {"k": "assistant", "text": "", "calls": []},
    ])  # fmt: skip
    sent = request_messages("sys", kept.messages)
    assert [one["role"] for one in sent] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert sent[2]["tool_calls"][0]["function"]["arguments"] == "{}"
    assert "interrupted" in sent[4]["content"]
    assert [part["text"] for part in sent[5]["content"]] == ["two", "three"]
    assert encode(sent)


def test_a_summary_stands_for_what_came_before_it_and_a_cut_takes_it_back():
    records = [{"k": "head", "id": "c"}]
    for n in (1, 2, 3):
        records.append({"k": "turn", "turn": str(n), "at": "", "message": {}, "content": f"q{n}"})
        records.append({"k": "assistant", "text": f"a{n}", "calls": []})
    records.append({"k": "summary", "text": "short", "keep": 1})
    kept = Conversation(records)
    assert len(kept.messages) == 2
    assert "short" in kept.messages[0]["content"]
    kept.add({"k": "cut", "point": "2"})
    assert [one["content"] for one in kept.messages] == ["q1", "a1", "q2", "a2"]
