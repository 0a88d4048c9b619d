"""A schema for a config that a sign-in has not filled in yet."""

from collections.abc import Collection, Mapping
from typing import Any, Final

_TOGETHER: Final = ("allOf", "anyOf", "oneOf")


def relaxed(schema: Mapping[str, Any], fills: Collection[str] | None) -> dict[str, Any]:
    """`schema` in which none of `fills` is required; None is for one in which nothing is.

    Of alternatives that exclude each other more than one may fit a config that is not whole.
    """
    held = dict(schema)
    required = held.get("required")
    if isinstance(required, list):
        left = [] if fills is None else [name for name in required if name not in fills]
        held["required"] = left
    for word in _TOGETHER:
        branches = held.get(word)
        if isinstance(branches, list):
            held[word] = [
                relaxed(one, fills) if isinstance(one, Mapping) else one for one in branches
            ]
    if "oneOf" in held:
        one_of = held.pop("oneOf")
        if "anyOf" not in held:
            held["anyOf"] = one_of
        else:
            held["allOf"] = [*held.get("allOf", []), {"anyOf": one_of}]
    return held
