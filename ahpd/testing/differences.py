"""Where two states differ, by the rules states are compared with."""

from collections.abc import Sequence
from typing import Any, Final

from ahpd.protocol import State

#: A window's cursor says how a state was asked for, not what it is.
_CURSOR = "turnsNextCursor"

#: What a host keeps of a terminal at most: characters of what was printed, and parts.
SCROLLBACK: Final = 200_000
SCROLLBACK_PARTS: Final = 2_000


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


# -- terminals --------------------------------------------------------------------------


def terminal_difference(told: State, kept: State) -> str | None:
    """`first_difference` of two states of a terminal (schema: TerminalState), but for one thing.

    A host takes what is too much from the front of `content` and says nothing of it. So
    where `told`, which the actions made, holds more than is kept, the oldest parts may be
    missing from `kept` and the oldest that is left may be the end of what it was: its
    text, and nothing else of it. At least half of what may be kept has to be there.
    """
    one, other = (
        {key: value for key, value in state.items() if key != "content"} for state in (told, kept)
    )
    return first_difference(one, other) or _content_difference(
        told.get("content", []), kept.get("content", [])
    )


def scrollback_excess(state: State) -> str | None:
    """In words, how much more a host holds of a terminal than it may keep, or None."""
    content = state.get("content", [])
    printed = sum(len(part.get(_text_key(part), "")) for part in content)
    if printed > SCROLLBACK:
        return f"content holds {printed} characters, and at most {SCROLLBACK} are kept"
    if len(content) > SCROLLBACK_PARTS:
        return f"content has {len(content)} parts, and at most {SCROLLBACK_PARTS} are kept"
    return None


def holds_more(one: State, other: State) -> bool:
    """Whether the first of two states of a terminal has more of what was printed."""
    return _weight(one.get("content", [])) > _weight(other.get("content", []))


def _content_difference(told: Sequence[State], kept: Sequence[State]) -> str | None:
    difference = first_difference(told, kept, "content")
    too_much = _weight(told) > SCROLLBACK or len(told) > SCROLLBACK_PARTS
    if difference is None or not too_much or len(kept) > len(told):
        return difference
    if 2 * _weight(kept) < SCROLLBACK and 2 * len(kept) < SCROLLBACK_PARTS:
        return f"content was cut to {_weight(kept)} characters in {len(kept)} parts"
    first = len(told) - len(kept)
    for index, part in enumerate(kept, first):
        whole = told[index]
        if index == first:
            whole = _ending(whole, part)
        difference = first_difference(whole, part, f"content[{index}]")
        if difference is not None:
            return difference
    return None


def _ending(whole: State, part: State) -> State:
    """`whole` with as much of the end of its text as `part` has."""
    key = _text_key(whole)
    text, end = whole.get(key), part.get(key)
    if isinstance(text, str) and isinstance(end, str) and text.endswith(end):
        return {**whole, key: end}
    return whole


def _text_key(part: State) -> str:
    return "output" if part.get("type") == "command" else "value"


def _weight(content: Sequence[State]) -> int:
    """The characters of what was printed, and of the command lines among it."""
    return sum(
        len(part.get(_text_key(part), "")) + len(part.get("commandLine", "")) for part in content
    )


def _said(value: Any) -> str:
    return "absent" if value is None else _shown(value)


def _shown(value: Any) -> str:
    words = repr(value)
    return words if len(words) <= 120 else f"{words[:100]}... ({len(words)} characters)"
