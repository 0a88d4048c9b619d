"""Output is said at once where it is quiet, and gathered where it floods."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.task import Clock

from ahpd.terminals.gather import MOST, WINDOW, Gatherer


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def said():
    return []


@pytest.fixture
def gatherer(clock, said):
    return Gatherer(clock, said.append)


def test_what_comes_after_a_quiet_time_is_said_at_once(gatherer, clock, said):
    gatherer.add("a")
    assert said == ["a"]
    clock.advance(WINDOW)
    gatherer.add("b")
    assert said == ["a", "b"]
    assert clock.getDelayedCalls() == []


def test_what_follows_quickly_is_said_as_one(gatherer, clock, said):
    for piece in "abcd":
        gatherer.add(piece)
    assert said == ["a"]
    clock.advance(WINDOW)
    assert said == ["a", "bcd"]


def test_a_flood_is_said_in_full_pieces_without_waiting(gatherer, clock, said):
    gatherer.add("a")
    for _ in range(48):
        gatherer.add("x" * 4096)
    assert [len(piece) for piece in said] == [1] + [MOST] * 4


def test_after_a_full_piece_the_window_begins_anew(gatherer, clock, said):
    gatherer.add("a")
    gatherer.add("b")
    clock.advance(WINDOW * 0.8)
    gatherer.add("x" * MOST)
    gatherer.add("c")
    clock.advance(WINDOW * 0.4)
    assert said[2:] == [], "the timer was that of the piece before"
    clock.advance(WINDOW)
    assert said[2:] == ["c"]


def test_more_than_one_piece_holds_is_cut(gatherer, said):
    gatherer.add("x" * (3 * MOST + 1))
    assert [len(piece) for piece in said] == [MOST, MOST, MOST + 1]


def test_flushed_and_stopped_it_leaves_nothing_behind(gatherer, clock, said):
    gatherer.add("a")
    gatherer.add("b")
    gatherer.flush()
    gatherer.flush()
    assert said == ["a", "b"]
    gatherer.add("c")
    gatherer.stop()
    assert said == ["a", "b", "c"]
    assert clock.getDelayedCalls() == []


@given(
    st.lists(
        st.one_of(
            st.text(max_size=5),
            st.integers(1, 3).map(lambda n: "y" * (n * MOST // 2)),
            st.floats(0, 2 * WINDOW),
            st.just(None),
        )
    )
)
def test_nothing_is_lost_or_moved_and_no_piece_is_late_or_large(steps):
    clock, said = Clock(), []
    gatherer = Gatherer(clock, lambda piece: said.append((clock.seconds(), piece)))
    given_at = []
    for step in steps:
        if isinstance(step, float):
            clock.advance(step)
        elif step is None:
            gatherer.flush()
        else:
            given_at += [clock.seconds()] * len(step)
            gatherer.add(step)
    clock.advance(WINDOW)
    assert "".join(piece for _, piece in said) == "".join(s for s in steps if isinstance(s, str))
    assert all(0 < len(piece) < 2 * MOST for _, piece in said)
    place = 0
    for at, piece in said:
        assert at - given_at[place] <= 4 * WINDOW, "no step of the clock is longer than two"
        place += len(piece)
    assert clock.getDelayedCalls() == []
