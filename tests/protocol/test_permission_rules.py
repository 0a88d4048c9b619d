"""The value of `permissions`: read whole, and added to."""

import pytest

from ahpd.protocol.permission_rules import rules_of, with_allowed

NONE = {"allow": [], "deny": [], "ask": []}


@pytest.mark.parametrize(
    "value", [None, [], "allow", {"allow": "rm"}, {"allow": [1]}, {"allow": ["rm"], "ask": None}]
)
def test_a_value_with_anything_wrong_in_it_is_no_rules(value):
    assert rules_of(value) == NONE


def test_the_lists_that_are_there_are_the_rules():
    assert rules_of({"deny": ["rm"], "more": 1}) == {**NONE, "deny": ["rm"]}


@pytest.mark.parametrize(
    ("value", "rules", "made"),
    [
        (None, ["rm"], {"deny": [], "allow": ["rm"]}),
        (
            {"allow": ["ls"], "ask": ["x"]},
            ["rm"],
            {"deny": [], "ask": ["x"], "allow": ["ls", "rm"]},
        ),
        ({"allow": ["rm"]}, ["rm", "mv", "mv"], {"deny": [], "allow": ["rm", "mv"]}),
        ({"allow": "rm", "deny": ["mv"]}, ["rm"], {"deny": ["mv"], "allow": ["rm"]}),
        ({"allow": ["rm"], "more": 1}, ["mv"], {"deny": [], "allow": ["rm", "mv"], "more": 1}),
        ({"allow": ["rm"]}, ["rm"], None),
        (None, [], None),
    ],
)
def test_rules_are_added_behind_those_there_are(value, rules, made):
    assert with_allowed(value, rules) == made
    if made is not None:
        assert rules_of(made)["allow"] == made["allow"]


def test_the_value_itself_stays_as_it_was():
    value = {"allow": ["ls"]}
    with_allowed(value, ["rm"])
    assert value == {"allow": ["ls"]}
