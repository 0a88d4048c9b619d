"""The closures that checking is made of: None for a value that fits, a `Problem` if not.

`check.py` puts them together as a shape declares. Each of them takes any value at all
and never raises (but for nesting deeper than the interpreter follows).
"""

import math
from collections.abc import Callable, Mapping, Sequence
from types import NoneType
from typing import Any, Final

from ahpd.protocol.text import GrowingText

_SHOWN: Final = 60


class Problem:
    """What one closure found wrong. The closures around it add their step to the path."""

    __slots__ = ("expected", "found", "steps")

    def __init__(self, expected: str, found: str, *steps: str | int) -> None:
        self.expected = expected
        self.found = found
        self.steps = list(steps)


Validator = Callable[[Any], Problem | None]


def quoted(text: str) -> str:
    """A string as an error shows it: quoted, its escapes spelled out, and never long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "…")


def described(value: Any) -> str:
    """What a JSON value is, in words that do not repeat it."""
    if value is None:
        return "null"
    for kinds, words in _WORDS:
        if isinstance(value, kinds):
            return words
    return f"a {type(value).__name__}"


_WORDS: Final[Sequence[tuple[Any, str]]] = (
    (bool, "a boolean"),
    ((int, float), "a number"),
    ((str, GrowingText), "a string"),
    (Mapping, "an object"),
    ((list, tuple), "a list"),
)


def _anything(_value: Any) -> None:
    return None


def _string(value: Any) -> Problem | None:
    if type(value) is str or isinstance(value, (str, GrowingText)):
        return None
    return Problem("a string", described(value))


def _number(value: Any) -> Problem | None:
    if type(value) is int or (
        isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    ):
        return None
    return Problem("a number", _number_found(value))


def _integer(value: Any) -> Problem | None:
    if type(value) is int or (isinstance(value, int) and not isinstance(value, bool)):
        return None
    if isinstance(value, float) and value.is_integer():
        return None
    return Problem("a whole number", _number_found(value))


def _number_found(value: Any) -> str:
    return repr(value) if isinstance(value, float) else described(value)


def _boolean(value: Any) -> Problem | None:
    return None if value is True or value is False else Problem("true or false", described(value))


def _null(value: Any) -> Problem | None:
    return None if value is None else Problem("null", described(value))


def _map_of_anything(value: Any) -> Problem | None:
    if type(value) is dict or isinstance(value, Mapping):
        return None
    return Problem("an object", described(value))


PLAIN: Final[Mapping[Any, Validator]] = {
    Any: _anything,
    str: _string,
    float: _number,
    int: _integer,
    bool: _boolean,
    None: _null,
    NoneType: _null,
    dict[str, Any]: _map_of_anything,
}


def one_of(values: Sequence[Any]) -> Validator:
    """One of a few words, numbers or truth values; 1 is not true."""
    allowed = frozenset(values)
    kinds = frozenset(type(value) for value in values)
    expected = _choices(values)

    def check_literal(value: Any) -> Problem | None:
        if type(value) in kinds and value in allowed:
            return None
        return Problem(expected, _tag_found(value))

    return check_literal


def _choices(values: Sequence[Any]) -> str:
    words = [str(value).lower() if isinstance(value, bool) else repr(value) for value in values]
    return words[0] if len(words) == 1 else f"one of {', '.join(words)}"


def _tag_found(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else described(value)


def at_least(inner: Validator, least: int) -> Validator:
    """A number that `inner` takes and that is no less than `least`."""

    def check_minimum(value: Any) -> Problem | None:
        problem = inner(value)
        if problem is None and value < least:
            return Problem(f"at least {least}", repr(value))
        return problem

    return check_minimum


def once_per_kind(inner: Validator) -> Validator:
    """A list that `inner` takes, in which no `kind` comes twice."""

    def check_kinds(value: Any) -> Problem | None:
        problem = inner(value)
        if problem is not None:
            return problem
        seen: set[Any] = set()
        for index, item in enumerate(value):
            kind = item["kind"]
            if kind in seen:
                return Problem(f"one {kind!r} at most", "another", index)
            seen.add(kind)
        return None

    return check_kinds


def list_of(item: Validator) -> Validator:
    """A list whose every member `item` takes."""

    def check_list(value: Any) -> Problem | None:
        if type(value) is not list and not isinstance(value, (list, tuple)):
            return Problem("a list", described(value))
        for index, member in enumerate(value):
            problem = item(member)
            if problem is not None:
                problem.steps.append(index)
                return problem
        return None

    return check_list


def map_of(item: Validator) -> Validator:
    """An object with any keys, whose every value `item` takes."""

    def check_map(value: Any) -> Problem | None:
        if type(value) is not dict and not isinstance(value, Mapping):
            return Problem("an object", described(value))
        for key, member in value.items():
            problem = item(member)
            if problem is not None:
                problem.steps.append(key)
                return problem
        return None

    return check_map


def first_that_fits(alternatives: Sequence[Validator]) -> Validator:
    """What any of the alternatives takes, where nothing tells them apart beforehand."""

    def check_alternatives(value: Any) -> Problem | None:
        nearest: Problem | None = None
        for alternative in alternatives:
            problem = alternative(value)
            if problem is None:
                return None
            # The one that got furthest in is the one the value was most likely meant as.
            if nearest is None or len(problem.steps) > len(nearest.steps):
                nearest = problem
        return nearest

    return check_alternatives


def told_apart_by(key: str, members: Mapping[Any, Validator], may_grow: bool) -> Validator:
    """An object that the value of `key` says the shape of.

    With `may_grow` a value that none of them has passes with all that is beside it.
    """
    (kind,) = {type(tag) for tag in members}
    expected = _choices(list(members))

    def check_tagged(value: Any) -> Problem | None:
        if type(value) is not dict and not isinstance(value, Mapping):
            return Problem("an object", described(value))
        tag = value.get(key)
        if type(tag) is kind:
            member = members.get(tag)
            if member is not None:
                return member(value)
            if may_grow:
                return None
        return Problem(expected, _tag_found(tag) if key in value else "nothing", key)

    return check_tagged


def by_json_type(members: Mapping[type, Validator]) -> Validator:
    """A value whose JSON type says what it is checked with."""
    expected = " or ".join(_NOUNS[kind] for kind in members if kind is not float)

    def check_type(value: Any) -> Problem | None:
        member = members.get(type(value))
        if member is None:
            kind = next((kind for kinds, kind in _LIKE if isinstance(value, kinds)), None)
            member = None if kind is None else members.get(kind)
            if member is None:
                return Problem(expected, described(value))
        return member(value)

    return check_type


_NOUNS: Final[Mapping[type, str]] = {
    str: "a string",
    int: "a number",
    bool: "true or false",
    NoneType: "null",
    dict: "an object",
    list: "a list",
}
#: What counts as one of the JSON types without being that very class.
_LIKE: Final[Sequence[tuple[Any, type]]] = (
    (bool, bool),
    ((str, GrowingText), str),
    ((int, float), int),
    (Mapping, dict),
    (tuple, list),
)
