"""A client that stops reading is named, closed and costs nobody anything."""

from twisted.logger import globalLogPublisher

from ahpd.peers.outbox import LAG, Outbox
from ahpd.wire.codec import Frame


class Stub:
    name = "stub"

    def __init__(self):
        self.sent = 0
        self.pending = 0
        self.moving = True
        self.aborted = 0

    def send(self, frame):
        self.sent += 1

    def pending_bytes(self):
        return self.pending

    def progressing(self):
        return self.moving

    def abort(self):
        self.aborted += 1


def outbox(connection, limit=1000):
    return Outbox(connection, lambda: limit, lambda: "client slow (stub)")


def test_past_the_limit_it_is_closed_and_not_written_to():
    connection = Stub()
    box = outbox(connection)
    box.send(Frame(b"1"))
    connection.pending = 1000
    box.send(Frame(b"2"))
    connection.pending = 1001
    events = []
    globalLogPublisher.addObserver(events.append)
    try:
        box.send(Frame(b"3"))
        box.send(Frame(b"4"))
    finally:
        globalLogPublisher.removeObserver(events.append)
    assert (connection.sent, connection.aborted) == (2, 1)
    assert [event["who"] for event in events if "who" in event] == ["client slow (stub)"]


def test_no_limit_never_closes():
    connection = Stub()
    connection.pending = 10**12
    box = outbox(connection, limit=0)
    box.send(Frame(b"x"))
    assert (connection.sent, connection.aborted) == (1, 0)


def test_a_wire_that_cannot_say_is_never_closed():
    connection = Stub()
    connection.pending = None
    box = outbox(connection, limit=1)
    box.send(Frame(b"x"))
    assert connection.sent == 1
    assert not box.lagging()


def test_one_frame_above_the_limit_is_not_held_against_its_reader():
    connection = Stub()
    box = outbox(connection, limit=LAG)
    snapshot = Frame(b"x" * (3 * LAG))
    box.send(snapshot)
    connection.pending = 3 * LAG
    box.send(Frame(b"behind it"))
    box.send(snapshot)
    connection.pending = 4 * LAG
    box.send(Frame(b"behind it"))
    assert connection.aborted == 0
    connection.pending = 6 * LAG  # two of them, and of two one is excused
    box.send(Frame(b"too much"))
    assert (connection.sent, connection.aborted) == (4, 1)


def test_what_was_excused_is_over_when_it_is_read():
    connection = Stub()
    box = outbox(connection, limit=LAG)
    box.send(Frame(b"x" * (3 * LAG)))
    connection.pending = LAG
    box.send(Frame(b"1"))
    connection.pending = LAG + 1
    box.send(Frame(b"2"))
    assert (connection.sent, connection.aborted) == (2, 1)


def test_what_was_excused_is_over_when_everything_is_read():
    connection = Stub()
    box = outbox(connection, limit=LAG)
    box.send(Frame(b"x" * (3 * LAG)))
    box.send(Frame(b"1"))
    connection.pending = 2 * LAG
    box.send(Frame(b"2"))
    assert (connection.sent, connection.aborted) == (2, 1)


def test_a_frame_in_parts_is_weighed_as_a_whole():
    connection = Stub()
    box = outbox(connection, limit=LAG)
    box.send(Frame(b"x" * LAG, b"y" * LAG))
    connection.pending = 2 * LAG
    box.send(Frame(b"behind it"))
    assert (connection.sent, connection.aborted) == (2, 0)


def test_its_sources_wait_for_it_long_before_it_is_closed():
    connection = Stub()
    box = outbox(connection, limit=LAG)
    connection.pending = LAG // 2
    assert box.lagging()
    box.send(Frame(b"x"))
    assert (connection.sent, connection.aborted) == (1, 0)
    connection.pending = LAG // 8
    assert not box.lagging()


def test_lagging_is_owing_much_and_working_on_it():
    connection = Stub()
    box = outbox(connection, limit=0)
    assert not box.lagging()
    connection.pending = LAG + 1
    assert box.lagging()
    connection.moving = False
    assert not box.lagging(), "one that does not read slows nobody"
