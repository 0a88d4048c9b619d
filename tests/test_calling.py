"""Code of others is called: what it raises can be handled, whatever it is."""

import asyncio

import pytest
from twisted.internet.defer import CancelledError, Deferred

from ahpd.bounded import words_of
from ahpd.calling import Raised, asked, awaited, called
from ahpd.interfaces import AgentFailure, RpcError
from tests.raises import RAISES


def came_to(work):
    """What a coroutine came to by now, a failure as what it raised; None where it runs on."""
    outcomes = []
    running = Deferred.fromCoroutine(work)
    running.addBoth(outcomes.append)
    outcome = outcomes[0] if outcomes else None
    return getattr(outcome, "value", outcome)


@pytest.mark.parametrize("raised", RAISES)
def test_whatever_is_raised_at_once_is_an_error_with_words(raised):
    def breaks():
        raise RAISES[raised]()

    with pytest.raises(Exception) as caught:
        called(breaks)
    assert not isinstance(caught.value, CancelledError)
    assert type(caught.value).__name__ == type(RAISES[raised]()).__name__
    assert str(caught.value) in ("boom", type(RAISES[raised]()).__name__)


@pytest.mark.parametrize("raised", RAISES)
def test_whatever_is_raised_later_is_an_error_with_words(raised):
    waits = Deferred()

    async def breaks():
        await waits
        raise RAISES[raised]()

    outcomes = []
    Deferred.fromCoroutine(asked(breaks)).addBoth(outcomes.append)
    assert outcomes == []
    waits.callback(None)
    error = outcomes[0].value
    assert isinstance(error, Exception)
    assert not isinstance(error, CancelledError)
    assert str(error) in ("boom", type(RAISES[raised]()).__name__)


@pytest.mark.parametrize(
    "error", [ValueError("no"), RpcError(-32009, "no", {"why": [1]}), AgentFailure("no")]
)
def test_an_error_that_can_be_said_and_sent_is_itself(error):
    async def breaks():
        raise error

    assert came_to(asked(breaks)) is error


@pytest.mark.parametrize(
    "error",
    [
        RpcError("x", "words"),
        RpcError(-1, 5),
        RpcError(-1, "words", object()),
        RpcError(-1, "half a \ud800 character"),
        AgentFailure(None),
        AgentFailure("words", error_type=5),
    ],
)
def test_an_error_that_cannot_be_sent_is_told_as_any_other(error):
    async def breaks():
        raise error

    found = came_to(asked(breaks))
    assert isinstance(found, Raised)
    assert words_of(found).startswith(type(error).__name__)


def test_an_error_that_cannot_be_said_is_what_it_is():
    class Unsayable(Exception):
        def __str__(self):
            raise ValueError

    async def breaks():
        raise Unsayable

    found = came_to(asked(breaks))
    assert (str(found), words_of(found)) == ("Unsayable", "Unsayable")


def test_answers_come_at_once_and_later():
    async def answers():
        return 2

    assert came_to(awaited(1)) == 1
    assert came_to(awaited(answers())) == 2
    assert came_to(awaited(Deferred())) is None


def test_a_call_that_is_cancelled_is_cancelled_and_waited_for():
    cleaned, seen = Deferred(), []

    async def works():
        try:
            await Deferred()
        except CancelledError:
            seen.append("cancelled")
            await cleaned
            raise

    outcomes = []
    running = Deferred.fromCoroutine(asked(works))
    running.addBoth(outcomes.append)
    running.cancel()
    assert (seen, outcomes) == (["cancelled"], [])
    cleaned.callback(None)
    assert outcomes[0].check(CancelledError)


def test_a_call_that_answers_its_cancellation_with_another_loops_has_failed():
    async def works():
        try:
            await Deferred()
        except CancelledError:
            raise asyncio.CancelledError from None

    outcomes = []
    running = Deferred.fromCoroutine(asked(works))
    running.addBoth(outcomes.append)
    running.cancel()
    assert outcomes[0].check(Raised)


def test_a_coroutine_that_is_closed_is_closed():
    async def works():
        await Deferred()

    waiting = asked(works)
    waiting.send(None)
    waiting.close()
    with pytest.raises(RuntimeError, match="cannot reuse"):
        waiting.send(None)
