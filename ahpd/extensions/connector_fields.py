"""Which connectors a value names: the fields its schema marks `x-ahpd-connector`.

Source: PLUGINS.txt, "Marking a field", "Connector choices".
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from ahpd.extensions.completions import adapter_of
from ahpd.protocol import State
from ahpd.schemas.documents import Unknown, of_item, of_key, parts


@attrs.frozen
class Named:
    """A field that names a connector of an adapter."""

    at: str
    """Where it stands: `params.input.connector`."""
    adapter: str
    value: Any


def connectors_named(schema: Mapping[str, Any], value: Any, at: str) -> Iterator[Named]:
    """Every field of `value` that names a connector; one that is absent or empty names none."""
    return _named(schema, [schema], value, at)


def _named(document: Any, schemas: Sequence[Any], value: Any, at: str) -> Iterator[Named]:
    found: list[Mapping[str, Any]] = []
    for schema in schemas:
        try:
            found += parts(document, schema)
        except Unknown:  # nobody can say what it is, so it is no connector's field either
            continue
    if not found or value is None or value == "":
        return
    for adapter in dict.fromkeys(filter(None, map(adapter_of, found))):
        if isinstance(value, list | tuple):  # a list that is marked itself names several
            yield from (Named(f"{at}[{i}]", adapter, one) for i, one in enumerate(value))
        else:
            yield Named(at, adapter, value)
    if isinstance(value, Mapping):
        for key, held in value.items():
            inner = [one for part in found for one in of_key(part, str(key))]
            yield from _named(document, inner, held, f"{at}.{key}")
    elif isinstance(value, list | tuple):
        for index, held in enumerate(value):
            inner = [one for part in found for one in of_item(part, index)]
            yield from _named(document, inner, held, f"{at}[{index}]")


def not_of_the_host(
    schema: Mapping[str, Any], value: Any, at: str, connectors: Sequence[State]
) -> str | None:
    """The first field that names no connector of the host's own, in words; None for none.

    `connectors` are the rows there are (`id`, `adapter`, `owner`).
    """
    for named in connectors_named(schema, value, at):
        held = [
            row
            for row in connectors
            if row["id"] == named.value and row.get("adapter") == named.adapter
        ]
        if not held or held[0].get("owner") != "host":
            # Whether it is somebody else's is not said: nobody learns of it by guessing.
            return f"{named.at} names no connector of {named.adapter} that is the host's own"
    return None
