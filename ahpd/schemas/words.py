"""What does not fit, in words: the place and what is expected there.

No words here quote a value, because any of them may be a credential. What a schema says is
quoted, and so are the names of fields.
"""

import json
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Any, Final

#: `jsonschema.exceptions.ValidationError`, as a validator makes it: all of it is set.
ValidationError = Any

_KINDS: Final = {
    "object": "an object",
    "array": "a list",
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "null": "null",
}
_MOST_NAMED: Final = 20
_MOST_READ: Final = 200
_LONGEST: Final = 80


def first(errors: Iterable[ValidationError]) -> ValidationError | None:
    """The error to tell: the one nearest to the root, and of those the first the schema says.

    Of alternatives that all fail the one that was meant is looked into, where that is plain.
    """
    found = min(islice(errors, _MOST_READ), key=_depth, default=None)
    while found is not None and found.validator in ("oneOf", "anyOf"):
        meant = _meant(found)
        if meant is None:
            break
        found = meant
    return found


def words(error: ValidationError, at: str) -> str:
    """`<at>.command must be text`."""
    place = _place(at, error.absolute_path)
    if error.validator in ("oneOf", "anyOf"):
        return _of_alternatives(error, place)
    if _is_of_a_name(error):
        return f"{place} holds a field with a name that does not fit: it {_must(error)}"
    match error.validator:
        case "required":
            missing = next(name for name in error.validator_value if name not in error.instance)
            return f"{_step(place, missing)} is missing"
        case "additionalProperties" | "unevaluatedProperties":
            return _unknown(error, place)
        case "dependentRequired" | "dependencies":
            return f"{place} lacks a field that another one of it needs"
    return f"{place} {_must(error)}"


def _is_of_a_name(error: ValidationError) -> bool:
    """Whether it is about a field's name: `propertyNames`, where that is no field's own."""
    steps = list(error.absolute_schema_path)
    return any(
        step == "propertyNames" and before not in ("properties", "patternProperties", "$defs")
        for before, step in zip(["", *steps], steps, strict=False)
    )


def _depth(error: ValidationError) -> tuple[int, bool]:
    return len(error.absolute_path), error.validator in ("oneOf", "anyOf")


def _place(at: str, path: Iterable[Any]) -> str:
    for step in path:
        at = f"{at}[{step}]" if isinstance(step, int) else _step(at, step)
    return at or "it"


def _step(at: str, name: Any) -> str:
    shown = "".join(each if each.isprintable() else "?" for each in str(name))
    return f"{at}.{_short(shown)}" if at and at != "it" else _short(shown)


def _must(error: ValidationError) -> str:
    wanted: Any = error.validator_value
    match error.validator:
        case "type":
            return f"must be {_kinds([wanted] if isinstance(wanted, str) else wanted)}"
        case "enum":
            return f"must be one of {_listed(wanted)}"
        case "const":
            return f"must be {_said(wanted)}"
        case None:
            return "must not be there"
        case "not":
            return "is what its schema rules out"
        case "minLength" | "minItems" | "minProperties" if wanted == 1:
            return "must not be empty"
        case word if word in _BOUNDS:
            return _BOUNDS[word](wanted)
        case word:
            return f"does not fit its schema ({word})"


_BOUNDS: Final[Mapping[str, Callable[[Any], str]]] = {
    "minimum": lambda wanted: f"must be at least {wanted}",
    "maximum": lambda wanted: f"must be at most {wanted}",
    "exclusiveMinimum": lambda wanted: f"must be more than {wanted}",
    "exclusiveMaximum": lambda wanted: f"must be less than {wanted}",
    "multipleOf": lambda wanted: f"must be a multiple of {wanted}",
    "minLength": lambda wanted: f"must have at least {wanted} characters",
    "maxLength": lambda wanted: f"must have at most {wanted} characters",
    "pattern": lambda wanted: f"must match {_short(str(wanted))}",
    "minItems": lambda wanted: f"must have at least {wanted} items",
    "maxItems": lambda wanted: f"must have at most {wanted} items",
    "uniqueItems": lambda wanted: "must not hold an item twice",
    "contains": lambda wanted: "lacks an item that its schema asks for",
    "minContains": lambda wanted: "lacks an item that its schema asks for",
    "maxContains": lambda wanted: "holds an item of one sort too often",
    "minProperties": lambda wanted: f"must have at least {wanted} fields",
    "maxProperties": lambda wanted: f"must have at most {wanted} fields",
    "unevaluatedItems": lambda wanted: "holds more items than it may",
}


