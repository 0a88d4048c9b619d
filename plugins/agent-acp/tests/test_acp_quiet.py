"""When a replay is over that its agent goes on with after it has answered."""

from twisted.internet.defer import ensureDeferred
from twisted.internet.task import Clock

from ahpd_agent_acp.quiet import LONGEST, QUIET, Quiet


def waits(clock, said_every=None):
    """How long it waits where something is said every so many seconds."""
    quiet, began = Quiet(clock), clock.seconds()
    settled = ensureDeferred(quiet.settled())
    for step in range(1, 1000):
        if settled.called:
            return clock.seconds() - began
        clock.advance(0.05)
        if said_every is not None and step % round(said_every / 0.05) == 0:
            quiet.heard()
    raise AssertionError("it waits for ever")


def test_silence_ends_it():
    assert QUIET <= waits(Clock()) <= QUIET + 0.1


def test_what_was_said_before_the_answer_counts_for_nothing():
    clock = Clock()
    clock.advance(100)
    assert QUIET <= waits(clock) <= QUIET + 0.1


def test_an_agent_that_never_falls_silent_is_not_waited_for_for_ever():
    assert LONGEST <= waits(Clock(), said_every=QUIET / 2) <= LONGEST + QUIET


def test_each_update_is_waited_behind():
    clock = Clock()
    quiet = Quiet(clock)
    settled = ensureDeferred(quiet.settled())
    clock.advance(QUIET * 0.9)
    quiet.heard()
    clock.advance(QUIET * 0.9)
    assert not settled.called
    clock.advance(QUIET * 0.2)
    assert settled.called
