"""Replacing a piece of a text: exactly, once, and with the line ends there are."""

import difflib
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ahpd_agent_openai.tools.replacing import lines_changed, replaced
from ahpd_agent_openai.tools.text_files import NotText, decoded, line_end
from ahpd_agent_openai.tools.values import ToolProblem

LETTERS = st.text(alphabet="ab \n", max_size=12)
MIXED = st.text(alphabet="ab\r\n", max_size=14)


def once(text, old, new):
    return replaced(text, old, new, everywhere=False).text


def test_a_piece_is_replaced_where_it_is():
    assert once("one two three", "two", "2") == "one 2 three"
    assert once("x", "x", "") == ""


@pytest.mark.parametrize(
    ("text", "old", "new", "expected"),
    [
        ("a\r\nb\r\nc", "a\nb", "x\ny", "x\r\ny\r\nc"),
        ("a\r\nb\r\nc", "b", "x\ny", "a\r\nx\r\ny\r\nc"),
        ("a\r\nb\r\nc", "\nb", "\nx", "a\r\nx\r\nc"),
        ("a\r\nb\r\n", "b\n", "", "a\r\n"),
        ("a\nb\r\nc\r\n", "a\nb", "x\ny", "x\ny\r\nc\r\n"),
        ("a\r\nb", "a\r\nb", "x\ny", "x\r\ny"),
        ("a\r\nb", "b", "x\r\ny\n", "a\r\nx\r\ny\n"),
        ("a\rb\n", "a\rb", "x", "x\n"),
    ],
)
def test_line_ends_are_those_of_what_is_replaced_or_of_most_of_the_file(text, old, new, expected):
    assert once(text, old, new) == expected


@pytest.mark.parametrize(
    ("text", "old"),
    [("aaa", "aa"), ("a\na\na", "a\na"), ("a\r\na\r\na", "a\na"), ("a\r\na\r\na", "a\r\na")],
)
def test_occurrences_that_overlap_are_more_than_one(text, old):
    with pytest.raises(ToolProblem, match="more than once"):
        once(text, old, "b")
    assert replaced(text, old, "b", everywhere=True).count == 1


def test_a_line_end_ahead_of_a_piece_is_no_second_occurrence():
    assert once("x\r\nfoo", "\nfoo", "") == "x"


@given(LETTERS, LETTERS, LETTERS, LETTERS)
def test_without_carriage_returns_it_is_what_replace_does(before, old, new, after):
    assume(old)
    assume(old != new)
    text = before + old + after
    if sum(text.startswith(old, at) for at in range(len(text))) == 1:
        assert once(text, old, new) == before + new + after
    else:
        with pytest.raises(ToolProblem):
            once(text, old, new)
    every = replaced(text, old, new, everywhere=True)
    assert every.text == text.replace(old, new)
    assert every.count == text.count(old)


@settings(max_examples=500)
@given(MIXED, MIXED, st.text(alphabet="xy\n", max_size=6))
def test_nothing_but_the_piece_changes_whatever_the_line_ends(text, old, new):
    """With a piece that occurs once: what is ahead of it and behind it stays byte for byte."""
    assume(old)
    try:
        after = once(text, old, new)
    except ToolProblem:
        return
    flat_text, flat_old = text.replace("\r\n", "\n"), old
    if "\r" in old:
        assert text.count(old) == 1
        start = text.index(old)
        end = start + len(old)
    else:
        assert flat_text.count(flat_old) == 1
        # the place in the text whose flattened beginning is what is ahead of the piece
        ahead = flat_text.index(flat_old)
        start = next(
            n
            for n in range(len(text) + 1)
            if len(text[:n].replace("\r\n", "\n")) == ahead
            and not (n and text[n - 1 : n + 1] == "\r\n")
        )
        end = next(
            n
            for n in range(start, len(text) + 1)
            if text[start:n].replace("\r\n", "\n") == old and text[n - 1 : n + 1] != "\r\n"
        )
    assert after.startswith(text[:start])
    assert after.endswith(text[end:])
    middle = after[start : len(after) - (len(text) - end)]
    assert middle.replace("\r\n", "\n") == new


@given(MIXED, MIXED)
def test_putting_it_back_makes_the_text_again(text, piece):
    assume(piece)
    assume("\r" not in piece)
    try:
        changed = once(text, piece, "<>")
    except ToolProblem:
        return
    pairs = text.count("\r\n")
    # With the only line ends taken out, nothing is left that says how they were written.
    if pairs == 0 or (pairs == text.count("\n") and "\n" in changed):
        assert once(changed, "<>", piece) == text


@given(LETTERS, LETTERS)
def test_changed_lines_are_what_a_diff_counts(before, after):
    added, removed = lines_changed(before, after)
    old, new = ([line + "\n" for line in text.split("\n")] for text in (before, after))
    assert added - removed == len(_lines(after)) - len(_lines(before))
    assert 0 <= added <= len(new)
    assert 0 <= removed <= len(old)
    assert (added, removed) == (0, 0) or before != after
    same = difflib.SequenceMatcher(None, _lines(before), _lines(after)).ratio() == 1
    assert same == ((added, removed) == (0, 0))


def _lines(text):
    return text.splitlines(keepends=True)


def test_many_lines_and_hostile_pieces_take_no_time():
    started = time.monotonic()
    lines_changed("a\n" * 200_000, "b\n" * 200_000)
    with pytest.raises(ToolProblem):
        once("a" * 4_000_000, "a" * 15_000 + "\nb", "x")
    replaced("ab\r\n" * 500_000, "b\na", "x", everywhere=True)
    assert time.monotonic() - started < 5


@given(st.binary(max_size=60))
def test_any_text_file_is_written_back_byte_for_byte(data):
    try:
        text, encoding = decoded(data)
    except NotText:
        return
    assert encoding.encoded(text) == data


@pytest.mark.parametrize(
    ("text", "end"),
    [("a\r\nb\r\nc\n", "\r\n"), ("a\nb\nc\r\n", "\n"), ("", "\n"), ("a\r\n", "\r\n")],
)
def test_the_usual_line_end_is_the_one_most_lines_have(text, end):
    assert line_end(text) == end
