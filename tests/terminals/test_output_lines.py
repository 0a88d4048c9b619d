"""Command lines read back off what was shown while they were typed."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.terminals.echoed import line_shown
from ahpd.terminals.marks import CommandStarted
from ahpd.terminals.output import OutputReader
from ahpd.terminals.quoting import unescaped, unquoted


def line_of(shown):
    events = OutputReader().feed(b"\x1b]133;B\x07" + shown + b"\x1b]133;C\x07")
    (started,) = [event for event in events if isinstance(event, CommandStarted)]
    return started.line


@pytest.mark.parametrize(
    ("shown", "line"),
    [
        (b"ls -l\r\n", "ls -l"),
        (b"ls\r\n\x1b[?2004l\r", "ls"),
        (b"lx\x08 \x08s\r\n", "ls"),
        (b"lx\b\x1b[Ks\r\n", "ls"),
        (b"echo two\x08\x08\x08\x1b[4@one two\r\n", "echo one two"),
        (b"echo\x08\x08\x08\x08\x1b[2Pho\r\n", "ho"),
        (b"e\x08echo \x1b[31mhi\x1b[0m\x1b[?1l\x1b>\x1b[?2004l\r\r\n", "echo hi"),
        (b"abc\x1b[3Dx\x1b[2Cy\r\n", "xbcy"),
        (b"abc\r\x1b[Kdef\r\n", "def"),
        (b"abc\x1b[2K\rdef\r\n", "def"),
        (b"abc\x1b[D\x1b[1Kd\r\n", "d"),
        (b"ls\x1b[J\x1b]0;title\x07\x1b]8;;x\x1b\\\x1b(B\r\n", "ls"),
        (b"for i in 1\r\n> do\r\n> done\r\n", "for i in 1\n> do\n> done"),
        ("écho ✓\r\n".encode(), "écho ✓"),
        (b"a\tb\r\n", "a b"),
        (b"", ""),
        (b"\r\n", ""),
        (b"\x1b[99999999999999C\x1b[9999@x\x1b[", "x"),
    ],
)
def test_a_line_is_read_off_the_screen(shown, line):
    assert line_of(shown) == line


def test_a_line_is_read_from_the_last_prompt_on():
    assert line_of(b"old\x1b]133;B\x07new\r\n") == "new"


def test_what_is_shown_after_the_command_began_is_not_of_the_next_line():
    reader = OutputReader()
    reader.feed(b"\x1b]133;B\x07one\r\n\x1b]133;C\x07output\x1b]133;D\x07")
    assert reader.feed(b"\x1b]133;C\x07") == [CommandStarted("")]


def test_an_echo_of_any_length_is_kept_in_bounds():
    reader = OutputReader()
    reader.feed(b"\x1b]133;B\x07ls ")
    for _ in range(100):
        reader.feed(b"x" * 10_000)
    (started,) = reader.feed(b"\x1b]133;C\x07")
    assert started.line.startswith("ls xxx")
    assert len(started.line) <= 16 * 1024


@settings(max_examples=300, deadline=None)
@given(st.text(st.sampled_from("ab \b\r\n\t\x1b[]0;19CDKPJ@?m\x07\\é\x9b"), max_size=40))
def test_anything_shown_makes_some_line(shown):
    line = line_shown(shown)
    assert line == line.strip()
    assert "\x1b" not in line


@pytest.mark.parametrize(
    "shown",
    [
        "\x1b[9999C\x1b[9999Cx\n",
        "\x1b[9999C\x1b[9999Cx\r",
        "xy\b\x1b[9999@\n",
        "\x1b[999Cx",
        "x\x1b[9999C\x1b[1K",
    ],
)
def test_a_cursor_that_is_sent_far_makes_no_long_line(shown):
    """A program prints sixteen thousand characters, and every client is told what they make."""
    assert len(line_shown(shown * 2000)) <= 16 * 1024


def test_what_is_drawn_at_the_right_of_a_line_is_no_matter():
    shown = "ls\x1b[200C12:00\x1b[205D -l"
    assert line_shown(shown).startswith("ls -l")


@given(st.text())
def test_a_line_that_is_escaped_reads_as_it_was(line):
    escaped = line.replace("\\", "\\\\").replace(";", "\\x3b").replace("\n", "\\x0a")
    assert unescaped(escaped) == line


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_a_line_that_is_quoted_reads_as_it_was(line):
    in_single = line.replace("'", "'\\''")
    assert unquoted(f"'{in_single}'") == line
    assert unquoted("".join("\\" + character for character in line)) == line
    octal = "".join(f"\\{byte:03o}" for byte in line.encode())
    assert unquoted(f"$'{octal}'") == line


@given(st.text(st.sampled_from("ab\\'\"$xuU0123n{} "), max_size=20))
def test_anything_quoted_reads_as_something(text):
    assert isinstance(unquoted(text), str)
