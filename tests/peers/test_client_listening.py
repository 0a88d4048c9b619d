"""Whoever waits for a client hears that its connections opened and closed."""

import pytest
from twisted.internet.task import Clock

from ahpd.peers.clients import ClientRegistry


class Registry:
    """A registry, and connections of a client that open and close."""

    def __init__(self):
        self.clock = Clock()
        self.clients = ClientRegistry(self.clock)

    def opens(self, client_id="me"):
        record = self.clients.introduce(client_id, "1.0.0", None, None)
        connection = object()
        self.clients.connected(record, "1.0.0", connection)
        return connection

    def closes(self, connection, client_id="me"):
        record = self.clients.find(client_id)
        self.clients.disconnected(record, "1.0.0", (), connection)


@pytest.fixture
def registry():
    return Registry()


def test_a_client_went_when_its_last_connection_closed(registry):
    assert registry.clients.gone_at("me") is None
    first, second = registry.opens(), registry.opens()
    registry.clock.advance(3)
    registry.closes(second)
    assert registry.clients.gone_at("me") is None
    registry.clock.advance(3)
    registry.closes(first)
    registry.clock.advance(3)
    assert registry.clients.gone_at("me") == 6
    registry.opens()
    assert registry.clients.gone_at("me") is None
    assert registry.clients.gone_at("another") is None


def test_every_opening_and_closing_is_heard_in_the_next_turn(registry):
    heard = []
    registry.clients.listen("me", lambda: heard.append(len(registry.clients.connections("me"))))
    connection = registry.opens()
    assert heard == []
    registry.clock.advance(0)
    assert heard == [1]
    registry.opens()
    registry.clock.advance(0)
    registry.closes(connection)
    registry.clock.advance(0)
    assert heard == [1, 2, 1]
    registry.opens("another")
    registry.clock.advance(0)
    assert heard == [1, 2, 1]


def test_who_stopped_hears_nothing_more_and_the_others_go_on(registry):
    heard = []
    stops = [registry.clients.listen("me", lambda n=n: heard.append(n)) for n in range(3)]
    stops[1]()
    stops[1]()
    registry.opens()
    stops[2]()
    registry.clock.advance(0)
    assert heard == [0]
    stops[0]()
    registry.opens()
    assert registry.clock.getDelayedCalls() == []


def test_one_that_is_told_may_stop_itself_and_another(registry):
    heard = []

    def first():
        heard.append("first")
        stop_first()
        stop_second()

    stop_first = registry.clients.listen("me", first)
    stop_second = registry.clients.listen("me", lambda: heard.append("second"))
    registry.opens()
    registry.clock.advance(0)
    assert heard == ["first"]