def _unknown(error: ValidationError, place: str) -> str:
    schema: Any = error.schema
    properties = list(schema.get("properties") or ())
    if schema.get("patternProperties") or error.validator == "unevaluatedProperties":
        return f"{place} holds a field that is not known there"
    unknown = [name for name in error.instance if name not in properties]
    known = _listed(properties) or "none"
    return f"{_step(place, unknown[0])} is not a known field; known: {known}"


# -- alternatives ------------------------------------------------------------------------


def _alternatives(error: ValidationError) -> list[list[ValidationError]]:
    """Why each alternative fails."""
    groups: dict[Any, list[ValidationError]] = {}
    for each in error.context or ():
        groups.setdefault(each.relative_schema_path[0], []).append(each)
    return list(groups.values())


def _meant(error: ValidationError) -> ValidationError | None:
    """What fails in the one alternative that the value looks like; None where that is unclear.

    A field that says which it is (`kind: {"const": ...}`) tells it, and so does the type.
    """
    groups = _alternatives(error)
    for tells in (_says_another, _is_another_type):
        left = [group for group in groups if not any(tells(each) for each in group)]
        if len(left) == 1 and len(groups) > 1:
            return min(left[0], key=_depth)
        groups = left or groups
    return min(groups[0], key=_depth) if len(groups) == 1 else None


def _says_another(error: ValidationError) -> bool:
    return error.validator in ("const", "enum") and len(error.relative_path) == 1


def _is_another_type(error: ValidationError) -> bool:
    return error.validator == "type" and not error.relative_path


def _of_alternatives(error: ValidationError, place: str) -> str:
    groups = _alternatives(error)
    if not groups:
        return f"{place} fits more than one of what it may be"
    for tells, describe in ((_is_another_type, _types), (_is_value, _values)):
        told = [next(filter(tells, group), None) for group in groups]
        if all(told):
            return f"{place} must be {describe([each for each in told if each is not None])}"
    told = [next(filter(_says_another, group), None) for group in groups]
    fields = {each.relative_path[0] for each in told if each is not None}
    if all(told) and len(fields) == 1:
        values = _values([each for each in told if each is not None])
        return f"{_place(place, fields)} must be {values}"
    missing = _missing_from_all(groups)
    if missing is not None:
        return f"{_step(place, missing)} is missing"
    titles = [_title(error, index) for index in range(len(error.validator_value))]
    if all(titles):
        return f"{place} fits none of what it may be: {_listed(titles)}"
    return f"{place} fits none of what it may be"


def _is_value(error: ValidationError) -> bool:
    return error.validator in ("const", "enum") and not error.relative_path


def _types(errors: list[ValidationError]) -> str:
    kinds: list[str] = []
    for each in errors:
        wanted: Any = each.validator_value
        kinds += [wanted] if isinstance(wanted, str) else wanted
    return _kinds(dict.fromkeys(kinds))


def _values(errors: list[ValidationError]) -> str:
    values: list[Any] = []
    for each in errors:
        wanted: Any = each.validator_value
        values += wanted if each.validator == "enum" else [wanted]
    return f"one of {_listed(values)}" if len(values) > 1 else _said(values[0])


def _missing_from_all(groups: list[list[ValidationError]]) -> str | None:
    """A field of the value itself that every alternative asks for and none found."""
    common: dict[str, None] | None = None
    for group in groups:
        names: dict[str, None] = {}
        for each in group:
            if each.validator == "required" and not each.relative_path:
                wanted: Any = each.validator_value
                names.update(dict.fromkeys(name for name in wanted if name not in each.instance))
        common = names if common is None else {name: None for name in common if name in names}
    return next(iter(common or ()), None)


def _title(error: ValidationError, index: int) -> Any:
    schema: Any = error.validator_value[index]
    return schema.get("title") if isinstance(schema, Mapping) else None


def _kinds(kinds: Iterable[str]) -> str:
    return " or ".join(_KINDS.get(each, each) for each in kinds)


def _listed(values: Iterable[Any]) -> str:
    shown = [_said(each) for each in values]
    more = ["..."] if len(shown) > _MOST_NAMED else []
    return ", ".join([*shown[:_MOST_NAMED], *more])


def _said(value: Any) -> str:
    return _short(value if isinstance(value, str) else json.dumps(value, default=str))


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
