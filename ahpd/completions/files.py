"""The files an `@` or a `#` may name, ranked and written as completion items.

Source: AHP.txt, `completions`. Everything here computes and waits for nothing, so that
it can be done off the reactor's thread.
"""

from collections.abc import Iterator, Sequence
from itertools import islice, zip_longest
from typing import Final

import attrs

from ahpd.completions.fuzzy import (
    Query,
    Target,
    answers_by_name,
    order,
    query,
    score,
    target,
    within,
)
from ahpd.completions.tokens import Word
from ahpd.protocol import State
from ahpd.protocol.file_uris import file_uri, shown

#: The most that are offered.
MOST: Final = 50
#: How many answers by their folders alone are looked at closely, the shortest paths first.
_MOST_FAR: Final = 5000


@attrs.frozen(eq=False, repr=False)
class Folder:
    """One working directory and the files listed under it."""

    path: str
    targets: Sequence[Target]

    @classmethod
    def of(cls, path: str, listed: Sequence[str]) -> "Folder":
        """A folder with `listed` files, paths relative to it."""
        return cls(path.rstrip("/") or "/", [target(one) for one in listed])

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.path.rpartition("/")[2] or "/"

    def holds(self, other: "Folder") -> bool:
        """Whether `other` is inside this one."""
        return other.path != self.path and other.path.startswith(self.path.rstrip("/") + "/")

    def uri(self, found: Target) -> str:
        """The URI of one of its files."""
        return file_uri(f"{self.path.rstrip('/')}/{found.path}")


_Found = tuple[Folder, Target]
_Ranked = tuple[tuple[int, int, int, int, str], _Found]


def files(word: Word, folders: Sequence[Folder]) -> list[State]:
    """Completion items (schema: CompletionItem) for the files that answer `word`, best first.

    A file inside two folders counts for the inner one. While nothing is typed the places
    are shared between the folders in turn.
    """
    wanted = query(word.typed)
    own = [_own(folder, folders) for folder in folders]
    chosen = _ranked(wanted, own) if wanted.text else _shared(own)
    names = [shown(found.name) for _, found in chosen]
    twice = {name for name in names if names.count(name) > 1}
    return [
        {
            "insertText": word.trigger + name,
            "rangeStart": word.start,
            "rangeEnd": word.end,
            "attachment": {
                "type": "resource",
                "uri": folder.uri(found),
                "label": shown(f"{folder.name}/{found.path}") if name in twice else name,
                "displayKind": "document",
            },
        }
        for name, (folder, found) in zip(names, chosen, strict=True)
    ]


def _own(folder: Folder, folders: Sequence[Folder]) -> Iterator[_Found]:
    """What is in no other folder that is inside this one."""
    cut = len(folder.path.rstrip("/")) + 1
    inner = tuple(other.path[cut:] + "/" for other in folders if folder.holds(other))
    for found in folder.targets:
        if not found.path.startswith(inner):
            yield folder, found


def _shared(own: Sequence[Iterator[_Found]]) -> list[_Found]:
    turns = zip_longest(*(islice(files_of, MOST) for files_of in own))
    return list(islice((found for turn in turns for found in turn if found), MOST))


def _ranked(wanted: Query, own: Sequence[Iterator[_Found]]) -> list[_Found]:
    by_name: list[_Ranked] = []
    by_path: list[tuple[int, _Found]] = []
    for index, files_of in enumerate(own):
        for folder, found in files_of:
            if not within(wanted.folded, found.folded):
                continue
            if answers_by_name(wanted, found):
                by_name.append(_rank(wanted, index, (folder, found)))
            else:
                by_path.append((index, (folder, found)))
    if len(by_name) < MOST:
        # A name comes before every path, so paths are looked at for the places left alone.
        by_path.sort(key=lambda one: (len(one[1][1].path), one[0], one[1][1].path))
        by_name += [_rank(wanted, index, found) for index, found in by_path[:_MOST_FAR]]
    by_name.sort(key=lambda one: one[0])
    return [found for _, found in by_name[:MOST]]


def _rank(wanted: Query, index: int, found: _Found) -> "_Ranked":
    value, name_length, length, path = order(score(wanted, found[1]), found[1])
    return (value, name_length, length, index, path), found
