"""A terminal's output: its text, and the marks of its shell taken out of it."""

import re
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ahpd.terminals.marks import (
    CommandFinished,
    CommandStarted,
    CwdChanged,
    PromptEnded,
    PromptStarted,
)
from ahpd.terminals.output import LONGEST_MARK, OutputReader


def joined(events):
    """The events, texts that follow one another made one."""
    found = []
    for event in events:
        if isinstance(event, str) and found and isinstance(found[-1], str):
            found[-1] += event
        else:
            found.append(event)
    return found


def read(*pieces, hosts=()):
    reader = OutputReader(hosts)
    events = []
    for piece in pieces:
        events += reader.feed(piece)
    return joined(events + reader.finish())


def text_of(events):
    return "".join(event for event in events if isinstance(event, str))


# -- laws ---------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [b"\x1b", b"]", b"133;", b"7;", b"633;", b"A", b"B", b"C", b"D", b"E;", b"D;0", b"\x07", b"\\",
     b"\x9c", b"\xc2", b"\xc2\x9c", b"\x18", b"\x1a", b"\x1b]133;A\x07", b"\x1b]133;C\x1b\\",
     b"\x1b]7;file:///tmp\x07", b"\x1b]633;E;ls -l\x07", b"\x1b]8;;http://x\x07", b"\x1b[31m", b"1",
     b"3", b"\xe2\x82\xac", b"\xe2\x82", b"\xac", b"\xff", b"text", b"\r\n", b";", b"\x1b]133;D\xc2\x9c"]
)  # fmt: skip
OUTPUT = st.lists(st.one_of(PIECES, PIECES, st.binary(max_size=3)), max_size=30).map(b"".join)

#: A mark that is whole, by a pattern that knows nothing of reading in pieces.
MARK = re.compile(
    rb"\x1b\](?:133|633|7);(?:(?!\xc2\x9c)[^\x07\x18\x1a\x1b])*(?:\x07|\x1b\\|\xc2\x9c)"
)


@settings(max_examples=600, deadline=None)
@given(OUTPUT, st.data())
@example(b"\x1b]133;A\x1b\\b", None)
@example(b"\xe2\x82\x1b]133;A\x07\xac", None)
def test_it_reads_the_same_however_it_is_cut(output, data):
    whole = read(output)
    assert read(*(output[n : n + 1] for n in range(len(output)))) == whole
    if data is not None:
        cuts = sorted(data.draw(st.lists(st.integers(0, len(output)), max_size=6)))
        edges = [0, *cuts, len(output)]
        assert read(*(output[a:b] for a, b in pairwise(edges))) == whole


@settings(max_examples=600, deadline=None)
@given(OUTPUT)
def test_its_text_is_the_output_without_its_marks(output):
    between = MARK.split(output)
    assert text_of(read(output)) == "".join(part.decode("utf-8", "replace") for part in between)


@settings(max_examples=300, deadline=None)
@given(OUTPUT)
def test_commands_that_are_said_come_in_pairs(output):
    running = False
    for event in read(output):
        if isinstance(event, CommandStarted):
            assert not running
            running = True
        elif isinstance(event, CommandFinished):
            assert running
            running = False
        elif isinstance(event, (PromptStarted, PromptEnded)):
            assert not running


def without_marks(output):
    while (less := MARK.sub(b"", output)) != output:
        output = less
    return output


@settings(max_examples=300, deadline=None)
@given(st.lists(OUTPUT, max_size=5))
def test_nothing_is_lost_where_it_is_flushed_between_reads(pieces):
    pieces = [piece.decode("ascii", "ignore").encode() for piece in pieces]
    reader = OutputReader()
    text = ""
    for piece in pieces:
        text += text_of(reader.feed(piece) + reader.flush())
        assert not reader.held
    text += text_of(reader.finish())
    # A mark that was flushed in its beginning is in the text.
    assert without_marks(text.encode()) == without_marks(b"".join(pieces))


# -- marks --------------------------------------------------------------------------------


