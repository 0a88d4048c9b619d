"""A schema as a document: what refers to what in it, and what applies to one value.

For those who read a schema without validating by it. Nothing is fetched: a reference out of
the document, or to nowhere in it, stays unknown.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final
from urllib.parse import unquote

from ahpd.schemas.expressions import OutOfTime, found_in

#: Keywords whose value is one schema for the same value, and whose value is a list of them.
_ONE: Final = ("if", "then", "else")
_SEVERAL: Final = ("allOf", "anyOf", "oneOf")
_REFERENCES: Final = ("$ref", "$dynamicRef", "$recursiveRef")
#: What a schema that applies in one part, which most do, says none of.
_MORE: Final = frozenset({*_ONE, *_SEVERAL, *_REFERENCES, "dependentSchemas", "dependencies"})
#: A schema that applies in more parts than this to one value is not read any further.
_MOST_PARTS: Final = 500


class Unknown(Exception):
    """A reference that leads to nowhere in the document, or a schema too large to read."""


def target(document: Any, reference: Any) -> Any:
    """What `reference` (`#`, `#/$defs/key`, `#anchor`) names in a document. Raises `Unknown`."""
    if not isinstance(reference, str) or not reference.startswith("#"):
        raise Unknown
    if reference == "#":
        return document
    if not reference.startswith("#/"):
        return _anchored(document, reference[1:])
    found = document
    for step in reference[2:].split("/"):
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(found, Mapping) and key in found:
            found = found[key]
        elif isinstance(found, list) and key.isdecimal() and int(key) < len(found):
            found = found[int(key)]
        else:
            raise Unknown
    return found


def parts(document: Any, schema: Any, *, alternatives: bool = True) -> list[Mapping[str, Any]]:
    """Every schema that may apply to a value `schema` is for, itself first.

    All of its alternatives are among them, because which one a value fits is not asked; without
    `alternatives` only what applies to each value is. Raises `Unknown`.
    """
    if isinstance(schema, Mapping) and _MORE.isdisjoint(schema):
        return [schema]
    found: list[Mapping[str, Any]] = []
    seen: set[int] = set()
    waiting = [schema]
    while waiting:
        part = waiting.pop(0)
        if not isinstance(part, Mapping) or id(part) in seen:
            continue
        seen.add(id(part))
        found.append(part)
        if len(found) > _MOST_PARTS:
            raise Unknown
        waiting += [target(document, part[each]) for each in _REFERENCES if each in part]
        for keyword in _SEVERAL if alternatives else ("allOf",):
            listed = part.get(keyword)
            waiting += listed if isinstance(listed, list | tuple) else []
        if not alternatives:
            continue
        waiting += [part[keyword] for keyword in _ONE if keyword in part]
        dependent = part.get("dependentSchemas", part.get("dependencies"))
        waiting += dependent.values() if isinstance(dependent, Mapping) else []
    return found


def of_key(part: Mapping[str, Any], key: str) -> Iterator[Any]:
    """What one part says of a key: its property, the patterns it fits, or else of any other."""
    properties = part.get("properties")
    patterns = part.get("patternProperties")
    found = False
    if isinstance(properties, Mapping) and key in properties:
        found = True
        yield properties[key]
    if isinstance(patterns, Mapping):
        for pattern, schema in patterns.items():
            if _fits(pattern, key):
                found = True
                yield schema
    if not found:
        yield from _said(part, "additionalProperties", "unevaluatedProperties")


def of_item(part: Mapping[str, Any], index: int) -> Iterator[Any]:
    """What one part says of an item of a list."""
    first = part.get("prefixItems")
    items = part.get("items")
    for listed in (first, items):
        if isinstance(listed, list | tuple) and index < len(listed):
            yield listed[index]
            return
    if isinstance(items, Mapping):
        yield items
    else:
        yield from _said(part, "additionalItems", "unevaluatedItems")
    yield from _said(part, "contains")


def plain(value: Any) -> Any:
    """A copy of a JSON value, of dicts and lists alone."""
    if isinstance(value, Mapping):
        return {key: plain(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return value


def _said(part: Mapping[str, Any], *keywords: str) -> Iterator[Any]:
    for keyword in keywords:
        if isinstance(part.get(keyword), Mapping):
            yield part[keyword]


def _fits(pattern: Any, key: str) -> bool:
    try:
        return found_in(pattern, key)
    except (re.error, TypeError, OutOfTime):
        # A pattern nobody can read may mean this key: what it says is not ignored.
        return True


def _anchored(document: Any, name: str) -> Any:
    waiting: list[Any] = [document]
    seen: set[int] = set()
    while waiting:
        found = waiting.pop()
        if not isinstance(found, Mapping | list | tuple) or id(found) in seen:
            continue
        seen.add(id(found))
        if isinstance(found, Mapping):
            if name in (found.get("$anchor"), found.get("$dynamicAnchor")):
                return found
            waiting += found.values()
        else:
            waiting += found
    raise Unknown
