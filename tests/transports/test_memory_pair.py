"""The in-process connection: later turns, one order, one end."""

import pytest
from twisted.internet.task import Clock
from zope.interface.verify import verifyObject

from ahpd.interfaces import IConnection
from ahpd.transports.memory import pair
from ahpd.wire.codec import Frame


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def made(clock, kit):
    return pair(clock, kit.peers(), kit.peers(), name="plugin")


def test_both_ends_are_connections(made):
    for handler in (made.server, made.client):
        assert verifyObject(IConnection, handler.connection)
    assert made.server.connection.name == "plugin"


def test_messages_arrive_on_a_later_turn_in_order(made, clock):
    for number in range(5):
        made.client.connection.send(Frame(b"%d" % number))
    assert made.server.messages == []
    clock.advance(0)
    assert made.server.messages == [b"0", b"1", b"2", b"3", b"4"]


def test_an_answer_is_never_delivered_inside_the_question(made, clock):
    depth = []

    def answer(handler):
        def on_message(data):
            depth.append(1)
            assert len(depth) == 1
            if int(data) < 5:
                handler.connection.send(Frame(b"%d" % (int(data) + 1)))
            depth.pop()

        return on_message

    made.server.on_message = answer(made.server)
    made.client.on_message = answer(made.client)
    made.client.connection.send(Frame(b"0"))
    for _ in range(10):
        clock.advance(0)
    assert made.server.messages == [b"0", b"2", b"4"]
    assert made.client.messages == [b"1", b"3", b"5"]


def test_a_close_comes_after_what_was_sent_and_reaches_both_once(made, clock):
    made.server.connection.send(Frame(b"last"))
    made.server.connection.close(1000, "bye")
    made.server.connection.close(1001, "again")
    made.server.connection.send(Frame(b"too late"))
    clock.advance(0)
    clock.advance(0)
    assert made.client.messages == [b"last"]
    assert made.client.lost == ["closed: 1000 bye"]
    assert made.server.lost == ["closed: 1000 bye"]
    made.client.connection.send(Frame(b"nobody"))
    made.client.connection.abort()
    clock.advance(1)
    assert len(made.server.lost) == len(made.client.lost) == 1
    assert not clock.getDelayedCalls()


def test_a_cut_loses_what_travels(made, clock):
    made.server.connection.send(Frame(b"lost"))
    made.link.cut()
    made.link.cut()
    clock.advance(0)
    assert made.client.messages == []
    assert made.client.lost == made.server.lost == ["the connection was cut"]
    assert not clock.getDelayedCalls()


def test_a_held_reader_is_behind_only_when_told_to_say_so(made, clock):
    end = made.server.connection
    end.hold()
    for _ in range(3):
        end.send(Frame(b"x" * 100))
    clock.advance(10)
    assert made.client.messages == []
    assert end.pending_bytes() is None
    assert not end.progressing()
    end.report_pending = True
    assert end.pending_bytes() == 300
    end.release()
    assert made.client.messages == [], "on a later turn"
    clock.advance(0)
    assert len(made.client.messages) == 3
    assert end.pending_bytes() == 0
    assert end.progressing()


def test_an_abort_gets_past_what_is_held(made, clock):
    made.server.connection.hold()
    made.server.connection.send(Frame(b"x"))
    made.server.connection.close(1000, "polite, so it waits")
    clock.advance(5)
    assert not made.client.lost
    made.server.connection.abort()
    clock.advance(0)
    assert made.client.lost == made.server.lost == ["cut off"]


@pytest.mark.logs_failures
def test_a_handler_that_raises_ends_the_connection(made, clock):
    def fail(data):
        raise RuntimeError("a bug")

    made.server.on_message = fail
    made.client.connection.send(Frame(b"x"))
    clock.advance(0)
    clock.advance(0)
    assert made.client.lost == ["closed: 1011 internal error"]
    assert "a bug" not in str(made.client.messages)


def test_a_test_may_hold_an_end_before_anything_is_said(clock, kit):
    greeting = kit.peers(lambda handler: handler.connection.send(Frame(b"hello")))
    made = pair(clock, greeting, kit.peers(), prepare=lambda link: link.server.hold())
    clock.advance(0)
    assert made.client.messages == []
    made.link.server.release()
    clock.advance(0)
    assert made.client.messages == [b"hello"]
