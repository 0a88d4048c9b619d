"""What a command printed, as text and within bounds."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.chats.printed import plain_text, tail

#: Pieces of what programs print, sequences cut short among them.
PIECES = st.sampled_from(
    ["a", "word ", "\r", "\n", "\r\n", "\t", "\x1b[32m", "\x1b[0m", "\x1b]0;title\x07", "\x1b]8;;",
     "\x1b\\", "\x1b(B", "\x1b[", "\x1b", "\x07", "\x08", "\x00", "\x9b", "\N{SNOWMAN}", "[0m", "é"]
)  # fmt: skip
PRINTED = st.lists(PIECES, max_size=60).map("".join)


@pytest.mark.parametrize(
    ("printed", "text"),
    [
        ("", ""),
        ("plain\n", "plain"),
        ("one\r\n\r\ntwo\r\n", "one\n\ntwo"),
        ("\x1b[1;32mgreen\x1b[0m\r\n", "green"),
        ("\x1b]0;title\x07text", "text"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bset\x1b=", "set"),
        ("10%\r50%\r100%\r\ndone", "100%\ndone"),
        ("tab\tstays", "tab\tstays"),
        ("bell\x07 and null\x00", "bell and null"),
        ("cut short \x1b[3", "cut short 3"),
        ("\r\n\r\n", ""),
    ],
)
def test_what_only_a_terminal_understands_is_left_out(printed, text):
    assert plain_text(printed) == text


@given(PRINTED)
def test_no_control_is_left_but_tabs_and_line_ends(printed):
    text = plain_text(printed)
    assert all(char in "\n\t" or char.isprintable() for char in text)
    assert not text.startswith("\n")
    assert not text.endswith("\n")
    assert plain_text(text) == text


@given(PRINTED, st.integers(1, 80))
def test_an_end_is_within_its_bound_and_of_what_was_printed(printed, longest):
    end = tail(printed, longest)
    assert len(end) <= longest
    if len(printed) <= longest:
        assert end == printed
    elif "\x1b" in end:  # it begins where a line does
        assert printed.endswith(end)
        assert printed[: -len(end)].endswith("\n")


def test_what_is_hard_to_read_takes_no_time():
    began = time.process_time()
    for piece in ("\x1b[", "\x1b]", "\x1b[1;", "\r", "\x1b ", "\x1b[1"):
        plain_text(piece * 100_000)
    assert time.process_time() - began < 5
