"""The queue where it sends on the socket itself: one send a turn, and the transport's part."""

import errno
import socket

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.interfaces import (
    IConsumer,
    ISSLTransport,
    ISystemHandle,
    IWriteDescriptor,
)
from twisted.internet.task import Clock
from zope.interface import directlyProvides, implementer

from ahpd.transports.queue import PIECE, WriteQueue, plain_socket
from ahpd.transports.turn import Turn

ENDLESS = 1 << 40


class Kernel(socket.socket):
    """A socket whose `send` takes what there is room for."""

    def __init__(self):
        super().__init__()
        self.setblocking(False)
        self.room = ENDLESS
        self.error = None
        self.sends = []

    def send(self, data):
        if self.error is not None:
            raise OSError(self.error, "scripted")
        if not self.room:
            raise BlockingIOError(errno.EAGAIN, "full")
        taken = data[: self.room]
        self.room -= len(taken)
        self.sends.append(taken)
        return len(taken)


@implementer(IConsumer, ISystemHandle, IWriteDescriptor)
class Transport:
    """Twisted's side of a plain socket, emptied by hand."""

    def __init__(self):
        self.kernel = Kernel()
        self.buffer = []
        self.producer = None
        self.closing = self.aborted = False

    def getHandle(self):
        return self.kernel

    def registerProducer(self, producer, streaming):
        assert not streaming, "only a pull producer hears each time that it is empty"
        self.producer = producer
        producer.resumeProducing()

    def unregisterProducer(self):
        self.producer = None

    def write(self, data):
        assert type(data) is bytes
        assert not self.closing
        self.buffer.append(data)

    def loseConnection(self):
        assert self.producer is None, "a transport with a producer does not close"
        self.closing = True

    def abortConnection(self):
        self.aborted = True

    def writable(self, room=ENDLESS):
        """The kernel has room again, and the reactor says so to the transport."""
        self.kernel.room = room
        if not self.buffer:
            return
        held, self.buffer = b"".join(self.buffer), []
        sent = self.kernel.send(held)
        if sent < len(held):
            self.buffer.append(held[sent:])
        elif self.producer is not None:
            self.producer.resumeProducing()

    @property
    def sent(self):
        return b"".join(self.kernel.sends)


@pytest.fixture
def transport():
    made = Transport()
    yield made
    made.kernel.close()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queue(transport, clock):
    return WriteQueue(transport, Turn(clock))


def test_what_a_turn_writes_leaves_in_one_send_at_its_end(transport, queue, clock):
    for number in range(100):
        queue.write(b"%d;" % number)
    queue.write_urgent(1, b"PONG")
    assert transport.kernel.sends == []
    assert queue.pending_bytes() == 0, "nobody is late with what was not sent yet"
    clock.advance(0)
    assert transport.kernel.sends == [b"".join(b"%d;" % n for n in range(100)) + b"PONG"]
    assert queue.pending_bytes() == 0
    assert transport.buffer == []
    queue.write(b"next")
    clock.advance(0)
    assert transport.kernel.sends[1:] == [b"next"]


def test_one_timer_serves_every_connection_of_a_turn(clock):
    turn = Turn(clock)
    transports = [Transport() for _ in range(3)]
    for each in transports:
        WriteQueue(each, turn).write(b"delta")
    assert len(clock.getDelayedCalls()) == 1
    clock.advance(0)
    assert [each.sent for each in transports] == [b"delta"] * 3
    assert clock.getDelayedCalls() == []
    for each in transports:
        each.kernel.close()


@pytest.mark.logs_failures
def test_a_connection_that_fails_at_the_end_of_a_turn_costs_no_other(clock):
    class Broken:
        def flush(self):
            raise RuntimeError("a bug")

    turn, transport = Turn(clock), Transport()
    turn.mark(Broken())
    WriteQueue(transport, turn).write(b"delta")
    clock.advance(0)
    assert transport.sent == b"delta"
    transport.kernel.close()


def test_a_turn_that_writes_much_does_not_gather_it(transport, queue):
    queue.write(b"x" * 40_000)
    queue.write(b"y" * 40_000)
    assert transport.sent == b"x" * 40_000 + b"y" * 40_000


