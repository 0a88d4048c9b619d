"""A record's `config` against its engine's schema, in words that name the field.

No words here quote a value: any of them may be a credential.
"""

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ahpd.config.redaction import SHORTEST_SECRET, secrets_of
from ahpd.interfaces.engines import RecordFailure

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_KINDS: Final = {
    "object": "a mapping",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "nothing",
}
_MOST_NAMED: Final = 20
#: What a schema may say that no field at all fits anyhow: many records have none, and then
#: nothing is imported to check them.
_SAYS_NOTHING_OF_NONE: Final = frozenset(
    {"$schema", "type", "title", "description", "properties", "additionalProperties"}
)


def check_config(schema: Mapping[str, Any], config: Mapping[str, Any]) -> None:
    """Raises `RecordFailure` naming the first field that does not fit."""
    if not config and schema.keys() <= _SAYS_NOTHING_OF_NONE:
        return
    # Imported where it is used: it costs a tenth of a second.
    from jsonschema.exceptions import SchemaError, UnknownType, best_match  # noqa: PLC0415
    from jsonschema.validators import Draft202012Validator, validator_for  # noqa: PLC0415
    from referencing.exceptions import Unresolvable  # noqa: PLC0415
    from referencing.jsonschema import EMPTY_REGISTRY  # noqa: PLC0415

    kind = validator_for(schema, default=Draft202012Validator)
    try:
        kind.check_schema(dict(schema))
        # The registry is given, because the default one fetches what a schema refers to.
        found = best_match(kind(schema, registry=EMPTY_REGISTRY).iter_errors(config))
    except (SchemaError, UnknownType, Unresolvable):
        raise RecordFailure("the engine's own schema cannot be read") from None
    if found is not None:
        raise RecordFailure(_words(found))


def secrets_in(schema: Any, value: Any) -> list[str]:
    """What is secret in `value`: by the schema's marks, by names, and long enough for a word.

    A mark is `writeOnly` or `secret`, wherever the schema says it.
    """
    marked = [text for text in _marked(schema, value) if len(text) >= SHORTEST_SECRET]
    return list(dict.fromkeys((*marked, *secrets_of(value))))


def _marked(schema: Any, value: Any) -> Iterator[str]:
    if not isinstance(schema, Mapping):
        return
    if schema.get("writeOnly") is True or schema.get("secret") is True:
        yield from _texts(value)
    elif isinstance(value, Mapping):
        properties = schema.get("properties")
        declared = properties if isinstance(properties, Mapping) else {}
        for key, held in value.items():
            for part in _schemas_of(schema, declared, key):
                yield from _marked(part, held)
    elif isinstance(value, list):
        for item in value:
            yield from _marked(schema.get("items"), item)


def _schemas_of(schema: Mapping[str, Any], declared: Mapping[str, Any], key: str) -> Iterator[Any]:
    """What a schema says of a key: its property, the patterns it fits, or else of any other."""
    patterns = schema.get("patternProperties")
    found = [declared[key]] if key in declared else []
    if isinstance(patterns, Mapping):
        found += [part for pattern, part in patterns.items() if re.search(pattern, key)]
    yield from found or [schema.get("additionalProperties")]


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for held in value.values():
            yield from _texts(held)
    elif isinstance(value, list):
        for item in value:
            yield from _texts(item)


def _words(error: "ValidationError") -> str:
    at = "config"
    for step in error.absolute_path:
        at += f"[{step}]" if isinstance(step, int) else f".{step}"
    wanted: Any = error.validator_value
    found: Any = error.instance
    schema: Any = error.schema
    match error.validator:
        case "required":
            missing = [name for name in wanted if name not in found]
            return f"{at}: is missing {' and '.join(missing)}"
        case "additionalProperties" if wanted is False:
            known = list(schema.get("properties") or ())
            patterns = schema.get("patternProperties")
            unknown = [name for name in found if name not in known]
            if patterns or not unknown:
                return f"{at}: holds a field that is not allowed there"
            return f"{at}.{unknown[0]}: is an unknown field, known: {', '.join(known) or 'none'}"
        case "type":
            kinds = [wanted] if isinstance(wanted, str) else list(wanted)
            allowed = " or ".join(_KINDS.get(each, each) for each in kinds)
            return f"{at}: found {_kind(found)}, allowed: {allowed}"
        case "enum":
            shown = ", ".join(str(each) for each in wanted[:_MOST_NAMED])
            return f"{at}: found a value that is none of {shown}"
        case "const":
            return f"{at}: found another value than {wanted}"
        case "anyOf" | "oneOf" | "not" | "if" | "dependentRequired":
            return f"{at}: does not fit the engine's schema ({error.validator})"
        case limit:
            return f"{at}: does not fit the engine's schema ({limit}: {_short(wanted)})"


def _kind(value: Any) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case int() | float():
            return "a number"
        case str():
            return "text"
        case list():
            return "a list"
        case _:
            return "a mapping"


def _short(wanted: Any) -> str:
    words = str(wanted)
    return words if len(words) <= 80 else f"{words[:77]}..."
