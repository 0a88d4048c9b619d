"""The secret fields of a connector's config by the names a put keeps them under: `login.token`,
`rows.0.key`.

Source: PLUGINS.txt, `x-ahpd/connectors/secret`.
"""

from collections.abc import Mapping
from typing import Any

from ahpd.protocol import State
from ahpd.schemas import fields_of, is_reference, plain, secret_paths


def is_secret_field(schema: Mapping[str, Any], config: Mapping[str, Any], path: str) -> bool:
    """Whether `path` names a secret field that `config` has, or that it may have by that name."""
    if any(field.secret and field.path == path for field in fields_of(schema, plain(config))):
        return True
    *above, last = path.split(".")
    if path not in secret_paths(schema) or "[]" in path or "*" in (*above, last):
        return False  # it names many fields, or none
    place: Any = config
    for step in above:
        if not isinstance(place, Mapping) or is_reference(place):
            return False
        place = place.get(step, {})
    return isinstance(place, Mapping) and not is_reference(place) and last not in place


def with_values(
    schema: Mapping[str, Any], config: Mapping[str, Any], values: Mapping[str, Any]
) -> State:
    """A copy of `config` with `values` in it, each by the name of a field (`is_secret_field`)."""
    made: State = plain(config)
    found = {field.path: field for field in fields_of(schema, made) if field.secret}
    for path, value in values.items():
        field = found.get(path)
        if field is not None:
            field.place[field.key] = value
            continue
        *above, last = path.split(".")
        place = made
        for step in above:
            place = place.setdefault(step, {})
        place[last] = value
    return made
