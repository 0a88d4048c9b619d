"""Text that grows without being copied."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.protocol.text import GrowingText, appended, plain, settled


@given(st.text(), st.lists(st.text()))
def test_it_reads_as_all_that_was_appended(first, pieces):
    text = GrowingText(first)
    whole = first
    for piece in pieces:
        text.append(piece)
        whole += piece
        assert len(text) == len(whole)
    assert str(text) == whole
    assert text == whole
    assert text == GrowingText(whole)
    assert text != whole + "x"
    assert text != 4


def test_a_read_leaves_one_piece_behind():
    text = GrowingText("a")
    for _ in range(1000):
        text.append("b")
    assert str(text) is str(text)
    text.append("c")
    assert str(text) == "a" + "b" * 1000 + "c"


def test_appending_to_a_string_makes_it_grow_and_to_a_growing_one_keeps_it():
    text = appended("a", "b")
    assert isinstance(text, GrowingText)
    assert appended(text, "c") is text
    assert text == "abc"


@settings(deadline=None, max_examples=50)
@given(
    st.lists(st.tuples(st.text(min_size=1, max_size=3), st.integers(1, 40_000)), max_size=4),
    st.integers(0, 4),
)
def test_its_pieces_are_the_text_whatever_their_sizes(said, read_after):
    text = GrowingText()
    for number, (piece, times) in enumerate(said):
        for _ in range(3):
            text.append(piece * times)
        if number == read_after:
            str(text)
    whole = "".join(piece * times * 3 for piece, times in said)
    assert "".join(text.pieces) == whole
    assert str(text) == whole


def test_small_pieces_are_made_one():
    text = GrowingText()
    for _ in range(2_000_000):
        text.append("x")
    assert len(text.pieces) < 65_536 + 31


def test_a_copy_goes_its_own_way():
    text = GrowingText("a")
    text.append("b")
    copied = text.copy()
    copied.append("c")
    text.append("d" * 100_000)
    copied.append("e" * 100_000)
    assert text == "ab" + "d" * 100_000
    assert copied == "abc" + "e" * 100_000


def test_a_text_that_is_over_is_a_string_unless_it_is_long():
    short, long = GrowingText("ab"), GrowingText("ab" * 1_000_000)
    short.append("c")
    long.append("c")
    assert settled(short) == "abc"
    assert type(settled(short)) is str
    assert settled(long) is long
    assert len(long.pieces) == 2


@settings(deadline=None, max_examples=200)
@given(
    st.text(max_size=5),
    st.lists(
        st.one_of(
            st.tuples(
                st.just("append"), st.text(max_size=5), st.sampled_from([1, 1, 9_000, 70_000])
            ),
            st.tuples(st.just("drop"), st.integers(-1, 200_000)),
            st.tuples(st.just("drop"), st.integers(0, 4)),
            st.tuples(st.sampled_from(["read", "pieces", "copy"])),
        ),
        max_size=20,
    ),
    st.integers(-3, 30),
    st.integers(-3, 30),
)
def test_what_is_dropped_is_gone_from_the_front(first, steps, start, stop):
    text, whole = GrowingText(first), first
    for step in steps:
        match step:
            case ("append", piece, times):
                text.append(piece * times)
                whole += piece * times
            case ("drop", count):
                text.drop(count)
                whole = whole[max(0, count) :]
            case ("read",):
                assert str(text) == whole
            case ("pieces",):
                assert "".join(text.pieces) == whole
            case ("copy",):
                other = text.copy()
                text.append("gone")
                text.drop(1)
                text = other
        assert len(text) == len(whole)
        assert text.between(start, stop) == whole[max(0, start) : max(0, stop)]
    assert text == whole
    assert "".join(text.pieces) == whole


def test_a_text_that_moves_on_keeps_few_pieces_and_little_else():
    text = GrowingText()
    for _ in range(1_000_000):
        text.append("x")
        text.drop(len(text) - 200_000)
    assert len(text) == 200_000
    assert len(text._pieces) < 65_536 + 31
    assert sum(map(len, text._pieces)) <= 200_000 + 65_536


def test_it_cannot_be_a_key():
    with pytest.raises(TypeError):
        hash(GrowingText("a"))


def test_a_plain_copy_holds_strings_and_shares_nothing():
    state = {"parts": [{"content": GrowingText("ab")}, ("x", None, 1.5, True)]}
    copied = plain(state)
    assert copied == {"parts": [{"content": "ab"}, ["x", None, 1.5, True]]}
    assert type(copied["parts"][0]["content"]) is str
    copied["parts"][0]["content"] = "gone"
    assert state["parts"][0]["content"] == "ab"
