"""What changed between two moments, whatever happened in between."""

from collections.abc import Callable, Iterator
from enum import Enum
from typing import Final

from ahpd.protocol import State


class Kind(Enum):
    """What a change tells apart; a link is no folder, wherever it leads."""

    FILE = "file"
    FOLDER = "folder"


class Changes:
    """What became of each path since this was last taken.

    What came and went is nothing, what went and came is `updated`, and what is a folder where
    a file was is `deleted` and `added`. So whoever adds and takes away as it is told, in the
    order it is told, has what is there, and knows what each is.
    """

    def __init__(self) -> None:
        self._seen: dict[str, tuple[Kind | None, Kind | None, bool]] = {}

    def note(self, path: str, before: Kind | None, now: Kind | None) -> None:
        """What is under `path`, and what was; None for nothing, the same twice for a change."""
        first, last, changed = self._seen.get(path, (before, before, False))
        changed = changed or last is None or before is now
        self._seen[path] = first, now, changed and first is not None

    def take(self, uri: Callable[[str], str]) -> list[State]:
        """The changes (schema: ResourceChange), and none from here on.

        First what is gone, what was in a folder before the folder; then what is new, a folder
        before what is in it; then what is another than it was.
        """
        seen, self._seen = self._seen, {}
        return list(_written(dict(sorted(seen.items())), uri))

    def clear(self) -> None:
        """Forget what was noted."""
        self._seen.clear()


def _written(
    seen: dict[str, tuple[Kind | None, Kind | None, bool]], uri: Callable[[str], str]
) -> Iterator[State]:
    deleted: Final = [path for path, (was, now, _) in seen.items() if was and was is not now]
    for path in reversed(deleted):
        yield {"uri": uri(path), "type": "deleted"}
    for path, (was, now, _) in seen.items():
        if now and was is not now:
            yield {"uri": uri(path), "type": "added"}
    for path, (was, now, changed) in seen.items():
        if changed and was is now:
            yield {"uri": uri(path), "type": "updated"}
