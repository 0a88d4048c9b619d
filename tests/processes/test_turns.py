"""A terminal beside one somebody types into is read in the smallest pieces."""

import pytest
import pytest_twisted
from twisted.internet.task import Clock

from ahpd.processes.turns import AT_EASE, BESIDE_TYPING, TYPING, Turns

TYPED, FLOOD = object(), object()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def turns(clock):
    return Turns(clock)


def test_where_nobody_types_turns_are_large(turns):
    assert turns.size(FLOOD) == AT_EASE


def test_beside_typing_they_are_small_until_it_is_over(turns, clock):
    turns.typed(TYPED)
    assert turns.size(FLOOD) == BESIDE_TYPING
    clock.advance(TYPING * 0.9)
    turns.typed(TYPED)
    clock.advance(TYPING * 0.9)
    assert turns.size(FLOOD) == BESIDE_TYPING
    clock.advance(TYPING)
    assert turns.size(FLOOD) == AT_EASE
    turns.typed(TYPED)
    assert turns.size(FLOOD) == BESIDE_TYPING


def test_whoever_types_into_the_flood_itself_waits_for_nothing_else(turns):
    turns.typed(FLOOD)
    assert turns.size(FLOOD) == AT_EASE


def test_a_terminal_that_is_over_is_typed_into_no_more(turns):
    turns.typed(TYPED)
    turns.left(FLOOD)
    assert turns.size(FLOOD) == BESIDE_TYPING
    turns.left(TYPED)
    assert turns.size(FLOOD) == AT_EASE


@pytest_twisted.ensureDeferred
async def test_a_flood_is_read_in_single_readings_while_somebody_types(start):
    flood, screen = start("yes")
    await screen.until(rb"y")
    typed, answers = start(["cat"])
    typed.write(b"key\n")
    await answers.until(rb"key\r\nkey")
    del screen.pieces[:]
    for _ in range(20):
        await screen.more()
    assert max(screen.pieces) <= 4096
    await flood.end()
    await typed.end()
