"""What a schema marks is hidden wherever it stands, and comes back as it was."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.schemas import (
    SET,
    hidden,
    is_reference,
    restored,
    secret_paths,
    secrets_in,
    write_only_paths,
)

TEXT = {"type": "string"}
KEY = {"type": "string", "writeOnly": True}
VAULT = {"type": "string", "secret": True}
OPTIONS = {
    "type": "object",
    "properties": {
        "command": TEXT,
        "apiKey": KEY,
        "env": {"type": "object", "additionalProperties": KEY},
        "headers": {"type": "object", "patternProperties": {"^X-": KEY}},
        "logins": {
            "type": "array",
            "items": {"type": "object", "properties": {"name": TEXT, "key": VAULT}},
        },
        "keys": {"type": "array", "items": KEY},
    },
}
HELD = {
    "command": "run",
    "apiKey": "k1",
    "env": {"A": "k2", "B": "k3"},
    "headers": {"X-Key": "k4", "Accept": "json"},
    "logins": [{"name": "a", "key": "k5"}, {"name": "b", "key": "k6"}],
    "keys": ["k7", "k8"],
    "other": ["left", {"as": "it is"}],
}


# -- hiding -----------------------------------------------------------------------------


def test_a_marked_value_is_answered_set_and_the_rest_as_it_is():
    assert hidden(OPTIONS, HELD) == {
        "command": "run",
        "apiKey": SET,
        "env": {"A": SET, "B": SET},
        "headers": {"X-Key": SET, "Accept": "json"},
        "logins": [{"name": "a", "key": SET}, {"name": "b", "key": SET}],
        "keys": [SET, SET],
        "other": ["left", {"as": "it is"}],
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"oneOf": [{"properties": {"k": TEXT}}, {"properties": {"k": KEY}}]},
        {"anyOf": [{"properties": {"k": KEY}}]},
        {"allOf": [{"properties": {"k": VAULT}}, {"properties": {"k": TEXT}}]},
        {"properties": {"k": {"$ref": "#/$defs/key"}}, "$defs": {"key": KEY}},
        {"$ref": "#/$defs/o", "$defs": {"o": {"properties": {"k": KEY}}}},
        {"properties": {"k": {"$ref": "#key"}}, "$defs": {"x": {**KEY, "$anchor": "key"}}},
        {"if": {"properties": {"m": {}}}, "then": {"properties": {"k": KEY}}},
        {"dependentSchemas": {"m": {"properties": {"k": KEY}}}},
        {"unevaluatedProperties": KEY},
        # Where a schema leads to nowhere, nobody can say that this is no credential.
        {"properties": {"k": {"$ref": "#/$defs/nothing"}}},
        {"properties": {"k": {"$ref": "https://example.test/key.json"}}},
        {"patternProperties": {"(": KEY}},
    ],
)
def test_a_mark_counts_wherever_the_schema_says_it(schema):
    assert hidden(schema, {"k": "secret"}) == {"k": SET}
    assert secrets_in(schema, {"k": "secret"}) == ["secret"]


def test_a_property_that_is_declared_is_not_any_other_key():
    schema = {"properties": {"a": TEXT}, "additionalProperties": KEY}
    assert hidden(schema, {"a": "shown", "b": "x"}) == {"a": "shown", "b": SET}


def test_the_first_items_of_a_list_have_schemas_of_their_own():
    schema = {"prefixItems": [TEXT, KEY], "items": KEY}
    assert hidden(schema, ["shown", "x", "y"]) == ["shown", SET, SET]


def test_a_mark_on_a_map_hides_all_of_it():
    schema = {"properties": {"env": {"type": "object", "writeOnly": True}}}
    assert hidden(schema, {"env": {"A": "x"}}) == {"env": SET}
    assert secrets_in(schema, {"env": {"A": ["x", "y"]}}) == ["x", "y"]


def test_a_schema_that_holds_itself_marks_at_every_depth():
    node = {"properties": {"key": KEY, "next": {"$ref": "#"}}}
    value = {"key": "a", "next": {"key": "b", "next": {"key": "c"}}}
    assert secrets_in(node, value) == ["a", "b", "c"]
    assert hidden(node, value) == {"key": SET, "next": {"key": SET, "next": {"key": SET}}}


def test_a_reference_is_answered_as_it_is_written_and_a_key_in_its_place_is_not():
    value = {"apiKey": {"$secret": "host:stripe"}, "env": {"A": {"fromEnv": "A"}, "B": "x"}}
    shown = hidden(OPTIONS, value)
    assert shown == {
        "apiKey": {"$secret": "host:stripe"},
        "env": {"A": {"fromEnv": "A"}, "B": SET},
    }
    assert shown["apiKey"] is not value["apiKey"]
    assert hidden(OPTIONS, {"apiKey": {"$secret": "sk-live-123"}}) == {"apiKey": SET}
    assert hidden(OPTIONS, {"apiKey": {"fromEnv": "not a variable"}}) == {"apiKey": SET}


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ({"$secret": "host:a"}, True),
        ({"$secret": "team:t/a"}, True),
        ({"$env": "HOME"}, True),
        ({"fromEnv": "HOME"}, True),
        ({"$secret": "a"}, False),
        ({"fromEnv": "A-B"}, False),
        ({"fromEnv": 3}, False),
        ({"$secret": "host:a", "more": 1}, False),
        ("host:a", False),
    ],
)
def test_a_reference_is_told_by_its_form(value, is_one):
    assert is_reference(value) is is_one


def test_null_says_that_there_is_nothing():
    assert hidden(OPTIONS, {"apiKey": None}) == {"apiKey": None}


def test_without_a_schema_every_value_is_hidden():
    value = {"a": "x", "b": {"c": 1}, "d": {"$secret": "host:n"}, "e": False}
    assert hidden(None, value) == {"a": SET, "b": SET, "d": {"$secret": "host:n"}, "e": SET}
    assert secrets_in(None, value) == ["x"]


def test_what_is_answered_shares_nothing_with_what_is_held():
    shown = hidden(OPTIONS, HELD)
    shown["other"][1]["as"] = "changed"
    assert HELD["other"][1] == {"as": "it is"}


# -- restoring --------------------------------------------------------------------------


def test_set_leaves_another_value_replaces_and_null_takes_out():
    sent = {"apiKey": SET, "env": {"A": SET, "B": None, "C": "new"}, "command": "other"}
    assert restored(OPTIONS, sent, HELD) == {
        **HELD,
        "command": "other",
        "env": {"A": "k2", "C": "new"},
    }
    assert restored(OPTIONS, {"apiKey": "k9"}, HELD)["apiKey"] == "k9"
    assert "apiKey" not in restored(OPTIONS, {"apiKey": None}, HELD)


def test_what_is_not_named_stays_at_every_depth():
    assert restored(OPTIONS, {}, HELD) == HELD
    assert restored(OPTIONS, {"env": {"B": "new"}}, HELD)["env"] == {"A": "k2", "B": "new"}


def test_set_where_nothing_is_held_keeps_no_such_word():
    assert restored(OPTIONS, {"apiKey": SET, "env": {"A": SET}, "keys": [SET]}, {}) == {
        "env": {},
        "keys": [],
    }
    assert restored(OPTIONS, {"command": SET}, {}) == {"command": SET}


def test_the_credential_of_an_item_goes_with_the_item():
    a, b = hidden(OPTIONS, HELD)["logins"]
    changed = restored(OPTIONS, {"logins": [b, a]}, HELD)["logins"]
    assert changed == [{"name": "b", "key": "k6"}, {"name": "a", "key": "k5"}]
    assert restored(OPTIONS, {"logins": [b]}, HELD)["logins"] == [{"name": "b", "key": "k6"}]
    renamed = restored(OPTIONS, {"logins": [{**a, "name": "c"}, b]}, HELD)["logins"]
    assert renamed == [{"name": "c", "key": "k5"}, {"name": "b", "key": "k6"}]


def test_no_item_gets_the_credential_of_another():
    _, b = hidden(OPTIONS, HELD)["logins"]
    new = {"name": "c", "key": SET}
    assert restored(OPTIONS, {"logins": [b, new]}, HELD)["logins"] == [
        {"name": "b", "key": "k6"},
        {"name": "c"},
    ]
    assert restored(OPTIONS, {"logins": [b, b, new]}, HELD)["logins"] == [
        {"name": "b"},
        {"name": "b", "key": "k6"},
        {"name": "c"},
    ]


def test_a_number_is_not_the_truth_value_it_equals():
    schema = {"properties": {"list": {"type": "array"}}}
    assert restored(schema, {"list": [True]}, {"list": [1]})["list"][0] is True


def test_without_a_schema_the_same_rules_hold_for_every_value():
    held = {"a": "x", "b": {"c": 1}}
    assert restored(None, {"a": SET, "b": SET}, held) == held
    assert restored(None, {"a": None, "b": {"c": 2}}, held) == {"b": {"c": 2}}


_KEYS = st.sampled_from(["a", "b", "c"])
_SCHEMAS = st.recursive(
    st.sampled_from([TEXT, KEY, VAULT, {}, {"oneOf": [TEXT, KEY]}, {"$ref": "#/$defs/key"}]),
    lambda inner: (
        st.dictionaries(_KEYS, inner, max_size=3).map(lambda own: {"properties": own})
        | inner.map(lambda own: {"type": "array", "items": own})
        | inner.map(lambda own: {"type": "object", "additionalProperties": own})
        | st.lists(inner, min_size=1, max_size=2).map(lambda own: {"allOf": own})
    ),
    max_leaves=8,
).map(lambda schema: {**schema, "$defs": {"key": KEY}})
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("xyz", max_size=3) | st.just(SET),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(st.none() | _SCHEMAS, _VALUES)
def test_what_was_shown_and_sent_back_is_what_was_held(schema, value):
    assert restored(schema, hidden(schema, value), value) == value


@given(st.none() | _SCHEMAS, _VALUES)
def test_what_was_hidden_once_holds_no_secret(schema, value):
    shown = hidden(schema, value)
    assert secrets_in(schema, shown) == []
    assert hidden(schema, shown) == shown


# -- the fields of a schema ---------------------------------------------------------------


def test_marked_fields_are_told_by_their_paths():
    assert secret_paths(OPTIONS) == ["apiKey", "env.*", "headers.*", "logins[].key", "keys[]"]
    assert write_only_paths(OPTIONS) == ["apiKey", "env.*", "headers.*", "keys[]"]
    assert secret_paths({"type": "object"}) == []


def test_fields_of_alternatives_are_told_once():
    schema = {
        "oneOf": [{"properties": {"k": VAULT, "a": TEXT}}, {"properties": {"k": VAULT}}],
        "properties": {"o": {"$ref": "#/$defs/o"}},
        "$defs": {"o": {"properties": {"again": {"$ref": "#/$defs/o"}, "key": VAULT}}},
    }
    found = secret_paths(schema)
    assert found.count("k") == 1
    assert "o.key" in found
    assert "o.again.key" in found
    assert len(found) < 100


def test_a_field_that_says_both_is_a_vaults_field():
    schema = {"properties": {"k": {"secret": True, "writeOnly": True}}}
    assert secret_paths(schema) == ["k"]
    assert write_only_paths(schema) == []