def test_what_the_kernel_does_not_take_is_the_transports_and_the_rest_waits(
    transport, queue, clock
):
    transport.kernel.room = 30
    queue.write(b"a" * 100)
    clock.advance(0)
    assert (transport.sent, transport.buffer) == (b"a" * 30, [b"a" * 70])
    assert queue.pending_bytes() == 70
    transport.kernel.room = 10  # it has room before the reactor has told the transport
    queue.write(b"b" * 50)
    queue.flush()
    clock.advance(0)
    assert transport.sent == b"a" * 30, "the transport holds earlier bytes"
    assert queue.pending_bytes() == 120
    transport.writable(60)
    assert queue.pending_bytes() == 120, "it says nothing until it is empty"
    transport.writable()
    assert transport.sent == b"a" * 100 + b"b" * 50
    assert queue.pending_bytes() == 0


def test_a_full_kernel_is_no_error(transport, queue, clock):
    for number in (errno.EAGAIN, errno.ENOBUFS):
        transport.kernel.error = number
        queue.write(b"late")
        clock.advance(0)
        assert transport.buffer == [b"late"]
        assert queue.error is None
        transport.kernel.error = None
        transport.writable()
    assert transport.sent == b"latelate"


@pytest.mark.parametrize("number", [errno.EPIPE, errno.ECONNRESET, errno.ETIMEDOUT])
def test_an_error_is_the_transports_to_meet(transport, queue, clock, number):
    queue.write(b"one")
    transport.kernel.error = number
    clock.advance(0)
    assert transport.buffer == [b"one"], "its own send fails of the same and ends the connection"
    assert queue.error.errno == number
    queue.write(b"two")
    queue.write(b"x" * 500_000)
    clock.advance(0)
    assert transport.buffer == [b"one"]
    assert transport.kernel.sends == []
    queue.stopProducing()  # as the connection's end does
    assert queue.pending_bytes() == 0


def test_a_large_frame_is_not_copied_on_its_way_but_where_its_parts_meet(transport, queue):
    body = b"B" * 300_000
    queue.write_parts((b"head", body, b"tail"))
    assert transport.sent == b"head" + body + b"tail"
    pieces = transport.kernel.sends
    assert [len(piece) for piece in pieces] == [PIECE] * 4 + [300_008 - 4 * PIECE]
    assert all(piece.obj is body for piece in pieces[1:-1])


