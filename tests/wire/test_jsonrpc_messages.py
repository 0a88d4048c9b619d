"""What a frame is read as: bad input becomes an answer, never an exception."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.protocol.errors import INVALID_REQUEST, PARSE_ERROR, RpcError
from ahpd.wire import jsonrpc
from ahpd.wire.codec import LARGE, decode, encode, encoded, encoded_array


def frame(**members):
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


@pytest.mark.parametrize("identifier", [1, 0, -7, "a", "", 1.5, 2**63, 10**30])
def test_ids_of_both_kinds_are_kept_as_they_came(identifier):
    message = jsonrpc.parse(frame(id=identifier, method="ping", params={"channel": "x"}))
    assert message == jsonrpc.Request(identifier, "ping", {"channel": "x"})


def test_a_call_without_an_id_is_a_notification():
    assert jsonrpc.parse(frame(method="unsubscribe")) == jsonrpc.Notification("unsubscribe", {})


def test_answers_carry_a_result_or_an_error():
    assert jsonrpc.parse(frame(id=4, result=None)) == jsonrpc.Response(4, None, None)
    failed = jsonrpc.parse(frame(id="x", error={"code": -1, "message": "no"}))
    assert failed == jsonrpc.Response("x", None, {"code": -1, "message": "no"})


@pytest.mark.parametrize(
    ("data", "code", "identifier"),
    [
        (b"", PARSE_ERROR, None),
        (b"{", PARSE_ERROR, None),
        (b"\xff\xfe", PARSE_ERROR, None),
        (b"1e999", PARSE_ERROR, None),
        (b"[" * 100_000, PARSE_ERROR, None),
        (b"null", INVALID_REQUEST, None),
        (b"true", INVALID_REQUEST, None),
        (b"3", INVALID_REQUEST, None),
        (b'"ping"', INVALID_REQUEST, None),
        (b"[]", INVALID_REQUEST, None),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', INVALID_REQUEST, None),
        (b"{}", INVALID_REQUEST, None),
        (b'{"jsonrpc":"1.0","id":7,"method":"ping"}', INVALID_REQUEST, 7),
        (b'{"id":7,"method":"ping"}', INVALID_REQUEST, 7),
        (b'{"jsonrpc":"2.0","id":null,"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":true,"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":[1],"result":1}', INVALID_REQUEST, None),
        (b'{"jsonrpc":"2.0","id":1,"method":5}', INVALID_REQUEST, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[1]}', INVALID_REQUEST, 1),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}', INVALID_REQUEST, 1),
        (b'{"jsonrpc":"2.0","id":1}', INVALID_REQUEST, 1),
        (b'{"jsonrpc":"2.0","id":1,"error":"x"}', INVALID_REQUEST, 1),
    ],
)
def test_what_is_no_message_says_why_and_to_which_id(data, code, identifier):
    message = jsonrpc.parse(data)
    assert isinstance(message, jsonrpc.Malformed)
    assert (message.error.code, message.id) == (code, identifier)
    assert len(message.error.message) > len("Invalid request: ")


def test_nesting_is_bounded_and_the_id_still_answered():
    deep = (
        b'{"jsonrpc":"2.0","id":9,"method":"ping","params":{"a":' + b"[" * 300 + b"]" * 300 + b"}}"
    )
    message = jsonrpc.parse(deep)
    assert isinstance(message, jsonrpc.Malformed)
    assert message.id == 9
    assert "nested" in message.error.message


def test_wide_is_not_deep():
    wide = frame(id=1, method="m", params={"list": [[i] for i in range(1000)]})
    assert isinstance(jsonrpc.parse(wide), jsonrpc.Request)


def test_params_of_null_are_no_params():
    assert jsonrpc.parse(frame(id=1, method="shutdown", params=None)) == jsonrpc.Request(
        1, "shutdown", {}
    )


def test_half_a_surrogate_pair_does_not_cost_the_message():
    data = rb'{"jsonrpc":"2.0","id":1,"method":"m","params":{"t":"a\ud83d\\ud83d \ud83d\ude00 \udc00"}}'
    message = jsonrpc.parse(data)
    assert message == jsonrpc.Request(1, "m", {"t": "a\ufffd\\ud83d \U0001f600 \ufffd"})


@given(st.binary(max_size=200))
def test_no_bytes_raise(data):
    jsonrpc.parse(data)


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["jsonrpc", "id", "method", "params", "result", "error", "x"]),
                inner,
            )
        ),
        max_leaves=10,
    )
)
def test_no_json_raises(value):
    jsonrpc.parse(json.dumps(value).encode())


def test_answers_are_whole_messages():
    assert decode(jsonrpc.result("a", None).payload) == {
        "jsonrpc": "2.0",
        "id": "a",
        "result": None,
    }
    assert decode(jsonrpc.error(None, RpcError(-32700, "no", {"x": 1})).payload) == {
        "jsonrpc": "2.0",
        "id": None,
        "error": {"code": -32700, "message": "no", "data": {"x": 1}},
    }
    assert decode(jsonrpc.request(3, "resourceRead", {"a": 1}).payload) == {
        "jsonrpc": "2.0",
        "id": 3,
        "method": "resourceRead",
        "params": {"a": 1},
    }


def test_an_answer_holds_a_large_snapshot_without_copying_it():
    state = encode({"text": "\0" + "x" * LARGE})
    frame = jsonrpc.result(7, {"snapshots": [{"state": encoded(state), "name": "\0"}] * 2})
    assert [part is state for part in frame.parts] == [False, True, False, True, False]
    assert frame.size == len(frame.payload)
    snapshot = {"state": {"text": "\0" + "x" * LARGE}, "name": "\0"}
    assert decode(frame.payload) == {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {"snapshots": [snapshot, snapshot]},
    }


def test_an_answer_holds_small_values_that_are_encoded_already():
    frame = jsonrpc.result(7, {"state": encoded(b'{"a":1}')})
    assert len(frame.parts) == 1
    assert decode(frame.payload)["result"] == {"state": {"a": 1}}


@pytest.mark.parametrize("size", [2, 2 * LARGE])
@pytest.mark.parametrize("count", [0, 1, 3])
def test_an_array_of_what_is_encoded_already(count, size):
    item = encode("x" * (size - 2))
    whole = jsonrpc.result(1, {"items": encoded_array([item] * count)})
    assert decode(whole.payload)["result"] == {"items": ["x" * (size - 2)] * count}


def test_what_is_shared_is_json_wherever_it_is_encoded():
    shared = encoded(encode("x" * LARGE))
    assert decode(encode({"deep": [shared]})) == {"deep": ["x" * LARGE]}


def test_a_value_that_is_no_json_is_refused_beside_what_is_shared():
    with pytest.raises(TypeError, match="object is not a JSON value"):
        jsonrpc.result(1, [encoded(encode("x" * LARGE)), object()])
