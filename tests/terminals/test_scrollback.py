"""How much of a terminal's output is kept, and where it is cut."""

import copy

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ahpd.protocol.reducers.terminal import reduce
from ahpd.protocol.text import GrowingText, plain
from ahpd.terminals import scrollback as module
from ahpd.terminals.cutting import LONGEST_SEQUENCE, place_to_cut
from ahpd.terminals.scrollback import MOST, MOST_PARTS, Scrollback


def unclassified(value):
    return {"type": "unclassified", "value": value}


def command(output, line="ls", complete=True):
    return {
        "type": "command", "commandId": "1", "commandLine": line, "output": output, "timestamp": 1,
        "isComplete": complete,
    }  # fmt: skip


def text_of(content):
    return "".join(str(part.get("output", part.get("value"))) for part in content)


# -- a parser of its own --------------------------------------------------------------------


def states(text):
    """For every place in `text`, its end included: whether it is outside of any sequence, as a
    terminal that reads character by character has it (after Williams' diagram)."""
    state, found = "ground", [True]
    for character in text:
        code = ord(character)
        if code == 0x1B:
            state = "string escape" if state in ("osc", "string") else "escape"
        elif character in "\x18\x1a":
            state = "ground"
        elif 0x80 <= code <= 0x9F:
            state = {0x9B: "csi", 0x9D: "osc", 0x90: "string", 0x98: "string", 0x9E: "string",
                     0x9F: "string", 0x8E: "shift", 0x8F: "shift"}.get(code, "ground")  # fmt: skip
        elif state in ("escape", "string escape", "intermediate"):
            if code < 0x20 or code == 0x7F:
                pass
            elif state != "intermediate" and character in "[]PX^_NO":
                state = {"[": "csi", "]": "osc", "N": "shift", "O": "shift"}.get(
                    character, "string"
                )
            elif code < 0x30:
                state = "intermediate"
            else:
                state = "ground"
        elif state == "csi":
            if 0x40 <= code <= 0x7E or code > 0x9F:
                state = "ground"
        elif (state == "osc" and character == "\x07") or state == "shift":
            state = "ground"
        found.append(state == "ground")
    return found


SEQUENCES = st.sampled_from(
    ["\x1b[31m", "\x1b[", "\x1b[1;", "\x1b]0;title\x07", "\x1b]8;;x\x1b\\", "\x1b]", "\x1bPq~\x1b\\",
     "\x1bP", "\x1b(B", "\x1b(", "\x1bc", "\x1b", "\x1bOA", "\x1bO", "\x1bN", "\x9b1m", "\x9d0;x\x9c",
     "\x9d", "\x90a", "\x9c", "\x8f", "\x18", "\x1a", "\x07", "\\", "\n", "\r\n", "a", "ab\n", "é",
     "0;1", "m", "\x1b#8", "\x1b[?25l", "\x1b_apc\x1b\\"]
)  # fmt: skip
TEXT = st.lists(SEQUENCES, max_size=25).map("".join)


@settings(max_examples=1500, deadline=None)
@given(TEXT, st.data())
def test_a_place_is_outside_of_every_sequence(text, data):
    at = data.draw(st.integers(0, len(text)))
    place = place_to_cut(text, at)
    assert at <= place <= len(text)
    outside = states(text)
    # An ESC begins anew whatever it stands in, so a place ahead of one will do.
    assert (
        outside[place]
        or place == len(text)
        or text[place] in "\x1b\x90\x98\x9b\x9d\x9e\x9f\x8e\x8f\x9c"
    )


@settings(max_examples=500, deadline=None)
@given(TEXT, st.data())
def test_a_place_that_will_do_is_moved_to_a_lines_start_at_most(text, data):
    at = data.draw(st.integers(0, len(text)))
    assume("\n" not in text[at:])
    outside = states(text)
    assume(outside[at])
    assert place_to_cut(text, at) == at


