"""Who may read an agent's record and who may change it.

Source: PLUGINS.txt, `x-ahpd-agents` ("agent:all is the one grant that widens the rule").
"""

from typing import Final

from ahpd.extensions.owners import OwnerRules, RecordGrants
from ahpd.interfaces import Caller, IAccess
from ahpd.protocol.errors import RpcError

GRANTS: Final = RecordGrants.of("agent", "an agent")


class Rules(OwnerRules):
    """The questions about agents' records, asked of `access` each time anew."""

    def __init__(self, access: IAccess) -> None:
        super().__init__(access, GRANTS)

    def changes(self, caller: Caller, owner: str) -> bool:
        """Whether `caller` may change agents of `owner`, the read of them aside."""
        try:
            self.put(caller, owner)
        except RpcError:
            return False
        return True

    def remove(self, caller: Caller, owner: str) -> None:
        """See `OwnerRules.remove`; who may read all of them, and remove any, may remove each."""
        if self.reads_all(caller.reader) and self._access.holds(caller.reader, GRANTS.remove):
            return
        super().remove(caller, owner)
