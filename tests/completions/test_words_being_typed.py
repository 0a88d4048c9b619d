"""The word under the cursor, in UTF-16 code units."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.completions.tokens import Word, length, word_at


def at_end(text):
    return word_at(text, length(text))


def test_a_command_counts_at_the_beginning_of_the_text_alone():
    assert at_end("/com") == Word("/", "com", 0, 4)
    assert at_end(" /com") is None
    assert at_end("see /usr") is None
    assert at_end("/com now") is None


def test_all_of_a_commands_name_is_replaced_and_what_is_before_the_cursor_asked_for():
    assert word_at("/compact now", 3) == Word("/", "co", 0, 8)
    assert word_at("/compact", 1) == Word("/", "", 0, 8)


@pytest.mark.parametrize("trigger", ["@", "#"])
@pytest.mark.parametrize("space", [" ", "\n", "\t"])
def test_a_mention_counts_at_the_beginning_and_behind_a_space(trigger, space):
    assert at_end(trigger + "ma") == Word(trigger, "ma", 0, 3)
    assert at_end(f"see{space}{trigger}ma") == Word(trigger, "ma", 4, 7)
    assert at_end(f"me{trigger}ma") is None
    assert at_end(f"{trigger}ma{space}") is None


def test_the_word_ends_at_the_cursor():
    assert word_at("@main.py", 3) == Word("@", "ma", 0, 3)


def test_a_trigger_inside_a_word_is_part_of_it():
    assert at_end("@a#b") == Word("@", "a#b", 0, 4)


def test_an_emoji_is_two_code_units():
    assert at_end("😀 @m😀") == Word("@", "m😀", 3, 7)
    assert word_at("/😀a b", 1) == Word("/", "", 0, 4)
    # between the two units of one
    assert word_at("@😀", 2).end == 2


def test_no_word_is_none():
    assert word_at("", 0) is None
    assert word_at("@a", 0) is None


@pytest.mark.parametrize(
    ("typed", "title", "chat_alone"),
    [
        ("", "", False),
        ("c", "", False),
        ("Cha", "", False),
        ("chat", "", False),
        ("chat:", "", True),
        ("CHAT:Fix", "Fix", True),
        ("chats", None, False),
        ("change", None, False),
    ],
)
def test_what_is_on_its_way_to_a_chat(typed, title, chat_alone):
    word = at_end("#" + typed)
    assert (word.chat_title, word.names_a_chat) == (title, chat_alone)
    assert at_end("@" + typed).chat_title is None
    assert not at_end("@" + typed).names_a_chat


@given(st.text(), st.data())
def test_it_never_raises_and_names_a_range_in_the_text(text, data):
    offset = data.draw(st.integers(0, length(text)))
    word = word_at(text, offset)
    if word is not None:
        assert 0 <= word.start < offset <= word.end <= length(text)
        units = text.encode("utf-16-le", "surrogatepass")
        assert units[2 * word.start : 2 * word.start + 2].decode("utf-16-le") == word.trigger
