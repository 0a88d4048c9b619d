"""Two states of a terminal: what a host may have dropped without a word, and nothing else."""

import copy
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.protocol.reducers.terminal import reduce
from ahpd.protocol.text import plain
from ahpd.terminals.scrollback import Scrollback
from ahpd.testing import scrollback
from ahpd.testing.differences import first_difference
from ahpd.testing.scrollback import (
    OVERCUT,
    SCROLLBACK,
    SCROLLBACK_PARTS,
    holds_more,
    scrollback_excess,
    terminal_difference,
)


def text(value):
    return {"type": "unclassified", "value": value}


def command(number, output, **more):
    return {
        "type": "command",
        "commandId": f"c{number}",
        "commandLine": f"run {number}",
        "output": output,
        "timestamp": number,
        "isComplete": True,
        **more,
    }


def state(*content, **more):
    claim = {"kind": "client", "clientId": "a"}
    lifecycle = {"status": "running"}
    return {"title": "t", "content": [*content], "claim": claim, "lifecycle": lifecycle, **more}


LONG = "".join(f"line {number}\n" for number in range(40_000))
TOLD = state(text("hello\n" * 30_000), command(1, LONG, exitCode=0), text("$ "), cols=80)


def ends(told, characters):
    """`told` with only so many of its newest characters of text, as a host would keep it."""
    kept = copy.deepcopy(told)
    content = []
    for part in reversed(kept["content"]):
        key = "output" if part["type"] == "command" else "value"
        if characters <= 0:
            break
        part[key] = part[key][-characters:]
        characters -= len(part[key])
        content.insert(0, part)
    return {**kept, "content": content}


@pytest.mark.parametrize("characters", [SCROLLBACK, SCROLLBACK - 1, SCROLLBACK - OVERCUT + 1])
def test_the_newest_of_what_was_said_is_enough(characters):
    kept = ends(TOLD, characters)
    assert terminal_difference(TOLD, kept) is None
    assert first_difference(TOLD, kept) is not None
    assert scrollback_excess(kept) is None
    assert holds_more(TOLD, kept)
    assert not holds_more(kept, TOLD)


def test_what_is_the_same_is_no_difference_and_may_still_be_too_much():
    assert terminal_difference(TOLD, copy.deepcopy(TOLD)) is None
    assert "at most 200000 are kept" in scrollback_excess(TOLD)
    many = state(*(command(number, "") for number in range(SCROLLBACK_PARTS + 1)))
    assert "2001 parts" in scrollback_excess(many)
    assert scrollback_excess(state()) is None


def test_parts_that_are_too_many_may_be_gone():
    many = state(*(command(number, "") for number in range(SCROLLBACK_PARTS + 5)))
    kept = {**many, "content": many["content"][5:]}
    assert terminal_difference(many, kept) is None
    for gone in (6, 100, len(many["content"])):
        kept = {**many, "content": many["content"][gone:]}
        assert "more than had to go" in terminal_difference(many, kept)


def test_a_part_whose_command_line_alone_is_too_much_may_be_gone():
    told = state(
        text("a"),
        command(1, "b", commandLine="x" * SCROLLBACK),
        command(2, "c", commandLine="yz"),
        text("$ "),
    )
    assert terminal_difference(told, {**told, "content": told["content"][2:]}) is None
    assert "command lines" in scrollback_excess({**told, "content": told["content"][1:]})
    assert scrollback_excess({**told, "content": told["content"][1:2]}) is None
    # A cut to where it can be read from takes what is near, and no more.
    assert terminal_difference(told, {**told, "content": told["content"][3:]}) is None
    far = changed(told, 2, output="c" * (OVERCUT + 1))
    assert terminal_difference(far, {**far, "content": far["content"][3:]}) is not None


def test_what_is_short_is_whole():
    told = state(text("hello "), command(1, "x" * 1000), text("$ "))
    for kept in (
        {**told, "content": told["content"][1:]},
        {**told, "content": [text("lo "), *told["content"][1:]]},
        {**told, "content": []},
    ):
        assert "content" in terminal_difference(told, kept)


def changed(kept, index, **fields):
    kept = copy.deepcopy(kept)
    kept["content"][index].update(fields)
    return kept


KEPT = ends(TOLD, SCROLLBACK)


