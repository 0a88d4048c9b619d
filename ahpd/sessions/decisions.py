"""What people decided about plugins and MCP servers, and for which scope.

A decision for every session, and one for a folder, are the host's (`IHostRecord`); one for
a session is a fact of the session's. A switch brings all of a customization's decisions as
its client has them, so it takes back the ones it does not name (AHP.txt,
`session/customizationToggled`).
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from zope.interface import implementer

from ahpd.interfaces import IHostRecord
from ahpd.protocol import State

_RECORD: Final = "customizations"
#: Where a session's own decisions are among its facts.
FACT: Final = "customizations"


@implementer(IHostRecord)
class Unkept:
    """A record that goes with the process."""

    def __init__(self) -> None:
        self._facts: dict[str, State] = {}

    def read(self, name: str) -> State:
        """See `IHostRecord.read`."""
        return self._facts.get(name, {})

    def write(self, name: str, value: State) -> None:
        """See `IHostRecord.write`."""
        self._facts[name] = value


class Decisions:
    """The host's own decisions: for every session, and by folder."""

    def __init__(self, record: IHostRecord) -> None:
        self._record = record
        held = record.read(_RECORD)
        self._everywhere: State = dict(held.get("global") or {})
        self._folders: State = dict(held.get("workspace") or {})
        self._lapsed: State = dict(held.get("lapsed") or {})

    def of(
        self, identifier: str, folders: Sequence[str], own: Sequence[Mapping[str, Any]]
    ) -> list[Mapping[str, Any]]:
        """What holds for a customization in a session in `folders`, the narrowest scope first.

        `own` is the session's decision. Empty where nobody decided.
        """
        found = list(own)
        for folder in folders:
            entry = self._folders.get(folder, {}).get(identifier)
            if entry is not None:
                found.append(entry)
        if identifier in self._everywhere:
            found.append(self._everywhere[identifier])
        return found

    def take(
        self, identifier: str, enablement: Sequence[Mapping[str, Any]], folders: Sequence[str]
    ) -> bool:
        """Keep the decisions a switch names for more than its session; whether any moved.

        `folders` are its session's: a decision for one of those that is not named is taken
        back, and so is one for every session. On disk when it returns; raises `StoreFailure`
        and keeps what was there.
        """
        everywhere, by_folder = dict(self._everywhere), dict(self._folders)
        for folder in folders:
            _put(by_folder, folder, identifier, None)
        everywhere.pop(identifier, None)
        # Of several for one scope the first is the one that counts.
        for entry in reversed(enablement):
            if entry["kind"] == "global":
                everywhere[identifier] = entry
            elif entry["kind"] == "workspace":
                _put(by_folder, entry["uri"], identifier, entry)
        if everywhere == self._everywhere and by_folder == self._folders:
            return False
        before, after = self._wide(identifier), _wide(everywhere, by_folder, identifier)
        over = [entry for entry in before if entry not in after]
        over += [
            entry for entry in self._lapsed.get(identifier, ()) if entry not in (*over, *after)
        ]
        lapsed = {name: held for name, held in self._lapsed.items() if name != identifier}
        if over:
            lapsed[identifier] = over
        record = {"global": everywhere, "workspace": by_folder}
        self._record.write(_RECORD, {**record, "lapsed": lapsed} if lapsed else record)
        self._everywhere, self._folders, self._lapsed = everywhere, by_folder, lapsed
        return True

    def _wide(self, identifier: str) -> list[Mapping[str, Any]]:
        return _wide(self._everywhere, self._folders, identifier)

    def standing(
        self, identifier: str, enablement: Sequence[Mapping[str, Any]]
    ) -> list[Mapping[str, Any]]:
        """`enablement` as a session holds it, without the decisions that were taken back since."""
        lapsed = self._lapsed.get(identifier, ())
        return [entry for entry in enablement if entry not in lapsed]


def _wide(everywhere: State, by_folder: State, identifier: str) -> list[Mapping[str, Any]]:
    """All that was decided about a customization for more than one session."""
    found = [held[identifier] for held in by_folder.values() if identifier in held]
    return [*found, everywhere[identifier]] if identifier in everywhere else found


def _put(by_folder: State, folder: str, identifier: str, entry: Mapping[str, Any] | None) -> None:
    held = {name: kept for name, kept in by_folder.get(folder, {}).items() if name != identifier}
    if entry is not None:
        held[identifier] = entry
    if held:
        by_folder[folder] = held
    else:
        by_folder.pop(folder, None)


def own_part(enablement: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """What of a switch's decisions is its session's alone."""
    return [entry for entry in enablement if entry["kind"] not in ("global", "workspace")]


def in_force(enablement: Sequence[Mapping[str, Any]] | None) -> bool:
    """Whether a customization with these decisions is on: the narrowest scope counts."""
    order = {"session": 0, "workspace": 1, "global": 2}
    known = [entry for entry in enablement or () if entry["kind"] in order]
    if not known:
        return True
    return bool(min(known, key=lambda entry: order[entry["kind"]]).get("enabled", True))