def test_small_parts_of_a_large_frame_leave_together(transport, queue):
    parts = [b"%05d" % number for number in range(2 * PIECE // 5)]
    queue.write_parts(tuple(parts))
    assert transport.sent == b"".join(parts)
    assert [len(piece) for piece in transport.kernel.sends] == [PIECE, 5 * len(parts) - PIECE]


def test_a_reader_that_takes_everything_is_sent_a_mebibyte_before_others_have_their_turn(
    transport, queue
):
    queue.write(b"x" * 3_000_000)
    assert len(transport.sent) == 16 * PIECE
    assert queue.pending_bytes() == 3_000_000 - 16 * PIECE
    assert queue.progressing()
    for _ in range(3):
        transport.writable()
    assert len(transport.sent) == 3_000_000
    assert queue.pending_bytes() == 0


def test_a_reader_that_stands_still_is_not_progressing(transport, queue, clock):
    clock.advance(100)
    transport.kernel.room = 100_000
    queue.write(b"x" * 500_000)
    assert queue.progressing()
    clock.advance(2.1)
    assert not queue.progressing()
    transport.writable(200_000)
    assert queue.progressing()
    assert queue.pending_bytes() == 200_000
    clock.advance(2.1)
    transport.writable()
    clock.advance(1000)
    assert queue.progressing(), "it owes nothing"


def test_a_control_frame_goes_between_frames_also_where_one_has_parts(transport, queue):
    transport.kernel.room = 1000
    queue.write_parts((b"head", b"L" * 200_000, b"tail"))
    queue.write(b"small")
    queue.write_urgent(1, b"PING")
    for _ in range(5):
        transport.writable()
    assert transport.sent == b"head" + b"L" * 200_000 + b"tail" + b"PING" + b"small"


def test_finishing_sends_what_the_turn_wrote_and_then_closes(transport, queue, clock):
    queue.write(b"last")
    queue.write(b"close")
    queue.finish()
    assert transport.closing
    assert transport.sent == b"lastclose"
    queue.write(b"late")
    clock.advance(0)
    assert transport.sent == b"lastclose"


def test_finishing_waits_for_what_waits_here_and_leaves_the_transport_its_own(transport, queue):
    transport.kernel.room = 0
    queue.write(b"x" * 150_000)
    queue.write(b"close")
    queue.finish()
    assert not transport.closing
    transport.writable(PIECE + 10)
    assert not transport.closing
    transport.writable(PIECE)
    transport.writable(150_002 - len(transport.sent))
    assert transport.buffer == [b"ose"]
    assert transport.closing, "what the transport still holds goes before its end"
    assert transport.sent + b"".join(transport.buffer) == b"x" * 150_000 + b"close"


def test_nothing_is_sent_after_an_abort(transport, queue, clock):
    queue.write(b"delta")
    queue.abort()
    clock.advance(0)
    assert transport.aborted
    assert transport.kernel.sends == []
    assert transport.buffer == []


def test_nothing_is_sent_once_the_connection_is_lost(transport, queue, clock):
    queue.write(b"delta")
    queue.stopProducing()
    transport.kernel.close()
    clock.advance(0)
    queue.resumeProducing()
    queue.flush()
    assert transport.kernel.sends == []


def test_dropping_forgets_what_waits_for_the_reader_and_not_what_waits_for_the_turn(
    transport, queue, clock
):
    queue.write(b"answer")
    queue.drop()
    queue.write(b"next")
    clock.advance(0)
    transport.kernel.room = 0
    queue.write(b"L" * 70_000)
    queue.write(b"gone")
    queue.drop()
    queue.write(b"close")
    for _ in range(3):
        transport.writable()
    assert transport.sent == b"answer" + b"next" + b"L" * 70_000 + b"close"


def test_only_a_plain_socket_that_does_not_block_is_sent_on(transport):
    assert plain_socket(transport) is transport.kernel
    transport.kernel.setblocking(True)
    assert plain_socket(transport) is None
    transport.kernel.setblocking(False)
    directlyProvides(transport, ISSLTransport)
    assert plain_socket(transport) is None
    assert plain_socket(object()) is None


step = st.one_of(
    st.integers(0, 150_000).map(lambda n: ("write", n)),
    st.lists(st.integers(0, 90_000), min_size=1, max_size=4).map(lambda n: ("parts", n)),
    st.just(("urgent", 0)),
    st.just(("turn", 0)),
    st.integers(0, 400_000).map(lambda n: ("room", n)),
)


@given(st.lists(step, max_size=40))
def test_whatever_the_kernel_takes_every_byte_leaves_once_in_order(steps):
    clock, transport = Clock(), Transport()
    queue = WriteQueue(transport, Turn(clock))
    transport.kernel.room = 0
    said, size, urgent = [], 0, 0
    for number, (what, amount) in enumerate(steps):
        letter = b"%d" % (number % 10)
        if what == "write":
            said.append(letter * amount)
            queue.write(said[-1])
        elif what == "parts":
            said += [letter * each for each in amount]
            queue.write_parts(tuple(said[-len(amount) :]))
        elif what == "urgent":
            queue.write_urgent(7, b"U")
            urgent += 1
        elif what == "turn":
            clock.advance(0)
        elif amount:
            transport.writable(amount)
        size = sum(map(len, said))
        owed = size - sum(map(len, transport.kernel.sends))
        # A turn's first 64 KiB are not counted; what the transport holds is, until it is empty.
        assert owed - PIECE <= queue.pending_bytes() <= owed + urgent + PIECE
        assert sum(map(len, transport.buffer)) <= PIECE
    queue.finish()
    for _ in range(size // PIECE + len(said) + 3):
        transport.writable()
    assert transport.closing
    assert transport.sent.replace(b"U", b"") == b"".join(said)
    transport.kernel.close()
