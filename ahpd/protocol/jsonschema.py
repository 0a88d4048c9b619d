"""The declared shapes as JSON Schema (draft 2020-12), every object closed but for open maps.

It says what `check.check_strict` says, in the language other programs read.
"""

from collections.abc import Sequence
from types import NoneType
from typing import Any, Final, get_args, get_origin

from ahpd.protocol.actions import ACTIONS
from ahpd.protocol.shapes import every_shape
from ahpd.protocol.shapes.notation import OPEN, Minimum, OncePerKind, has_open_keys
from ahpd.protocol.shapes.reading import (
    by_tag,
    discriminator,
    fields_of,
    is_literal,
    is_object,
    is_union,
    members_of,
    split_annotated,
)

DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

#: Says of an enumeration, or of a union told apart by a kind, that it may grow.
NONEXHAUSTIVE: Final = "x-nonexhaustive"

JsonSchema = dict[str, Any]

_PLAIN: Final[dict[Any, JsonSchema]] = {
    Any: {},
    str: {"type": "string"},
    float: {"type": "number"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    NoneType: {"type": "null"},
    None: {"type": "null"},
}


def document() -> JsonSchema:
    """One schema with every declared shape in `$defs`, under the names they are declared by.

    `StateAction` is spelled out: any of the actions this host knows.
    """
    defs: dict[str, JsonSchema] = {}
    for name, shape in sorted(every_shape().items()):
        defs[name] = _object(shape, defs) if is_object(shape) else _schema(shape, defs)
    defs["StateAction"] = {"anyOf": [_schema(spec.shape, defs) for spec in ACTIONS.values()]}
    return {"$schema": DIALECT, "$defs": defs}


def schema_of(shape: Any) -> JsonSchema:
    """A schema of one shape that holds all it refers to."""
    defs: dict[str, JsonSchema] = {}
    schema = _schema(shape, defs)
    return {"$schema": DIALECT, **schema, "$defs": defs}


def _schema(annotation: Any, defs: dict[str, JsonSchema]) -> JsonSchema:
    """The schema of an annotation; the objects it refers to are added to `defs`."""
    if is_object(annotation):
        return _reference(annotation, defs)
    if is_union(annotation):
        return _union(annotation, defs)
    if is_literal(annotation):
        return _literal(get_args(annotation))
    inner, marks = split_annotated(annotation)
    if marks:
        return _marked(annotation, inner, marks, defs)
    if annotation in _PLAIN:
        return dict(_PLAIN[annotation])
    arguments = get_args(annotation)
    if get_origin(annotation) is list:
        return {"type": "array", "items": _schema(arguments[0], defs)}
    if get_origin(annotation) is dict and arguments[0] is str:
        values = _schema(arguments[1], defs)
        return {"type": "object", "additionalProperties": values or True}
    raise TypeError(f"{annotation!r} declares no JSON value")


def _reference(shape: type, defs: dict[str, JsonSchema]) -> JsonSchema:
    name = shape.__name__
    if name not in defs:
        defs[name] = {}  # a shape that holds itself finds its name taken
        defs[name] = _object(shape, defs)
    return {"$ref": f"#/$defs/{name}"}


def _object(shape: Any, defs: dict[str, JsonSchema]) -> JsonSchema:
    fields = fields_of(shape)
    schema: JsonSchema = {
        "type": "object",
        "properties": {key: _schema(value, defs) for key, value in fields.items()},
        "additionalProperties": has_open_keys(shape),
    }
    required = [key for key in fields if key in shape.__required_keys__]
    if required:
        schema["required"] = required
    return schema


def _union(annotation: Any, defs: dict[str, JsonSchema]) -> JsonSchema:
    members, is_open = members_of(annotation)
    schema: JsonSchema = {"anyOf": [_schema(member, defs) for member in members]}
    if len(members) == 1:
        schema = schema["anyOf"][0]
    return {**schema, NONEXHAUSTIVE: True} if is_open else schema


def _literal(values: Sequence[Any]) -> JsonSchema:
    return {"const": values[0]} if len(values) == 1 else {"enum": list(values)}


def _marked(
    annotation: Any, inner: Any, marks: Sequence[Any], defs: dict[str, JsonSchema]
) -> JsonSchema:
    if OPEN in marks:
        if is_literal(inner):
            return {"enum": list(get_args(inner)), NONEXHAUSTIVE: True}
        return _union(annotation, defs)
    schema = _schema(inner, defs)
    for mark in marks:
        if isinstance(mark, Minimum):
            schema["minimum"] = mark.least
        elif isinstance(mark, OncePerKind):
            schema["allOf"] = [_at_most_one(kind) for kind in _kinds(inner)]
    return schema


def _kinds(list_of_kinds: Any) -> list[Any]:
    shapes, _ = members_of(get_args(list_of_kinds)[0])
    key = discriminator(shapes)
    if key != "kind":
        raise TypeError(f"{list_of_kinds!r} holds nothing that a kind tells apart")
    return [kind for kind, _ in by_tag(shapes, key)]


def _at_most_one(kind: Any) -> JsonSchema:
    return {
        "contains": {
            "type": "object",
            "properties": {"kind": {"const": kind}},
            "required": ["kind"],
        },
        "minContains": 0,
        "maxContains": 1,
    }
