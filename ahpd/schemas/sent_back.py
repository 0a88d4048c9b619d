"""What was hidden where a value was shown, put back where the value is sent back.

A client changes a record by sending back what it was shown, so `<set>` stands for what is held
at that place, and for nothing else: a secret goes to no other key, argument or host. What stands
for nothing is refused, for nobody meant the word itself. Source: PLUGINS.txt, "Marking a
credential", `x-ahpd/agents/put`.
"""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.schemas.documents import plain
from ahpd.schemas.failures import Misfit
from ahpd.schemas.marks import SET
from ahpd.schemas.references import is_reference

#: An argument that names the one behind it: `--token`.
_ARGUMENT: Final = re.compile(r"--?[A-Za-z0-9_.-]+")
#: What tells which item of a list is which, where two say something else.
_IDENTITY: Final = ("id", "name")


def sent_back(given: Any, held: Any, *shown: Any, at: str) -> Any:
    """A copy of the object `given` with what is held in place of every `<set>`.

    `held` is what it is sent in place of, None for nothing, and `shown` are the forms in which a
    client may have been shown that; `at` is where it stands. What shows a part of a text
    (`https://<set>@host/`) stands for it as long as nothing of that text was changed. An item of
    a list that says what one shown says is that one, and one argument the one behind the same
    name; where it cannot be told which is meant, none is. Raises `Misfit`, which names the first
    field that says `<set>` and stands for nothing.
    """
    if not _hides(given):
        return given
    first = ""
    for form in shown or (None,):
        back = _Back()
        made = back.value(given, held, form, "")
        if not back.left:
            return made
        first = first or back.left[0]
    raise Misfit(f"{at}{first} is {SET} and stands for nothing that is held: send its value")


def _hides(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(_hides(held) for held in value.values())
    if isinstance(value, list | tuple):
        return any(_hides(item) for item in value)
    return isinstance(value, str) and SET in value


@attrs.define
class _Back:
    """One value put back. `left` are the fields, under it, that say `<set>` still."""

    left: list[str] = attrs.field(factory=list)

    def value(self, given: Any, held: Any, shown: Any, path: str) -> Any:
        if not _hides(given):
            return given
        if isinstance(given, Mapping):
            return self._in_object(given, held, shown, path)
        if isinstance(given, list | tuple):
            return self._in_list(given, held, shown, path)
        if held is not None and given in (SET, shown):
            return plain(held)
        self.left.append(path)
        return given

    def _in_object(
        self, given: Mapping[str, Any], held: Any, shown: Any, path: str
    ) -> dict[str, Any]:
        before, seen = _object(held), _object(shown)
        return {
            key: self.value(value, before.get(key), seen.get(key), f"{path}.{key}")
            for key, value in given.items()
        }

    def _in_list(self, given: Sequence[Any], held: Any, shown: Any, path: str) -> list[Any]:
        before, seen = _items(held), _items(shown)
        if len(before) != len(seen):  # it was shown as one `<set>`
            seen = [None] * len(before)
        made = []
        for index, (item, place) in enumerate(zip(given, _places(given, seen), strict=True)):
            was, form = (None, None) if place is None else (before[place], seen[place])
            made.append(self.value(item, was, form, f"{path}[{index}]"))
        return made


def _places(given: Sequence[Any], shown: Sequence[Any]) -> list[int | None]:
    """For each item given the place of the one shown that it is, or None."""
    now, then = _told(given), _told(shown)
    mine, theirs = _by_words(now), _by_words(then)
    found: list[int | None] = [None] * len(now)
    edited = []
    for words, places in mine.items():
        others = theirs.get(words, [])
        there = set(others)
        if len(places) == len(others):
            for index, place in zip(places, others, strict=True):
                found[index] = place
        elif len(now) == len(then):  # none came and none went
            for index in places:
                found[index] = index if index in there else None
            edited += [index for index in places if not others and then[index] not in mine]
    for index in edited:
        one = _is_one(given[index], shown[index])
        if one or (len(edited) == 1 and isinstance(given[index], Mapping)):
            found[index] = index
    return found


def _by_words(told: Sequence[str]) -> dict[str, list[int]]:
    places: dict[str, list[int]] = {}
    for index, words in enumerate(told):
        places.setdefault(words, []).append(index)
    return places


def _is_one(given: Any, shown: Any) -> bool:
    """Whether an item is one that was changed in its place; a text that was is another."""
    if not isinstance(given, Mapping):
        return isinstance(given, list | tuple)
    seen = _object(shown)
    return all(given.get(key) == seen.get(key) for key in _IDENTITY)


def _told(items: Sequence[Any]) -> list[str]:
    """What each item says beside its secrets, so that two that say the same are told by it."""
    told = []
    before: Any = None
    for item in items:
        if item == SET or is_reference(item):
            named = isinstance(before, str) and _ARGUMENT.fullmatch(before)
            told.append(json.dumps([SET, before if named else None]))
        else:
            told.append(json.dumps(_bare(item) if not isinstance(item, str) else item))
        before = item
    return told


def _bare(value: Any) -> Any:
    """A value without what may be hidden in it, or be sent empty."""
    if is_reference(value) or value == "" or (isinstance(value, str) and SET in value):
        return None
    if isinstance(value, Mapping):
        inner = {key: _bare(value[key]) for key in sorted(value, key=str)}
        return {key: one for key, one in inner.items() if one is not None}
    if isinstance(value, list | tuple):
        return [_bare(item) for item in value]
    return value


def _object(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _items(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list | tuple) else []