def test_marks_stand_where_they_stood():
    output = (
        b"\x1b]7;file:///home/me\x07\x1b]133;A\x07$ \x1b]133;B\x07ls\r\n"
        b"\x1b]633;E;ls -l\x07\x1b]133;C\x07total 0\r\n\x1b]133;D;0\x07next"
    )
    assert read(output) == [
        CwdChanged("/home/me"),
        PromptStarted(),
        "$ ",
        PromptEnded(),
        "ls\r\n",
        CommandStarted("ls -l"),
        "total 0\r\n",
        CommandFinished(0),
        "next",
    ]


@pytest.mark.parametrize("end", [b"\x07", b"\x1b\\", b"\xc2\x9c"])
def test_a_mark_ends_with_a_bell_or_a_string_terminator(end):
    assert read(b"a\x1b]133;A" + end + b"b") == ["a", PromptStarted(), "b"]


@pytest.mark.parametrize("breaks", [b"\x18", b"\x1a", b"\x1b[m", b"\x1bc", b"\x1b]0;title\x07"])
def test_a_mark_that_is_broken_off_is_text(breaks):
    output = b"a\x1b]133;A" + breaks + b"b\x07"
    assert read(output) == [output.decode()]


def test_a_mark_begins_where_another_one_is_broken_off():
    assert read(b"\x1b]133;A\x1b]133;B\x07") == ["\x1b]133;A", PromptEnded()]


def test_a_mark_inside_another_sequence_is_one():
    assert read(b"\x1bP1;2\x1b]133;A\x07") == ["\x1bP1;2", PromptStarted()]


def test_a_mark_that_does_not_end_is_text_again():
    long = b"\x1b]7;" + b"x" * LONGEST_MARK
    assert read(long) == [long.decode()]
    reader = OutputReader()
    events = []
    for start in range(0, len(long), 1000):
        events += reader.feed(long[start : start + 1000])
        assert len(reader._held) < LONGEST_MARK
    assert text_of(events) == long.decode()
    assert reader.feed(b"\x1b]133;A\x07") == [PromptStarted()]


def test_the_longest_mark_is_one_in_pieces_too():
    fits = b"\x1b]7;file:///" + b"x" * (LONGEST_MARK - 13) + b"\x07"
    assert len(fits) == LONGEST_MARK
    assert isinstance(read(fits)[0], CwdChanged)
    assert isinstance(read(*(fits[n : n + 99] for n in range(0, len(fits), 99)))[0], CwdChanged)
    over = fits[:-1] + b"x\x07"
    assert read(over) == [over.decode()]
    assert read(*(over[n : n + 1] for n in range(len(over)))) == [over.decode()]


@pytest.mark.parametrize(
    "other",
    [b"\x1b]0;a title\x07", b"\x1b]8;;http://x\x1b\\", b"\x1b]1337;File=:AAAA", b"\x1b]13;x\x07",
     b"\x1b]1330;A\x07", b"\x1b]70;x\x07", b"\x1b]133\x07", b"\x1b]7\x07", b"\x1b]52;c;aGk=\x07",
     b"\x1bP+q544e\x1b\\", b"\x1b[?1049h", b"\x1b"],
)  # fmt: skip
def test_what_is_no_mark_goes_on_as_it_is(other):
    assert read(b"a" + other + b"b") == ["a" + other.decode() + "b"]


@pytest.mark.parametrize(
    "other", [b"\x1b]0;a ti", b"\x1b]1337;File=:AAAA", b"\x1b]52;c;", b"\x1b[3"]
)
def test_what_is_no_mark_is_not_held_back(other):
    reader = OutputReader()
    assert reader.feed(other) == [other.decode()]
    assert not reader.held


