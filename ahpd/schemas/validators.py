"""Validators of schemas, made once for each: `jsonschema` under the rules of this host.

The schema's own dialect is followed, 2020-12 where it names none. Nothing is ever fetched, and
`format` is not enforced. `jsonschema` is imported when the first value is checked: it costs a
tenth of a second, and many hosts check none.
"""

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from ahpd.schemas.documents import plain
from ahpd.schemas.expressions import (
    KEYWORDS,
    OutOfTime,
    are_known_plain,
    patience,
    unevaluated,
)
from ahpd.schemas.failures import BrokenSchema, Misfit
from ahpd.schemas.references import is_reference

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError

_MOST_KEPT: Final = 128


class Validators:
    """The validators of the schemas that were asked for last.

    They are kept by the schema object, which is kept with them: whoever changes a schema in
    place hands over a copy.
    """

    def __init__(self) -> None:
        self._kept: OrderedDict[tuple[int, bool], tuple[Any, Any]] = OrderedDict()

    def of(self, schema: Mapping[str, Any], references: bool) -> Any:
        """A validator; with `references` a reference fits everywhere. Raises `BrokenSchema`."""
        key = (id(schema), references)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key][1]
        validator = _made(schema, references)
        self._kept[key] = (schema, validator)
        if len(self._kept) > _MOST_KEPT:
            self._kept.popitem(last=False)
        return validator


_VALIDATORS: Final = Validators()


def errors_of(
    schema: Mapping[str, Any], value: Any, at: str, *, references: bool = False
) -> "Iterator[ValidationError]":
    """What does not fit, as `jsonschema` says it: its own words quote values.

    Raises `BrokenSchema`, and `Misfit` for a value without an end.
    """
    from referencing.exceptions import Unresolvable  # noqa: PLC0415 (see above)

    try:
        validator = _VALIDATORS.of(schema, references)
        plain_value = plain(value)
    except BrokenSchema as broken:
        raise BrokenSchema(_broken(at, str(broken))) from None
    except RecursionError:
        raise Misfit(f"{at or 'it'} is nested too deeply") from None
    try:
        with patience():
            yield from validator.iter_errors(plain_value)
    except OutOfTime:
        raise Misfit(f"{at or 'it'} takes too long to be held to its schema") from None
    except RecursionError:
        raise Misfit(f"{at or 'it'} is nested too deeply, or its schema has no end") from None
    except (Unresolvable, re.error):
        raise BrokenSchema(_broken(at)) from None


def _broken(at: str, place: str = "") -> str:
    """`place` is where in the schema it cannot be read, empty where nobody can tell."""
    words = f"{at or 'it'} cannot be checked: its schema is not a JSON Schema that can be read"
    return f"{words}, at {place}" if place else words


def _made(schema: Mapping[str, Any], references: bool) -> Any:
    from jsonschema.exceptions import SchemaError, UnknownType  # noqa: PLC0415 (see above)
    from jsonschema.validators import (  # noqa: PLC0415
        Draft202012Validator,
        extend,
        validator_for,
    )
    from referencing.exceptions import Unresolvable  # noqa: PLC0415
    from referencing.jsonschema import EMPTY_REGISTRY  # noqa: PLC0415

    if not isinstance(schema, Mapping) or not isinstance(schema.get("$schema", ""), str):
        raise BrokenSchema
    try:
        document = plain(schema)
        kind: Any = validator_for(document, default=Draft202012Validator)
        kind.check_schema(document)
    except SchemaError as wrong:
        raise BrokenSchema(".".join(map(str, wrong.absolute_path))) from None
    except (UnknownType, Unresolvable, re.error, RecursionError, TypeError):
        raise BrokenSchema from None
    if not are_known_plain(document):
        raise BrokenSchema
    kind = extend(kind, _bounded(kind.VALIDATORS))  # type: ignore[no-untyped-call]
    if references:
        kind = extend(  # type: ignore[no-untyped-call]
            kind, {word: _passing(check) for word, check in kind.VALIDATORS.items()}
        )
    # The registry is given, because the default one fetches what a schema refers to.
    return kind(document, registry=EMPTY_REGISTRY)


def _bounded(checks: Mapping[str, Callable[..., Any]]) -> dict[str, Callable[..., Any]]:
    """The keywords that try expressions, so that none takes longer than it may."""
    bounded = {word: check for word, check in KEYWORDS.items() if word in checks}
    word = "unevaluatedProperties"
    return {**bounded, **({word: unevaluated(checks[word])} if word in checks else {})}


def _passing(check: Callable[..., Any]) -> Callable[..., Any]:
    """A keyword's check under which a reference fits, whatever it will read as."""

    def passing(validator: Any, wanted: Any, instance: Any, schema: Any) -> Any:
        return () if is_reference(instance) else check(validator, wanted, instance, schema) or ()

    return passing
