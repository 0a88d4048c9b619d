"""The queue in front of a transport: order, accounting, and what it lets go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.interfaces import IConsumer, IPushProducer
from twisted.internet.task import Clock
from zope.interface import implementer
from zope.interface.verify import verifyObject

from ahpd.transports.queue import PIECE, WriteQueue
from ahpd.transports.turn import Turn

#: What is emptied at once is 64 KiB or more while the pipe is full, so this is many MB.
MOST_STEPS = 200


@implementer(IConsumer)
class Pipe:
    """A transport that is full past 64 KiB, as Twisted's are, and is emptied by hand."""

    def __init__(self):
        self.writes = []
        self.held = 0
        self.producer = None
        self.paused = False
        self.closed = False
        self.aborted = False

    def registerProducer(self, producer, streaming):
        assert streaming
        self.producer = producer

    def unregisterProducer(self):
        self.producer = None

    def write(self, data):
        assert not self.closed
        self.writes.append(data)
        self.held += len(data)
        if self.held > 65536 and self.producer is not None:
            self.paused = True
            self.producer.pauseProducing()

    def loseConnection(self):
        assert self.producer is None, "a transport with a producer does not close"
        self.closed = True

    def abortConnection(self):
        self.aborted = True

    def empty(self):
        """The reader took everything."""
        self.held = 0
        was_paused, self.paused = self.paused, False
        if was_paused and self.producer is not None:
            self.producer.resumeProducing()

    def empty_all(self):
        """The reader took everything, and what came of that too."""
        for _ in range(MOST_STEPS):
            if not self.paused:
                return
            self.empty()
        raise AssertionError(f"still full after it was emptied {MOST_STEPS} times")

    @property
    def sent(self):
        return b"".join(self.writes)


@pytest.fixture
def pipe():
    return Pipe()


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def queue(pipe, clock):
    return WriteQueue(pipe, Turn(clock))


def test_it_is_a_push_producer(queue):
    assert verifyObject(IPushProducer, queue)


def test_frames_go_straight_through_while_the_transport_takes_them(pipe, queue):
    frame = b"x" * 100
    queue.write(frame)
    queue.write(b"y")
    assert pipe.writes[0] is frame, "not copied"
    assert pipe.sent == frame + b"y"
    assert queue.pending_bytes() == 0
    assert queue.progressing()


def test_frames_wait_and_are_counted_while_it_is_full(pipe, queue):
    queue.write(b"a" * 65000)
    queue.write(b"b" * 1000)  # past 64 KiB: full
    assert queue.pending_bytes() == 66000
    for _ in range(100):
        queue.write(b"c" * 1000)
    assert queue.pending_bytes() == 166_000
    assert pipe.held == 66_000
    pipe.empty()
    assert pipe.held <= 2 * PIECE
    assert queue.pending_bytes() == 100_000
    pipe.empty_all()
    assert queue.pending_bytes() == 0
    assert pipe.sent == b"a" * 65000 + b"b" * 1000 + b"c" * 100_000


def test_a_long_history_does_not_count_as_pending(pipe, queue):
    for _ in range(100):
        queue.write(b"x" * 50_000)
        pipe.held = 0  # taken at once, so the transport never said anything
    queue.write(b"x" * 65_000)
    queue.write(b"x" * 1_000)
    assert 66_000 <= queue.pending_bytes() <= 2 * PIECE


def test_a_large_frame_leaves_in_pieces_and_its_progress_shows(pipe, queue):
    frame = bytes(range(256)) * 4096  # 1 MiB
    queue.write(frame)
    assert pipe.held <= 2 * PIECE
    assert queue.pending_bytes() == len(frame)
    pipe.empty()
    assert queue.pending_bytes() <= len(frame) - PIECE
    pipe.empty_all()
    assert pipe.sent == frame
    assert max(map(len, pipe.writes)) <= PIECE


def test_waiting_frames_are_gathered(pipe, queue):
    queue.write(b"x" * 65_536)
    queue.write(b"x")
    for _ in range(1000):
        queue.write(b"y" * 60)
    before = len(pipe.writes)
    pipe.empty()
    assert len(pipe.writes) == before + 1


def test_a_reader_that_takes_nothing_for_two_seconds_is_not_progressing(pipe, queue, clock):
    clock.advance(100)
    queue.write(b"x" * 300_000)
    assert queue.progressing()
    clock.advance(2.0)
    assert queue.progressing()
    clock.advance(0.1)
    assert not queue.progressing()
    pipe.empty()
    assert queue.progressing()
    clock.advance(2.1)
    assert not queue.progressing()
    pipe.empty_all()
    clock.advance(1000)
    assert queue.progressing(), "it owes nothing"