@pytest.mark.parametrize(
    ("kept", "words"),
    [
        ({**KEPT, "title": "other"}, "title is"),
        ({**KEPT, "cols": 81}, "cols is 80 and 81"),
        ({**KEPT, "isPty": True}, "isPty is absent"),
        ({**KEPT, "content": []}, "was cut, which left 0 characters in 0 parts"),
        ({**KEPT, "content": KEPT["content"][1:]}, "which left 2 characters in 1 part"),
        (ends(TOLD, SCROLLBACK - OVERCUT), "more than had to go was cut"),
        # The front is cut, never the end.
        ({**KEPT, "content": KEPT["content"][:-1]}, "content[2]"),
        (changed(KEPT, 0, output=LONG[:SCROLLBACK]), "content[1].output"),
        (changed(KEPT, 0, output=KEPT["content"][0]["output"] + "x"), "content[1].output"),
        (changed(KEPT, 0, output="x" + KEPT["content"][0]["output"]), "content[1].output"),
        # Of what is left nothing else may be another.
        (changed(KEPT, 0, exitCode=1), "content[1].exitCode"),
        (changed(KEPT, 0, commandLine="run"), "content[1].commandLine"),
        (changed(KEPT, 0, type="unclassified"), "content[1]"),
        (changed(KEPT, 1, value=""), "content[2].value"),
        (changed(KEPT, 1, value=" "), "content[2].value"),
        # Nobody invents what was not said.
        ({**KEPT, "content": [text("?"), *TOLD["content"]]}, "content has 3 entries and 4"),
    ],
)
def test_anything_else_is_a_difference(kept, words):
    assert words in terminal_difference(TOLD, kept)


def test_what_was_cut_inside_a_newer_part_is_a_difference():
    told = state(text(LONG), command(1, LONG), text("$ "))
    kept = {**told, "content": [text(LONG[-10:]), command(1, LONG[-1000:]), text("$ ")]}
    assert terminal_difference(told, kept) is not None
    kept["content"][1]["output"] = LONG
    assert terminal_difference(told, kept) is None


PARTS = st.lists(
    st.one_of(
        st.text(max_size=5).map(text),
        st.tuples(st.integers(0, 9), st.text(max_size=5)).map(lambda pair: command(*pair)),
    ),
    min_size=1,
    max_size=6,
)


@settings(deadline=None)
@given(PARTS, st.integers(SCROLLBACK - OVERCUT + 1, SCROLLBACK), st.data())
def test_any_ending_is_taken_and_any_other_change_of_it_is_found(parts, characters, data):
    told = state(text(LONG), *parts)
    kept = ends(told, characters)
    assert terminal_difference(told, kept) is None
    index = data.draw(st.integers(0, len(kept["content"]) - 1))
    part = kept["content"][index]
    key = "output" if part["type"] == "command" else "value"
    spoilt = data.draw(st.text(max_size=5))
    whole = told["content"][len(told["content"]) - len(kept["content"]) + index][key]
    if index == 0 and whole.endswith(spoilt):
        spoilt += "\0"
    if spoilt != part[key]:
        assert terminal_difference(told, changed(kept, index, **{key: spoilt})) is not None


OUTPUT = st.one_of(
    st.text(alphabet="ab\n\x1b[]0;m\x07é", min_size=1, max_size=400),
    st.integers(1, 3000).map(lambda count: "x" * count),
    st.integers(1, 30).map(lambda count: "line\n" * count),
    st.integers(1, 60).map(lambda count: "\x1b[31m" * count),
)
SAID = st.one_of(
    OUTPUT.map(lambda printed: {"type": "terminal/data", "data": printed}),
    OUTPUT.map(lambda printed: {"type": "terminal/data", "data": printed}),
    st.tuples(st.integers(0, 5), st.integers(0, 700)).map(
        lambda pair: {
            "type": "terminal/commandExecuted",
            "commandId": str(pair[0]),
            "commandLine": "l" * pair[1],
            "timestamp": 1,
        }
    ),
    st.integers(0, 5).map(
        lambda number: {"type": "terminal/commandFinished", "commandId": str(number)}
    ),
    st.just({"type": "terminal/cleared"}),
)


@settings(deadline=None)
@given(st.lists(SAID, max_size=40))
def test_what_a_host_takes_away_is_what_may_be_missing(actions):
    told, kept, host = state(), state(), Scrollback(1000, 8)
    with mock.patch.multiple(scrollback, SCROLLBACK=1000, SCROLLBACK_PARTS=8):
        for action in actions:
            told, kept = reduce(told, action), reduce(kept, action)
            host.trim(kept["content"])
            assert scrollback_excess(plain(kept)) is None
            assert terminal_difference(plain(told), plain(kept)) is None
