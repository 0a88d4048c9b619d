"""What is handed over as JSON inside of the process, and what of it cannot be sent."""

import math

import pytest

from ahpd.protocol.check import ShapeError
from ahpd.protocol.json_values import DEEPEST, checked_text, json_copy, misfit, object_copy
from ahpd.protocol.read_only import read_only


def nested(levels):
    value = "leaf"
    for _ in range(levels):
        value = [value]
    return value


def test_a_copy_is_of_dicts_and_lists_and_shares_nothing():
    given = {"a": [1, 2.5, None, True], "b": ({"c": "ä"},)}
    copied = json_copy(read_only(given), "it")
    assert copied == {"a": [1, 2.5, None, True], "b": [{"c": "ä"}]}
    assert type(copied["a"]) is list
    copied["b"][0]["c"] = "x"
    assert given["b"][0]["c"] == "ä"


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"a": ["\ud800"]}, "it.a[0]: expected a text, found half a character"),
        ({"\udc00": 1}, "a key of it: expected a text, found half a character"),
        ({"a": {5: 1}}, "a key of it.a: expected a string, found a number"),
        ({"a": math.nan}, "it.a: expected a JSON value, found nan"),
        ({"a": 1 << 10_000}, "it.a: expected a JSON value, found a number of too many digits"),
        ({"a": b"x"}, "it.a: expected a JSON value, found bytes"),
        (nested(DEEPEST + 1), f"expected less nesting, found more than {DEEPEST} levels"),
    ],
)
def test_what_cannot_be_sent_is_told_with_its_place(value, place):
    with pytest.raises(ShapeError) as refused:
        json_copy(value, "it")
    assert place in str(refused.value)
    assert misfit(value, "it") == str(refused.value)
    str(refused.value).encode()


def test_what_can_be_sent_is_no_misfit():
    assert misfit({"a": nested(DEEPEST - 1), "b": "\U0001f600"}, "it") is None


def test_an_object_and_a_text_are_asked_for_by_name():
    with pytest.raises(ShapeError, match="it: expected an object, found a list"):
        object_copy([], "it")
    with pytest.raises(ShapeError, match="it: expected a string, found null"):
        checked_text(None, "it")
