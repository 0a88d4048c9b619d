"""Who may read an agent's record and who may change it.

Source: PLUGINS.txt, `x-ahpd-agents` ("The owner narrows the grant", "agent:all is the one grant
that widens the rule").
"""

from typing import Final

from ahpd.interfaces import Caller, IAccess, Reader
from ahpd.protocol import State
from ahpd.protocol.errors import RpcError, permission_denied
from ahpd.records.owners import HOST

LIST: Final = "agent:list"
ALL: Final = "agent:all"
PUT: Final = "agent:put"
REMOVE: Final = "agent:remove"
#: Needed beside either for an agent of the host's own.
OF_HOST: Final = "agent:host"


class Rules:
    """The questions about agents' records, asked of `access` each time anew."""

    def __init__(self, access: IAccess) -> None:
        self._access = access

    def lists(self, reader: Reader | None) -> bool:
        """Whether somebody may read the list at all."""
        return self._access.holds(reader, LIST) or self._access.holds(reader, ALL)

    def reads(self, reader: Reader | None, row: State) -> bool:
        """Whether `reader` may read the record of `row`, by its `owner`."""
        if self._access.holds(reader, ALL):
            return True
        if not self._access.holds(reader, LIST):
            return False
        return row["owner"] == HOST or self._access.owns(reader, row["owner"])

    def changes(self, caller: Caller, owner: str) -> bool:
        """Whether `caller` may change agents of `owner`, the read of them aside."""
        try:
            self.put(caller, owner)
        except RpcError:
            return False
        return True

    def put(self, caller: Caller, owner: str) -> None:
        """Raises `RpcError` -32009 unless `caller` may make and change agents of `owner`."""
        self._needs(caller, owner, PUT)
        self._owned(caller, owner)

    def remove(self, caller: Caller, owner: str) -> None:
        """Raises `RpcError` -32009 unless `caller` may remove agents of `owner`."""
        if self._access.holds(caller.reader, ALL) and self._access.holds(caller.reader, REMOVE):
            return
        self._needs(caller, owner, REMOVE)
        self._owned(caller, owner)

    def _needs(self, caller: Caller, owner: str, grant: str) -> None:
        for needed in (grant, OF_HOST) if owner == HOST else (grant,):
            if not self._access.holds(caller.reader, needed):
                raise permission_denied(f"{needed} is needed for an agent of {_whose(owner)}.")

    def _owned(self, caller: Caller, owner: str) -> None:
        if owner != HOST and not self._access.owns(caller.reader, owner):
            raise permission_denied(f"An agent of {_whose(owner)} is theirs to change.")


def _whose(owner: str) -> str:
    if owner == HOST:
        return "the host's"
    return "a team's" if owner.startswith("team:") else "a person's"
