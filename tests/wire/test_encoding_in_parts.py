"""Long text that grew is encoded piece by piece, and reads as if it had been in one."""

from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.channels.snapshots import SnapshotCache
from ahpd.protocol.text import GrowingText, plain
from ahpd.protocol.uris import ChannelKind
from ahpd.wire import jsonrpc
from ahpd.wire.codec import LARGE, InParts, decode, encode, encode_in_parts


def grown(*pieces):
    text = GrowingText()
    for piece in pieces:
        text.append(piece)
    return text


@settings(deadline=None, max_examples=50)
@given(st.lists(st.lists(st.text(), min_size=1, max_size=4), max_size=4), st.text())
def test_the_parts_are_the_json_of_the_value(texts, other):
    value = {
        "parts": [
            {"content": grown(*(piece for text in pieces for piece in (text, '\x00\\"\n' * LARGE)))}
            for pieces in texts
        ],
        "other": [other, grown(other, other), None, 1.5],
    }
    made = encode_in_parts(value)
    assert isinstance(made, InParts) == bool(texts)
    whole = b"".join(made) if isinstance(made, InParts) else made
    assert decode(whole) == plain(value)
    assert whole == encode(value)


def test_no_part_is_much_longer_than_a_piece():
    value = {"content": grown(*["x" * 1000] * 5000)}
    made = encode_in_parts(value)
    assert max(map(len, made)) < 2 * LARGE
    assert made.size == sum(map(len, made)) - 2  # the two quotes
    assert b"".join(made) == b"".join(made)
    assert len(value["content"].pieces) > 10, "the text was joined"


def test_a_snapshot_of_a_long_answer_is_sent_in_parts():
    text = grown(*["0123456789" * 1000] * 200)
    state = {"turns": [{"responseParts": [{"content": text}]}], "activeTurn": {"also": text}}
    shown = SnapshotCache().encoded(ChannelKind.CHAT, state, None)
    frame = jsonrpc.result(7, {"snapshot": {"state": shown, "again": [shown]}})
    said = decode(frame.payload)["result"]["snapshot"]
    assert said == {"state": plain(state), "again": [plain(state)]}
    assert frame.size == len(frame.payload)
    assert max(map(len, frame.parts)) < 2 * LARGE
    assert decode(encode({"inside": shown})) == {"inside": plain(state)}
