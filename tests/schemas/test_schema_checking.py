"""A value that does not fit is told by its place and what is expected, never by itself."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ahpd.schemas import BrokenSchema, Misfit, check_value, unknown_keys
from ahpd.schemas.validators import Validators
from ahpd.testing.planted import planted

SECRET = planted("a value that does not fit")
OPTIONS = {
    "type": "object",
    "properties": {
        "command": {"type": "string", "description": "The program to run."},
        "model": {"type": "string", "enum": ["fast", "careful"]},
        "retries": {"type": "integer", "minimum": 0, "maximum": 9},
        "env": {"type": "object", "additionalProperties": {"type": "string"}},
        "args": {"type": "array", "items": {"type": "string"}, "maxItems": 3},
        "mode": {"const": "on"},
        "name": {"type": "string", "minLength": 1, "maxLength": 40, "pattern": "^[a-z]+$"},
        "size": {"type": ["integer", "null"]},
    },
    "required": ["command"],
}
KINDS = {
    "type": "object",
    "oneOf": [
        {
            "properties": {"kind": {"const": "web"}, "url": {"type": "string"}},
            "required": ["kind", "url"],
            "additionalProperties": False,
        },
        {
            "properties": {"kind": {"const": "file"}, "path": {"type": "string"}},
            "required": ["kind", "path"],
            "additionalProperties": False,
        },
    ],
}


def misfit(schema, value, at="options", **how):
    with pytest.raises(Misfit) as raised:
        check_value(schema, value, at, **how)
    return str(raised.value)


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"command": 3}, "options.command must be text"),
        ({}, "options.command is missing"),
        ([], "options must be an object"),
        ({"command": "x", "model": SECRET}, "options.model must be one of fast, careful"),
        ({"command": "x", "retries": 1.5}, "options.retries must be a whole number"),
        ({"command": "x", "retries": True}, "options.retries must be a whole number"),
        ({"command": "x", "retries": -1}, "options.retries must be at least 0"),
        ({"command": "x", "retries": 10}, "options.retries must be at most 9"),
        ({"command": "x", "env": {"A": 1}}, "options.env.A must be text"),
        ({"command": "x", "args": ["a", 2]}, "options.args[1] must be text"),
        ({"command": "x", "args": list("abcd")}, "options.args must have at most 3 items"),
        ({"command": "x", "mode": "off"}, "options.mode must be on"),
        ({"command": "x", "name": ""}, "options.name must not be empty"),
        ({"command": "x", "name": "B"}, "options.name must match ^[a-z]+$"),
        ({"command": "x", "size": "big"}, "options.size must be a whole number or null"),
    ],
)
def test_a_misfit_names_the_place_and_the_expected_kind(value, words):
    assert misfit(OPTIONS, value) == words


def test_what_fits_is_let_through():
    whole = {"command": "x", "model": "fast", "retries": 0, "env": {"A": "b"}, "size": None}
    check_value(OPTIONS, whole, "options")
    check_value(OPTIONS, {"command": "x", "extra": [1]}, "options")


def test_the_first_field_is_the_one_the_schema_names_first():
    assert misfit(OPTIONS, {"retries": "x", "command": 3}) == "options.command must be text"


def test_a_field_that_is_not_allowed_is_named_with_those_that_are():
    schema = {"properties": {"a": {}, "b": {}}, "additionalProperties": False}
    assert misfit(schema, {"a": 1, "c": SECRET}) == "options.c is not a known field; known: a, b"


def test_a_name_that_is_not_allowed_is_told_and_not_taken_for_a_field_of_that_name():
    schema = {"propertyNames": {"pattern": "^[A-Z]+$"}}
    assert misfit(schema, {"a b": 1}, "env") == (
        "env holds a field with a name that does not fit: it must match ^[A-Z]+$"
    )
    field = {"properties": {"propertyNames": {"type": "integer"}}}
    assert misfit(field, {"propertyNames": "x"}, "o") == "o.propertyNames must be a whole number"


def test_a_place_without_a_name_still_makes_a_sentence():
    assert misfit({"type": "string"}, 3, "") == "it must be text"
    assert misfit(OPTIONS, {"command": 3}, "") == "command must be text"


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"kind": "web"}, "c.url is missing"),
        ({"kind": "web", "url": 3}, "c.url must be text"),
        # A field of another kind is refused where it stands.
        (
            {"kind": "file", "path": "p", "url": "u"},
            "c.url is not a known field; known: kind, path",
        ),
        ({"kind": SECRET}, "c.kind must be one of web, file"),
        ({}, "c.kind is missing"),
        ("x", "c must be an object"),
    ],
)
def test_of_alternatives_the_one_that_was_meant_is_told(value, words):
    assert misfit(KINDS, value, "c") == words


def test_alternatives_of_types_and_of_values_are_listed():
    types = {"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}
    assert misfit(types, 3, "c") == "c must be text or a list"
    assert misfit(types, ["a", 1], "c") == "c[1] must be text"
    assert misfit({"oneOf": [{"const": "a"}, {"enum": ["b", 3]}]}, 1, "c") == (
        "c must be one of a, b, 3"
    )
    titled = [{"title": "Small", "maximum": 3}, {"title": "Large", "minimum": 9}]
    assert misfit({"oneOf": titled}, 5, "c") == "c fits none of what it may be: Small, Large"
    assert misfit({"oneOf": [{"minimum": 1}, {"minimum": 2}]}, 5, "c") == (
        "c fits more than one of what it may be"
    )


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strng"},
        {"properties": []},
        {"pattern": "("},
        {"$schema": 3},
        {"$ref": "#/$defs/nothing"},
        {"$ref": "https://example.test/schema.json"},
        {"$schema": "https://example.test/dialect", "type": 3},
    ],
)
def test_a_broken_schema_is_named_as_such(schema):
    with pytest.raises(BrokenSchema) as raised:
        check_value(schema, {"a": SECRET}, "engine claude")
    assert str(raised.value).startswith("engine claude cannot be checked: its schema is not")


def test_neither_a_schema_nor_a_value_without_an_end_ends_the_host():
    assert "no end" in misfit({"$ref": "#"}, 1)
    deep = []
    for _ in range(100_000):
        deep = [deep]
    assert misfit({"type": "array"}, deep) == "options is nested too deeply"


def test_the_dialect_a_schema_names_is_followed():
    old = {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "items": [{"type": "string"}],
        "additionalItems": {"type": "integer"},
    }
    check_value(old, ["a", 1], "options")
    assert misfit(old, ["a", "b"]) == "options[1] must be a whole number"
    new = {"prefixItems": [{"type": "string"}], "items": {"type": "integer"}}
    assert misfit(new, ["a", "b"]) == "options[1] must be a whole number"


def test_formats_say_what_a_field_is_and_refuse_nothing():
    check_value({"type": "string", "format": "email"}, "no address", "options")


def test_a_reference_fits_any_field_where_references_are_allowed_and_never_the_whole():
    reference = {"$secret": "host:stripe"}
    strict = {
        "type": "object",
        "properties": {"key": {"type": "string", "minLength": 20}, "n": {"type": "integer"}},
        "required": ["key"],
        "additionalProperties": False,
    }
    check_value(strict, {"key": reference, "n": {"fromEnv": "N"}}, "c", references=True)
    assert misfit(strict, {"key": reference}, "c") == "c.key must be text"
    assert misfit(strict, {"n": reference}, "c", references=True) == "c.key is missing"
    assert misfit(strict, reference, "c", references=True) == "c.key is missing"
    # What names nothing is no reference.
    assert (
        misfit(strict, {"key": {"$secret": SECRET}}, "c", references=True) == "c.key must be text"
    )


def test_a_validator_is_made_once_for_a_schema_and_few_are_kept():
    validators = Validators()
    assert validators.of(OPTIONS, False) is validators.of(OPTIONS, False)
    assert validators.of(OPTIONS, True) is not validators.of(OPTIONS, False)
    others = [{"title": str(n)} for n in range(200)]
    for other in others:
        validators.of(other, False)
    assert len(validators._kept) == 128


def test_an_object_without_a_field_is_checked_without_the_library():
    script = (
        "import sys; from ahpd.schemas import check_value\n"
        "check_value({'type': 'object', 'properties': {'a': {'type': 'string'}}}, {}, 'o')\n"
        "assert 'jsonschema' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(SECRET),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["command", "model", "kind", "url", "env", "args"]), inner, max_size=4
        )
    ),
    max_leaves=12,
)


@given(_JSON, st.sampled_from([OPTIONS, KINDS, {"not": {}}, {"allOf": [OPTIONS, KINDS]}]))
def test_no_words_hold_a_value(value, schema):
    said = ""
    try:
        check_value(schema, value, "options")
    except Misfit as misfit:
        said = str(misfit)
    assert SECRET not in said
    assert "\n" not in said


# -- keys nobody names --------------------------------------------------------------------


def test_keys_a_schema_does_not_name_are_told_in_their_order():
    assert unknown_keys(OPTIONS, {"z": 1, "command": "x", "a": 2}) == ["z", "a"]
    assert unknown_keys({"type": "object"}, {"a": 1}) == ["a"]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        True,
        None,
        {"type": "object", "additionalProperties": {"type": "string"}},
        {"type": "object", "additionalProperties": {}},
        {"type": "object", "additionalProperties": True},
        {"patternProperties": {"^a": {}}},
        {"oneOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]},
        {"$ref": "#/$defs/o", "$defs": {"o": {"properties": {"a": {}}}}},
    ],
)
def test_a_schema_names_keys_wherever_it_speaks_of_them(schema):
    assert unknown_keys(schema, {"a": 1}) == []


def test_a_value_that_is_no_object_has_no_keys():
    assert unknown_keys(OPTIONS, ["a"]) == []
