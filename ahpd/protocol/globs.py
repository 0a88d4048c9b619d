"""The globs of a resource watch: which paths below its root are told of, and looked into.

"Glob patterns or paths relative to `uri`" (schema: ResourceWatchState) means what VS Code's
watchers mean by it. A pattern is matched against the whole path below the root, segment by
segment: `*` is any run of characters within a segment, a dot in front included, `?` is one
of them, `[a-z]` and `[!a-z]` are one of a set, a segment `**` is any number of segments and
none, `{a,b}` is either, slashes inside and all. A pattern that holds none of these is a path:
it means what it names and all that is below.

Patterns come from clients, and none may hold up the host: what a run of characters or of
segments stands for is settled at its first fit and not tried again (an atomic group), which
is as good, since what follows it up to the next run is of one length.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from typing import Final

#: How many characters a list of patterns may have, as it is written and with each choice of
#: its braces counted.
MOST_CHARACTERS: Final = 20_000
_MOST_BRACES: Final = 50
#: How many segments one pattern may have. Each is a group in the one before it.
_MOST_SEGMENTS: Final = 200

_MAGIC: Final = re.compile(r"[*?\[{]")
_CHARACTER: Final = "[^/]"
#: Any number of whole segments, as few as will do.
_SEGMENTS: Final = "(?:[^/]+/)*?"
_ANYTHING: Final = ".*"

_Match = Callable[[str], object]
_Pattern = Sequence[str]


class WatchFilter:
    """What one watch tells of. Paths are relative to its root; "" is the root itself."""

    def __init__(self, includes: Sequence[str] | None = None, excludes: Sequence[str] = ()) -> None:
        """`includes` of None, or without a pattern, leaves out only what is excluded.

        Raises `ValueError` with words that name a pattern nobody can read.
        """
        wanted = _read(includes or ())
        unwanted = _read(excludes)
        self._wanted = _any_of([_regex(pattern) for pattern in wanted])
        self._on_the_way = _any_of([_regex_of_folders(pattern) for pattern in wanted])
        self._unwanted = _any_of([_regex(pattern) for pattern in unwanted])

    def reports(self, path: str) -> bool:
        """Whether a change of `path` is told of; nothing below an excluded folder is asked for."""
        if self._wanted is not None and self._wanted(path) is None:
            return False
        return not path or self._unwanted is None or self._unwanted(path) is None

    def enters(self, path: str) -> bool:
        """Whether the folder `path` is looked into: not excluded, and with room for what is told of."""
        if not path:
            return True
        if self._unwanted is not None and self._unwanted(path) is not None:
            return False
        return self._on_the_way is None or self._on_the_way(path) is not None


def whole_path(pattern: str, most: int = MOST_CHARACTERS) -> Callable[[str], bool]:
    """Whether an absolute path is one `pattern` means, as VS Code matches a glob with a path.

    Here a pattern without any of the characters above means the one path it names, and `a/**`
    means `a` too. One that begins with neither `/` nor `**` matches no absolute path. Raises
    `ValueError` with words that name a pattern nobody can read, or one of more than `most`
    characters, each choice of its braces counted.
    """
    if not pattern.startswith(("/", "\\", "**")):
        return lambda path: False
    matches = _any_of([_regex(each) for each in _read((pattern,), False, most)])
    return lambda path: matches is not None and matches(path.lstrip("/")) is not None


def _read(globs: Sequence[str], below: bool = True, most: int = MOST_CHARACTERS) -> list[_Pattern]:
    """Each pattern as its segments. A path means what is `below` it too: it ends in `**`."""
    found: list[_Pattern] = []
    length = 0
    if sum(map(len, globs)) > most:
        raise ValueError(f"the patterns have more than {most} characters")
    for glob in globs:
        if glob.count("{") > _MOST_BRACES:
            raise ValueError(f"a pattern has more than {_MOST_BRACES} braces")
        for pattern in _expanded(glob.replace("\\", "/"), glob):
            length += len(pattern) + 1
            if length > most:
                raise ValueError(
                    f"the patterns have more than {most} characters, every choice in braces counted"
                )
            segments = [each for each in pattern.split("/") if each not in ("", ".")]
            if len(segments) > _MOST_SEGMENTS:
                raise ValueError(f"a pattern has more than {_MOST_SEGMENTS} segments")
            if ".." in segments:
                raise ValueError(f"the pattern {glob!r} leads out of what is watched")
            if below and _MAGIC.search(glob) is None:
                segments.append("**")
            _check(segments, glob)
            found.append(segments)
    return found


def _expanded(pattern: str, glob: str) -> Iterator[str]:
    """`pattern` without braces, once for each choice they leave."""
    start = next((at for at in _outside_sets(pattern, 0) if pattern[at] == "{"), -1)
    if start < 0:
        yield pattern
        return
    depth, begin, choices = 0, start + 1, []
    for at in _outside_sets(pattern, start):
        character = pattern[at]
        depth += (character == "{") - (character == "}")
        if depth == 0 or (depth == 1 and character == ","):
            choices.append(pattern[begin:at])
            begin = at + 1
        if depth == 0:
            break
    else:
        raise ValueError(f"the pattern {glob!r} has a brace that is never closed")
    for choice in choices:
        yield from _expanded(pattern[:start] + choice + pattern[begin:], glob)


def _outside_sets(pattern: str, at: int) -> Iterator[int]:
    """Where each character from `at` on is that is in no set in brackets."""
    may_close = True  # where one is not closed none behind it is either, and none is looked for
    while at < len(pattern):
        end = -1
        if may_close and pattern[at] == "[":
            end = _end_of_set(pattern, at)
            may_close = end >= 0
        if end < 0:
            yield at
        at = max(at, end) + 1


def _end_of_set(pattern: str, start: int) -> int:
    """Where the set that begins at `start` is closed; -1 where it is not."""
    first = start + (2 if pattern[start + 1 : start + 2] in ("!", "^") else 1)
    return pattern.find("]", first + 1)


def _check(segments: _Pattern, glob: str) -> None:
    try:
        for segment in segments:
            _regex_of_segment(segment)
    except (ValueError, re.error):
        raise ValueError(f"the pattern {glob!r} has a set of characters nobody can read") from None


def _any_of(expressions: Sequence[str]) -> _Match | None:
    if not expressions:
        return None
    return re.compile("|".join(dict.fromkeys(expressions)), re.DOTALL).fullmatch


def _regex(pattern: _Pattern) -> str:
    """What matches the whole of a path that `pattern` means."""
    blocks: list[list[str]] = [[]]
    for segment in pattern:
        if segment == "**":
            if blocks[-1] or len(blocks) == 1:
                blocks.append([])
        else:
            blocks[-1].append(_regex_of_segment(segment))
    first, *others = ["/".join(block) for block in blocks]
    if not others:
        return first
    *between, last = others
    # Each block but the first and the last is looked for where it is first found.
    body = "".join(f"(?>{_SEGMENTS}{block}/)" for block in between)
    if last:
        return f"{first}/{body}{_SEGMENTS}{last}" if first else f"{body}{_SEGMENTS}{last}"
    # A `**` at the end is none or more: the folder itself, and anything in it.
    if not between:
        return f"{first}(?:/{_ANYTHING})?" if first else _ANYTHING
    body = body[: -len("/)")] + f"(?=/|\\Z))(?:/{_ANYTHING})?"
    return f"{first}/{body}" if first else body


def _regex_of_folders(pattern: _Pattern) -> str:
    """What matches the folders on the way to what `pattern` means, and those it is in."""
    ways: list[str] = []
    for segment in pattern:
        if segment == "**":
            tail = f"(?:/{_ANYTHING})?" if ways else _ANYTHING
            break
        ways.append(_regex_of_segment(segment))
    else:
        ways, tail = ways[:-1], ""
    regex = tail
    for index in range(len(ways) - 1, -1, -1):
        regex = f"{ways[index]}{regex}" if index == 0 else f"(?:/{ways[index]}{regex})?"
    return regex


def _regex_of_segment(segment: str) -> str:
    """What matches one segment. Raises `ValueError` or `re.error` for a set nobody can read."""
    runs: list[str] = [""]
    at = 0
    while at < len(segment):
        character = segment[at]
        if character == "*":
            if runs[-1] or len(runs) == 1:
                runs.append("")
        elif character == "?":
            runs[-1] += _CHARACTER
        elif character == "[":
            end = _end_of_set(segment, at)
            if end < 0:
                raise ValueError(segment)
            runs[-1] += _regex_of_set(segment[at + 1 : end])
            at = end
        else:
            runs[-1] += re.escape(character)
        at += 1
    first, *others = runs
    if not others:
        return first
    *between, last = others
    found = "".join(f"(?>{_CHARACTER}*?{run})" for run in between)
    return f"{first}{found}{_CHARACTER}*{last}"


def _regex_of_set(body: str) -> str:
    negated = body[0] in "!^"
    members = "".join(
        "-" if each == "-" else re.escape(each) for each in body[1 if negated else 0 :]
    )
    found = f"(?!/)[{'^' if negated else ''}{members}]"
    re.compile(found)
    return found
