"""An engine's defaults laid under the config of a record, and what of them does not go along.

What is given beside one endpoint is for that endpoint: where a record names another, neither a
key nor what may hold one or says where one is (a reference, a header, a variable) is laid under
it, whoever owns the record. A schema says which fields belong together,

    "apiKey": {"type": "string", "secret": true, "x-ahpd-goes-with": "baseUrl"}

and one that says nothing is read by the names of its fields, which errs towards leaving out.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from ahpd.config.redaction import is_reference, leads_to_secret
from ahpd.schemas.marks import Node, node_of

#: The field (or the fields, in a list) beside it that a field is given for; an empty list says
#: that it is for none.
GOES_WITH: Final = "x-ahpd-goes-with"
#: Fields that say where something is sent.
_ENDPOINT: Final = re.compile(
    r"(url|uri|endpoint|host|hostname|server|origin|address|gateway)$"
    r"|(^|_)port$|(?-i:Port)$",
    re.IGNORECASE,
)


def laid_under(
    schema: Mapping[str, Any], under: Mapping[str, Any], over: Mapping[str, Any]
) -> dict[str, Any]:
    """`over` with what `under` alone says; mappings that both have are laid over each other.

    `schema` is the engine's; a field of `under` that goes with an endpoint which `over` changes
    is left out.
    """
    return _laid(node_of(schema), under, over)


def _laid(node: Node, under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(_going_along(node, under, over))
    for key, value in over.items():
        held = merged.get(key)
        if _is_object(held) and _is_object(value):
            assert isinstance(held, Mapping), "an object is one"
            merged[key] = _laid(node.key(str(key)), held, value)
        else:
            merged[key] = value
    return merged


def _going_along(
    node: Node, under: Mapping[str, Any], over: Mapping[str, Any]
) -> Iterator[tuple[str, Any]]:
    """The fields of `under` that go with the endpoints of `over`."""
    named = {each for key in under for each in _goes_with(node.key(str(key))) or ()}
    moved = {key for key in over if _is_moved(key, under.get(key), over[key], named)}
    for key, value in under.items():
        inner = node.key(str(key))
        given_for = _goes_with(inner)
        if given_for is not None:
            if moved.isdisjoint(given_for):
                yield key, value
        elif not moved or key in moved:
            yield key, value
        elif not _is_credential(inner, str(key), value):
            yield key, _without_credentials(inner, value)


def _goes_with(node: Node) -> set[str] | None:
    """The fields a field is given for; None where its schema does not say."""
    found: set[str] | None = None
    for said in node.values(GOES_WITH):
        names = (said,) if isinstance(said, str) else said
        if isinstance(names, list | tuple):
            found = (found or set()) | {str(name) for name in names}
    return found


def _is_moved(key: str, before: Any, now: Any, named: Collection[str]) -> bool:
    """Whether a field says where something is sent, and says another place than before."""
    if key not in named and not _ENDPOINT.search(str(key)):
        return False
    if _is_object(now):
        inside = before if _is_object(before) else {}
        return any(now[each] != inside.get(each) for each in now if _ENDPOINT.search(str(each)))
    return bool(now != before)


def _has_endpoint(value: Mapping[str, Any]) -> bool:
    return any(_ENDPOINT.search(str(key)) for key in value)


def _is_credential(node: Node, name: str, value: Any) -> bool:
    return node.marked or leads_to_secret(name) or is_reference(value)


def _without_credentials(node: Node, value: Any) -> Any:
    """A value that stands beside an endpoint; what has an endpoint of its own keeps all it has."""
    if _is_object(value):
        if _has_endpoint(value):
            return value
        inside = {key: node.key(str(key)) for key in value}
        return {
            key: _without_credentials(inside[key], held)
            for key, held in value.items()
            if not _is_credential(inside[key], str(key), held)
        }
    if isinstance(value, list | tuple):
        return [
            _without_credentials(node.item(index), item)
            for index, item in enumerate(value)
            if not _is_credential(node.item(index), "", item)
        ]
    return value


def _is_object(value: Any) -> bool:
    return isinstance(value, Mapping) and not is_reference(value)
