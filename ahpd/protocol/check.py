"""Checks a JSON value against a declared shape (`ahpd.protocol.shapes`).

A shape is compiled once, field by field as fields are first met, into closures
(`validators.py`). The value is never rebuilt and never changed.

*Lenient* is for what others send: an undeclared key is kept, a value or a kind that an
open enumeration does not list passes, and an optional key that is null counts as
absent. *Strict* is for what this host says: none of that passes, and a key nobody
declared is an error. In both, everything declared must be there and be right.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, get_args, get_origin

from ahpd.protocol.shapes.notation import OPEN, Minimum, OncePerKind, has_open_keys
from ahpd.protocol.shapes.reading import (
    by_tag,
    discriminator,
    fields_of,
    is_literal,
    is_object,
    is_union,
    members_of,
    split_annotated,
)
from ahpd.protocol.validators import (
    PLAIN,
    Problem,
    Validator,
    at_least,
    by_json_type,
    described,
    first_that_fits,
    list_of,
    map_of,
    once_per_kind,
    one_of,
    quoted,
    told_apart_by,
)

_PLAIN_KEY: Final = re.compile(r"[A-Za-z_$][A-Za-z0-9_$-]{0,63}")


class ShapeError(ValueError):
    """A value that does not fit: where, what was expected there, and what was found.

    `path` is spelled like `params.message.text` or `params.protocolVersions[1]`. What a
    string held is shown only where it had to be one of a few words, so that no secret
    is repeated.
    """

    def __init__(self, path: str, found: str, expected: str) -> None:
        super().__init__(f"{path}: expected {expected}, found {found}")
        self.path = path
        self.found = found
        self.expected = expected


def check(value: Any, shape: Any, at: str = "params") -> None:
    """Raise `ShapeError` unless `value` fits `shape`, leniently. `at` names the value itself."""
    _run(_lenient.validator(shape), value, at)


def check_strict(value: Any, shape: Any, at: str = "params") -> None:
    """Raise `ShapeError` unless `value` is exactly what `shape` declares."""
    _run(_strict.validator(shape), value, at)


def prepare(shape: Any) -> None:
    """Make now what the first lenient check of `shape` would make."""
    _lenient.validator(shape)


def _run(validate: Validator, value: Any, at: str) -> None:
    try:
        problem = validate(value)
    except RecursionError:
        problem = Problem("less nesting", "more levels than this host follows")
    if problem is not None:
        raise ShapeError(_path(at, problem.steps), problem.found, problem.expected)


def _path(at: str, steps: Sequence[str | int]) -> str:
    path = at
    for step in reversed(steps):
        if isinstance(step, int):
            path += f"[{step}]"
        elif _PLAIN_KEY.fullmatch(step):
            path += f".{step}" if path else step
        else:
            path += f"[{quoted(step)}]"
    return path


class _Compiler:
    """Makes and keeps the closures of one way of checking."""

    def __init__(self, strict: bool) -> None:
        self._strict = strict
        self._objects: dict[type, Validator] = {}
        # By identity, because hashing a union of many members costs more than checking.
        # The shape is kept beside its closure so that its id stays its own.
        self._known: dict[int, tuple[Any, Validator]] = {}

    def validator(self, shape: Any) -> Validator:
        known = self._known.get(id(shape))
        if known is None:
            known = self._known[id(shape)] = (shape, self._compile(shape))
        return known[1]

    def _compile(self, annotation: Any) -> Validator:
        if is_object(annotation):
            return self._object(annotation)
        if is_union(annotation):
            return self._union(annotation)
        if is_literal(annotation):
            return one_of(get_args(annotation))
        inner, marks = split_annotated(annotation)
        if marks:
            return self._marked(annotation, inner, marks)
        plain = PLAIN.get(annotation)
        if plain is not None:
            return plain
        origin, arguments = get_origin(annotation), get_args(annotation)
        if origin is list:
            return list_of(self._compile(arguments[0]))
        if origin is dict and arguments[0] is str:
            return map_of(self._compile(arguments[1]))
        raise TypeError(f"{annotation!r} declares no JSON value")

    def _marked(self, annotation: Any, inner: Any, marks: Sequence[Any]) -> Validator:
        if OPEN in marks:
            if is_literal(inner):
                return self._compile(inner) if self._strict else PLAIN[str]
            return self._union(annotation)
        validator = self._compile(inner)
        for mark in marks:
            if isinstance(mark, Minimum):
                validator = at_least(validator, mark.least)
            elif isinstance(mark, OncePerKind):
                validator = once_per_kind(validator)
        return validator

    def _object(self, shape: type) -> Validator:
        known = self._objects.get(shape)
        if known is None:
            known = self._objects[shape] = self._compile_object(shape)
        return known

    def _compile_object(self, shape: Any) -> Validator:
        fields: dict[str, Validator] = {}
        for key, annotation in fields_of(shape).items():
            fields[key] = self._deferred(annotation, fields, key)
        required: frozenset[str] = shape.__required_keys__
        may_be_null: frozenset[str] = frozenset() if self._strict else shape.__optional_keys__
        closed = self._strict and not has_open_keys(shape)

        def check_object(value: Any) -> Problem | None:
            if type(value) is not dict and not isinstance(value, Mapping):
                return Problem("an object", described(value))
            if not value.keys() >= required:
                missing = next(key for key in fields if key in required and key not in value)
                return Problem(_expected(fields[missing]), "nothing", missing)
            for key, item in value.items():
                field = fields.get(key)
                if field is None:
                    if closed:
                        return Problem("no such key", described(item), key)
                    continue
                problem = field(item)
                if problem is not None and not (item is None and key in may_be_null):
                    problem.steps.append(key)
                    return problem
            return None

        return check_object

    def _deferred(self, annotation: Any, fields: dict[str, Validator], key: str) -> Validator:
        """What a field is checked with: compiled when a value first has it.

        That keeps a shape that holds itself finite, and a start that checks little short.
        """

        def compile_and_check(value: Any) -> Problem | None:
            validator = fields[key] = self._compile(annotation)
            return validator(value)

        return compile_and_check

    def _union(self, annotation: Any) -> Validator:
        """One closure per JSON type the members have; objects are told apart by a key."""
        members, is_open = members_of(annotation)
        shapes = [member for member in members if is_object(member)]
        by_type: dict[type, list[Validator]] = {}
        if shapes:
            by_type[dict] = [self._tagged(shapes, is_open)]
        for member in members:
            if not is_object(member):
                validator = self._compile(member)
                for kind in _json_types(member):
                    by_type.setdefault(kind, []).append(validator)
        if set(by_type) == {dict}:
            return by_type[dict][0]
        return by_json_type(
            {
                kind: found[0] if len(found) == 1 else first_that_fits(found)
                for kind, found in by_type.items()
            }
        )

    def _tagged(
        self, shapes: Sequence[type], is_open: bool, spent: frozenset[str] = frozenset()
    ) -> Validator:
        if len(shapes) == 1 and not is_open:
            return self._object(shapes[0])
        key = discriminator(shapes, spent)
        if key is None:
            return first_that_fits([self._object(shape) for shape in shapes])
        return told_apart_by(
            key,
            {tag: self._tagged(few, False, spent | {key}) for tag, few in by_tag(shapes, key)},
            is_open and not self._strict,
        )


def _json_types(member: Any) -> tuple[type, ...]:
    inner, _ = split_annotated(member)
    if is_literal(inner):
        return tuple({type(value) for value in get_args(inner)})
    if inner in (int, float):
        return (int, float)
    return (get_origin(inner) or inner,)


def _expected(validator: Validator) -> str:
    """What a field takes, in the words it refuses something that is no JSON value with."""
    problem = validator(_NOTHING)
    return problem.expected if problem is not None else "a value"


_NOTHING: Final = object()

_lenient: Final = _Compiler(strict=False)
_strict: Final = _Compiler(strict=True)
