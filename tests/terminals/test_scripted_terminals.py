"""The fake keeps the promises of its port."""

import pytest
from zope.interface.verify import verifyObject

from ahpd.interfaces import (
    ITerminalProcess,
    ITerminals,
    TerminalExit,
    TerminalFailure,
    TerminalProgram,
)
from ahpd.testing.terminals import ScriptedTerminals


class Events:
    def __init__(self):
        self.told = []

    def output_received(self, data):
        self.told.append(data)

    def ended(self, how):
        self.told.append(how)


@pytest.fixture
def events():
    return Events()


def start(events, terminals=None, **program):
    terminals = terminals or ScriptedTerminals()
    verifyObject(ITerminals, terminals)
    started = terminals.start(TerminalProgram(argv=["sh"], cwd="/", **program), events)
    verifyObject(ITerminalProcess, started)
    return started


def test_nothing_is_told_before_something_happens(events):
    started = start(events)
    assert events.told == []
    assert started.is_pty
    assert not start(events, pty=False).is_pty
    assert not start(events, ScriptedTerminals(pty=False)).is_pty


def test_what_it_prints_comes_before_its_end_and_the_end_once(events):
    started = start(events)
    started.pause_output()
    started.prints("a")
    started.exits(3)
    assert events.told == []
    started.resume_output()
    assert events.told == [b"a", TerminalExit(3)]


def test_once_it_exited_what_is_sent_is_dropped(events):
    started = start(events)
    started.write(b"a")
    started.resize(1, 2)
    started.exits(signal="SIGKILL")
    started.write(b"b")
    started.interrupt()
    started.resize(3, 4)
    assert events.told == [TerminalExit(None, "SIGKILL")]
    assert (started.typed, started.sizes, started.interrupts) == (b"a", [(1, 2)], 0)


def test_ended_it_hangs_up_and_again_is_no_error(events):
    started = start(events)
    started.pause_output()
    started.prints("a")
    done = []
    for _ in range(2):
        started.end().addCallback(done.append)
    assert done == [None, None]
    assert events.told == [b"a", TerminalExit(None, "SIGHUP")]


def test_a_stubborn_one_goes_when_the_test_says_so(events):
    terminals = ScriptedTerminals()
    terminals.stubborn = True
    started = start(events, terminals)
    done = []
    started.end().addCallback(done.append)
    assert (done, events.told) == ([], [])
    started.exits()
    assert done == [None]


def test_a_program_that_cannot_be_started_is_said_in_words(events):
    terminals = ScriptedTerminals()
    terminals.failure = "no such program"
    with pytest.raises(TerminalFailure, match="no such program"):
        start(events, terminals)
    assert terminals.started == []
