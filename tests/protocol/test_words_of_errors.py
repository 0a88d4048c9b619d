"""What a client is told of a failure is words a person can read, whatever it sent."""

import pytest

from ahpd.interfaces import Refusal
from ahpd.protocol.errors import LONGEST_WORDS, RpcError, method_not_found, session_not_found

LONG = "x" * 300_000


@pytest.mark.parametrize("length", [0, 1, LONGEST_WORDS - 1, LONGEST_WORDS])
def test_words_of_a_usual_length_are_told_as_they_are(length):
    words = "y" * length
    assert RpcError(-1, words).to_wire() == {"code": -1, "message": words}
    assert Refusal(words).reason == words


def test_of_longer_ones_the_beginning_and_the_end_are_told():
    for made in (session_not_found(LONG), method_not_found(LONG)):
        told = made.to_wire()["message"]
        assert len(told) == LONGEST_WORDS
        assert told.startswith(made.message[:1000])
    words = f"{LONG}: expected a number"
    assert RpcError(-1, words).to_wire()["message"].endswith(": expected a number")
    assert len(Refusal(words).reason) == LONGEST_WORDS
    assert Refusal(words).reason.endswith(": expected a number")
