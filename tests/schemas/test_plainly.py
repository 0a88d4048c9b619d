"""What plainly fits: never anything that `jsonschema` would not take."""

import itertools

import pytest
from jsonschema import Draft202012Validator

from ahpd.schemas.plainly import plainly_fits

SCHEMAS = [
    {"type": "string"},
    {"type": "string", "minLength": 2, "maxLength": 3},
    {"type": "string", "pattern": "^a"},
    {"type": "string", "enum": ["a", "b"]},
    {"type": "number", "minimum": 0, "exclusiveMaximum": 3},
    {"type": "integer", "maximum": 1},
    {"type": "boolean"},
    {"type": "null"},
    {"type": "array", "items": {"type": "string"}, "minItems": 1},
    {"type": "array", "maxItems": 1},
    {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]},
    {"type": "object", "properties": {"a": {"minimum": 1}}, "additionalProperties": False},
    {"type": "object", "additionalProperties": {"type": "integer"}},
    {"title": "Anything", "secret": True, "default": 3},
    {"enum": ["a"]},
    {"minimum": 1},
    {},
]

VALUES = [
    "", "a", "ab", "abcd", "b", 0, 1, 1.0, 2.5, 3, -1, True, False, None, [], ["a"], ["a", "b"],
    [1], {}, {"a": "a"}, {"a": 1}, {"a": 0}, {"b": 1}, {"a": "a", "b": 2}, {"a": None},
]  # fmt: skip


@pytest.mark.parametrize("schema", SCHEMAS, ids=str)
def test_what_plainly_fits_fits(schema):
    for value in VALUES:
        if plainly_fits(schema, value):
            assert Draft202012Validator(schema).is_valid(value), value


def test_most_of_what_fits_does_so_plainly():
    told = [
        plainly_fits(schema, value)
        for schema, value in itertools.product(SCHEMAS, VALUES)
        if Draft202012Validator(schema).is_valid(value)
    ]
    assert sum(told) > len(told) * 0.9


@pytest.mark.parametrize(
    "schema",
    [
        None,
        {"type": "text"},
        {"type": ["string", "null"]},
        {"minimum": "1"},
        {"minimum": True},
        {"pattern": "("},
        {"required": ["a", "a"]},
        {"properties": {"b": {"type": "text"}}},
        {"anyOf": [{"type": "object"}]},
        {"$ref": "#"},
        {"$schema": "https://example.org/dialect"},
        {"properties": {"a": {"const": 1}}},
        {"items": False},
    ],
    ids=str,
)
def test_nothing_fits_plainly_a_schema_that_is_not_plain_or_none(schema):
    assert not plainly_fits(schema, {"a": 1} if schema != {"items": False} else [1])


def test_what_is_nested_without_an_end_fits_nothing_plainly():
    schema = {"type": "object"}
    schema["properties"] = {"a": schema}
    assert not plainly_fits(schema, {})
    value = []
    value.append(value)
    assert not plainly_fits({"type": "array"}, value)
    assert not plainly_fits({}, {"a": [value]})