def test_a_control_frame_goes_ahead_of_waiting_frames_but_not_into_one(pipe, queue):
    large = b"L" * 200_000
    queue.write(large)
    queue.write(b"small")
    queue.write_urgent(1, b"PING")
    pipe.empty_all()
    assert pipe.sent == large + b"PING" + b"small"


def test_of_one_kind_of_control_frame_the_newest_waits(pipe, queue):
    queue.write(b"x" * 70_000)
    for number in range(1000):
        queue.write_urgent(1, b"PONG%d" % number)
        queue.write_urgent(2, b"PING")
    assert queue.pending_bytes() < 140_000
    pipe.empty_all()
    assert pipe.sent == b"x" * 70_000 + b"PONG999PING"
    assert queue.pending_bytes() == 0


def test_finishing_sends_what_waits_and_then_closes(pipe, queue):
    queue.write(b"x" * 500_000)
    queue.write(b"close")
    queue.finish()
    assert not pipe.closed
    pipe.empty_all()
    assert pipe.closed
    assert pipe.sent == b"x" * 500_000 + b"close"
    queue.finish()
    queue.write(b"late")
    assert pipe.sent.endswith(b"close")


def test_finishing_with_nothing_waiting_closes_at_once(pipe, queue):
    queue.write(b"x" * 65_536)
    queue.write(b"x")
    queue.finish()
    assert pipe.closed


def test_a_frame_in_parts_is_one_frame(pipe, queue):
    queue.write_parts((b"head", b"B" * 150_000, b"tail"))
    queue.write_parts((b"small", b"", b"er"))
    queue.write_urgent(1, b"PING")
    assert queue.pending_bytes() == 150_019
    pipe.empty_all()
    assert pipe.sent == b"head" + b"B" * 150_000 + b"tail" + b"PING" + b"smaller"


def test_an_empty_part_holds_nothing_up(pipe, queue):
    queue.write_parts((b"", b"L" * 100_000, b""))
    pipe.empty_all()
    queue.write_urgent(1, b"PONG")
    assert pipe.sent == b"L" * 100_000 + b"PONG"


def test_an_abort_drops_what_waits(pipe, queue):
    queue.write(b"x" * 500_000)
    queue.abort()
    assert pipe.aborted
    pipe.empty_all()
    queue.write(b"late")
    assert len(pipe.sent) <= 2 * PIECE
    assert queue.pending_bytes() == 0


def test_dropping_keeps_the_rest_of_a_frame_that_is_partly_out(pipe, queue):
    queue.write(b"L" * 300_000)
    queue.write(b"gone" * 100)
    queue.write_urgent(1, b"gone")
    queue.drop()
    queue.write(b"close")
    pipe.empty_all()
    assert pipe.sent == b"L" * 300_000 + b"close"
    assert queue.pending_bytes() == 0


def test_after_the_end_nothing_is_kept(pipe, queue):
    queue.write(b"x" * 500_000)
    written = len(pipe.writes)
    queue.stopProducing()
    queue.write(b"y" * 500_000)
    queue.write_urgent(1, b"z")
    queue.resumeProducing()
    assert queue.pending_bytes() == 0
    assert len(pipe.writes) == written


step = st.one_of(
    st.integers(0, 200_000).map(lambda n: ("write", n)),
    st.just(("urgent", 0)),
    st.just(("empty", 0)),
)


@given(st.lists(step, max_size=40))
def test_whatever_the_transport_does_every_byte_leaves_once_in_order(steps):
    pipe = Pipe()
    queue = WriteQueue(pipe, Turn(Clock()))
    frames, said, urgent = [], 0, 0
    for number, (what, size) in enumerate(steps):
        if what == "write":
            frames.append(b"%d" % (number % 10) * size)
            queue.write(frames[-1])
            said += size
        elif what == "urgent":
            queue.write_urgent(7, b"U")
            urgent += 1
        else:
            pipe.empty()
        # A control frame is counted or was replaced by a newer one.
        waiting = said - sum(map(len, pipe.writes))
        assert waiting <= queue.pending_bytes() <= waiting + urgent + 2 * PIECE
    queue.finish()
    pipe.empty_all()
    assert pipe.sent.replace(b"U", b"") == b"".join(frames)
    assert pipe.closed
