"""Text that grows without being copied."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.protocol.text import GrowingText, appended, plain


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
