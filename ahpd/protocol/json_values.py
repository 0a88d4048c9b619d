"""What others hand this host as JSON inside of the process, held to what JSON and UTF-8 can carry.

What comes over a wire is both already. What a plugin passes is neither until it was looked at: half
of a surrogate pair is a Python text and no UTF-8, and what cannot be encoded can be neither said
nor kept.
"""

from collections.abc import Mapping
from math import isfinite
from typing import Any, Final

from ahpd.protocol.characters import is_whole
from ahpd.protocol.check import ShapeError
from ahpd.protocol.validators import described

#: How deep a value may nest, itself counted.
DEEPEST: Final = 64
#: The longest whole number, in bits: readers bound what they make of digits.
_LONGEST_NUMBER: Final = 8192


def checked_text(value: Any, at: str) -> str:
    """`value` where it is a text that UTF-8 can carry. Raises `ShapeError`."""
    if not isinstance(value, str):
        raise ShapeError(at, described(value), "a string")
    if not is_whole(value):
        raise ShapeError(at, "half a character (a lone surrogate)", "a text")
    return value


def json_copy(value: Any, at: str, depth: int = 1) -> Any:
    """A copy of a JSON value, of dicts and lists. Raises `ShapeError` for what cannot be sent,
    naming the place in it; `at` names the value itself."""
    if type(value) is dict or isinstance(value, Mapping):
        _check_depth(at, depth)
        return {
            _key(key, at): (held if _is_plain(held) else json_copy(held, f"{at}.{key}", depth + 1))
            for key, held in value.items()
        }
    if isinstance(value, (list, tuple)):
        _check_depth(at, depth)
        return [
            held if _is_plain(held) else json_copy(held, f"{at}[{index}]", depth + 1)
            for index, held in enumerate(value)
        ]
    if isinstance(value, str):
        return checked_text(value, at)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int) and value.bit_length() <= _LONGEST_NUMBER:
        return value
    if isinstance(value, float) and isfinite(value):
        return value
    found = type(value).__name__
    if isinstance(value, int | float):
        found = str(value) if isinstance(value, float) else "a number of too many digits"
    raise ShapeError(at, found, "a JSON value")


def _check_depth(at: str, depth: int) -> None:
    if depth > DEEPEST:
        raise ShapeError(at, f"more than {DEEPEST} levels", "less nesting")


def _key(key: Any, at: str) -> str:
    return key if type(key) is str and key.isascii() else checked_text(key, f"a key of {at}")


def _is_plain(value: Any) -> bool:
    """Whether a value is its own copy beyond doubt. Most are, and nobody makes up where they are."""
    kind = type(value)
    return value.isascii() if kind is str else kind is bool or value is None


def object_copy(value: Any, at: str) -> dict[str, Any]:
    """A copy of a JSON object. Raises `ShapeError`."""
    if not isinstance(value, Mapping):
        raise ShapeError(at, described(value), "an object")
    copied: dict[str, Any] = json_copy(value, at)
    return copied


def misfit(value: Any, at: str) -> str | None:
    """What keeps a value from being sent, with its place; None where nothing does."""
    try:
        json_copy(value, at)
    except ShapeError as wrong:
        return str(wrong)
    return None
