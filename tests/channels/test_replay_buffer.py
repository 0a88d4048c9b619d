"""The replay buffer: bounded by count and by bytes, the newest always kept."""

import pytest

from ahpd.channels.envelope import Envelope
from ahpd.channels.replay import ReplayBuffer


def envelope(seq, channel="c", size=0):
    return Envelope(channel, {"type": "x", "pad": "p" * size}, seq)


def held(buffer, last_seen=0, channels=("c",)):
    return [e.seq for e in buffer.after(last_seen, channels)]


def test_the_count_bounds_it():
    buffer = ReplayBuffer(0, max_envelopes=3)
    for seq in range(1, 6):
        buffer.append(envelope(seq))
    assert held(buffer) == [3, 4, 5]


def test_the_bytes_bound_it_below_the_count():
    buffer = ReplayBuffer(1000)
    for seq in range(1, 6):
        buffer.append(envelope(seq, size=300))
    assert held(buffer) == [4, 5]
    assert buffer.weight <= 1000
    assert buffer.weight == sum(len(envelope(seq, size=300).body) for seq in (4, 5))


def test_the_newest_is_kept_whatever_it_weighs():
    buffer = ReplayBuffer(100)
    buffer.append(envelope(1))
    buffer.append(envelope(2, size=5000))
    assert held(buffer) == [2]
    buffer.append(envelope(3))
    assert held(buffer) == [3]


def test_no_byte_limit_leaves_the_thousand_envelopes():
    buffer = ReplayBuffer(0)
    for seq in range(1, 1502):
        buffer.append(envelope(seq, size=100))
    assert len(buffer) == 1000


def test_a_smaller_limit_applies_at_the_next_append():
    buffer = ReplayBuffer(0)
    for seq in range(1, 11):
        buffer.append(envelope(seq, size=100))
    buffer.max_bytes = 500
    buffer.append(envelope(11, size=100))
    assert buffer.weight <= 500
    assert held(buffer)[-1] == 11


@pytest.mark.parametrize(
    ("said", "last_seen", "covered"),
    [
        ([], 0, True),
        ([5, 6, 7], 5, True),
        ([5, 6, 7], 6, True),
        ([5, 6, 7], 7, True),
        ([5, 6, 7], 4, False),
        ([5, 6, 7], 0, False),
        ([5, 6, 7], 99, True),
    ],
)
def test_a_client_that_saw_the_oldest_held_is_replayed(said, last_seen, covered):
    buffer = ReplayBuffer(0)
    for seq in said:
        buffer.append(envelope(seq))
    assert buffer.covers(last_seen, said[-1] if said else 0) is covered


def test_only_the_channels_asked_for_are_replayed():
    buffer = ReplayBuffer(0)
    buffer.append(envelope(1, "a"))
    buffer.append(envelope(2, "b"))
    buffer.append(envelope(3, "a"))
    assert held(buffer, 0, {"a"}) == [1, 3]
    assert held(buffer, 1, {"a", "b"}) == [2, 3]
