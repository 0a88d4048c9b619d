"""A message as the blocks of a prompt, by what the agent takes."""

import base64

import pytest

from ahpd.interfaces import TurnRequest
from ahpd.protocol.text import GrowingText
from ahpd_agent_acp.handshake import Capabilities
from ahpd_agent_acp.prompts import LONGEST_TRANSCRIPT, prompt_of, transcript_of

ALL = Capabilities(image=True, audio=True, embedded=True)
PNG = {"type": "embeddedResource", "label": "p.png", "contentType": "image/png", "data": "AAAA"}
NOTE = {
    "type": "embeddedResource",
    "label": "my note.md",
    "contentType": "text/markdown",
    "data": base64.b64encode("grüße".encode()).decode(),
}
BYTES = {"type": "embeddedResource", "label": "b", "contentType": "application/x", "data": "//8="}


def blocks(*attachments, text="hi", can=ALL, ahead=()):
    message = {"text": text, "origin": {"kind": "user"}}
    turn = TurnRequest(turn_id="t", message=message, attachments=attachments)
    return prompt_of(turn, can, ahead)


def test_the_message_comes_behind_what_the_host_says():
    assert [block["text"] for block in blocks(ahead=("first", "", "second"))] == [
        "first",
        "second",
        "hi",
    ]
    assert blocks(text="") == [{"type": "text", "text": ""}]


def test_a_file_is_a_link_with_what_is_selected_in_it():
    selection = {"range": {"start": {"line": 2}, "end": {"line": 4}}}
    file = {"type": "resource", "label": "a.py", "uri": "file:///w/a.py", "sizeHint": 5}
    link, words = blocks({**file, "contentType": "text/x-python", "selection": selection})[1:]
    assert link == {
        "type": "resource_link",
        "name": "a.py",
        "uri": "file:///w/a.py",
        "mimeType": "text/x-python",
        "size": 5,
    }
    assert "line 3 to line 5" in words["text"]
    assert len(blocks({**file, "selection": {"range": {}}})) == 2


@pytest.mark.parametrize(
    ("attachment", "taken", "untaken"),
    [
        (PNG, {"type": "image", "mimeType": "image/png", "data": "AAAA"}, "does not take"),
        (
            NOTE,
            {
                "type": "resource",
                "resource": {
                    "uri": "attachment:///my%20note.md",
                    "mimeType": "text/markdown",
                    "text": "grüße",
                },
            },
            "grüße",
        ),
        (
            BYTES,
            {
                "type": "resource",
                "resource": {"uri": "attachment:///b", "mimeType": "application/x", "blob": "//8="},
            },
            "does not take",
        ),
    ],
)
def test_what_is_embedded_goes_to_an_agent_that_takes_it_and_is_told_to_others(
    attachment, taken, untaken
):
    assert blocks(attachment)[1] == taken
    assert untaken in blocks(attachment, can=Capabilities())[1]["text"]


def test_what_was_made_for_the_model_is_told_to_it():
    simple = {"type": "simple", "label": "L", "modelRepresentation": "what it is"}
    assert blocks(simple)[1]["text"] == "L:\nwhat it is"
    assert "L" in blocks({"type": "simple", "label": "L"})[1]["text"]


def test_a_transcript_is_told_in_order_and_cut_at_its_front():
    turns = [
        {
            "message": {"text": f"q{n}"},
            "responseParts": [
                {"kind": "reasoning", "content": "hidden"},
                {"kind": "markdown", "content": GrowingText(f"a{n}")},
            ],
        }
        for n in range(2)
    ]
    told = transcript_of(turns)
    assert [told.index(word) for word in ("q0", "a0", "q1", "a1")] == sorted(
        told.index(word) for word in ("q0", "a0", "q1", "a1")
    )
    assert "hidden" not in told
    assert transcript_of([]) == ""
    long = [{"message": {"text": "x" * LONGEST_TRANSCRIPT}, "responseParts": []}, *turns]
    assert len(transcript_of(long)) < LONGEST_TRANSCRIPT + 200
    assert transcript_of(long).endswith("a1")
