"""Terminals that flood give way for a moment where somebody types into another."""

import pytest

from ahpd.terminals.pace import GIVE_WAY

TYPED, FLOOD = "ahp-terminal:/typed", "ahp-terminal:/flood"


@pytest.fixture
def two(host):
    """A host on which one terminal floods; the programs of both."""
    host.create(TYPED)
    host.create(FLOOD)
    host.clock.advance(1)
    host.terminals.started[1].prints("y\r\n")
    return host


def programs(host):
    return host.terminals.started


def key(host):
    assert host.dispatch(TYPED, "input", data="x") is None


def test_a_flood_waits_while_a_key_is_on_its_way(two):
    typed, flood = programs(two)
    key(two)
    assert flood.paused
    assert not typed.paused
    two.clock.advance(GIVE_WAY)
    assert not flood.paused


def test_it_goes_on_soon_after_the_echo(two):
    typed, flood = programs(two)
    key(two)
    typed.prints("x")
    assert flood.paused, "the echo is still to be sent"
    two.clock.advance(GIVE_WAY / 4)
    assert not flood.paused


def test_whoever_types_without_end_takes_half_of_its_time(two):
    flood = programs(two)[1]
    paused = 0
    for _ in range(1000):
        key(two)
        paused += flood.paused
        two.clock.advance(GIVE_WAY / 10)
        if not flood.paused:
            flood.prints("y\r\n")
    assert 300 < paused < 600


def test_a_quiet_terminal_is_not_stopped(two):
    two.clock.advance(1)
    key(two)
    assert not programs(two)[1].paused


def test_two_reasons_to_wait_are_both_waited_for(two):
    flood = programs(two)[1]
    reader = two.reader(FLOOD)
    reader.behind = True
    flood.prints("y\r\n")
    key(two)
    reader.behind = False
    two.clock.advance(GIVE_WAY / 2)
    assert flood.paused
    two.clock.advance(GIVE_WAY)
    assert not flood.paused

    two.clock.advance(GIVE_WAY)
    reader.behind = True
    flood.prints("y\r\n")
    key(two)
    two.clock.advance(2 * GIVE_WAY)
    assert flood.paused, "its reader is behind still"
    reader.behind = False
    two.clock.advance(GIVE_WAY)
    assert not flood.paused
    assert two.clock.getDelayedCalls() == []


def test_one_that_is_ended_while_it_waits_is_read_to_its_end(two):
    flood = programs(two)[1]
    flood.stubborn = True
    key(two)
    two.service.find(FLOOD).kill()
    assert not flood.paused
    two.clock.advance(1)
    flood.exits()
    assert two.state(FLOOD)["lifecycle"]["status"] == "exited"


def test_a_host_that_stops_meanwhile_leaves_nothing_on_the_clock(two):
    key(two)
    two.stop()


def test_a_terminal_that_is_gone_is_not_waited_for(two):
    key(two)
    two.run(two.service.dispose_of(FLOOD))
    two.clock.advance(1)
    key(two)
    assert two.clock.getDelayedCalls() == []
