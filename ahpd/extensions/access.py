"""Who may do what on a host that has no directory of users: everybody, everything."""

from zope.interface import implementer

from ahpd.interfaces import IAccess, IClientConnection, Reader


@implementer(IAccess)
class OpenAccess:
    """Knows nobody but plugins, holds every grant for everybody, and names no owner of any work."""

    def reader(self, connection: IClientConnection) -> Reader | None:
        """See `IAccess.reader`: a plugin's own connection says whose it is."""
        reader: Reader | None = getattr(connection, "reader", None)
        return reader

    def holds(self, reader: Reader | None, grant: str) -> bool:
        """See `IAccess.holds`."""
        return True

    def owns(self, reader: Reader | None, owner: str) -> bool:
        """See `IAccess.owns`."""
        return True

    def owner(self, reader: Reader | None) -> str | None:
        """See `IAccess.owner`."""
        return None

    def may(self, owner: str | None, grant: str) -> str | None:
        """See `IAccess.may`."""
        return None