@pytest.mark.parametrize(
    "begun", [b"\x1b", b"\x1b]", b"\x1b]1", b"\x1b]13", b"\x1b]633", b"\x1b]7"]
)
def test_what_may_begin_a_mark_can_be_had(begun):
    reader = OutputReader()
    assert reader.feed(b"a" + begun) == ["a"]
    assert reader.held
    assert reader.flush() == [begun.decode()]
    assert not reader.held
    assert reader.flush() == []
    assert reader.feed(b"b") == ["b"]


def test_a_mark_that_has_begun_is_waited_for():
    reader = OutputReader()
    assert reader.feed(b"a\x1b]133;") == ["a"]
    assert not reader.held
    assert reader.flush() == []
    assert reader.feed(b"A\x07") == [PromptStarted()]


def test_an_unfinished_character_waits_and_is_replaced_at_the_end():
    reader = OutputReader()
    assert reader.feed(b"a\xe2\x82") == ["a"]
    assert reader.flush() == []
    assert reader.feed(b"\xac") == ["€"]
    assert reader.feed(b"\xe2") == []
    assert reader.finish() == ["\ufffd"]
    assert reader.finish() == []


def test_an_unfinished_character_is_the_commands_that_printed_it():
    output = b"\x1b]133;C\x07caf\xc3\x1b]133;D;0\x07\xa9$ "
    assert read(output) == [CommandStarted(""), "caf\ufffd", CommandFinished(0), "\ufffd$ "]


def test_the_end_gives_up_a_mark_that_did_not_end():
    assert read(b"a\x1b]133;A") == ["a\x1b]133;A"]


@pytest.mark.parametrize(
    ("said", "code"),
    [(b"D", None), (b"D;", None), (b"D;0", 0), (b"D;130;aid=7", 130), (b"D;x", None), (b"D;-1", -1),
     (b"D;99999999999", None), (b"D;1.5", None)],
)  # fmt: skip
def test_a_command_ends_with_the_code_its_shell_says(said, code):
    assert read(b"\x1b]133;C\x07\x1b]133;" + said + b"\x07")[-1] == CommandFinished(code)


@pytest.mark.parametrize(
    ("mark", "line"),
    [
        (b"C;cmdline_url=echo%20%27%C3%A9%3B%27", "echo 'é;'"),
        (b"C;cmdline_url=a%0Ab", "a\nb"),
        (b"C;aid=3;cmdline_url=ls", "ls"),
        (b"C;cmdline=echo\\ a\\;b", "echo a;b"),
        (b"C;cmdline=$'a\\nb\\'\\303\\251\\x41\\u20ac'", "a\nb'éA€"),
        (b'C;cmdline=\'x y\'"z\\""', 'x yz"'),
        (b"C;cmdline=", ""),
        (b"C;cl=line", ""),
        (b"C", ""),
    ],
)
def test_the_line_may_be_in_the_mark(mark, line):
    assert read(b"\x1b]133;" + mark + b"\x07") == [CommandStarted(line)]


@pytest.mark.parametrize(
    ("said", "line"),
    [
        (b"ls", "ls"),
        (b"ls\\x20\\x3b\\x0aa;nonce", "ls ;\na"),
        (b"a\\\\x3b", "a\\x3b"),
        (b"\\\\\\\\", "\\\\"),
        (b"\\q", "\\q"),
        (b"", ""),
        ("é".encode(), "é"),
        (b"\xff", "\ufffd"),
    ],
)
def test_the_line_may_be_said_ahead_of_the_command(said, line):
    output = b"\x1b]133;A\x07\x1b]633;E;" + said + b"\x07\x1b]133;C\x07"
    assert read(output) == [PromptStarted(), CommandStarted(line)]


def test_a_line_said_of_one_command_is_not_said_of_the_next():
    start = b"\x1b]133;C\x07\x1b]133;D\x07"
    assert read(b"\x1b]633;E;one\x07" + start + start)[::2] == [
        CommandStarted("one"),
        CommandStarted(""),
    ]
    assert read(b"\x1b]633;E;one\x07\x1b]133;A\x07" + start)[1] == CommandStarted("")


