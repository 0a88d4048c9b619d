"""The part of a chat's turns a client is shown, and its way back to the rest."""

import pytest

from ahpd.protocol.views import PAGE, chat_view, cursor_before, older_page, requested_turns


def chat(count):
    return {"title": "t", "turns": [{"id": f"t{index}"} for index in range(count)]}


def ids(turns):
    return [turn["id"] for turn in turns]


def test_without_a_count_every_turn_is_shown_and_no_cursor():
    state = {**chat(200), "turnsNextCursor": "stale"}
    shown = chat_view(state, None)
    assert shown["turns"] == state["turns"]
    assert "turnsNextCursor" not in shown
    assert "turnsNextCursor" in state


def test_the_newest_turns_and_a_cursor_for_the_older_ones():
    state = chat(5)
    shown = chat_view(state, 2)
    assert ids(shown["turns"]) == ["t3", "t4"]
    assert shown["turnsNextCursor"] == cursor_before("t3")
    assert len(state["turns"]) == 5


@pytest.mark.parametrize("count", [5, 6, 500])
def test_a_view_that_leaves_nothing_behind_has_no_cursor(count):
    shown = chat_view(chat(5), count)
    assert len(shown["turns"]) == 5
    assert "turnsNextCursor" not in shown


def test_the_cursors_lead_to_every_turn_once():
    state = chat(2 * PAGE + 7)
    seen = chat_view(state, 3)["turns"]
    cursor = chat_view(state, 3)["turnsNextCursor"]
    while cursor is not None:
        page, cursor = older_page(state, cursor)
        assert len(page) <= PAGE
        seen = page + seen
    assert seen == state["turns"]


@pytest.mark.parametrize("cursor", ["", "t1", "before:", "before:gone", "after:t1"])
def test_a_cursor_that_names_no_turn_leads_nowhere(cursor):
    assert older_page(chat(3), cursor) is None


def test_before_the_oldest_turn_is_nothing():
    assert older_page(chat(3), cursor_before("t0")) == ([], None)


@pytest.mark.parametrize(
    ("view", "count"),
    [
        (None, None),
        ({}, None),
        ({"turns": None}, None),
        ({"other": 1}, None),
        ({"turns": 1}, 1),
        ({"turns": 3.0}, 3),
        ({"turns": 10_000}, 10_000),
        ({"turns": 0}, PAGE),
        ({"turns": -4}, PAGE),
        ({"turns": 2.5}, PAGE),
        ({"turns": float("inf")}, PAGE),
        ({"turns": True}, PAGE),
        ({"turns": "3"}, PAGE),
    ],
)
def test_the_count_a_view_asks_for(view, count):
    assert requested_turns(view) == count
