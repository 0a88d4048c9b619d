"""Whether a value plainly fits a schema: told in a few steps, where both are of the common kind.

Most schemas are an object of fields with types, bounds and defaults, and most values fit them.
What is certain here is certain for `jsonschema` as well, which need not be imported then; of
everything else, a misfit among it, nothing is said.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from ahpd.schemas.expressions import OutOfTime, found_in, patience

#: Deeper than this nothing is plain.
_DEEPEST: Final = 16
#: The dialects whose words mean here what they say.
_DIALECTS: Final = frozenset(
    {
        "https://json-schema.org/draft/2020-12/schema",
        "http://json-schema.org/draft-07/schema",
        "http://json-schema.org/draft-07/schema#",
    }
)


def plainly_fits(schema: Any, value: Any) -> bool:
    """Whether `value` fits beyond doubt, and the schema is one; False where it is not plain."""
    if not isinstance(schema, Mapping):
        return False
    dialect = schema.get("$schema")
    if dialect is not None and dialect not in _DIALECTS:
        return False
    try:
        with patience():
            return _is_plain(schema, 0) and _is_shallow(value, 0) and _fits(schema, value, 0)
    except (re.error, OverflowError, OutOfTime):
        return False


# -- the schema ----------------------------------------------------------------------------


def _is_plain(schema: Any, depth: int) -> bool:
    """Whether it is a schema that holds nothing but what is known here, each as it must be."""
    if isinstance(schema, bool):
        return True
    if not isinstance(schema, Mapping) or depth > _DEEPEST:
        return False
    for key, value in schema.items():
        is_such = _KEYWORDS.get(key)
        if is_such is None or not is_such(value, depth + 1):
            return False
    return True


def _is_text(value: Any, _: int) -> bool:
    return isinstance(value, str)


def _is_switch(value: Any, _: int) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any, _: int) -> bool:
    return type(value) in (int, float)


def _is_count(value: Any, _: int) -> bool:
    return type(value) is int and value >= 0


def _is_any(value: Any, _: int) -> bool:
    return True


def _is_texts(value: Any, _: int) -> bool:
    texts = isinstance(value, list | tuple) and all(isinstance(item, str) for item in value)
    return texts and len(set(value)) == len(value)


def _is_expression(value: Any, _: int) -> bool:
    return isinstance(value, str) and re.compile(value) is not None


def _is_fields(value: Any, depth: int) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(key, str) and _is_plain(below, depth) for key, below in value.items()
    )


_KEYWORDS: Final[Mapping[str, Callable[[Any, int], bool]]] = {
    "$schema": _is_text,
    "$comment": _is_text,
    "title": _is_text,
    "description": _is_text,
    "default": _is_any,
    "format": _is_text,
    "readOnly": _is_switch,
    "writeOnly": _is_switch,
    "deprecated": _is_switch,
    # The marks of this host's own.
    "secret": _is_any,
    "secretAtUse": _is_any,
    "x-ahpd-goes-with": _is_any,
    "type": lambda value, _: isinstance(value, str) and value in _TYPES,
    "enum": _is_texts,
    "minimum": _is_number,
    "maximum": _is_number,
    "exclusiveMinimum": _is_number,
    "exclusiveMaximum": _is_number,
    "minLength": _is_count,
    "maxLength": _is_count,
    "pattern": _is_expression,
    "items": _is_plain,
    "minItems": _is_count,
    "maxItems": _is_count,
    "properties": _is_fields,
    "required": _is_texts,
    "additionalProperties": _is_plain,
}

#: Types, and the classes whose values are of them: a boolean is no number.
_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "integer": (int,),
    "boolean": (bool,),
    "null": (type(None),),
    "array": (list,),
    "object": (dict,),
}


# -- the value -----------------------------------------------------------------------------


def _is_shallow(value: Any, depth: int) -> bool:
    """Whether a value has an end, and that near: also where no schema looks."""
    if not isinstance(value, dict | list):
        return True
    items = value.values() if isinstance(value, dict) else value
    return depth < _DEEPEST and all(_is_shallow(item, depth + 1) for item in items)


def _fits(schema: Any, value: Any, depth: int) -> bool:
    """Whether `value` fits a schema that is plain."""
    if isinstance(schema, bool):
        return schema
    kind = type(value)
    if depth > _DEEPEST or ("type" in schema and kind not in _TYPES[schema["type"]]):
        return False
    if "enum" in schema and (kind is not str or value not in schema["enum"]):
        return False
    if kind is int or kind is float:
        return _within(schema, value)
    if kind is str:
        return _is_such_text(schema, value)
    if kind is list:
        return _is_such_list(schema, value, depth + 1)
    if kind is dict:
        return _is_such_object(schema, value, depth + 1)
    return kind is bool or value is None


def _within(schema: Mapping[str, Any], value: float) -> bool:
    return (
        ("minimum" not in schema or value >= schema["minimum"])
        and ("maximum" not in schema or value <= schema["maximum"])
        and ("exclusiveMinimum" not in schema or value > schema["exclusiveMinimum"])
        and ("exclusiveMaximum" not in schema or value < schema["exclusiveMaximum"])
    )


def _is_such_text(schema: Mapping[str, Any], value: str) -> bool:
    return (
        len(value) >= schema.get("minLength", 0)
        and ("maxLength" not in schema or len(value) <= schema["maxLength"])
        and ("pattern" not in schema or found_in(schema["pattern"], value))
    )


def _is_such_list(schema: Mapping[str, Any], value: list[Any], depth: int) -> bool:
    items = schema.get("items", True)
    return (
        len(value) >= schema.get("minItems", 0)
        and ("maxItems" not in schema or len(value) <= schema["maxItems"])
        and all(_fits(items, item, depth) for item in value)
    )


def _is_such_object(schema: Mapping[str, Any], value: dict[str, Any], depth: int) -> bool:
    fields, others = schema.get("properties", {}), schema.get("additionalProperties", True)
    return all(key in value for key in schema.get("required", ())) and all(
        isinstance(key, str) and _fits(fields.get(key, others), item, depth)
        for key, item in value.items()
    )
