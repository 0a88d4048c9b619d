"""A JSON Schema as a setting that clients of the protocol draw (ConfigPropertySchema).

The protocol wants a type and a title of every property, at any depth, knows no `integer`, and has
no place for a bare `true`. What a schema leaves open is filled in here; a property nobody can name
a type for is left out, and its value is shown by whoever draws no form.
"""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.schemas.documents import Unknown, parts, plain

_TYPES: Final = ("string", "number", "boolean", "array", "object")
#: What is made anew here, and what a form of one value says nothing with.
_MADE: Final = frozenset(
    {
        "type", "title", "description", "enum", "enumLabels", "enumDescriptions", "readOnly",
        "items", "minItems", "maxItems", "properties", "required", "additionalProperties",
        "$ref", "$dynamicRef", "$recursiveRef", "$defs", "definitions", "$schema", "$id", "allOf",
    }
)  # fmt: skip
#: A schema that holds itself is drawn so deep and no deeper.
_DEEPEST: Final = 8


def form_of(schema: Mapping[str, Any], title: str) -> dict[str, Any] | None:
    """`schema`, a document of its own, as a property called `title`; None for no known type."""
    return _form(schema, schema, title, 0)


def _form(document: Any, schema: Any, title: str, depth: int) -> dict[str, Any] | None:
    try:
        said = parts(document, schema, alternatives=False)
    except Unknown:
        return None
    merged: dict[str, Any] = {}
    for part in said:
        merged = {**part, **merged}
    kind = _kind(merged)
    if kind is None or depth > _DEEPEST:
        return None
    form: dict[str, Any] = {"type": kind, "title": _text(merged.get("title")) or title}
    form |= {key: plain(value) for key, value in merged.items() if key not in _MADE}
    if description := _text(merged.get("description")):
        form["description"] = description
    if isinstance(merged.get("readOnly"), bool):
        form["readOnly"] = merged["readOnly"]
    form |= _choices(merged)
    if kind == "array":
        form |= _list(document, merged, depth)
    if kind == "object":
        form |= _object(document, said, depth)
    return form


def _kind(merged: Mapping[str, Any]) -> str | None:
    said = merged.get("type")
    for each in said if isinstance(said, list | tuple) else [said]:
        if each == "integer":
            return "number"
        if each in _TYPES:
            return str(each)
    if said is not None:
        return None
    if "properties" in merged or "additionalProperties" in merged:
        return "object"
    if "items" in merged or "prefixItems" in merged:
        return "array"
    choices = merged.get("enum")
    first = choices[0] if isinstance(choices, list) and choices else merged.get("const")
    if isinstance(first, bool):
        return "boolean"
    if isinstance(first, int | float):
        return "number"
    return "string" if isinstance(first, str) else None


def _choices(merged: Mapping[str, Any]) -> dict[str, Any]:
    choices = merged.get("enum")
    if not isinstance(choices, list | tuple) or not all(
        each is None or isinstance(each, str | int | float) for each in choices
    ):
        return {}
    found: dict[str, Any] = {"enum": list(choices)}
    for key in ("enumLabels", "enumDescriptions"):
        words = merged.get(key)
        if isinstance(words, list | tuple) and all(isinstance(each, str) for each in words):
            found[key] = list(words)
    return found


def _list(document: Any, merged: Mapping[str, Any], depth: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if isinstance(merged.get("items"), Mapping):
        item = _form(document, merged["items"], "Item", depth + 1)
        found |= {} if item is None else {"items": item}
    for key in ("minItems", "maxItems"):
        if type(merged.get(key)) is int and merged[key] >= 0:
            found[key] = merged[key]
    return found


def _object(document: Any, said: list[Mapping[str, Any]], depth: int) -> dict[str, Any]:
    properties: dict[str, Any] = {}
    required: dict[str, None] = {}
    found: dict[str, Any] = {}
    for part in said:
        declared = part.get("properties")
        for key, schema in declared.items() if isinstance(declared, Mapping) else ():
            form = None if key in properties else _form(document, schema, key, depth + 1)
            if form is not None:
                properties[key] = form
        needed = part.get("required")
        if isinstance(needed, list | tuple):
            required |= dict.fromkeys(key for key in needed if isinstance(key, str))
        other = part.get("additionalProperties")
        if isinstance(other, Mapping) and "additionalProperties" not in found:
            form = _form(document, other, "Value", depth + 1)
            found |= {} if form is None else {"additionalProperties": form}
    if properties:
        found["properties"] = properties
    if required:
        found["required"] = list(required)
    return found


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value.strip() else None
