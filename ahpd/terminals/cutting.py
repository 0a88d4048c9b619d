"""Where a terminal's output can be cut, so that what follows reads as it did.

A sequence begins with ESC or a C1 control and is broken off by either, so the last of
them ahead of a place says what the place is in (ECMA-48; xterm, "Control Sequences").
"""

import re
import unicodedata
from typing import Final

#: Characters a sequence may have. One of more, a picture for one, is cut like text.
LONGEST_SEQUENCE: Final = 4096
#: How far past a place a line's start is looked for.
LINE_NEAR: Final = 1000
#: How many of them are tried: a newline may stand in a sequence too.
_LINES_TRIED: Final = 16
#: Characters that may hang on to another one.
_LONGEST_CLUSTER: Final = 64

_C1_INTRODUCERS: Final = "\x8e\x8f\x90\x98\x9b\x9d\x9e\x9f"
_KINDS: Final = {
    "\x8e": "N", "\x8f": "O", "\x90": "P", "\x98": "X", "\x9b": "[", "\x9d": "]", "\x9e": "^",
    "\x9f": "_",
}  # fmt: skip

#: Controls that are obeyed inside a sequence and leave it as it is.
_INSIDE: Final = r"\x00-\x17\x19\x1c-\x1f\x7f"
#: All below what breaks a sequence off and goes with it, which terminals do not draw: CAN, SUB,
#: and whatever comes behind the controls. It is said as what it is not, because a set of all
#: that Unicode has takes milliseconds to compile.
_NO_BREAKS: Final = r"\x00-\x17\x19\x1b\x80-\x9f"
_KIND: Final = re.compile(f"[{_INSIDE}]*(.)?", re.DOTALL)
_CSI: Final = re.compile(rf"[{_INSIDE}\x20-\x3f]*[^{_NO_BREAKS}\x1c-\x3f\x7f]?")
_ESCAPE: Final = re.compile(rf"[{_INSIDE}\x20-\x2f]*[^{_NO_BREAKS}\x1c-\x2f\x7f]?")
#: One character out of another set.
_SHIFTED: Final = re.compile("[^\x1b\x80-\x9f]?")
_STRING: Final = re.compile("[^\x18\x1a\x1b\x80-\x9f]*(?:\x1b\\\\|[\x18\x1a\x9c]|)")
_OSC: Final = re.compile("[^\x07\x18\x1a\x1b\x80-\x9f]*(?:\x1b\\\\|[\x07\x18\x1a\x9c]|)")


def place_to_cut(text: str, at: int, longest: int = LONGEST_SEQUENCE) -> int:
    """The first good place in `text` from `at` on: a line's start where one is near.

    `text` need not begin where it can be read from: `longest` characters ahead of `at` are
    enough, and behind it what a sequence and the way to a line take.
    """
    place = _outside(text, at, longest)
    if place == 0 or text[place - 1] == "\n":
        return place
    newline = place - 1
    for _ in range(_LINES_TRIED):
        newline = text.find("\n", newline + 1, place + LINE_NEAR)
        if newline < 0:
            break
        if _outside(text, newline + 1, longest) == newline + 1:
            return newline + 1
    return place


def _outside(text: str, at: int, longest: int) -> int:
    """The first place from `at` on that is in no sequence and in no cluster of characters."""
    return _after_cluster(text, _after_sequence(text, at, longest))


def _after_sequence(text: str, at: int, longest: int) -> int:
    begin = text.rfind("\x1b", max(0, at - longest), at)
    if not text.isascii():
        for introducer in _C1_INTRODUCERS:
            begin = max(begin, text.rfind(introducer, max(0, at - longest), at))
    if begin < 0:
        return at
    end = _end_of_sequence(text, begin)
    return at if end <= at or end - begin > longest else end


def _end_of_sequence(text: str, begin: int) -> int:
    """Where the sequence that begins there ends, or is broken off, or the text does."""
    at = begin + 1
    kind = _KINDS.get(text[begin])
    if kind is None:
        found = _KIND.match(text, at)
        assert found is not None
        kind = found[1]
        if kind is None:
            return len(text)
        at = found.start(1)
        if kind not in "[]PX^_NO":
            return _matched(_ESCAPE, text, at)
        at += 1
    if kind == "[":
        return _matched(_CSI, text, at)
    if kind == "]":
        return _matched(_OSC, text, at)
    if kind in "NO":
        return _matched(_SHIFTED, text, at)
    return _matched(_STRING, text, at)


def _matched(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    assert found is not None, "each of them matches nothing at all, too"
    return found.end()


def _after_cluster(text: str, at: int) -> int:
    """Past what would hang on to nothing: accents, variants, what a joiner joined."""
    end = min(len(text), at + _LONGEST_CLUSTER)
    place = at
    while 0 < place < end and _hangs_on(text[place], text[place - 1]):
        place += 1
    return place


def _hangs_on(character: str, before: str) -> bool:
    """Whether it is drawn with the one before it: a mark, a joiner or what was joined, a skin's
    tone, the second half of a surrogate pair."""
    if character < "\u00a0":
        return False
    return (
        before == "\u200d"
        or character == "\u200d"
        or "\U0001f3fb" <= character <= "\U0001f3ff"
        or "\udc00" <= character <= "\udfff"
        or unicodedata.category(character)[0] == "M"
    )
