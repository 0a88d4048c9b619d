"""Frames that are no messages, before and after the handshake.

Each is answered or met with silence as JSON-RPC has it, judged by an oracle that reads
it with another parser; the connection lives, and the client beside it sees nothing.
"""

from random import Random

from hypothesis import given
from hypothesis import strategies as st

from .messages import any_frame
from .profile import examples, marks, steps
from .rig import Rig

pytestmark = marks

PING = b'{"jsonrpc":"2.0","id":"still","method":"ping"}'


@examples(200)
@given(st.booleans(), steps(25))
def test_whatever_a_frame_holds_it_is_answered_and_the_connection_lives(introduced, seeds):
    rig = Rig()
    end = rig.open(introduced)
    for seed in seeds:
        rig.throw(end, any_frame(Random(seed)))
        assert end.connected, "a bad frame ended the connection"
    rig.throw(end, PING)
    rig.finish()


@examples(30)
@given(st.lists(st.binary(max_size=60), max_size=20))
def test_any_bytes_at_all(frames):
    rig = Rig()
    end = rig.open(introduced=False)
    for frame in frames:
        rig.throw(end, frame)
    rig.throw(end, PING)
    rig.finish()
