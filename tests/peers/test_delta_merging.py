"""Deltas merged for a connection that asked for it: in order, and never too many bytes."""

from twisted.internet.task import Clock

from ahpd.channels.envelope import Envelope
from ahpd.peers.delivery import MOST_HELD, DeltaMerger
from ahpd.wire.codec import decode


def delta(seq, text):
    action = {"type": "chat/delta", "turnId": "t", "partId": "p", "content": text}
    return Envelope("ahp-chat:/c", action, seq)


def test_what_is_held_is_bounded_in_bytes_too():
    clock, sent = Clock(), []
    merger = DeltaMerger(clock, sent.append)
    piece = "x" * (MOST_HELD // 4)
    for seq in range(1, 10):
        merger.offer(delta(seq, piece), 1000)
    params = [decode(frame.payload)["params"] for frame in sent]
    assert [one["serverSeq"] for one in params] == [4, 8]
    assert all(len(one["action"]["content"]) == MOST_HELD for one in params)
    clock.advance(1)
    assert decode(sent[2].payload)["params"]["serverSeq"] == 9
    assert not clock.getDelayedCalls()