@pytest.mark.parametrize(
    "cluster",
    [
        "e\u0301",
        "e\u0301\u0302\u0303",
        "\u2764\ufe0f",
        "👍🏽",
        "👩\u200d👩\u200d👧",
        "क\u093f",
        "\ud83d\ude00",
    ],
)
def test_what_is_drawn_as_one_is_kept_or_goes_as_one(cluster):
    text = "ab" + cluster + "cd"
    for at in range(len(text) + 1):
        place = place_to_cut(text, at)
        inside = 2 < at < 2 + len(cluster)
        assert place == (2 + len(cluster) if inside else at)


def test_any_number_of_accents_is_no_reason_to_keep_nothing():
    text = "e" + "\u0301" * 10_000
    assert place_to_cut(text, 1) < len(text)


def test_a_lines_start_is_taken_where_it_is_near():
    text = "x" * 500 + "\n" + "y" * 5000 + "\n"
    assert place_to_cut(text, 0) == 0
    assert place_to_cut(text, 10) == 501
    assert place_to_cut(text, 501) == 501
    assert place_to_cut(text, 502) == 502
    assert place_to_cut(text, 5000) == 5502


def test_a_newline_in_a_sequence_is_no_lines_start():
    text = "abc\x1b]0;one\ntwo\x07def\x1b[\n1mghi\njkl"
    assert place_to_cut(text, 1) == text.index("jkl")
    assert place_to_cut("abc\x1b]0;one\ntwo\x07def", 1) == 1


def test_a_sequence_longer_than_any_is_cut_like_text():
    fits = "\x1b]0;" + "x" * (LONGEST_SEQUENCE - 5) + "\x07"
    assert place_to_cut(fits + "abc", 7) == LONGEST_SEQUENCE
    over = "\x1b]0;" + "x" * (LONGEST_SEQUENCE - 4) + "\x07"
    assert place_to_cut(over + "abc", 7) == 7
    assert place_to_cut(over + "abc", LONGEST_SEQUENCE) == LONGEST_SEQUENCE


# -- laws of the whole ----------------------------------------------------------------------

CUTS = set("\x1b\x90\x98\x9b\x9d\x9e\x9f\x8e\x8f\x9c")
STEP = st.one_of(
    TEXT.map(lambda data: {"type": "terminal/data", "data": data}),
    TEXT.map(lambda data: {"type": "terminal/data", "data": data}),
    st.sampled_from(
        [
            {
                "type": "terminal/commandExecuted",
                "commandId": "1",
                "commandLine": "ls -l",
                "timestamp": 1,
            },
            {
                "type": "terminal/commandExecuted",
                "commandId": "2",
                "commandLine": "",
                "timestamp": 1,
            },
            {"type": "terminal/commandFinished", "commandId": "1", "exitCode": 0},
            {"type": "terminal/commandFinished", "commandId": "2"},
            {"type": "terminal/cleared"},
        ]
    ),
)


@settings(max_examples=600, deadline=None)
@given(st.lists(STEP, max_size=30), st.integers(1, 80), st.integers(1, 6))
def test_what_is_kept_is_the_end_of_it_within_its_bounds(steps, most, most_parts):
    state = {"content": []}
    scrollback = Scrollback(most, most_parts)
    whole = ""
    torn = False
    for step in steps:
        state = reduce(state, copy.deepcopy(step))
        if step["type"] == "terminal/data":
            whole += step["data"]
        elif step["type"] == "terminal/cleared":
            whole = ""
        before = text_of(state["content"])
        parts = len(state["content"])
        gone = scrollback.trim(state["content"])
        content = plain(state)["content"]
        kept = text_of(content)
        assert len(kept) <= most
        assert kept == before[gone:]
        assert whole.endswith(kept)
        assert 1 <= len(content) <= most_parts or not parts
        lines = sum(len(part.get("commandLine", "")) for part in content)
        assert lines <= most or len(content) == 1
        # With the last of a terminal's parts but one may go what begins a sequence.
        torn = step["type"] != "terminal/cleared" and (torn or bool(gone and not kept))
        if gone and not torn and most >= 20:  # the sequences here are shorter than that
            assert states(whole)[len(whole) - len(kept)] or kept[0] in CUTS
        assert scrollback.trim(state["content"]) == 0


