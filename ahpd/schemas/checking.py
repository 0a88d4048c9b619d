"""A JSON value against a JSON Schema, in words that name the place and never quote a value.

Source: PLUGINS.txt, "Declaring the options".
"""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.schemas.documents import Unknown, of_key, parts
from ahpd.schemas.failures import BrokenSchema, Misfit
from ahpd.schemas.plainly import plainly_fits
from ahpd.schemas.references import is_reference
from ahpd.schemas.validators import errors_of
from ahpd.schemas.words import first, words

__all__ = ["BrokenSchema", "Misfit", "asks_nothing_of_none", "check_value", "unknown_keys"]

#: What a schema may say that an object without a field fits anyhow: many values have none, and
#: then nothing is imported to check them.
_SAYS_NOTHING_OF_NONE: Final = frozenset(
    {"$schema", "type", "title", "description", "properties", "additionalProperties"}
)


def check_value(
    schema: Mapping[str, Any], value: Any, at: str, *, references: bool = False
) -> None:
    """Hold `value` to its schema; `at` is where it stands.

    With `references` a field that holds `{"$secret": name}` or `{"fromEnv": NAME}` fits: what
    it reads as is checked once it is read. Raises `Misfit` naming the first field that does not
    fit (`<at>.command must be text`), `BrokenSchema` where the schema is none. The schema is
    not changed in place afterwards: a validator is kept for it.
    """
    if (value == {} and asks_nothing_of_none(schema)) or plainly_fits(schema, value):
        return
    # The whole of it is never a reference: it would be read as a text.
    references = references and not is_reference(value)
    found = first(errors_of(schema, value, at, references=references))
    if found is not None:
        raise Misfit(words(found, at))


def asks_nothing_of_none(schema: Any) -> bool:
    """Whether an object without a field fits, told without reading the schema's fields."""
    return (
        isinstance(schema, Mapping)
        and schema.get("type", "object") == "object"
        and schema.keys() <= _SAYS_NOTHING_OF_NONE
    )


def unknown_keys(schema: Any, value: Any) -> list[str]:
    """The keys of the object `value` that its schema does not name, in their order.

    A schema names the rest with `additionalProperties`, a schema or `true`; the bare `{}` and
    `true` name everything.
    """
    if not isinstance(value, Mapping) or not isinstance(schema, Mapping) or not schema:
        return []
    try:
        found = parts(schema, schema)
    except Unknown:
        return []
    if any(part.get("additionalProperties") is True for part in found):
        return []
    return [key for key in value if not any(_names(part, key) for part in found)]


def _names(part: Mapping[str, Any], key: str) -> bool:
    return next(of_key(part, key), None) is not None
