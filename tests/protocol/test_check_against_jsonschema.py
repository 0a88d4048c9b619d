"""A strict check and the JSON Schema library say the same of the same value.

Values are made from the declarations, then broken at a random place. What passes one
must pass the other: the checker's closures are compared with an implementation that
shares nothing with them but the declarations.
"""

import copy
from functools import cache
from random import Random
from typing import Any, get_args, get_origin

import jsonschema
from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.protocol.check import ShapeError, check, check_strict
from ahpd.protocol.jsonschema import document, schema_of
from ahpd.protocol.shapes import every_shape
from ahpd.protocol.shapes.notation import Minimum, OncePerKind
from ahpd.protocol.shapes.reading import (
    fields_of,
    is_literal,
    is_object,
    is_union,
    members_of,
    split_annotated,
)

SHAPES = sorted(every_shape().items())
WORDS = ["", "a", "b c", "session", "é", "kind"]
STRAYS = [None, True, False, 0, -3, 2.0, 2.5, "x", [], [1], {}, {"a": 1}, [None], [{}]]
DEEP = 5
SEEDS = st.integers(0, 2**32)


@cache
def validator(name):
    return jsonschema.Draft202012Validator(schema_of(dict(SHAPES)[name]))


def made_from(annotation, random, depth=0):
    """A value that fits `annotation`, chosen by `random`."""
    inner, marks = split_annotated(annotation)
    if is_object(inner):
        return made_object(inner, random, depth)
    if is_union(inner):
        members, _ = members_of(inner)
        return made_from(random.choice(members), random, depth)
    if is_literal(inner):
        return random.choice(get_args(inner))
    if get_origin(inner) is list:
        count = 0 if depth > DEEP else random.randrange(3)
        items = [made_from(get_args(inner)[0], random, depth + 1) for _ in range(count)]
        if any(isinstance(mark, OncePerKind) for mark in marks):
            items = list({item["kind"]: item for item in items}.values())
        return items
    if get_origin(inner) is dict:
        count = 0 if depth > DEEP else random.randrange(3)
        return {
            random.choice(WORDS): made_from(get_args(inner)[1], random, depth + 1)
            for _ in range(count)
        }
    return made_plain(inner, marks, random)


def made_object(shape, random, depth):
    optional_share = 0.5 if depth < DEEP else 0.0
    return {
        key: made_from(annotation, random, depth + 1)
        for key, annotation in fields_of(shape).items()
        if key in shape.__required_keys__ or random.random() < optional_share
    }


def made_plain(annotation, marks, random):
    least = next((mark.least for mark in marks if isinstance(mark, Minimum)), -5)
    if annotation is Any:
        return copy.deepcopy(random.choice(STRAYS))
    if annotation is str:
        return random.choice(WORDS)
    if annotation is int:
        return random.choice([least, least + 7, float(least + 2), 2**40])
    if annotation is float:
        return random.choice([least, 0, 1.5, -0.25, 2**60])
    if annotation is bool:
        return random.random() < 0.5
    assert annotation in (None, type(None)), annotation
    return None


def places(value, path=()):
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in inside:
        if isinstance(item, (dict, list)):
            yield from places(item, (*path, key))


def broken(value, random):
    """`value` with one thing changed somewhere: dropped, added, or of another type."""
    value = copy.deepcopy(value)
    if not isinstance(value, (dict, list)):
        return copy.deepcopy(random.choice(STRAYS))
    place = value
    for key in random.choice(list(places(value))):
        place = place[key]
    keys = list(place) if isinstance(place, dict) else list(range(len(place)))
    change = random.choice(["drop", "add", "replace", "replace"])
    if change == "drop" and keys:
        del place[random.choice(keys)]
    elif change == "replace" and keys:
        place[random.choice(keys)] = copy.deepcopy(random.choice(STRAYS))
    elif isinstance(place, dict):
        place[random.choice(["undeclared", "type", "kind", "_meta"])] = random.choice(STRAYS)
    else:
        place.append(copy.deepcopy(random.choice(STRAYS)))
    return value


def passes(checker, value, declared):
    try:
        checker(value, declared)
    except ShapeError:
        return False
    return True


@settings(max_examples=200, deadline=None)
@given(st.sampled_from(SHAPES), SEEDS)
def test_what_fits_a_declaration_passes_both(named, seed):
    name, declared = named
    random = Random(seed)
    value = made_from(declared, random)
    check_strict(value, declared)
    check(value, declared)
    assert validator(name).is_valid(value)


@settings(max_examples=500, deadline=None)
@given(st.sampled_from(SHAPES), SEEDS, st.integers(1, 2))
def test_both_say_the_same_of_a_broken_value(named, seed, times):
    name, declared = named
    random = Random(seed)
    value = made_from(declared, random)
    for _ in range(times):
        value = broken(value, random)
    strictly = passes(check_strict, value, declared)
    assert strictly is validator(name).is_valid(value)
    if strictly:
        assert passes(check, value, declared), (
            "a strict check let through what a lenient one does not"
        )


@settings(max_examples=200, deadline=None)
@given(
    st.sampled_from(SHAPES),
    st.recursive(
        st.sampled_from([None, True, 1, 1.5, "a", "kind"]),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "kind", "id", "state", "x"]), inner, max_size=3
            )
        ),
        max_leaves=8,
    ),
)
def test_any_json_at_all_is_answered_with_a_word_or_passes(named, value):
    name, declared = named
    passes(check, value, declared)
    assert passes(check_strict, value, declared) is validator(name).is_valid(value)


def test_the_whole_document_is_a_schema():
    jsonschema.Draft202012Validator.check_schema(document())
