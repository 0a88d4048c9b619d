"""Regular expressions of schemas, tried for so long and no longer.

An expression is a plugin's, what it is tried on is whatever a client sent, and both meet where
everything else waits: `^(a+)+$` and forty letters would keep a host busy for years. Most are of a
form that takes no long time (`is_plain`); every other is tried by an engine that can be stopped.
"""

import re
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, Final

#: Seconds one expression may be tried on one text, and all of those of one value together.
MOST_SECONDS_EACH: Final = 0.05
MOST_SECONDS: Final = 0.25
#: Characters of a text that a plain expression is tried on by Python's own engine.
_SHORT: Final = 256
#: Characters of a text that any is tried on: what is longer fits no expression worth waiting for.
_LONGEST: Final = 100_000
#: Letters, classes and sets one after another, each perhaps repeated; nothing within anything.
_ATOM: Final = r"(?:\\[dDwWsS.\-/+*?()\[\]{}|^$\\]|\[\^?\]?[^\[\]\\]*\]|[\w\-@:/ .,~=<>#%&!;'\"])"
_PLAIN: Final = re.compile(rf"\^?(?:{_ATOM}(?:[+*?]|\{{\d{{1,3}}(?:,\d{{1,3}})?\}})?)*\$?")
#: What may be repeated more or less often, once sets and escaped signs are letters.
_LETTERS: Final = re.compile(r"\\.|\[\^?\]?[^\[\]\\]*\]")
_ENDLESS: Final = re.compile(r"[+*]")
_BOUNDED: Final = re.compile(r"\?|\{(\d+),(\d+)\}")
_MOST_TIMES: Final = 16


class OutOfTime(Exception):
    """Whether an expression is found in a text took too long to find out."""


class _Patience:
    """What is left of the seconds for one value."""

    def __init__(self) -> None:
        self._until = time.thread_time() + MOST_SECONDS

    def left(self) -> float:
        left = self._until - time.thread_time()
        if left <= 0:
            raise OutOfTime
        return min(left, MOST_SECONDS_EACH)


_PATIENCE: ContextVar[_Patience | None] = ContextVar("patience", default=None)


@contextmanager
def patience() -> Iterator[None]:
    """What is tried within is one value's, and is given up together."""
    held = _PATIENCE.set(_Patience())
    try:
        yield
    finally:
        _PATIENCE.reset(held)


@lru_cache(maxsize=1024)
def is_plain(expression: str) -> bool:
    """Whether an expression takes no long time on a text of some hundred characters.

    Each repetition that may be longer or shorter multiplies what there is to try: one without an
    end beside a short one, or three short ones, are few enough.
    """
    if len(expression) > _SHORT or _PLAIN.fullmatch(expression) is None:
        return False
    letters = _LETTERS.sub("x", expression)
    endless, bounded = len(_ENDLESS.findall(letters)), _BOUNDED.findall(letters)
    short = all(int(most or 1) <= _MOST_TIMES for _, most in bounded)
    return short and endless <= 1 and len(bounded) <= (1 if endless else 3)


def found_in(expression: str, text: str) -> bool:
    """Whether it is found in a text. Raises `OutOfTime`, and `re.error` for what is none."""
    if len(text) > _LONGEST:
        raise OutOfTime
    if len(text) <= _SHORT and is_plain(expression):
        return re.search(expression, text) is not None
    held = _PATIENCE.get()
    seconds = MOST_SECONDS_EACH if held is None else held.left()
    try:
        return _stoppable(expression).search(text, timeout=seconds) is not None
    except (TimeoutError, MemoryError):
        raise OutOfTime from None


@lru_cache(maxsize=1024)
def _stoppable(expression: str) -> Any:
    # Read by Python's own too, so that what the other has more than it means nothing here.
    re.compile(expression)
    import regex  # noqa: PLC0415 - with the first expression that needs it

    try:
        return regex.compile(expression, regex.VERSION0, cache_pattern=False)
    except regex.error as wrong:
        raise re.error(str(wrong)) from None


# -- in place of what `jsonschema` does with them ------------------------------------------------


def _pattern(validator: Any, expression: str, instance: Any, schema: Any) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415

    if validator.is_type(instance, "string") and not found_in(expression, instance):
        yield ValidationError("it does not match")


def _pattern_properties(
    validator: Any, wanted: Mapping[str, Any], instance: Any, schema: Any
) -> Iterator[Any]:
    if not validator.is_type(instance, "object"):
        return
    for expression, below in wanted.items():
        for key, value in instance.items():
            if found_in(expression, key):
                yield from validator.descend(value, below, path=key, schema_path=expression)


def _additional_properties(
    validator: Any, wanted: Any, instance: Any, schema: Mapping[str, Any]
) -> Iterator[Any]:
    from jsonschema.exceptions import ValidationError  # noqa: PLC0415

    if not validator.is_type(instance, "object"):
        return
    named, expressions = schema.get("properties", {}), schema.get("patternProperties", {})
    more = [
        key
        for key in instance
        if key not in named and not any(found_in(one, key) for one in expressions)
    ]
    if validator.is_type(wanted, "object"):
        for key in more:
            yield from validator.descend(instance[key], wanted, path=key)
    elif not wanted and more:
        yield ValidationError("it holds what is not known there")


KEYWORDS: Final[Mapping[str, Any]] = {
    "pattern": _pattern,
    "patternProperties": _pattern_properties,
    "additionalProperties": _additional_properties,
}


def unevaluated(check: Any) -> Any:
    """`unevaluatedProperties` as it is checked, which tries expressions itself: plain ones, and on
    short names alone (`are_known_plain`)."""

    def checked(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        if validator.is_type(instance, "object") and any(len(key) > _SHORT for key in instance):
            raise OutOfTime
        return check(validator, wanted, instance, schema) or ()

    return checked


def are_known_plain(document: Any) -> bool:
    """Whether a schema leaves `unevaluatedProperties` nothing to try that could take long."""
    words: set[str] = set()
    expressions: list[Any] = []
    waiting = [document]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            words.update(key for key in part if isinstance(key, str))
            said = part.get("patternProperties")
            expressions += said if isinstance(said, Mapping) else ()
            waiting += part.values()
        elif isinstance(part, list | tuple):
            waiting += part
    return "unevaluatedProperties" not in words or all(map(is_plain, expressions))
