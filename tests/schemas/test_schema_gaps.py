"""Each field a client could not draw is found, and nothing else is."""

import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.schemas import gaps

TEXT = {"type": "string"}


def in_field(field):
    return {"type": "object", "properties": {"f": field}}


@pytest.mark.parametrize(
    ("field", "gap"),
    [
        ({"type": "object"}, "f: object with no properties"),
        ({"type": "object", "additionalProperties": True}, "f: object with no properties"),
        ({"type": "object", "patternProperties": {"^a": TEXT}}, "f: object with no properties"),
        ({"type": ["object", "null"]}, "f: object with no properties"),
        ({"type": "array"}, "f: array with no items"),
        ({"description": "anything"}, "f: field with no type"),
        ({"allOf": [{"description": "x"}]}, "f: field with no type"),
        ({"$ref": "#/$defs/nothing"}, "f: field with no type"),
        ({"type": "array", "items": {"type": "object"}}, "f[]: object with no properties"),
        (
            {"type": "object", "additionalProperties": {"type": "array"}},
            "f.*: array with no items",
        ),
        (in_field({"title": "x"}), "f.f: field with no type"),
        (
            {"type": "object", "properties": {}, "patternProperties": {"^a": {"title": "x"}}},
            "f./^a/: field with no type",
        ),
        ({"oneOf": [TEXT, {"type": "object"}]}, "f.oneOf[1]: object with no properties"),
        ({"anyOf": [{"type": "array"}, TEXT]}, "f.anyOf[0]: array with no items"),
        ({**TEXT, "$defs": {"d": {"type": "object"}}}, "f.$defs.d: object with no properties"),
    ],
)
def test_a_gap_is_named_by_its_path(field, gap):
    assert gaps(in_field(field)) == [gap]


@pytest.mark.parametrize(
    "field",
    [
        {},
        TEXT,
        {"enum": ["a"]},
        {"const": 3},
        {"type": "object", "properties": {}},
        {"type": "object", "additionalProperties": TEXT},
        {"type": "object", "additionalProperties": {}},
        {"type": "array", "items": {}},
        {"type": "array", "items": TEXT},
        {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]},
        {"anyOf": [TEXT, {"type": "null"}]},
        {"allOf": [TEXT, {"minLength": 3}]},
        {"$ref": "#/$defs/d"},
        # Alternatives of an object that names its keys say what goes together.
        {
            "type": "object",
            "properties": {"a": TEXT, "b": TEXT},
            "oneOf": [{"required": ["a"]}, {"type": "object", "required": ["b"]}],
        },
        {"type": "array", "items": TEXT, "anyOf": [{"type": "array", "minItems": 1}, {}]},
        {"type": "object", "oneOf": [{"properties": {"a": TEXT}}, {"properties": {"b": TEXT}}]},
    ],
)
def test_a_field_that_names_its_value_is_none(field):
    assert gaps({**in_field(field), "$defs": {"d": TEXT}}) == []


def test_the_schema_itself_has_no_path():
    assert gaps({"type": "object"}) == ["object with no properties"]
    assert gaps({}) == []
    assert gaps(None) == []


def test_a_list_of_gaps_is_in_the_schemas_order():
    schema = {
        "type": "object",
        "properties": {"env": {"type": "object"}, "args": {"type": "array"}, "any": {"title": "x"}},
    }
    assert gaps(schema) == [
        "env: object with no properties",
        "args: array with no items",
        "any: field with no type",
    ]


def test_a_schema_that_holds_itself_is_read_once():
    schema = {"type": "object", "properties": {"inner": {"type": "object"}}}
    schema["properties"]["inner"]["properties"] = {"again": schema, "bad": {"type": "array"}}
    assert gaps(schema) == ["inner.bad: array with no items"]
    tree = {
        "$ref": "#/$defs/node",
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
    }
    assert gaps(tree) == []


def test_a_schema_that_multiplies_is_read_within_bounds():
    layer = {"type": "array"}
    for _ in range(40):
        layer = {"type": "object", "properties": {"a": layer, "b": layer}}
    found = gaps(layer)
    assert len(found) <= 101
    many = {"type": "object", "properties": {f"f{n}": {"title": "x"} for n in range(300)}}
    assert len(gaps(many)) == 101
    assert gaps(many)[-1] == "more gaps than are listed"


_SCHEMAS = st.recursive(
    st.sampled_from([TEXT, {"type": "integer"}, {"enum": [1, 2]}, {}]),
    lambda inner: (
        st.dictionaries(st.sampled_from("abc"), inner, max_size=3).map(
            lambda properties: {"type": "object", "properties": properties}
        )
        | inner.map(lambda items: {"type": "array", "items": items})
        | inner.map(lambda values: {"type": "object", "additionalProperties": values})
    ),
    max_leaves=10,
)


@given(_SCHEMAS, st.lists(st.sampled_from(["p", "i", "a", "o"]), max_size=5))
def test_a_gap_is_found_at_any_depth_of_a_whole_schema(whole, way):
    assert gaps(whole) == []
    schema = {"type": "object"}
    for step in way:
        schema = {
            "p": {"type": "object", "properties": {"x": schema, "y": whole}},
            "i": {"type": "array", "items": schema},
            "a": {"type": "object", "additionalProperties": schema},
            "o": {"oneOf": [whole, schema]},
        }[step]
    found = gaps(schema)
    assert len(found) == 1
    assert found[0].endswith("object with no properties")


_ANY_LEAF = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["string", "object", "array", "number", ["string", "null"], []]),
        "enum": st.just([1]),
        "$ref": st.sampled_from(["#", "#/nowhere"]),
        "title": st.just("A title"),
    },
)


def _holding(inner):
    listed = st.lists(inner, max_size=2)
    named = st.dictionaries(st.sampled_from("abc"), inner, max_size=3)
    return st.fixed_dictionaries(
        {"type": st.sampled_from(["object", "array", "string", ["object"]])},
        optional={
            "properties": named,
            "items": inner | listed,
            "additionalProperties": inner,
            "oneOf": listed,
            "allOf": listed,
            "$defs": named,
            "$ref": st.just("#"),
        },
    )


@settings(max_examples=500)
@given(st.recursive(_ANY_LEAF | st.booleans(), _holding, max_leaves=12))
def test_a_schema_of_the_common_kind_has_the_gaps_of_one_that_is_read_whole(schema):
    reading = sys.modules["ahpd.schemas.gaps"]
    assert gaps(schema) == reading._Walk(schema).gaps


def test_a_schema_that_uses_itself_over_and_over_is_read_within_bounds():
    schema = {"type": "string"}
    for _ in range(40):  # ten to the fortieth, each at a path of its own
        schema = {"type": "object", "properties": {f"k{number}": schema for number in range(10)}}
    assert gaps(schema) == []
