"""The fields a schema marks, by their paths: read from the schema alone."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from ahpd.schemas.documents import Unknown, parts

_DEEPEST: Final = 16
_MOST_READ: Final = 10_000


def secret_paths(schema: Mapping[str, Any]) -> list[str]:
    """The fields a vault keeps, of an engine's or an adapter's schema: `apiKey`, `env.*`.

    An item of a list is `logins[].key`. `writeOnly` counts as `secret` there, as it was written
    before that word was.
    """
    return _paths(schema, lambda found: _any(found, "secret") or _any(found, "writeOnly"))


def write_only_paths(schema: Mapping[str, Any]) -> list[str]:
    """Those of them that say `writeOnly` alone, which a load warns of."""
    return _paths(schema, lambda found: _any(found, "writeOnly") and not _any(found, "secret"))


def _any(found: list[Mapping[str, Any]], keyword: str) -> bool:
    return any(part.get(keyword) is True for part in found)


def _paths(document: Any, wanted: Callable[[list[Mapping[str, Any]]], bool]) -> list[str]:
    left = [_MOST_READ]
    return list(dict.fromkeys(_walk(document, document, "", wanted, left, ())))


def _walk(
    document: Any,
    schema: Any,
    path: str,
    wanted: Callable[[list[Mapping[str, Any]]], bool],
    left: list[int],
    above: tuple[int, ...],
) -> Iterator[str]:
    left[0] -= 1
    if left[0] < 0 or len(above) > _DEEPEST or id(schema) in above:
        return
    try:
        found = parts(document, schema)
    except Unknown:
        return
    if wanted(found):
        yield path
        return
    for part in found:
        for step, inner in _inner(part):
            joined = f"{path}[]" if step == "[]" else f"{path}.{step}".lstrip(".")
            yield from _walk(document, inner, joined, wanted, left, (*above, id(schema)))


def _inner(part: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    properties = part.get("properties")
    if isinstance(properties, Mapping):
        for name, inner in properties.items():
            yield str(name), inner
    for keyword in ("additionalProperties", "patternProperties"):
        said = part.get(keyword)
        if isinstance(said, Mapping):
            for inner in said.values() if keyword == "patternProperties" else (said,):
                yield "*", inner
    for keyword in ("items", "prefixItems"):
        items = part.get(keyword)
        for inner in items if isinstance(items, list | tuple) else (items,):
            if isinstance(inner, Mapping):
                yield "[]", inner
