"""Two states of a terminal, one of which may have lost the oldest of what was printed.

A host keeps so much of a terminal's output and no more. What is too much goes from the
front of `content`, and no action says so.
"""

from collections.abc import Sequence
from typing import Final

from ahpd.protocol import State
from ahpd.testing.differences import first_difference

#: What is kept at most: characters of output, as many of command lines, and parts.
SCROLLBACK: Final = 200_000
SCROLLBACK_PARTS: Final = 2_000
#: How many characters more may go, so that what is left begins where it can be read from.
OVERCUT: Final = 8_000


def terminal_difference(told: State, kept: State) -> str | None:
    """`first_difference` of two states of a terminal (schema: TerminalState), but for one thing.

    Where `told`, which the actions made, holds too much, the oldest parts may be missing
    from `kept`, and of the oldest that is left the text may be the end of what it was. No
    more may be gone than had to go, and nothing else may be another.
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
    printed = _printed(content)
    if printed > SCROLLBACK:
        return f"content holds {printed} characters, and at most {SCROLLBACK} are kept"
    lines = sum(map(_line, content))
    if lines > SCROLLBACK and len(content) > 1:  # the last part stays, whatever it has
        return f"content has {lines} characters of command lines, and {SCROLLBACK} are kept"
    if len(content) > SCROLLBACK_PARTS:
        return f"content has {len(content)} parts, and at most {SCROLLBACK_PARTS} are kept"
    return None


def holds_more(one: State, other: State) -> bool:
    """Whether the first of two states of a terminal reaches further back."""
    first, second = (state.get("content", []) for state in (one, other))
    return (len(first), _printed(first)) > (len(second), _printed(second))


def _content_difference(told: Sequence[State], kept: Sequence[State]) -> str | None:
    difference = first_difference(told, kept, "content")
    if difference is None or len(kept) > len(told):
        return difference
    first = len(told) - len(kept)
    for index, part in enumerate(kept, first):
        whole = _ending(told[index], part) if index == first else told[index]
        other = first_difference(whole, part, f"content[{index}]")
        if other is not None:
            return other
    if _had_to_go(told, kept):
        return None
    left = f"{_printed(kept)} characters in {len(kept)} parts"
    return f"more than had to go was cut, which left {left}: {difference}"


def _had_to_go(told: Sequence[State], kept: Sequence[State]) -> bool:
    """Whether the ending `kept` and the newest of what is missing are more than is kept."""
    first = len(told) - len(kept)
    missing = [(len(_text(part)), _line(part), 1) for part in reversed(told[:first])]
    if kept and (cut := len(_text(told[first])) - len(_text(kept[0]))):
        missing.insert(0, (cut, 0, 0))
    printed, lines, parts = _printed(kept), sum(map(_line, kept)), len(kept)
    spare = OVERCUT
    for size, line, count in missing:
        printed, lines, parts = printed + min(size, spare), lines + line, parts + count
        if printed > SCROLLBACK or lines > SCROLLBACK or parts > SCROLLBACK_PARTS:
            return True
        spare -= size
        if spare <= 0 or spare == OVERCUT:  # a part that printed nothing goes with no cut
            return False
    return False


def _ending(whole: State, part: State) -> State:
    """`whole` with as much of the end of its text as `part` has."""
    return {**whole, _key(whole): _text(part)} if _text(whole).endswith(_text(part)) else whole


def _key(part: State) -> str:
    return "output" if part.get("type") == "command" else "value"


def _text(part: State) -> str:
    return str(part.get(_key(part), ""))


def _line(part: State) -> int:
    return len(part.get("commandLine", ""))


def _printed(content: Sequence[State]) -> int:
    return sum(len(_text(part)) for part in content)
