"""Whose a record is, and who may read and change one: of agents as of connectors.

Source: PLUGINS.txt, `x-ahpd-agents` and `x-ahpd-connectors` ("The owner narrows the grant").
"""

import re
from typing import Final

import attrs

from ahpd.interfaces import Caller, IAccess, Reader
from ahpd.protocol import State
from ahpd.protocol.errors import permission_denied

HOST: Final = "host"
OWNER_WORDS: Final = "host, team:<team> or user:<id>"
_OWNER: Final = re.compile(r"host|(?:team|user):[^\s:/]+")


def is_owner(value: object) -> bool:
    """Whether `value` says whose a record is."""
    return isinstance(value, str) and _OWNER.fullmatch(value) is not None


@attrs.frozen
class RecordGrants:
    """The grants on one kind of record; `what` is such a record in a sentence, `an agent`."""

    what: str
    list: str
    all: str
    put: str
    remove: str
    of_host: str
    """Needed beside `put` and `remove` for a record of the host's own."""

    @classmethod
    def of(cls, kind: str, what: str) -> "RecordGrants":
        """The grants `<kind>:list` and so on."""
        return cls(what, *(f"{kind}:{each}" for each in ("list", "all", "put", "remove", "host")))


class OwnerRules:
    """The questions about records of one kind, asked of `access` each time anew."""

    def __init__(self, access: IAccess, grants: RecordGrants) -> None:
        self._access = access
        self._grants = grants

    def lists(self, reader: Reader | None) -> bool:
        """Whether the list may be read at all."""
        return self._access.holds(reader, self._grants.list) or self.reads_all(reader)

    def reads_all(self, reader: Reader | None) -> bool:
        """Whether every record may be read, whoever's it is."""
        return self._access.holds(reader, self._grants.all)

    def reads(self, reader: Reader | None, row: State) -> bool:
        """Whether `reader` may read the record of `row`, by its `owner`."""
        if self.reads_all(reader):
            return True
        if not self._access.holds(reader, self._grants.list):
            return False
        return self._is_theirs(reader, row["owner"])

    def put(self, caller: Caller, owner: str) -> None:
        """Raises `RpcError` -32009 unless `caller` may make and change records of `owner`."""
        self._changes(caller, owner, self._grants.put)

    def remove(self, caller: Caller, owner: str) -> None:
        """Raises `RpcError` -32009 unless `caller` may remove records of `owner`."""
        self._changes(caller, owner, self._grants.remove)

    def _changes(self, caller: Caller, owner: str, grant: str) -> None:
        what = self._grants.what
        for needed in (grant, self._grants.of_host) if owner == HOST else (grant,):
            if not self._access.holds(caller.reader, needed):
                raise permission_denied(f"{needed} is needed for {what} of {_whose(owner)}.")
        if not self._is_theirs(caller.reader, owner):
            raise permission_denied(f"{what.capitalize()} of {_whose(owner)} is theirs to change.")

    def _is_theirs(self, reader: Reader | None, owner: str) -> bool:
        return owner == HOST or self._access.owns(reader, owner)


def _whose(owner: str) -> str:
    if owner == HOST:
        return "the host's"
    return "a team's" if owner.startswith("team:") else "a person's"
