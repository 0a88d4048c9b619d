"""What a schema marks as a credential, hidden where a value is shown and kept where it comes back.

`writeOnly: true` says that no answer carries the value, `secret: true` that a vault keeps it as
well. A mark counts wherever the schema says it: under properties, additionalProperties,
patternProperties and items, in alternatives, and behind a reference inside the document. Where
a schema refers to nowhere, what is there is hidden: nobody can say that it is no credential.
Source: PLUGINS.txt, "Marking a credential".
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from ahpd.schemas.documents import Unknown, of_item, of_key, parts
from ahpd.schemas.pairing import counterparts, same
from ahpd.schemas.references import is_reference

#: What stands for a credential wherever one would be shown.
SET: Final = "<set>"


class Node:
    """What a document says of one value: every schema that may apply to it.

    A value that nothing is said of has no part, and is not marked; one below a mark is.
    """

    def __init__(self, document: Any, schemas: Iterable[Any], *, covered: bool = False) -> None:
        self._document = document
        self._covered = covered
        self._schemas = list(schemas)
        self._parts: list[Mapping[str, Any]] = []
        for schema in self._schemas:
            try:
                self._parts += parts(document, schema)
            except Unknown:
                self._covered = True

    @property
    def marked(self) -> bool:
        """Whether no answer carries the value."""
        return self._covered or self.says("secret") or self.says("writeOnly")

    def says(self, keyword: str) -> bool:
        """Whether any schema says `keyword: true` of the value."""
        return any(part.get(keyword) is True for part in self._parts)

    def values(self, keyword: str) -> list[Any]:
        """What each schema that says `keyword` of the value says it is."""
        return [part[keyword] for part in self._parts if keyword in part]

    def declares_secret(self, key: str) -> bool:
        """Whether a property of the value is marked, whatever alternative the value fits."""
        certain = (
            part
            for schema in self._schemas
            for part in parts(self._document, schema, alternatives=False)
        )
        try:
            declared = [part["properties"] for part in certain if "properties" in part]
        except Unknown:
            return False
        return any(
            Node(self._document, [properties[key]]).marked
            for properties in declared
            if isinstance(properties, Mapping) and key in properties
        )

    def key(self, key: str) -> "Node":
        """What is said of a key of the value."""
        said = (one for part in self._parts for one in of_key(part, key))
        return Node(self._document, said, covered=self.marked)

    def item(self, index: int) -> "Node":
        """What is said of an item of the value."""
        said = (one for part in self._parts for one in of_item(part, index))
        return Node(self._document, said, covered=self.marked)


def node_of(schema: Mapping[str, Any] | None) -> Node:
    """What a schema says of its value; without one everything is marked."""
    return Node(schema, [schema], covered=schema is None)


def hidden(schema: Mapping[str, Any] | None, value: Any) -> Any:
    """A copy of `value` as it may be shown: what is marked is `<set>`.

    A reference (`{"$secret": name}`) stays as it is written, and so does null. With no schema
    nothing is known, and every value of the object is hidden.
    """
    if schema is None:
        if isinstance(value, Mapping) and not is_reference(value):
            return {key: _covered(held) for key, held in value.items()}
        return _covered(value)
    return _hidden(node_of(schema), value)


def _hidden(node: Node, value: Any) -> Any:
    if node.marked or is_reference(value):
        return _covered(value)
    if isinstance(value, Mapping):
        return {key: _hidden(node.key(str(key)), held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_hidden(node.item(index), held) for index, held in enumerate(value)]
    return value


def _covered(value: Any) -> Any:
    if value is None:
        return None
    return dict(value) if is_reference(value) else SET


def all_hidden(value: Any) -> Any:
    """A copy of `value`, of which nothing is known, with every text and number as `<set>`.

    References stay as they are written, and so do null, true and false.
    """
    if isinstance(value, Mapping) and not is_reference(value):
        return {key: all_hidden(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [all_hidden(item) for item in value]
    return value if isinstance(value, bool) else _covered(value)


def unmarked(schema: Mapping[str, Any] | None, value: Mapping[str, Any]) -> dict[str, Any]:
    """A copy of the object `value` without what is marked, at any depth.

    A list some of whose items are is left out whole: it would be sent back as a shorter one. With
    no schema nothing is known, and nothing is in it.
    """
    left: dict[str, Any] = {} if schema is None else _unmarked(node_of(schema), value)
    return left


def _unmarked(node: Node, value: Any) -> Any:
    if isinstance(value, Mapping):
        keys = {key: node.key(str(key)) for key in value}
        return {
            key: _unmarked(keys[key], held)
            for key, held in value.items()
            if not keys[key].marked and not _has_marked_items(keys[key], held)
        }
    if isinstance(value, list | tuple):
        return [_unmarked(node.item(index), held) for index, held in enumerate(value)]
    return value


def _has_marked_items(node: Node, value: Any) -> bool:
    if not isinstance(value, list | tuple):
        return False
    items = ((node.item(index), held) for index, held in enumerate(value))
    return any(inner.marked or _has_marked_items(inner, held) for inner, held in items)


def restored(schema: Mapping[str, Any] | None, given: Any, held: Any) -> Any:
    """What is to be kept when somebody sends `given` in place of `held`.

    `<set>` under a mark leaves what is held, another value replaces it, null takes it out, and
    what is not named is left as it is held, at any depth. A list is replaced as a whole: an item
    in it gets back the credentials of the held item it was shown as. `<set>` where nothing is
    held names nothing, and is left out. A null that is held already stays.
    """
    return _restored(node_of(schema), given, held)


class _Absent:
    """In place of a value that there is none of."""


_ABSENT: Final = _Absent()


def _restored(node: Node, given: Any, held: Any) -> Any:
    if node.marked and given == SET:
        return held
    if isinstance(given, Mapping) and not is_reference(given):
        return _merged(node, given, held)
    if isinstance(given, list | tuple):
        return _listed(node, list(given), held)
    return given


def _merged(node: Node, given: Mapping[str, Any], held: Any) -> Any:
    before: Mapping[str, Any] = held if isinstance(held, Mapping) and not is_reference(held) else {}
    merged = dict(before)
    for key, value in given.items():
        was = before.get(key, _ABSENT)
        kept = _restored(node.key(str(key)), value, was) if value is not None else _ABSENT
        if kept is not _ABSENT:
            merged[key] = kept
        elif was is not None:
            merged.pop(key, None)
    return merged


def _listed(node: Node, given: list[Any], held: Any) -> list[Any]:
    before = list(held) if isinstance(held, list | tuple) else []
    shown = [_hidden(node.item(index), item) for index, item in enumerate(before)]
    kept = []
    for index, (item, at) in enumerate(zip(given, counterparts(given, shown), strict=True)):
        if at is not None and same(shown[at], item):
            kept.append(before[at])
        else:
            was = _ABSENT if at is None else before[at]
            kept.append(_item(node.item(index), item, was))
    return [item for item in kept if item is not _ABSENT]


def _item(node: Node, given: Any, held: Any) -> Any:
    """A list's item: what it leaves out is out, so only what says `<set>` is taken over."""
    if node.marked and given == SET:
        return held
    if isinstance(given, Mapping) and not is_reference(given):
        before = held if isinstance(held, Mapping) else {}
        found = {
            key: _item(node.key(str(key)), value, before.get(key, _ABSENT))
            for key, value in given.items()
        }
        return {key: value for key, value in found.items() if value is not _ABSENT}
    if isinstance(given, list | tuple):
        return _listed(node, list(given), held)
    return given


def secrets_in(schema: Mapping[str, Any] | None, value: Any) -> list[str]:
    """Every text under a mark, each once; without a schema every text.

    Neither a reference nor `<set>` is one. They are as short as they are: whoever strikes them
    out of words decides which are words themselves.
    """
    if value == {}:  # as the options of most plugins are
        return []
    found = _marked(node_of(schema), value)
    return list(dict.fromkeys(text for text in found if text not in ("", SET)))


def _marked(node: Node, value: Any) -> Iterator[str]:
    if node.marked:
        yield from _texts(value)
    elif isinstance(value, Mapping):
        for key, held in value.items():
            yield from _marked(node.key(str(key)), held)
    elif isinstance(value, list | tuple):
        for index, held in enumerate(value):
            yield from _marked(node.item(index), held)


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping) and not is_reference(value):
        for held in value.values():
            yield from _texts(held)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)
