"""How a declared shape is read: its fields, the members of a union, what tells them apart.

`check.py` and `jsonschema.py` both stand on this, so they cannot read a declaration
differently.
"""

from collections.abc import Hashable, Iterator, Sequence
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    ForwardRef,
    Literal,
    NotRequired,
    Required,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from ahpd.protocol.shapes.notation import OPEN


def is_object(annotation: Any) -> bool:
    """Whether an annotation is a `TypedDict`: an object with declared keys."""
    return is_typeddict(annotation)


def is_literal(annotation: Any) -> bool:
    """Whether an annotation is a `Literal`."""
    return get_origin(annotation) is Literal


def is_shape(value: Any) -> bool:
    """Whether a name of a module stands for a shape rather than for something it uses."""
    return (
        is_object(value) or is_literal(value) or is_union(value) or bool(split_annotated(value)[1])
    )


def fields_of(shape: type) -> dict[str, Any]:
    """A `TypedDict`'s keys and what each holds, those of its bases first."""
    declared = {key: _bare(value) for key, value in shape.__annotations__.items()}
    if any(isinstance(value, ForwardRef) for value in declared.values()):
        # Resolving every annotation is slow, so only a shape that refers to itself pays.
        hints = get_type_hints(shape, include_extras=True)
        return {key: _bare(hints[key]) for key in declared}
    return declared


def _bare(annotation: Any) -> Any:
    while get_origin(annotation) in (NotRequired, Required):
        annotation = get_args(annotation)[0]
    return annotation


def split_annotated(annotation: Any) -> tuple[Any, tuple[Any, ...]]:
    """What an annotation is without its marks, and its marks."""
    if get_origin(annotation) is Annotated:
        inner, *marks = get_args(annotation)
        return inner, tuple(marks)
    return annotation, ()


def is_union(annotation: Any) -> bool:
    """Whether an annotation is a union, written either way."""
    return get_origin(annotation) in (Union, UnionType)


def members_of(annotation: Any) -> tuple[list[Any], bool]:
    """The members of a union, nested ones unfolded, and whether it may grow.

    Anything else is a union of itself alone. `None` stands as its type.
    """
    inner, marks = split_annotated(annotation)
    is_open = OPEN in marks
    if not is_union(inner):
        return [annotation if marks and not is_open else inner], is_open
    members: list[Any] = []
    for member in get_args(inner):
        nested, nested_open = members_of(member)
        members += nested
        is_open = is_open or nested_open
    return [NoneType if member is None else member for member in members], is_open


def tags_of(shape: type) -> dict[str, tuple[Hashable, ...]]:
    """The required keys whose value is one of a closed few, and those values."""
    return {
        key: get_args(annotation)
        for key, annotation in fields_of(shape).items()
        if is_literal(annotation) and key in shape.__required_keys__  # type: ignore[attr-defined]
    }


def discriminator(shapes: Sequence[type], spent: frozenset[str] = frozenset()) -> str | None:
    """The key whose value tells these objects apart best, or None where no key tells anything.

    `spent` are keys that were used already. A single object has one if a key of its
    own could tell it from a kind that does not exist yet.
    """
    tags = [tags_of(shape) for shape in shapes]
    shared = [key for key in tags[0] if key not in spent and all(key in each for each in tags)]

    def told_apart(key: str) -> int:
        return len({value for each in tags for value in each[key]})

    best = max(shared, key=told_apart, default=None)
    if best is not None and len(shapes) > 1 and told_apart(best) < 2:
        return None
    return best


def by_tag(shapes: Sequence[type], key: str) -> Iterator[tuple[Hashable, list[type]]]:
    """The shapes each value of `key` may mean."""
    groups: dict[Hashable, list[type]] = {}
    for shape in shapes:
        for value in tags_of(shape)[key]:
            groups.setdefault(value, []).append(shape)
    yield from groups.items()