def test_vs_codes_marks_are_understood():
    output = (
        b"\x1b]633;D\x07\x1b]633;P;Cwd=/a\\x3bb\\\\c\x07\x1b]633;A\x07$ \x1b]633;B\x07ls\r\n"
        b"\x1b]633;E;ls;1234\x07\x1b]633;C\x07x\r\n\x1b]633;D;2\x07\x1b]633;P;IsWindows=False\x07"
    )
    assert read(output) == [
        CwdChanged("/a;b\\c"),
        PromptStarted(),
        "$ ",
        PromptEnded(),
        "ls\r\n",
        CommandStarted("ls"),
        "x\r\n",
        CommandFinished(2),
    ]


def test_a_prompt_of_another_line_is_none():
    assert read(b"\x1b]133;A;k=s\x07> \x1b]133;A;cl=m;k=i\x07") == ["> ", PromptStarted()]


@pytest.mark.parametrize(
    "odd", [b"133;", b"133;Z", b"133;L", b"633;", b"633;X;y", b"7;", b"633;P", b"133;AB"]
)
def test_marks_that_say_nothing_are_taken_out(odd):
    assert read(b"a\x1b]" + odd + b"\x07b") == ["ab"]


def test_a_command_that_never_ended_is_over_at_the_next_prompt():
    output = b"\x1b]133;C\x07a\x1b]133;A\x07\x1b]133;C\x07b\x1b]133;B\x07"
    assert [type(event).__name__ for event in read(output)] == [
        "CommandStarted", "str", "CommandFinished", "PromptStarted",
        "CommandStarted", "str", "CommandFinished", "PromptEnded",
    ]  # fmt: skip


def test_what_is_said_twice_is_said_once():
    double = (
        b"\x1b]133;A\x07\x1b]133;C\x07\x1b]633;C\x07a\x1b]633;D;3\x07\x1b]133;D;3\x07\x1b]133;D\x07"
    )
    assert read(double) == [PromptStarted(), CommandStarted(""), "a", CommandFinished(3)]


# -- folders ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "path"),
    [
        (b"file:///home/me", "/home/me"),
        (b"file://localhost/a%20b", "/a b"),
        (b"FILE://LocalHost/a", "/a"),
        (b"file://box/a", "/a"),
        (b"file://BOX/a", "/a"),
        (b"file://box.example.org/a", "/a"),
        (b"file:///%C3%A9%3B%25", "/é;%"),
        (b"file:///\xc3\xa9", "/é"),
        (b"file:///%FF", "/\udcff"),
        (b"file:///\xff", "/\udcff"),
        (b"file:///a%2", "/a%2"),
        (b"file:///", "/"),
        (b"file:///a?b#c", "/a?b#c"),
        (b"kitty-shell-cwd://box/a%20b", "/a%20b"),
        (b"file://other/a", None),
        (b"file://boxes/a", None),
        (b"file://box.other/a", "/a"),
        (b"file://", None),
        (b"file:a", None),
        (b"/home/me", None),
        (b"http://box/a", None),
        (b"file:///a%00b", None),
        (b"", None),
    ],
)
def test_a_folder_is_this_machines(said, path):
    events = read(b"\x1b]7;" + said + b"\x07", hosts=("box",))
    assert events == ([] if path is None else [CwdChanged(path)])


def test_a_host_known_by_its_whole_name_has_its_first_one_too():
    for said, known in ((b"box", True), (b"box.example.org", True), (b"box.other.org", False)):
        events = read(b"\x1b]7;file://" + said + b"/a\x07", hosts=("box.example.org",))
        assert bool(events) is known


def test_a_folder_is_said_when_it_is_another_one():
    cd = b"\x1b]7;file:///%s\x07"
    assert read(cd % b"a" + cd % b"a" + cd % b"b" + cd % b"a") == [
        CwdChanged("/a"),
        CwdChanged("/b"),
        CwdChanged("/a"),
    ]


def test_a_folder_has_a_uri():
    assert CwdChanged("/a b\udcff").uri == "file:///a%20b%FF"
