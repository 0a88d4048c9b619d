"""A chat attached to a message: pinned when it is said, a pointer when it is handed on."""

import pytest

from ahpd.attachments.references import EXCERPT, excerpt, pinned, pointer
from ahpd.interfaces import AgentFailure
from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes.messages import MessageAttachment
from ahpd.protocol.text import GrowingText


def turn(name, text="ask", answer="said", kind="user", parts=()):
    return {
        "id": name,
        "state": "complete",
        "message": {"text": text, "origin": {"kind": kind}},
        "responseParts": [{"kind": "markdown", "id": "p", "content": answer}, *parts],
    }


def chat(*turns, **fields):
    return {"resource": "ahp-chat:/other", "title": "Other", "turns": list(turns), **fields}


def attached(**fields):
    return {"type": "chat", "label": "Other", "resource": "ahp-chat:/other", **fields}


def told(attachment, state):
    made = pointer(attachment, state)
    check_strict(made, MessageAttachment, "attachment")
    assert made["type"] == "simple"
    assert made["label"] == "Other"
    return made["modelRepresentation"]


def test_a_chat_sent_without_its_turn_is_pinned_to_the_last_finished_one():
    state = chat(turn("a"), turn("b"), activeTurn={"id": "c"})
    assert pinned(attached(), state) == attached(endTurn="b")
    named = attached(endTurn="a")
    assert pinned(named, state) is named
    bare = attached()
    assert pinned(bare, chat(activeTurn={"id": "c"})) is bare
    assert pinned(bare, None) is bare


def test_the_pointer_names_the_chat_its_link_its_tool_and_the_end_of_it():
    words = told(attached(endTurn="b"), chat(turn("a", "one", "two"), turn("b", "three", "four")))
    for piece in ("Other", "ahp-chat:/other", "get_session_context"):
        assert piece in words
    assert words.endswith("Person: one\n\nAgent: two\n\nPerson: three\n\nAgent: four")


def test_it_is_told_up_to_the_pinned_turn():
    state = chat(turn("a", "one"), turn("b", "two"), turn("c", "three"))
    words = told(attached(endTurn="b"), state)
    assert "two" in words
    assert "three" not in words
    assert "three" in told(attached(), state)


def test_only_what_was_said_is_told():
    parts = (
        {"kind": "reasoning", "id": "r", "content": "thinking"},
        {"kind": "toolCall", "toolCall": {"toolName": "calling"}},
        {"kind": "systemNotification", "content": "noticed"},
        {"kind": "markdown", "id": "q", "content": GrowingText(" and more")},
    )
    nested = turn("a", "look at #chat:Third", parts=parts)
    nested["message"]["attachments"] = [attached(label="Third", resource="ahp-chat:/third")]
    notice = turn("b", "a notice", "after it", kind="systemNotification")
    words = excerpt([nested, notice])
    assert words == "Person: look at #chat:Third\n\nAgent: said and more\n\nAgent: after it"


def test_the_excerpt_is_the_last_thousand_characters():
    words = excerpt([turn("a", "x" * 5000, "y" * 900), turn("b", "z", "w")])
    assert len(words) == EXCERPT
    assert words.endswith("Person: z\n\nAgent: w")
    assert words.startswith("x")


def test_a_long_chat_is_read_from_its_end_alone():
    class Unread(dict):
        def __getitem__(self, key):
            raise AssertionError("read though it is not told")

    assert len(excerpt([Unread(), turn("b", "x" * 3000)])) == EXCERPT


def test_a_chat_that_is_not_open_here_is_pointed_at_without_an_excerpt():
    words = told(attached(endTurn="gone"), None)
    assert "Other" in words
    assert "ahp-chat:/other" not in words
    assert "get_session_context" not in words


def test_a_chat_with_nothing_finished_is_pointed_at_without_an_excerpt():
    words = told(attached(), chat(activeTurn={"id": "a"}))
    assert "ahp-chat:/other" in words
    assert "transcript" not in words


@pytest.mark.parametrize(
    ("end", "words"), [("running", "still running"), ("dropped", "has no turn dropped")]
)
def test_a_pin_nobody_can_honour_fails_the_send(end, words):
    with pytest.raises(AgentFailure) as failed:
        pointer(attached(endTurn=end), chat(turn("a"), activeTurn={"id": "running"}))
    assert failed.value.error_type == "sendFailed"
    assert not failed.value.resumable
    assert words in failed.value.message
    assert "ahp-chat:/other" in failed.value.message
