"""What a client was shown and sends back: what was hidden in it is what is held."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.config import redaction
from ahpd.schemas import SET, Misfit, all_hidden, hidden, sent_back

from .test_schema_marks import _SCHEMAS, _VALUES

HELD = {
    "command": "sh",
    "env": {"FREE": "v", "COUNT": 3, "KEY": {"fromEnv": "HOME"}},
    "args": ["--api-key=abc", "--token", "xyz", "https://u:p@h/", "--verbose"],
    "keys": ["k1", "k2"],
    "providers": [
        {"id": "p", "url": "one", "headers": {"X": "h1"}},
        {"id": "q", "url": "two", "headers": {"X": "h2"}},
    ],
}
SHOWN = redaction.shown(HELD)


def back(held=HELD, **changes):
    return sent_back({**SHOWN, **changes}, held, SHOWN, at="config")


def refused(held=HELD, **changes):
    with pytest.raises(Misfit) as raised:
        back(held, **changes)
    return str(raised.value)


def test_what_is_sent_back_as_it_was_shown_is_what_is_held():
    assert SHOWN["env"] == {"FREE": SET, "COUNT": SET, "KEY": {"fromEnv": "HOME"}}
    assert SHOWN["keys"] == [SET, SET]
    assert SHOWN["args"] == ["--api-key=<set>", "--token", SET, "https://<set>@h/", "--verbose"]
    assert back() == HELD


@given(st.none() | _SCHEMAS, st.dictionaries(st.sampled_from("ab"), _VALUES, max_size=3))
def test_nothing_is_lost_whatever_hid_it(schema, value):
    forms = (hidden(schema, redaction.shown(value)), hidden(schema, value), all_hidden(value))
    for form in forms:
        assert sent_back(form, value, *forms, at="config") == value


@given(st.dictionaries(st.sampled_from("ab"), _VALUES, max_size=3))
def test_of_what_nobody_knows_no_text_and_no_number_is_shown(value):
    said = str(all_hidden(value)).replace(repr(SET), "")
    assert not re.search(r"[xyz]|\d", said)


def test_a_client_that_was_shown_less_sends_back_less():
    everything = dict.fromkeys(HELD, SET)
    assert sent_back(everything, HELD, SHOWN, at="config") == HELD


def test_other_fields_are_changed_beside_what_is_hidden():
    made = back(
        command="zsh",
        env={"FREE": SET, "NEW": "n"},
        args=["--token", SET, "--more", "--api-key=<set>"],
        providers=[{**SHOWN["providers"][0], "url": "three"}, SHOWN["providers"][1]],
    )
    assert made["env"] == {"FREE": "v", "NEW": "n"}
    assert made["args"] == ["--token", "xyz", "--more", "--api-key=abc"]
    assert made["providers"][0] == {"id": "p", "url": "three", "headers": {"X": "h1"}}


def test_an_item_that_moved_takes_what_is_its_own():
    first, second = SHOWN["providers"]
    new = {"id": "n", "url": "new"}
    assert back(providers=[new, second])["providers"] == [new, HELD["providers"][1]]
    assert back(providers=[second, first])["providers"] == HELD["providers"][::-1]
    renamed = [{**first, "id": "r"}, second]
    assert back(providers=renamed)["providers"] == [
        {**HELD["providers"][0], "id": "r"},
        HELD["providers"][1],
    ]
    assert back(keys=["new", SET])["keys"] == ["new", "k2"]
    assert back(keys=[SET, SET, "new"])["keys"] == ["k1", "k2", "new"]


@pytest.mark.parametrize(
    ("changes", "place"),
    [
        ({"env": {"OTHER": SET}}, ".env.OTHER"),
        ({"command": f"echo {SET}"}, ".command"),
        ({"args": ["--secret", SET]}, ".args[1]"),
        ({"args": ["--api-token=<set>"]}, ".args[0]"),
        ({"args": ["https://<set>@elsewhere/"]}, ".args[0]"),
        ({"keys": [SET]}, ".keys[0]"),
        ({"keys": [SET, SET, SET]}, ".keys[0]"),
        ({"providers": [{"id": "r", "url": "one", "headers": {"X": SET}}]}, "[0].headers.X"),
        (
            {
                "providers": [
                    {"id": "q", "url": "3", "headers": {"X": SET}},
                    {"id": "p", "url": "4", "headers": {"X": SET}},
                ]
            },
            ".providers[0].headers.X",
        ),
    ],
)
def test_what_stands_for_nothing_is_refused_by_its_place(changes, place):
    words = refused(**changes)
    assert words.startswith("config.")
    assert place in words
    assert "stands for nothing that is held" in words


def test_a_secret_goes_with_its_argument_and_to_no_other():
    held = {"args": ["--a-key", "one", "--b-key", "two"]}
    shown = redaction.shown(held)
    swapped = {"args": ["--b-key", SET, "--a-key", SET]}
    assert sent_back(swapped, held, shown, at="config") == {
        "args": ["--b-key", "two", "--a-key", "one"]
    }
    twice = {"args": ["--a-key", "one", "--a-key", "two"]}
    with pytest.raises(Misfit, match=r"config\.args\[1\]"):
        sent_back({"args": ["--a-key", SET]}, twice, redaction.shown(twice), at="config")


def test_where_nothing_is_held_the_word_is_refused():
    with pytest.raises(Misfit, match=r"^params\.config\.apiKey is <set> and stands for nothing"):
        sent_back({"apiKey": SET}, None, at="params.config")
    assert sent_back({"apiKey": ""}, None, at="params.config") == {"apiKey": ""}
