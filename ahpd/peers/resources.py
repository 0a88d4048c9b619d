"""Reading what a client alone has, over a connection of its own."""

from collections.abc import Mapping
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as TookTooLong
from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from ahpd.interfaces import IClientConnection, IClientResources, IClients
from ahpd.protocol import State
from ahpd.protocol.errors import internal_error
from ahpd.protocol.uris import ROOT

#: How long a client has to answer, in seconds: what it does next waits behind the answer, and
#: so does a stop.
PATIENCE: Final = 60.0


@implementer(IClientResources)
class ClientResources:
    """Asks the newest connection of the client, and waits `PATIENCE` for what it answers."""

    def __init__(self, clients: IClients, clock: IReactorTime) -> None:
        self._clients = clients
        self._clock = clock

    async def read(self, client_id: str, uri: str) -> Mapping[str, Any]:
        """See `IClientResources.read`."""
        connections = self._clients.connections(client_id)
        if not connections:
            raise internal_error("The client is not connected")
        params = {"channel": ROOT, "uri": uri, "encoding": "base64"}
        try:
            answer = await self._in_time(connections[-1], params)
        except TookTooLong:
            words = f"The client did not answer resourceRead in {PATIENCE:g} s"
            raise internal_error(words) from None
        if not isinstance(answer, Mapping):
            raise internal_error("The client answered resourceRead with no resource")
        return answer

    def _in_time(self, connection: IClientConnection, params: State) -> "Deferred[Any]":
        async def asked() -> Any:
            return await connection.request("resourceRead", params)

        return Deferred.fromCoroutine(asked()).addTimeout(PATIENCE, self._clock)
