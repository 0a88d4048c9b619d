"""Replacing a piece of a text by another, exactly; and counting the lines that differ. Pure."""

import difflib
import itertools
from bisect import bisect_left
from collections.abc import Iterator
from typing import Final

import attrs

from ahpd_agent_openai.tools.text_files import line_end
from ahpd_agent_openai.tools.values import ToolProblem

#: How many lines of each side are compared one by one; of more the span that differs counts.
_COMPARED: Final = 2000
#: How many places of an ambiguous piece are told.
_PLACES_TOLD: Final = 10


@attrs.frozen
class Replaced:
    """A text with a piece replaced, and how often."""

    text: str
    count: int


def replaced(text: str, old: str, new: str, *, everywhere: bool) -> Replaced:
    """`text` with `old` replaced by `new`, once or everywhere. Raises `ToolProblem`.

    A model writes a line's end as one character and does not see which the file has, so each
    `\\n` of an `old` without a carriage return fits both, and what is put in ends its lines as
    what it replaces did, or as most of the file. Everything else is matched character by
    character, and nothing but the piece changes.
    """
    if old == new:
        raise ToolProblem("`old_text` and `new_text` are the same: there is nothing to change")
    found = list(_spans(text, old))
    if not found:
        raise ToolProblem(_not_found(text, old))
    if not everywhere:
        places = list(itertools.islice(_starts(text, old), _PLACES_TOLD + 1))
        if len(places) > 1:
            raise ToolProblem(_ambiguous(text, places))
    usual = line_end(text)
    pieces: list[str] = []
    done = 0
    for start, end in found:
        pieces += (text[done:start], _ended(new, text[start:end], usual))
        done = end
    pieces.append(text[done:])
    return Replaced("".join(pieces), len(found))


class _Flat:
    """A text in which every CRLF is one character, and the way back to the text's own places.

    Looking for a plain string takes time in proportion to the text, whatever is in it, which
    looking for an expression does not.
    """

    def __init__(self, text: str) -> None:
        self.text = text.replace("\r\n", "\n")
        self._pairs: list[int] = []
        at = text.find("\r\n")
        while at >= 0:
            self._pairs.append(at - len(self._pairs))
            at = text.find("\r\n", at + 2)

    def place(self, at: int) -> int:
        """Where in the text itself `at` is; of a line's end, where that begins."""
        return at + bisect_left(self._pairs, at)


def _spans(text: str, old: str) -> Iterator[tuple[int, int]]:
    """Where `old` is in `text`, from left to right, none over another."""
    if "\r" in old or "\n" not in old:
        yield from ((at, at + len(old)) for at in _found(text, old, len(old)))
        return
    flat = _Flat(text)
    for at in _found(flat.text, old, len(old)):
        yield flat.place(at), flat.place(at + len(old))


def _starts(text: str, old: str) -> Iterator[int]:
    """Where `old` begins, one over another too."""
    if "\r" in old or "\n" not in old:
        yield from _found(text, old, 1)
        return
    flat = _Flat(text)
    yield from map(flat.place, _found(flat.text, old, 1))


def _found(text: str, old: str, step: int) -> Iterator[int]:
    at = text.find(old)
    while at >= 0:
        yield at
        at = text.find(old, at + step)


def _ended(new: str, taken: str, usual: str) -> str:
    """`new` with the line ends of what it takes the place of."""
    if "\r" in new:
        return new
    return new.replace("\n", line_end(taken) if "\n" in taken else usual)


def _not_found(text: str, old: str) -> str:
    words = "`old_text` is not in the file; it has to be there character by character"
    lines = [line.strip() for line in old.splitlines() if line.strip()]
    if lines:
        near = [n for n, line in enumerate(text.splitlines(), 1) if line.strip() == lines[0]]
        if near:
            where = ", ".join(map(str, near[:_PLACES_TOLD]))
            words += f". Its first line, spaces around it aside, is at line {where}"
    return words + "."


def _ambiguous(text: str, places: list[int]) -> str:
    lines = ", ".join(str(text.count("\n", 0, at) + 1) for at in places[:_PLACES_TOLD])
    more = " and more" if len(places) > _PLACES_TOLD else ""
    return (
        f"`old_text` is in the file more than once, at lines {lines}{more}: take in more of the"
        " lines around the one you mean, or set `replace_all`"
    )


def lines_changed(before: str, after: str) -> tuple[int, int]:
    """How many lines were added, and how many removed."""
    old, new = _lines(before), _lines(after)
    start = 0
    shortest = min(len(old), len(new))
    while start < shortest and old[start] == new[start]:
        start += 1
    end = 0
    while end < shortest - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old, new = old[start : len(old) - end], new[start : len(new) - end]
    if not old or not new or max(len(old), len(new)) > _COMPARED:
        return len(new), len(old)
    same = sum(
        block.size for block in difflib.SequenceMatcher(None, old, new).get_matching_blocks()
    )
    return len(new) - same, len(old) - same


def _lines(text: str) -> list[str]:
    """The lines with their ends, which are newlines and nothing else."""
    *whole, last = text.split("\n")
    lines = [line + "\n" for line in whole]
    return [*lines, last] if last else lines
