"""Values that plugins are handed can be read, copied and sent, and not written to."""

import copy
import json

import pytest

from ahpd.protocol.read_only import read_only
from ahpd.wire.codec import encode

VALUE = {"a": {"b": [1, {"c": 2}]}, "t": (1, 2)}


def test_writing_raises_where_it_is_written_at_any_depth():
    value = read_only(VALUE)
    for write in (
        lambda: value.__setitem__("a", 1),
        lambda: value["a"].update(b=1),
        lambda: value["a"]["b"].append(1),
        lambda: value["a"]["b"][1].pop("c"),
        value["a"]["b"].sort,
        lambda: value.setdefault("z", 1),
        value["a"].clear,
        lambda: value["a"]["b"].__delitem__(0),
        lambda: value["t"].__iadd__([3]),
        lambda: value.__ior__({"z": 1}),
    ):
        with pytest.raises(TypeError, match="may be read"):
            write()
    assert value == {"a": {"b": [1, {"c": 2}]}, "t": [1, 2]}


def test_what_is_written_to_the_original_is_not_seen():
    original = {"a": [1]}
    value = read_only(original)
    original["a"].append(2)
    assert value == {"a": [1]}


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda v: json.loads(json.dumps(v)), copy.copy])
def test_a_copy_may_be_written_to(copied):
    value = copied(read_only({"a": 1}))
    value["b"] = 2
    assert value == {"a": 1, "b": 2}


def test_it_is_sent_as_any_other_value():
    assert encode(read_only(VALUE)) == encode({"a": {"b": [1, {"c": 2}]}, "t": [1, 2]})
