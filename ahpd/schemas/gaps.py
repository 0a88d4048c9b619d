"""What of a schema names no value, so that a client would draw an empty form.

A gap is an object with neither `properties` nor a schema for its `additionalProperties`, a list
without `items`, and a field that says none of `type`, `enum`, `const`, `oneOf` and `anyOf`. The
bare `{}` is none: it names every JSON value. Source: PLUGINS.txt, "Naming every value".
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ahpd.schemas.documents import Unknown, target

_NAMES_A_VALUE: Final = ("type", "enum", "const", "oneOf", "anyOf")
_OTHERS: Final = "additionalProperties"
_KEYS: Final = ("properties", _OTHERS)
_ITEMS: Final = ("items",)
#: The keywords that hold the schemas `_inner` answers.
_HOLDERS: Final = frozenset(
    {
        "properties", "additionalProperties", "patternProperties", "items", "prefixItems",
        "oneOf", "anyOf", "allOf", "$defs", "definitions",
    }
)  # fmt: skip
#: What a value may be that holds no other.
_HOLDS_NONE: Final = frozenset({"string", "number", "integer", "boolean", "null"})
#: Those of them that most schemas do without.
_RARE: Final = _HOLDERS - {*_KEYS}
#: What an object and a list of the common kind hold no schemas in.
_ONLY_FIELDS: Final = _HOLDERS - {"properties"} | {"$ref"}
_ONLY_ITEMS: Final = _HOLDERS - {"items"} | {"$ref"}
_MOST_GAPS: Final = 100
_MOST_READ: Final = 10_000
_DEEPEST: Final = 64
#: So many schemas of the common kind are looked through at once.
_FEW: Final = 1000

NO_PROPERTIES: Final = "object with no properties"
NO_ITEMS: Final = "array with no items"
NO_TYPE: Final = "field with no type"


def gaps(schema: Any) -> list[str]:
    """Each gap by its path, in the schema's order: `env: object with no properties`.

    An item of a list is `args[]`, any other key of an object `env.*`, an alternative
    `kind.oneOf[1]`; the schema itself has no path. A schema that holds itself is read once; of
    more than 100 gaps the rest is one line.
    """
    if _names_all(schema):
        return []
    found = _Walk(schema).gaps
    if len(found) > _MOST_GAPS:
        return [*found[:_MOST_GAPS], "more gaps than are listed"]
    return found


def _names_all(document: Any) -> bool:
    """Whether a schema is of the common kind, objects and lists of values whose types it says, and
    leaves nothing open; False is no answer."""
    waiting = [document]
    for _ in range(_FEW):
        if not waiting:
            return True
        schema = waiting.pop()
        kind = schema.get("type") if type(schema) is dict else None
        if type(kind) is not str:
            return False
        if kind == "object":
            fields = schema.get("properties")
            if type(fields) is not dict or not _ONLY_FIELDS.isdisjoint(schema):
                return False
            waiting += fields.values()
        elif kind == "array":
            if not _ONLY_ITEMS.isdisjoint(schema):
                return False
            waiting.append(schema.get("items"))
        elif kind not in _HOLDS_NONE or not _HOLDERS.isdisjoint(schema):
            return False
    return False


class _Walk:
    """One reading of a document."""

    def __init__(self, document: Any) -> None:
        self.gaps: list[str] = []
        self._document = document
        self._open: set[int] = set()
        self._left = _MOST_READ
        self._visit(document, "", None)

    def _visit(self, schema: Any, path: str, said: tuple[bool, bool] | None) -> None:
        """Read one schema. One for a value of its own has `said` None; one that says more of
        another's value is told whether that names the keys, and the items, of it already."""
        if not isinstance(schema, Mapping) or not schema or id(schema) in self._open:
            return
        if len(self._open) >= _DEEPEST or self._left <= 0 or len(self.gaps) > _MOST_GAPS:
            return
        self._left -= 1
        holds = not _HOLDERS.isdisjoint(schema)
        kind = schema.get("type")
        if not holds and isinstance(kind, str) and kind in _HOLDS_NONE:  # most schemas are so
            return
        self._open.add(id(schema))
        gap = self._gap(schema, said)
        if gap is not None:
            self.gaps.append(f"{path}: {gap}" if path else gap)
        if not holds:
            self._open.discard(id(schema))
            return
        keys, items = said or (False, False)
        here = (keys or self._names(schema, _KEYS), items or self._names(schema, _ITEMS))
        for at, inner, is_field in _inner(schema):
            joined = f"{path}{at}" if at.startswith("[") else f"{path}.{at}".lstrip(".")
            self._visit(inner, joined, None if is_field else here)
        self._open.discard(id(schema))

    def _gap(self, schema: Mapping[str, Any], said: tuple[bool, bool] | None) -> str | None:
        if self._refers(schema):
            return None
        keys, items = said or (False, False)
        kinds = schema.get("type")
        kinds = [kinds] if isinstance(kinds, str) else kinds if isinstance(kinds, list) else []
        # Where there are alternatives, those that do not name it are gaps of their own.
        left_to_them = "oneOf" in schema or "anyOf" in schema
        if "object" in kinds and not (keys or left_to_them or self._names(schema, _KEYS)):
            return NO_PROPERTIES
        if "array" in kinds and not (items or left_to_them or self._names(schema, _ITEMS)):
            return NO_ITEMS
        if said is None and not self._names(schema, _NAMES_A_VALUE):
            return NO_TYPE
        return None

    def _names(self, schema: Any, keywords: tuple[str, ...]) -> bool:
        """Whether a schema, or one of those it is made of, says any of `keywords`."""
        if not isinstance(schema, Mapping):
            return False
        if keywords is _KEYS:
            said = "properties" in schema or isinstance(schema.get(_OTHERS), Mapping)
        else:
            said = any(word in schema for word in keywords)
        parts = schema.get("allOf")
        return said or any(
            isinstance(part, Mapping)
            and "allOf" not in part
            and (self._refers(part) or self._names(part, keywords))
            for part in (parts if isinstance(parts, list) else ())
        )

    def _refers(self, schema: Mapping[str, Any]) -> bool:
        """Whether it refers to another schema of the document, which is read at its own place."""
        if "$ref" not in schema:
            return False
        try:
            return isinstance(target(self._document, schema["$ref"]), Mapping | bool)
        except Unknown:
            return False


def _inner(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    """`(step, schema, whether it stands for a value of its own)` of each schema in one."""
    for name, inner in _mapping(schema, "properties"):
        yield str(name), inner, True
    if isinstance(schema.get("additionalProperties"), Mapping):
        yield "*", schema["additionalProperties"], True
    if _RARE.isdisjoint(schema):
        return
    for pattern, inner in _mapping(schema, "patternProperties"):
        yield f"/{pattern}/", inner, True
    for keyword in ("items", "prefixItems"):
        items = schema.get(keyword)
        if isinstance(items, Mapping):
            yield "[]", items, True
        for index, inner in enumerate(items if isinstance(items, list) else ()):
            yield f"[{index}]", inner, True
    for keyword in ("oneOf", "anyOf", "allOf"):
        listed = schema.get(keyword)
        for index, inner in enumerate(listed if isinstance(listed, list) else ()):
            yield f"{keyword}[{index}]", inner, False
    for keyword in ("$defs", "definitions"):
        for name, inner in _mapping(schema, keyword):
            yield f"{keyword}.{name}", inner, True


def _mapping(schema: Mapping[str, Any], keyword: str) -> list[tuple[Any, Any]]:
    found = schema.get(keyword)
    return list(found.items()) if isinstance(found, Mapping) else []