def test_what_is_within_the_bounds_is_left_alone():
    content = [unclassified("x" * MOST)]
    assert Scrollback().trim(content) == 0
    assert Scrollback().trim([]) == 0
    assert content == [unclassified("x" * MOST)]


def test_the_oldest_goes_and_a_part_keeps_its_rest():
    content = [unclassified("a" * 10), command("b" * 10, "one"), command("c" * 10, "two", False)]
    assert Scrollback(25).trim(content) == 5
    assert plain(content)[0] == unclassified("a" * 5)
    scrollback = Scrollback(15)
    assert scrollback.trim(content) == 10
    assert plain(content) == [command("b" * 5, "one"), command("c" * 10, "two", False)]
    content[-1]["output"] = GrowingText("c" * 20)
    assert scrollback.trim(content) == 10
    assert plain(content) == [command("c" * 15, "two", False)]


def test_a_command_that_runs_is_kept_whatever_it_prints():
    content = [command("", "first"), command("x" * 100, "runs", False)]
    Scrollback(10).trim(content)
    assert plain(content) == [command("x" * 10, "runs", False)]
    running = [command("", "y" * 100, False)]
    Scrollback(10).trim(running)
    assert running == [command("", "y" * 100, False)]


def test_commands_that_print_nothing_take_room():
    scrollback, content = Scrollback(), []
    for _ in range(MOST_PARTS + 500):
        content.append(command("", "true"))
        scrollback.trim(content)
    assert len(content) == MOST_PARTS
    lines = Scrollback(100)
    content = [command("", "x" * 30) for _ in range(10)]
    lines.trim(content)
    assert len(content) == 3


def test_a_sequence_is_not_cut_where_a_part_ends():
    content = [unclassified("aaaa\x1b[3"), command("1mbbbb", "ls")]
    assert Scrollback(6).trim(content) == 9
    assert plain(content) == [command("bbbb", "ls")]


def test_another_content_is_measured_anew():
    scrollback = Scrollback(10)
    assert scrollback.trim([unclassified("x" * 20)]) == 10
    assert scrollback.trim([unclassified("y" * 8)]) == 0
    assert scrollback.trim([command("z" * 8), unclassified("y" * 8)]) == 6


def test_a_flood_costs_what_comes_and_not_what_is_kept(monkeypatch):
    """No piece of what is kept is copied: the texts a trim makes are those at the cut."""
    copied = 0
    between = GrowingText.between

    def counted(self, start, stop):
        nonlocal copied
        found = between(self, start, stop)
        copied += len(found)
        return found

    monkeypatch.setattr(GrowingText, "between", counted)
    monkeypatch.setattr(GrowingText, "__str__", lambda self: pytest.fail("read whole"))
    state, scrollback = {"content": []}, Scrollback()
    times, piece = 2000, "a line of a flood\r\n" * 50
    for _ in range(times):
        state = reduce(state, {"type": "terminal/data", "data": piece})
        scrollback.trim(state["content"])
    assert copied < times * 12_000
    (part,) = state["content"]
    assert MOST - 1000 <= len(part["value"]) <= MOST


def test_a_flood_of_commands_costs_what_goes_and_not_how_many_are_kept(monkeypatch):
    """A program may print nothing but marks, a hundred thousand commands a second."""
    read = 0
    between = module._between

    def counted(part, start, stop):
        nonlocal read
        read += 1
        return between(part, start, stop)

    monkeypatch.setattr(module, "_between", counted)
    for output in ("", "x", "\x1b]0;"):
        scrollback, content = Scrollback(), []
        for _ in range(MOST_PARTS):
            content.append(command(output))
            scrollback.trim(content)
        read = 0
        for _ in range(100):
            content.append(command(output))
            assert scrollback.trim(content) == len(output)
        assert read < 100 * 100
