"""How well a path answers what somebody typed, in the way of an editor's quick-open.

A path answers when the typed characters come in it in their order, whatever their case.
Which of several does better is decided first by the kind of the match: the whole name or
the whole path, then the beginning of the name, then characters of the name, then
characters of the path. Within a kind it is a sum: runs of characters that stand together,
beginnings of words (behind a separator, or a capital in a small-letter name) and the same
case count for more. What is left is decided by length, and then by the path itself, so
the order is the same each time.
"""

from typing import Final

import attrs

#: No person types more to find a file; what is past it is not looked at.
LONGEST_QUERY: Final = 64
#: Longer names and paths are matched by their first way alone.
_LONGEST_SCORED: Final = 160

_MATCH: Final = 4
_SAME_CASE: Final = 1
_START: Final = 12
_BEHIND_SLASH: Final = 10
_BEHIND_SEPARATOR: Final = 9
_CAPITAL: Final = 8
_TOGETHER: Final = 6
#: From here on a character of a run counts for no more than the one before it.
_LONGEST_RUN: Final = 4
#: More than any sum comes to.
_KIND: Final = 1_000_000

_SEPARATORS: Final = frozenset("_-. '\":")


@attrs.frozen(slots=True)
class Query:
    """What was typed, made ready to be held against many paths."""

    text: str
    folded: str

    @property
    def names_a_folder(self) -> bool:
        """Whether it has a `/` in it, which no name has."""
        return "/" in self.text


def query(typed: str) -> Query:
    """`typed` as it is matched: `\\` is a `/`, and wildcards say nothing."""
    text = typed.replace("\\", "/").replace("*", "").replace("…", "")[:LONGEST_QUERY]
    return Query(text, _folded(text))


def _folded(text: str) -> str:
    """Lower case, character for character: a few letters would grow."""
    lowered = text.lower()
    if len(lowered) == len(text):
        return lowered
    return "".join(low if len(low := char.lower()) == 1 else char for char in text)


@attrs.frozen(slots=True)
class Target:
    """A path made ready to be matched: relative, written with `/`."""

    path: str
    folded: str
    name_at: int
    """Where the name begins in it."""

    @property
    def name(self) -> str:
        """The last part."""
        return self.path[self.name_at :]


def target(path: str) -> Target:
    """`path` made ready once for any number of queries."""
    return Target(path, _folded(path), path.rfind("/") + 1)


def score(wanted: Query, found: Target) -> int:
    """How well `found` answers; 0 where it does not. Nothing was typed: everything does, alike."""
    folded = wanted.folded
    if not folded:
        return 1
    if not within(folded, found.folded):
        return 0
    name = found.folded[found.name_at :]
    if folded in (name, found.folded):
        whole = found.name if folded == name else found.path
        return 4 * _KIND + (1 if whole == wanted.text else 0)
    if not wanted.names_a_folder:
        if name.startswith(folded):
            return 3 * _KIND + _first_way(wanted, found.name, name)
        if within(folded, name):
            return 2 * _KIND + _sum(wanted, found.name, name)
    return _KIND + _sum(wanted, found.path, found.folded)


def answers_by_name(wanted: Query, found: Target) -> bool:
    """Whether it answers with its name or as a whole, and so before all that do by their path."""
    folded = wanted.folded
    if wanted.names_a_folder:
        return folded == found.folded
    return within(folded, found.folded[found.name_at :])


def order(value: int, found: Target) -> tuple[int, int, int, str]:
    """Sorts the best answer first."""
    return (-value, len(found.path) - found.name_at, len(found.path), found.path)


def within(folded: str, text: str) -> bool:
    """Whether the characters of `folded` come in `text` in their order."""
    at = -1
    for char in folded:
        at = text.find(char, at + 1)
        if at < 0:
            return False
    return True


def _sum(wanted: Query, text: str, folded: str) -> int:
    """The best sum over all the ways `wanted` comes in `text`."""
    if len(text) > _LONGEST_SCORED:
        return _first_way(wanted, text, folded)
    if len(wanted.folded) == 1:
        return _best_place(wanted, text, folded)
    worth = [_place(text, at) for at in range(len(text))]
    # Per place of the text: the best sum of a way that ends there, and its last run's length.
    previous: list[tuple[int, int]] = []
    for step, char in enumerate(wanted.folded):
        current: list[tuple[int, int]] = []
        best = 0 if step == 0 else -1
        for at, other in enumerate(folded):
            if step and at and previous[at - 1][0] > best:
                best = previous[at - 1][0]
            if other != char or best < 0:
                current.append((-1, 0))
                continue
            own = _MATCH + (_SAME_CASE if wanted.text[step] == text[at] else 0)
            ways = [(best + own + worth[at], 1)]
            if step and at and previous[at - 1][0] >= 0:
                sum_before, run = previous[at - 1]
                ways.append((sum_before + own + _TOGETHER * min(run + 1, _LONGEST_RUN), run + 1))
            current.append(max(ways))
        previous = current
    return max(total for total, _ in previous)


def _first_way(wanted: Query, text: str, folded: str) -> int:
    """The sum of the first way, which is the best one for the beginning of a name."""
    total, last, run = 0, -2, 1
    for step, char in enumerate(wanted.folded):
        at = folded.find(char, max(last + 1, 0))
        if at < 0:
            break
        run = run + 1 if at == last + 1 else 1
        total += _MATCH + (_SAME_CASE if wanted.text[step] == text[at] else 0)
        total += _place(text, at) if run == 1 else _TOGETHER * min(run, _LONGEST_RUN)
        last = at
    return total


def _best_place(wanted: Query, text: str, folded: str) -> int:
    """The best sum of a single character."""
    best, at = 0, folded.find(wanted.folded)
    while at >= 0:
        same = _SAME_CASE if wanted.text == text[at] else 0
        best = max(best, _MATCH + same + _place(text, at))
        at = folded.find(wanted.folded, at + 1)
    return best


def _place(text: str, at: int) -> int:
    """What it is worth that a match begins at this place of the text."""
    if at == 0:
        return _START
    before = text[at - 1]
    if before == "/":
        return _BEHIND_SLASH
    if before in _SEPARATORS:
        return _BEHIND_SEPARATOR
    return _CAPITAL if text[at].isupper() and not before.isupper() else 0
