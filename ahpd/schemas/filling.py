"""The fields of a record's config, and the secret ones that were sent empty."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import attrs

from ahpd.schemas.documents import plain
from ahpd.schemas.marks import SET, Node, node_of
from ahpd.schemas.pairing import counterparts
from ahpd.schemas.references import is_reference, named_by


@attrs.frozen
class Field:
    """One value of a config that is a reference, or stands under a mark and is none."""

    path: str
    """`apiKey`, `env.ANTHROPIC_API_KEY`, `logins.0.key`."""
    place: Any = attrs.field(repr=False)
    """The dict or list it stands in; `place[key]` is it."""
    key: Any
    secret: bool
    """Whether it is to be kept in a vault."""

    @property
    def value(self) -> Any:
        """What stands there."""
        return self.place[self.key]

    @property
    def refers(self) -> bool:
        """Whether it has the form of a reference."""
        return named_by(self.value) is not None


def fields_of(
    schema: Mapping[str, Any], config: dict[str, Any], extra: Collection[str] = ()
) -> Iterator[Field]:
    """Every reference in `config`, and every value under a mark or named by `extra`.

    What is under a mark is told by its parts: each value in it is a field of its own.
    """
    yield from _fields(node_of(schema), config, "", frozenset(extra), secret=False)


def _fields(
    node: Node, place: Any, path: str, extra: frozenset[str], *, secret: bool
) -> Iterator[Field]:
    keys = list(place) if isinstance(place, dict) else range(len(place))
    for key in keys:
        inner = node.key(str(key)) if isinstance(place, dict) else node.item(key)
        at = f"{path}.{key}" if path else str(key)
        value = place[key]
        marked = secret or inner.marked or at in extra
        if isinstance(value, dict | list) and named_by(value) is None:
            yield from _fields(inner, value, at, extra, secret=marked)
        elif marked or named_by(value) is not None:
            yield Field(at, place, key, marked)


def filled(
    schema: Mapping[str, Any],
    config: Mapping[str, Any],
    held: Mapping[str, Any] | None,
    extra: Collection[str] = (),
    *,
    absent: bool = True,
) -> dict[str, Any]:
    """A copy of `config` with each secret field that was sent empty as `held` has it.

    Empty is an empty text and `<set>`, and with `absent` also a field that is not there at all,
    where the schema declares it outside of its alternatives. Where `held` has nothing the field
    is left out. Null takes the field out. New secrets are still plain in the copy: it is what
    is held to the schema before `Vaulted.moved` writes anything
    (`check_value(schema, filled(...), at, references=True)`).
    """
    filling = _Filling(frozenset(extra), absent)
    return filling.object(node_of(schema), config, held, "", secret=False)


@attrs.frozen
class _Filling:
    """One filling of a config from another."""

    extra: frozenset[str]
    absent: bool

    def value(self, node: Node, given: Any, held: Any, path: str, *, secret: bool) -> Any:
        """A copy of what was given, filled."""
        if named_by(given) is not None:
            return dict(given)
        if isinstance(given, Mapping):
            return self.object(node, given, held, path, secret=secret)
        if isinstance(given, list | tuple):
            return self.items(node, given, held, path, secret=secret)
        return given

    def object(
        self, node: Node, given: Mapping[str, Any], held: Any, path: str, *, secret: bool
    ) -> dict[str, Any]:
        """A copy of an object, filled."""
        before = held if isinstance(held, Mapping) and named_by(held) is None else {}
        made: dict[str, Any] = {}
        for key, value in given.items():
            inner = node.key(str(key))
            at = f"{path}.{key}" if path else str(key)
            marked = secret or inner.marked or at in self.extra
            if not marked or not _is_empty(value):
                made[key] = self.value(inner, value, before.get(key), at, secret=marked)
            elif value is not None and before.get(key) is not None:
                made[key] = plain(before[key])
        for key, value in before.items() if self.absent else ():
            if key not in given and value is not None and node.declares_secret(str(key)):
                made[key] = plain(value)
        return made

    def items(
        self, node: Node, given: Sequence[Any], held: Any, path: str, *, secret: bool
    ) -> list[Any]:
        """A copy of a list, filled: a secret never goes to another item."""
        before = [*held] if isinstance(held, list | tuple) else []
        places = counterparts(
            [_without_secrets(node.item(index), item) for index, item in enumerate(given)],
            [_without_secrets(node.item(index), item) for index, item in enumerate(before)],
        )
        made = []
        for index, (item, place) in enumerate(zip(given, places, strict=True)):
            inner = node.item(index)
            at = f"{path}.{index}" if path else str(index)
            marked = secret or inner.marked or at in self.extra
            was = None if place is None else before[place]
            if not marked or not _is_empty(item):
                made.append(self.value(inner, item, was, at, secret=marked))
            elif item is not None and was is not None:
                made.append(plain(was))
        return made


def _without_secrets(node: Node, value: Any) -> Any:
    if node.marked or is_reference(value):
        return None
    if isinstance(value, Mapping):
        inner = {key: _without_secrets(node.key(str(key)), one) for key, one in value.items()}
        return {key: one for key, one in inner.items() if one is not None}
    if isinstance(value, list | tuple):
        return [_without_secrets(node.item(index), one) for index, one in enumerate(value)]
    return value


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", SET)
