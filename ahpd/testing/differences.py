"""Where two states differ, by the rules states are compared with."""

from typing import Any

#: A window's cursor says how a state was asked for, not what it is.
_CURSOR = "turnsNextCursor"


def first_difference(left: Any, right: Any, path: str = "") -> str | None:
    """The first place two JSON values differ, in words, or None.

    A null equals an absent field. Of a chat's turns, where one side is a window on
    the newest (it has a cursor), only as many are compared as both hold.
    """
    if isinstance(left, dict) and isinstance(right, dict):
        return _in_objects(left, right, path)
    if isinstance(left, list) and isinstance(right, list):
        if len(left) != len(right):
            return f"{path or 'the value'} has {len(left)} entries and {len(right)}"
        for index, (one, other) in enumerate(zip(left, right, strict=True)):
            difference = first_difference(one, other, f"{path}[{index}]")
            if difference is not None:
                return difference
        return None
    same_kind = (type(left) is bool) == (type(right) is bool)  # true is not 1 in JSON
    return (
        None
        if same_kind and left == right
        else f"{path or 'the value'} is {_shown(left)} and {_shown(right)}"
    )


def _in_objects(left: dict[str, Any], right: dict[str, Any], path: str) -> str | None:
    if left.get(_CURSOR) is not None or right.get(_CURSOR) is not None:
        left, right = _windowed(left, right), _windowed(right, left)
    for key in sorted(left.keys() | right.keys()):
        one, other = left.get(key), right.get(key)
        if key == _CURSOR or (one is None and other is None):
            continue
        where = f"{path}.{key}" if path else key
        if one is None or other is None:
            return f"{where} is {_said(one)} and {_said(other)}"
        difference = first_difference(one, other, where)
        if difference is not None:
            return difference
    return None


def _windowed(state: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    turns, others = state.get("turns"), other.get("turns")
    if not isinstance(turns, list) or not isinstance(others, list):
        return state
    shared = min(len(turns), len(others))
    return {**state, "turns": turns[len(turns) - shared :]}


def _said(value: Any) -> str:
    return "absent" if value is None else _shown(value)


def _shown(value: Any) -> str:
    words = repr(value)
    return words if len(words) <= 120 else f"{words[:100]}... ({len(words)} characters)"
