"""Patterns of paths, matched in bounded time: no regular expression, so none runs away.

`*` is any run of characters within a name, `?` one of them, a name `**` any number of names
and none, `{a,b}` either. A pattern without a slash is of a name at any depth.
"""

import itertools
from collections.abc import Iterator, Sequence

#: How many patterns the braces of one may make.
MOST_CHOICES = 64


def patterns(glob: str) -> "list[list[str]]":
    """The patterns one glob makes, each as its names. Raises `ValueError` in words."""
    choices = list(itertools.islice(_choices(glob), MOST_CHOICES + 1))
    if len(choices) > MOST_CHOICES:
        raise ValueError(f"its braces make more than {MOST_CHOICES} patterns")
    return [_names(choice) for choice in choices]


def _names(pattern: str) -> "list[str]":
    names = [name for name in pattern.split("/") if name and name != "."]
    if not names:
        raise ValueError("it names nothing")
    return names if "/" in pattern.rstrip("/") else ["**", *names]


def _choices(glob: str) -> Iterator[str]:
    """`a{b,c}d` is `abd` and `acd`; braces may stand in braces, and one alone is a character."""
    start = glob.find("{")
    end = _closing(glob, start) if start >= 0 else -1
    if end < 0:
        yield glob
        return
    for choice in _split(glob[start + 1 : end]):
        for rest in _choices(choice + glob[end + 1 :]):
            yield glob[:start] + rest


def _closing(glob: str, start: int) -> int:
    depth = 0
    for at in range(start, len(glob)):
        depth += (glob[at] == "{") - (glob[at] == "}")
        if depth == 0:
            return at
    return -1


def _split(body: str) -> "list[str]":
    parts, depth, begun = [], 0, 0
    for at, character in enumerate(body):
        depth += (character == "{") - (character == "}")
        if character == "," and depth == 0:
            parts.append(body[begun:at])
            begun = at + 1
    return [*parts, body[begun:]]


def matches(made: "Sequence[Sequence[str]]", path: str) -> bool:
    """Whether one of `patterns(...)` is of a path, whose names stand between slashes."""
    names = path.split("/")
    return any(_path_matches(pattern, names) for pattern in made)


def _path_matches(pattern: "Sequence[str]", names: "Sequence[str]") -> bool:
    # reached[i]: what was read of the pattern so far can stand for the first i names
    reached = [True] + [False] * len(names)
    for part in pattern:
        if part == "**":
            reached = list(itertools.accumulate(reached, lambda a, b: a or b))
        else:
            one_on = (
                before and name_matches(part, name)
                for before, name in zip(reached, names, strict=False)
            )
            reached = [False, *one_on]
    return reached[-1]


def name_matches(pattern: str, name: str) -> bool:
    """Whether a pattern of `*` and `?` is of a name; at most the product of their lengths."""
    at = where = 0
    star, tried = -1, 0
    while where < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, tried = at, where
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[where]):
            at += 1
            where += 1
        elif star >= 0:
            tried += 1
            at, where = star + 1, tried
        else:
            return False
    return pattern[at:].strip("*") == ""
