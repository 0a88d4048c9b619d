"""Reads of one connection, one after the other, as fast as it takes their answers."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.commands.reading import LONG, ReadsInTurn
from ahpd.interfaces import ClientGone, RpcError


class Connection:
    def __init__(self, connection_id):
        self.connection_id = connection_id
        self.connected = True
        self.behind = False

    def lagging(self):
        return self.behind


class Reads:
    """Reads that end when they are told to; `begun` are their names in order."""

    def __init__(self):
        self.clock = Clock()
        self.turns = ReadsInTurn(self.clock)
        self.connections = {}
        self.begun = []
        self.ends = {}
        self.results = {}

    def ask(self, name, connection=1, kind="resourceRead"):
        caller = self.connections.setdefault(connection, Connection(connection))

        async def work():
            self.begun.append(name)
            self.ends[name] = Deferred()
            return await self.ends[name]

        results = self.results[name] = []
        reading = Deferred.fromCoroutine(self.turns.read(caller, kind, work))
        reading.addBoth(results.append)
        return caller

    def end(self, name):
        self.ends[name].callback(f"what {name} holds")
        self.clock.advance(0)


@pytest.fixture
def reads():
    reads = Reads()
    yield reads
    assert reads.clock.getDelayedCalls() == []
    assert reads.turns._lines == {}


def test_one_is_begun_when_the_one_before_it_is_answered(reads):
    for name in "abc":
        reads.ask(name)
    assert reads.begun == ["a"]
    for name in "abc":
        assert reads.begun[-1] == name
        reads.end(name)
        assert reads.results[name] == [f"what {name} holds"]
    assert reads.begun == ["a", "b", "c"]


def test_one_alone_is_begun_at_once(reads):
    for name in "abc":
        reads.ask(name)
        assert reads.begun[-1] == name
        reads.end(name)


def test_other_connections_and_other_kinds_have_lines_of_their_own(reads):
    reads.ask("a")
    reads.ask("b", connection=2)
    reads.ask("c", kind="resourceList")
    assert reads.begun == ["a", "b", "c"]
    for name in "abc":
        reads.end(name)


def test_a_client_that_reads_its_last_answer_still_is_waited_for(reads):
    caller = reads.ask("a")
    reads.ask("b")
    caller.behind = True
    reads.end("a")
    reads.clock.pump([0.1] * 50)
    assert reads.begun == ["a"]
    reads.ask("c")
    caller.behind = False
    reads.clock.advance(0.1)
    assert reads.begun == ["a", "b"]
    reads.end("b")
    reads.end("c")


def test_one_that_takes_long_holds_the_next_one_back_no_longer(reads):
    for name in "abcd":
        reads.ask(name)
    reads.clock.advance(LONG)
    reads.clock.advance(0)
    assert reads.begun == ["a", "b"]
    reads.end("a")  # it had its turn, and gives nobody another
    assert reads.begun == ["a", "b"]
    reads.end("b")
    assert reads.begun == ["a", "b", "c"]
    reads.end("c")
    reads.end("d")


def test_one_that_ends_as_its_turn_does_lets_one_other_begin(reads):
    for name in "abc":
        reads.ask(name)
    reads.clock.advance(LONG)
    reads.ends["a"].callback("late")  # the next one was called, and has not begun yet
    reads.clock.advance(0)
    assert reads.begun == ["a", "b"]
    reads.end("b")
    reads.end("c")


def test_nothing_is_read_for_a_client_that_went(reads):
    caller = reads.ask("a")
    reads.ask("b")
    reads.ask("c")
    caller.connected = False
    reads.end("a")
    reads.clock.pump([0, 0])
    assert reads.begun == ["a"]
    for name in "bc":
        assert reads.results[name][0].check(ClientGone)


def test_one_that_fails_lets_the_next_one_begin(reads):
    reads.ask("a")
    reads.ask("b")
    reads.ends["a"].errback(RpcError(-32008, "not there"))
    reads.clock.advance(0)
    assert reads.results["a"][0].check(RpcError)
    assert reads.begun == ["a", "b"]
    reads.end("b")
