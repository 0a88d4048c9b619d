"""Who may read a connector and who may change it.

Source: PLUGINS.txt, "x-ahpd-connectors" ("The owner narrows the grant").
"""

import re
from typing import Final

from ahpd.interfaces import Caller, IAccess, Reader
from ahpd.protocol import State
from ahpd.protocol.errors import NOT_FOUND, RpcError, permission_denied

HOST: Final = "host"
LIST: Final = "connector:list"
ALL: Final = "connector:all"
PUT: Final = "connector:put"
REMOVE: Final = "connector:remove"
#: Needed beside either for a connector of the host's own.
OF_HOST: Final = "connector:host"

_OWNER: Final = re.compile(r"host|(?:team|user):[^\s:/]+")


def is_owner(value: object) -> bool:
    """Whether `value` says whose a connector is: `host`, `team:<id>` or `user:<id>`."""
    return isinstance(value, str) and _OWNER.fullmatch(value) is not None


def plugin_of(caller: Caller) -> str | None:
    """The id of the plugin whose own connection asks; None for anybody else."""
    principal = caller.owner if caller.reader is None else caller.reader.principal
    if principal is None or not principal.startswith("plugin:"):
        return None
    return principal.removeprefix("plugin:")


def identity(caller: Caller) -> str:
    """Who somebody is, for what only they may finish: a person, else a client."""
    return f"client:{caller.client}" if caller.reader is None else caller.reader.principal


class Rules:
    """The questions about connectors, asked of `access` each time anew."""

    def __init__(self, access: IAccess) -> None:
        self._access = access

    # -- reading ---------------------------------------------------------------------

    def reads_all(self, reader: Reader | None) -> bool:
        """Whether every connector may be read, whoever's it is."""
        return self._access.holds(reader, ALL)

    def lists(self, reader: Reader | None) -> bool:
        """Whether the list may be read at all."""
        return self._access.holds(reader, LIST) or self.reads_all(reader)

    def reads(self, reader: Reader | None, row: State) -> bool:
        """Whether `reader` may read the connector of `row` (its `owner`)."""
        if self.reads_all(reader):
            return True
        if not self._access.holds(reader, LIST):
            return False
        owner = row["owner"]
        return owner == HOST or self._access.owns(reader, owner)

    def knows(self, caller: Caller, owner: str, plugin: str | None) -> bool:
        """Whether `caller` may know that there is a connector of `owner`, of an adapter of
        `plugin`: whoever may read it, or do anything to it."""
        if plugin is not None and plugin_of(caller) == plugin:
            return True
        if self.reads(caller.reader, {"owner": owner}):
            return True
        return any(self._may(caller, owner, grant) for grant in (PUT, REMOVE))

    def _may(self, caller: Caller, owner: str, grant: str) -> bool:
        try:
            self._changes(caller, owner, grant)
        except RpcError:
            return False
        return True

    def session_may_not(self, owner: str | None, of: str) -> str | None:
        """Why the work of `owner` (`user:ada`) may not use a connector of `of`; None where it may."""
        if self._access.may(owner, ALL) is None:
            return None
        words = self._access.may(owner, LIST)
        if words is not None:
            return words
        reader = None
        if owner is not None and owner.startswith(("user:", "plugin:")):
            reader = Reader(principal=owner)
        if of in (HOST, owner) or self._access.owns(reader, of):
            return None
        return "the session's owner may not use it"

    # -- changing ---------------------------------------------------------------------

    def put(self, caller: Caller, owner: str) -> None:
        """Raises `RpcError` -32009 unless `caller` may make and change connectors of `owner`."""
        self._changes(caller, owner, PUT)

    def remove(self, caller: Caller, owner: str) -> None:
        """Raises `RpcError` -32009 unless `caller` may remove connectors of `owner`."""
        self._changes(caller, owner, REMOVE)

    def put_or_plugin(self, caller: Caller, owner: str, plugin: str | None) -> None:
        """As `put`, but for the plugin of the connector's adapter, which needs no grant."""
        if plugin is None or plugin_of(caller) != plugin:
            self.put(caller, owner)

    def only_plugin(self, caller: Caller, plugin: str | None) -> None:
        """Raises `RpcError` -32009 unless the plugin of the connector's adapter asks."""
        if plugin is None or plugin_of(caller) != plugin:
            raise permission_denied("Only the plugin of the connector's adapter may say this.")

    def _changes(self, caller: Caller, owner: str, grant: str) -> None:
        reader = caller.reader
        needed = (grant, OF_HOST) if owner == HOST else (grant,)
        for one in needed:
            if not self._access.holds(reader, one):
                raise permission_denied(f"{one} is needed for a connector of {_whose(owner)}.")
        if owner != HOST and not self._access.owns(reader, owner):
            raise permission_denied(f"A connector of {_whose(owner)} is theirs to change.")


def unknown(identifier: str) -> RpcError:
    """-32008 for a connector that is not there, and for one that is not to be known of alike."""
    return RpcError(NOT_FOUND, f"There is no connector {identifier} here.")


def _whose(owner: str) -> str:
    if owner == HOST:
        return "the host's"
    return "a team's" if owner.startswith("team:") else "a person's"
