"""Which item of a list was which before somebody sent the list back."""

from collections.abc import Mapping, Sequence
from typing import Any


def counterparts(given: Sequence[Any], held: Sequence[Any]) -> list[int | None]:
    """For each item given its place in `held`, or None; no place is taken twice.

    Both are without their secrets. An item is the one that says the same, at its own place
    first; one that says something else is the one at its place, as long as none came and none
    went and no other item is it. So a secret never goes to another item.
    """
    found: list[int | None] = [None] * len(given)
    left = dict(enumerate(held))
    for index, item in enumerate(given):
        if index in left and same(left[index], item):
            found[index] = index
            del left[index]
    for index, item in enumerate(given):
        if found[index] is None:
            match = next((at for at, one in left.items() if same(one, item)), None)
            if match is not None:
                found[index] = match
                del left[match]
    if len(given) == len(held):
        for index in [at for at, one in enumerate(found) if one is None and at in left]:
            found[index] = index
    return found


def same(one: Any, other: Any) -> bool:
    """Whether two JSON values are one: `1` is not `true`."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)
