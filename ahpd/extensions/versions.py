"""Rows that are not the same for every caller: in the reader's own language, for one.

An action is encoded once for everybody, so a row with several versions is said once for each.
Which callers there are is known from their subscribes: one that is away is replayed the version
it held, and one that comes back with another language is given a snapshot.
"""

from collections.abc import Callable, Iterator
from typing import Final

from ahpd.interfaces import Caller, Reader
from ahpd.protocol import State

#: A row as one caller is shown it. It looks at the row, the reader and the locale alone.
Shown = Callable[[State, Caller], State]
#: Whether a caller is sent a version.
ShownTo = Callable[[Caller], bool]

#: How many kinds of callers are told apart; any further one is shown what no language asks for.
MOST: Final = 64

_Kind = tuple[str | None, str | None]


class Versions:
    """The versions of one channel's rows, by the kind of caller: person and language."""

    def __init__(self, shown: Shown) -> None:
        self._shown = shown
        self._kinds: dict[_Kind, Reader | None] = {(None, None): None}

    def of(self, row: State, caller: Caller) -> State:
        """`row` as `caller` reads it."""
        return self._version(row, self._known(caller))

    def met(self, caller: Caller) -> None:
        """`caller` reads the list, and is to be sent what moves in it."""
        kind = _kind(caller)
        if kind not in self._kinds and len(self._kinds) < MOST:
            self._kinds[kind] = caller.reader

    def _known(self, caller: Caller) -> _Kind:
        kind = _kind(caller)
        return kind if kind in self._kinds else (None, None)

    def each(self, row: State) -> Iterator[tuple[State, ShownTo]]:
        """Every version of `row` that somebody is shown, and to whom it is sent."""
        versions: list[tuple[State, set[_Kind]]] = []
        for kind in self._kinds:
            version = self._version(row, kind)
            for known, kinds in versions:
                if known == version:
                    kinds.add(kind)
                    break
            else:
                versions.append((version, {kind}))
        for version, kinds in versions:
            yield version, self._sent_to(frozenset(kinds))

    def _version(self, row: State, kind: _Kind) -> State:
        reader = self._kinds[kind]
        return self._shown(row, Caller(client="", reader=reader, locale=kind[1]))

    def _sent_to(self, kinds: frozenset[_Kind]) -> ShownTo:
        def shown_to(caller: Caller) -> bool:
            return self._known(caller) in kinds

        return shown_to


def _kind(caller: Caller) -> _Kind:
    return (None if caller.reader is None else caller.reader.principal), caller.locale
