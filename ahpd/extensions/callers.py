"""Who is behind a connection, as channels and commands are told of them."""

from typing import Any

from ahpd.interfaces import Caller, IAccess
from ahpd.protocol.errors import RpcError, permission_denied


class Callers:
    """Makes a `Caller` of a connection, and asks what one may do."""

    def __init__(self, access: IAccess) -> None:
        self._access = access

    def of(self, connection: Any) -> Caller:
        """The caller on a connection (`IClientConnection`) whose handshake is through."""
        reader = self._access.reader(connection)
        return Caller(
            client=connection.record.client_id,
            reader=reader,
            owner=self._access.owner(reader),
            locale=connection.locale,
        )

    def watching(self, subscriber: Any) -> Caller | None:
        """The caller behind a subscriber of a channel; None for one that is no client."""
        return None if getattr(subscriber, "record", None) is None else self.of(subscriber)

    def holds(self, caller: Caller, grant: str) -> bool:
        """Whether `caller` holds `grant`."""
        return self._access.holds(caller.reader, grant)

    def denied(self, caller: Caller, grant: str, what: str) -> RpcError:
        """How a caller without `grant` is refused `what`: -32009."""
        words = None if caller.owner is None else self._access.may(caller.owner, grant)
        return permission_denied(words or f"{what} needs {grant}")
