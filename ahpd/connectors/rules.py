"""Who may read a connector and who may change it.

Source: PLUGINS.txt, `x-ahpd-connectors`.
"""

from typing import Final

from ahpd.extensions.owners import HOST, OwnerRules, RecordGrants
from ahpd.interfaces import Caller, IAccess, Reader
from ahpd.protocol.errors import NOT_FOUND, RpcError, permission_denied

GRANTS: Final = RecordGrants.of("connector", "a connector")


def plugin_of(caller: Caller) -> str | None:
    """The id of the plugin whose own connection asks; None for anybody else."""
    principal = caller.owner if caller.reader is None else caller.reader.principal
    if principal is None or not principal.startswith("plugin:"):
        return None
    return principal.removeprefix("plugin:")


def identity(caller: Caller) -> str:
    """Who somebody is, for what only they may finish: a person, else a client."""
    return f"client:{caller.client}" if caller.reader is None else caller.reader.principal


class Rules(OwnerRules):
    """The questions about connectors, asked of `access` each time anew."""

    def __init__(self, access: IAccess) -> None:
        super().__init__(access, GRANTS)

    def knows(self, caller: Caller, owner: str, plugin: str | None) -> bool:
        """Whether `caller` may know that there is a connector of `owner`, of an adapter of
        `plugin`: whoever may read it, or do anything to it."""
        if plugin is not None and plugin_of(caller) == plugin:
            return True
        if self.reads(caller.reader, {"owner": owner}):
            return True
        return any(self._may(caller, owner, grant) for grant in (GRANTS.put, GRANTS.remove))

    def _may(self, caller: Caller, owner: str, grant: str) -> bool:
        try:
            self._changes(caller, owner, grant)
        except RpcError:
            return False
        return True

    def session_may_not(self, owner: str | None, of: str) -> str | None:
        """Why the work of `owner` (`user:ada`) may not use a connector of `of`; None where it may."""
        if self._access.may(owner, GRANTS.all) is None:
            return None
        words = self._access.may(owner, GRANTS.list)
        if words is not None:
            return words
        reader = None
        if owner is not None and owner.startswith(("user:", "plugin:")):
            reader = Reader(principal=owner)
        if of in (HOST, owner) or self._access.owns(reader, of):
            return None
        return "the session's owner may not use it"

    def put_or_plugin(self, caller: Caller, owner: str, plugin: str | None) -> None:
        """As `put`, but for the plugin of the connector's adapter, which needs no grant."""
        if plugin is None or plugin_of(caller) != plugin:
            self.put(caller, owner)

    def only_plugin(self, caller: Caller, plugin: str | None) -> None:
        """Raises `RpcError` -32009 unless the plugin of the connector's adapter asks."""
        if plugin is None or plugin_of(caller) != plugin:
            raise permission_denied("Only the plugin of the connector's adapter may say this.")


def unknown(identifier: str) -> RpcError:
    """-32008 for a connector that is not there, and for one that is not to be known of alike."""
    return RpcError(NOT_FOUND, f"There is no connector {identifier} here.")
