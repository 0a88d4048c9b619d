"""Expressions of schemas are tried for so long and no longer."""

import re
import time

import pytest

from ahpd.schemas import Misfit, check_value, hidden, secrets_in
from ahpd.schemas.expressions import OutOfTime, found_in, is_plain, patience
from ahpd.schemas.failures import BrokenSchema

SLOW = "^(a|a)+$"
TEXT = "a" * 40 + "!"


def took(work):
    began = time.thread_time()
    work()
    return time.thread_time() - began


def misfit(schema, value):
    with pytest.raises(Misfit) as found:
        check_value(schema, value, "options")
    assert TEXT not in str(found.value)
    return str(found.value)


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"properties": {"k": {"pattern": SLOW}}}, {"k": TEXT * 20}),
        ({"propertyNames": {"pattern": SLOW}}, {TEXT * 20: 1}),
        ({"patternProperties": {SLOW: {"type": "number"}}, "minProperties": 2}, {TEXT * 20: ""}),
        ({"patternProperties": {SLOW: {}}, "additionalProperties": False}, {TEXT * 20: 1}),
        ({"items": {"pattern": "(x+x+)+y"}}, ["x" * 3000] * 10_000),
        ({"properties": {"k": {"pattern": "a*a*a*a*a*b"}}}, {"k": "a" * 90_000}),
        ({"properties": {"k": {"pattern": "^sk-[a-z]+$"}}}, {"k": "sk-" + "a" * 10_000_000}),
    ],
)
@pytest.mark.parametrize("dialect", ["2020-12/schema", "2019-09/schema"])
def test_no_value_is_held_to_an_expression_for_long(schema, value, dialect):
    whole = {"$schema": f"https://json-schema.org/draft/{dialect}", **schema}
    assert took(lambda: misfit(whole, value)) < 2


def test_what_takes_too_long_is_said_so():
    words = misfit({"properties": {"k": {"pattern": "(x+x+)+y"}}}, {"k": "x" * 3000})
    assert words == "options takes too long to be held to its schema"


def test_a_value_below_a_pattern_that_takes_too_long_is_hidden():
    schema = {"patternProperties": {"(x+x+)+y": {"type": "number"}}}
    value = {"x" * 3000: "kept?"}
    assert took(lambda: hidden(schema, value)) < 1
    marked = {"patternProperties": {"(x+x+)+y": {"writeOnly": True}}}
    assert list(hidden(marked, value).values()) == ["<set>"]
    assert secrets_in(marked, value) == ["kept?"]


def test_a_schema_that_leaves_no_bound_is_none():
    schema = {"patternProperties": {SLOW: {}}, "unevaluatedProperties": False}
    with pytest.raises(BrokenSchema):
        check_value(schema, {"a": 1}, "options")
    plain = {"patternProperties": {"^x-": {}}, "unevaluatedProperties": False}
    check_value(plain, {"x-a": 1}, "options")
    assert "not known" in misfit(plain, {"y": 1})
    assert "too long" in misfit(plain, {"y" * 2000: 1})
    fits = "a" * 30
    slow = {"properties": {"k": {"pattern": "^" + "a?" * 40 + "a" * 40 + "$"}}}
    assert took(lambda: misfit(slow, {"k": fits})) < 2


@pytest.mark.parametrize(
    ("expression", "text", "found"),
    [
        ("^sk-[a-z0-9]+$", "sk-live", True),
        ("^sk-[a-z0-9]+$", "Sk-live", False),
        (r"^\d{4}-\d{2}$", "2026-01", True),
        ("^(?:a|b)+$", "abab", True),
        ("^(?:a|b)+$", "abc", False),
        ("", "", True),
    ],
)
def test_an_expression_means_what_it_means_elsewhere(expression, text, found):
    assert found_in(expression, text) is found
    assert (re.search(expression, text) is not None) is found


@pytest.mark.parametrize(
    ("expression", "plain"),
    [
        ("^[a-z]+$", True),
        (r"^\d{1,3}\.\d{1,3}$", True),
        ("[+*]", True),
        ("a+b+", False),
        ("(a)", False),
        ("a|b", False),
        (r"\1", False),
        ("^" + "a?" * 3, True),
        ("^" + "a?" * 4, False),
        ("^" + "a?" * 40 + "a" * 40, False),
        (r"^\d{1,999}\d{1,3}$", False),
        (r"^\+?[0-9 ]+$", True),
        (r"^\+?\d?[0-9 ]+$", False),
        ("x" * 2000, False),
    ],
)
def test_plain_is_what_cannot_take_long(expression, plain):
    assert is_plain(expression) is plain


def test_the_expressions_of_one_value_have_one_patience():
    def tried():
        with patience():
            for _ in range(1000):
                try:
                    found_in("(x+x+)+y", "x" * 3000)
                except OutOfTime:
                    continue

    assert took(tried) < 2
    with pytest.raises(re.error):
        found_in("(", "x")
