"""Patterns over commands and lines: regular expressions from windows, and `*` in rules.

A window writes JavaScript's regular expressions; `javascript` makes Python's of the part of
them that is the same in both but for its spelling, and gives up on the rest. Whoever wrote one
may have written one that takes forever, so those are tried by an engine that can be stopped
(`regex`).
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

import attrs

from ahpd.permissions.patience import MOST_SECONDS_EACH, Patience

#: The longest text a pattern is tried on. A pattern may take the square of its length.
MOST_MATCHED: Final = 2048
_MOST_PATTERN: Final = 2000

_WRAPPED: Final = re.compile(r"/(.+)/([dgimsuvy]*)", re.DOTALL)
_SAME_ESCAPES: Final = frozenset("dDwWsSbBnrtfv123456789")
_GROUPS: Final = ("(?:", "(?=", "(?!", "(?<=", "(?<!", "(?i:", "(?-i:", "(?m:", "(?s:")
_COUNTED: Final = re.compile(r"\{[0-9]+(?:,[0-9]*)?\}")
_HEX: Final = re.compile(r"x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}")


def is_expression(key: str) -> bool:
    """Whether `key` is written `/expression/flags`."""
    return _WRAPPED.fullmatch(key) is not None


@attrs.frozen
class Expression:
    """An expression somebody wrote, read."""

    source: str
    """As Python writes it."""
    _compiled: Any
    _stoppable: bool
    """Whether its engine can be stopped; one that is known takes no long time."""

    def found_in(self, text: str, patience: Patience) -> bool | None:
        """Whether it is found; None where that would take too long to find out."""
        if len(text) > MOST_MATCHED:
            return None
        if not self._stoppable:
            return self._compiled.search(text) is not None
        # The engine counts the time that passes, and patience the work: where a busy machine took
        # the time, it is tried once more.
        for _ in range(2):
            left = patience.left()
            most = min(left, MOST_SECONDS_EACH)
            try:
                return self._compiled.search(text, timeout=most) is not None
            except TimeoutError:
                if left - patience.left() > most / 2:
                    break
            except MemoryError:
                break
        return None


@lru_cache(maxsize=8192)
def javascript(key: str, dotall: bool, known: bool = False) -> Expression | None:
    """`/expression/flags` as Python's; None where it has something Python reads otherwise.

    With `dotall` a `.` is any character: a rule that refuses is not escaped by a newline.
    `known` is one of our own tables, whose expressions were measured.
    """
    found = _WRAPPED.fullmatch(key)
    if found is None or len(key) > _MOST_PATTERN:
        return None
    flags = re.ASCII
    flags |= re.IGNORECASE if "i" in found[2] else 0
    flags |= re.DOTALL if dotall or "s" in found[2] else 0
    try:
        source = _translated(found[1], "m" in found[2])
        # Read by both, so that what one of them has more than the other means nothing here.
        compiled: Any = re.compile(source, flags)
        if not known:
            compiled = _stoppable(source, flags)
    except (re.error, RecursionError, OverflowError, MemoryError, ValueError):
        return None
    return Expression(source, compiled, not known)


def _stoppable(source: str, flags: int) -> Any:
    # Imported with the first rule that needs it: most hosts have none.
    import regex  # noqa: PLC0415

    wanted = regex.VERSION0 | regex.ASCII
    wanted |= regex.IGNORECASE if flags & re.IGNORECASE else 0
    wanted |= regex.DOTALL if flags & re.DOTALL else 0
    try:
        return regex.compile(source, wanted, cache_pattern=False)
    except regex.error as problem:
        raise re.error(str(problem)) from None


def _translated(source: str, many_lines: bool) -> str:
    made: list[str] = []
    at = 0
    while at < len(source):
        character = source[at]
        if character == "\\":
            text, at = _escape(source, at)
            made.append(text)
        elif character == "[":
            text, at = _set(source, at)
            made.append(text)
        elif character == "(" and source.startswith("(?", at):
            group = next((each for each in _GROUPS if source.startswith(each, at)), None)
            if group is None:
                raise re.error("a group Python reads otherwise")
            made.append(group)
            at += len(group)
        elif character == "$":
            made.append(r"(?=\n|\Z)" if many_lines else r"\Z")
            at += 1
        elif character == "^":
            made.append(r"(?:(?<=\n)|\A)" if many_lines else r"\A")
            at += 1
        elif character in "*+?}" and source[at + 1 : at + 2] == "+":
            raise re.error("a quantifier JavaScript does not have")
        elif character == "{" and not _COUNTED.match(source, at):
            made.append(r"\{")  # an engine reads more than a count into it
            at += 1
        else:
            made.append(character)
            at += 1
    return "".join(made)


def _escape(source: str, at: int) -> tuple[str, int]:
    after = source[at + 1 : at + 2]
    if not after:
        raise re.error("it ends in a backslash")
    if number := _HEX.match(source, at + 1):
        return re.escape(chr(int(number[0][1:], 16))), number.end()
    if after in _SAME_ESCAPES:
        return "\\" + after, at + 2
    if after.isalnum():
        raise re.error("an escape Python reads otherwise")
    return re.escape(after), at + 2


def _set(source: str, at: int) -> tuple[str, int]:
    """A set in brackets, each of its characters as JavaScript means it."""
    at += 1
    negated = source.startswith("^", at)
    at += negated
    members: list[str] = []
    while at < len(source) and source[at] != "]":
        if source[at] == "\\":
            if source.startswith("\\b", at):
                text, at = r"\x08", at + 2
            else:
                text, at = _escape(source, at)
        else:
            # One that begins the set, or ends a range, is itself.
            ranges = source[at] == "-" and members and members[-1] != "-"
            text, at = ("-" if ranges else re.escape(source[at])), at + 1
        members.append(text)
    if at >= len(source):
        raise re.error("a set that is never closed")
    if not members:
        return (r"[\s\S]" if negated else r"(?!)"), at + 1
    return f"[{'^' if negated else ''}{''.join(members)}]", at + 1


@lru_cache(maxsize=16384)
def starred(pattern: str, also_alone: bool) -> re.Pattern[str]:
    r"""`pattern` with `*` for any run of characters; `\*` is a star and `\\` a backslash.

    Where it ends in ` *` what stands before that is meant as well; with `also_alone` the
    pattern means what follows it behind a blank, too.
    """
    ends = pattern.endswith(" *")
    first, *others = _pieces(pattern[:-2].rstrip(" ") if ends else pattern)
    behind = r"(?:[ \t\n].*)?" if ends or also_alone else ""
    return re.compile(first + in_turn(others) + behind, re.DOTALL)


def in_turn(pieces: Sequence[str]) -> str:
    """An expression for any characters and each of `pieces` (expressions of one length).

    All but the last are taken where they are first found, which is as good, and bounded.
    """
    if not pieces:
        return ""
    *between, last = pieces
    return "".join(f"(?>.*?{piece})" for piece in between) + f".*{last}"


def _pieces(pattern: str) -> list[str]:
    """What stands between the stars, as expressions."""
    made = [""]
    at = 0
    while at < len(pattern):
        if pattern[at] == "\\" and pattern[at + 1 : at + 2] in ("*", "\\"):
            made[-1] += re.escape(pattern[at + 1])
            at += 2
            continue
        if pattern[at] == "*":
            made.append("")
        else:
            made[-1] += re.escape(pattern[at])
        at += 1
    return made


def literal(pattern: str) -> str | None:
    """The one text a `starred` pattern means; None where it has a `*`."""
    made: list[str] = []
    at = 0
    while at < len(pattern):
        if pattern[at] == "*":
            return None
        if pattern[at] == "\\" and pattern[at + 1 : at + 2] in ("*", "\\"):
            at += 1
        made.append(pattern[at])
        at += 1
    return "".join(made)


def fixed_part(pattern: str) -> str:
    """What every text that a `starred` pattern means begins with."""
    at = 0
    while at < len(pattern) and pattern[at] != "*":
        at += 2 if pattern[at] == "\\" and pattern[at + 1 : at + 2] in ("*", "\\") else 1
    return (literal(pattern[:at]) or "").rstrip(" ")


def escaped(text: str) -> str:
    """The `starred` pattern that means `text` and nothing else."""
    return text.replace("\\", "\\\\").replace("*", "\\*")
