"""A conversation an ACP agent replays, as turns."""

from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes import shape
from ahpd_agent_acp.replay import ReplayBuilder


def replayed(*updates, point=None):
    builder = ReplayBuilder("conv", directory="/work")
    for update in updates:
        builder.update(update)
    read = builder.read(point)
    for turn in read.turns:
        check_strict(turn, shape("turns.Turn"), "turn")
    return read


def text(kind, words, **fields):
    return {"sessionUpdate": kind, "content": {"type": "text", "text": words}, **fields}


def you(words, **fields):
    return text("user_message_chunk", words, **fields)


def agent(words, **fields):
    return text("agent_message_chunk", words, **fields)


def test_each_prompt_begins_a_turn():
    read = replayed(you("Hel"), you("lo"), agent("Hi"), agent("!"), you("Bye"), agent("See you"))
    shown = [
        (turn["message"]["text"], [part["content"] for part in turn["responseParts"]])
        for turn in read.turns
    ]
    assert shown == [("Hello", ["Hi!"]), ("Bye", ["See you"])]
    assert [turn["state"] for turn in read.turns] == ["complete", "complete"]
    assert all("startedAt" not in turn and "duration" not in turn for turn in read.turns)
    assert read.points == {}


def test_turns_are_named_alike_each_time_and_the_last_has_the_point():
    updates = [you("a"), agent("b"), you("c"), agent("d")]
    one, other = replayed(*updates, point="end"), replayed(*updates, point="end")
    assert [turn["id"] for turn in one.turns] == [turn["id"] for turn in other.turns]
    assert one.points == {one.turns[-1]["id"]: "end"}


def test_two_prompts_in_a_row_are_two_turns_where_the_agent_tells_them_apart():
    read = replayed(you("a", messageId="1"), you("b", messageId="1"), you("c", messageId="2"))
    assert [turn["message"]["text"] for turn in read.turns] == ["ab", "c"]


def test_an_agent_that_speaks_first_has_a_turn_without_words():
    read = replayed(agent("Welcome"))
    assert read.turns[0]["message"] == {"text": "", "origin": {"kind": "user"}}


def test_what_came_with_a_prompt_is_attached():
    blocks = [
        {"type": "image", "data": "AAAA", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///work/a.py", "name": "a.py"},
        {"type": "resource", "resource": {"uri": "file:///work/b.py", "text": "b"}},
    ]
    kind = "user_message_chunk"
    read = replayed(you("Look"), *({"sessionUpdate": kind, "content": each} for each in blocks))
    assert read.turns[0]["message"]["attachments"] == [
        {
            "type": "embeddedResource",
            "data": "AAAA",
            "contentType": "image/png",
            "label": "image",
        },
        {"type": "resource", "uri": "file:///work/a.py", "label": "a.py"},
        {"type": "resource", "uri": "file:///work/b.py", "label": "b.py"},
    ]


def test_calls_are_shown_as_they_ended_and_one_that_did_not_is_called_off():
    done = {"sessionUpdate": "tool_call", "toolCallId": "c1", "title": "Read", "kind": "read"}
    read = replayed(
        you("go"),
        {**done, "status": "completed", "rawOutput": "text"},
        {**done, "toolCallId": "c2", "status": "in_progress"},
        {**done, "toolCallId": "c3", "content": [{"type": "terminal", "terminalId": "gone"}]},
    )
    calls = [part["toolCall"] for part in read.turns[0]["responseParts"]]
    assert [call["status"] for call in calls] == ["completed", "cancelled", "cancelled"]
    assert calls[0]["content"] == [{"type": "text", "text": "text"}]


def test_nothing_replayed_is_no_turn():
    mode = {"sessionUpdate": "current_mode_update", "currentModeId": "ask"}
    assert replayed().turns == []
    assert replayed(mode).turns == []
