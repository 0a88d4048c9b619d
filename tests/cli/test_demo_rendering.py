"""The transcript of `ahpd demo`: wrapping, streaming, colour, and what is kept off a terminal."""

import io

import pytest

from ahpd.cli.render import Page, columns, printable
from ahpd.cli.turn_view import TurnView
from ahpd.client import ActionEnvelope


class Terminal(io.StringIO):
    def isatty(self):
        return True


def page(out=None, **environ):
    return Page(out or io.StringIO(), environ)


def lines(page_out):
    return page_out.getvalue().splitlines()


@pytest.mark.parametrize(
    ("environ", "coloured"),
    [({}, True), ({"NO_COLOR": ""}, False), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)],
)
def test_colour_is_for_a_terminal_that_wants_it(environ, coloured):
    out = Terminal()
    page(out, **environ).title("A heading")
    assert ("\x1b[" in out.getvalue()) is coloured


def test_a_file_or_a_pipe_gets_plain_text():
    out = io.StringIO()
    page(out).title("A heading")
    page(out).mark("cut", "cut")
    assert "\x1b" not in out.getvalue()


def test_text_wraps_between_words_and_hangs_below_its_label():
    out = io.StringIO()
    block = page(out).block("answer")
    block.write("word " * 30)
    block.end()
    got = lines(out)
    assert len(got) > 1
    assert got[0].startswith("   answer    word word")
    assert all(line.startswith(" " * 13 + "word") for line in got[1:])
    assert all(len(line) <= 80 for line in got)
    assert " ".join(got).split() == ["answer"] + ["word"] * 30


def test_however_it_is_cut_the_same_text_looks_the_same():
    text = "One two  three\nfour " + "x" * 150 + " five, six\n\nseven"
    shown = set()
    for size in (1, 2, 7, len(text)):
        out = io.StringIO()
        block = page(out).block("answer")
        for start in range(0, len(text), size):
            block.write(text[start : start + size])
        block.end()
        shown.add(out.getvalue())
    assert len(shown) == 1
    got = shown.pop().splitlines()
    assert all(len(line) <= 80 for line in got)
    assert [line.strip() for line in got[:2]] == ["answer    One two  three", "four"]
    assert [line.strip() for line in got[-3:]] == [("x" * 16) + " five, six", "", "seven"]


def test_a_whole_word_is_shown_before_the_text_goes_on():
    out = io.StringIO()
    block = page(out).block("answer")
    block.write("one tw")
    assert out.getvalue().endswith("one")
    block.write("o three ")
    assert out.getvalue().endswith("one two three")


def test_wide_characters_take_two_cells():
    assert columns("漢字") == 4
    assert columns("é") == 1
    out = io.StringIO()
    block = page(out).block("answer")
    block.write("漢字" * 60)
    block.end()
    assert all(columns(line) <= 80 for line in lines(out))


def test_what_a_terminal_would_obey_is_taken_out():
    assert printable("a\x1b[31mb\r\x07c\n\td\x9b") == "a [31mb  c\n d "
    out = Terminal()
    block = page(out, NO_COLOR="1").block("answer")
    block.write("\x1b]0;title\x07 text")
    block.end()
    assert "\x1b" not in out.getvalue()
    assert "\x07" not in out.getvalue()


def said(kind, replayed=False, turn="t", **fields):
    said.seq += 1
    return ActionEnvelope(
        "ahp-chat:/one", {"type": kind, "turnId": turn, **fields}, said.seq, replayed=replayed
    )


said.seq = 0


def part(kind, identifier, content=""):
    return said("chat/responsePart", part={"kind": kind, "id": identifier, "content": content})


def test_a_turn_is_shown_part_by_part():
    out = io.StringIO()
    view = TurnView(page(out), "t")
    for envelope in (
        part("reasoning", "r"),
        said("chat/reasoning", partId="r", content="Let me see. "),
        said("chat/toolCallStart", toolCallId="c", toolName="ls", displayName="List files"),
        said("chat/toolCallDelta", toolCallId="c", content='{"path'),
        said(
            "chat/toolCallReady",
            toolCallId="c",
            invocationMessage="x",
            toolInput='{"path": "/"}',
            confirmed="not-needed",
        ),
        said(
            "chat/toolCallComplete",
            toolCallId="c",
            result={
                "success": True,
                "pastTenseMessage": "Listed",
                "content": [{"type": "text", "text": "bin etc"}],
            },
        ),
        part("markdown", "m"),
        said("chat/delta", partId="m", content="All "),
        said("chat/delta", partId="m", content="there. "),
        said("chat/delta", partId="m", content="another turn's", turn="other"),
        said("chat/usage", usage={"inputTokens": 3, "outputTokens": 4}),
    ):
        view.show(envelope)
    assert lines(out) == [
        "   thinking  Let me see.",
        "   tool      List files",
        "             → bin etc",
        "   answer    All there.",
        "   usage     3 tokens in, 4 tokens out",
    ]


def test_what_was_replayed_is_told_from_what_is_live():
    out = io.StringIO()
    view = TurnView(page(out), "t")
    view.show(part("markdown", "m", "Before "))
    view.hold()
    view.show(said("chat/delta", replayed=True, partId="m", content="missed "))
    view.show(said("chat/delta", replayed=True, partId="m", content="words "))
    view.show(said("chat/delta", partId="m", content="and on."))
    assert lines(out) == ["   answer    Before"]
    view.release()
    view.pause()
    assert lines(out)[1:] == ["   replayed  missed words", "   answer    and on."]


def test_a_failed_tool_and_a_failed_turn_say_why():
    out = io.StringIO()
    view = TurnView(page(out), "t")
    view.show(
        said(
            "chat/toolCallComplete",
            toolCallId="c",
            result={"success": False, "pastTenseMessage": "", "error": {"message": "no such file"}},
        )
    )
    error = {"kind": "error", "error": {"errorType": "x", "message": "The agent is gone"}}
    view.show(said("chat/error", duration=1, part=error))
    assert [line.strip() for line in lines(out)] == [
        "failed: no such file",
        "error     The agent is gone",
    ]


def test_what_waits_for_somebody_is_shown_and_what_was_decided():
    out = io.StringIO()
    view = TurnView(page(out), "t")
    options = [{"id": "r", "label": "Red"}, {"id": "b", "label": "Blue"}]
    question = {"id": "x", "kind": "single-select", "message": "Which?", "options": options}
    requests = [
        {"id": "q1", "message": "Which one?", "questions": [question]},
        {"id": "q2", "questions": [{"id": "x", "kind": "text", "message": "Why?"}]},
    ]
    for envelope in (
        said("chat/toolCallStart", toolCallId="c", toolName="rm", displayName="Remove"),
        said("chat/toolCallReady", toolCallId="c", invocationMessage="x"),
        said("chat/toolCallConfirmed", toolCallId="c", approved=True, confirmed="user-action"),
        said("chat/toolCallReady", toolCallId="d", invocationMessage="x"),
        said("chat/toolCallConfirmed", toolCallId="d", approved=False, reason="skipped"),
        *(of_the_chat("chat/inputRequested", request=request) for request in requests),
        of_the_chat("chat/inputCompleted", requestId="q1", response="decline"),
    ):
        view.show(envelope)
    assert [line.strip() for line in lines(out)] == [
        "asks      Remove: may it run?",
        "→ allowed",
        "asks      a tool: may it run?",
        "→ skipped",
        "question  Which one? (Red, Blue)",
        "question  Why?",
        "→ declined",
    ]


def of_the_chat(kind, **fields):
    envelope = said(kind, **fields)
    del envelope.action["turnId"]
    return envelope
