"""What the declarations of shapes are written in, beside the words `typing` has.

A shape is a `TypedDict`, or a union, literal, list, map or plain JSON type. These
add what JSON needs said and Python's annotations have no word for. `check.py` and
`jsonschema.py` read them; a type checker sees through them.
"""

from typing import Annotated, Any, Final, TypeVar

import attrs

_T = TypeVar("_T")
_Shape = TypeVar("_Shape", bound=type)

#: Any JSON object: a declared open map.
JsonObject = dict[str, Any]
#: A `_meta` bag: whatever its writer and its reader agreed on.
Meta = dict[str, Any]


@attrs.frozen
class OpenMarker:
    """Marks an enumeration, or a union told apart by a kind, that may grow.

    A lenient check passes a value or a kind it does not know; a strict one, which
    is for what this host says itself, refuses it.
    """


@attrs.frozen
class Minimum:
    """The least a number may be."""

    least: int


@attrs.frozen
class OncePerKind:
    """A list that holds at most one member of each `kind`."""


OPEN: Final = OpenMarker()
Open = Annotated[_T, OPEN]

_OPEN_KEYS: Final = "__open_keys__"


def open_keys(shape: _Shape) -> _Shape:
    """Mark an object whose undeclared keys are part of it, as in a JSON Schema."""
    setattr(shape, _OPEN_KEYS, True)
    return shape


def has_open_keys(shape: type) -> bool:
    """Whether undeclared keys are part of this shape even where it is checked strictly."""
    return _OPEN_KEYS in shape.__dict__
