"""A schema for a config that a sign-in has not filled in yet."""

import pytest

from ahpd.connectors.relaxed import relaxed
from ahpd.schemas import Misfit, check_value

EITHER = {
    "type": "object",
    "properties": {"a": {"type": "string"}, "key": {"type": "string"}, "b": {"type": "string"}},
    "required": ["key"],
    "oneOf": [{"required": ["a", "key"]}, {"required": ["b", "key"]}],
}


def fits(schema, value):
    try:
        check_value(schema, value, "config")
    except Misfit:
        return False
    return True


@pytest.mark.parametrize(
    ("fills", "value", "right"),
    [
        (["key"], {"a": "x"}, True),
        (["key"], {"b": "x"}, True),
        (["key"], {}, False),
        (["key"], {"a": 1}, False),
        (None, {}, True),
        (None, {"a": 1}, False),
    ],
)
def test_what_a_sign_in_fills_is_not_required_and_everything_else_is(fills, value, right):
    before = repr(EITHER)
    assert fits(relaxed(EITHER, fills), value) is right
    assert repr(EITHER) == before


def test_other_alternatives_stay_beside_it():
    both = {**EITHER, "anyOf": [{"properties": {"a": {"const": "x"}}, "required": ["a"]}]}
    assert fits(relaxed(both, ["key"]), {"a": "x"})
    assert not fits(relaxed(both, ["key"]), {"b": "x"})
