"""Reading what a client alone has, over a connection of its own."""

from collections.abc import Mapping
from typing import Any

from twisted.internet.interfaces import IReactorTime
from zope.interface import implementer

from ahpd.interfaces import IClientResources, IClients
from ahpd.peers.client_requests import ClientRequests
from ahpd.protocol.errors import internal_error
from ahpd.protocol.uris import ROOT


@implementer(IClientResources)
class ClientResources:
    """Reads from a client that is here now: a message does not wait for one to come back."""

    def __init__(self, clients: IClients, clock: IReactorTime) -> None:
        self._clients = clients
        self._requests = ClientRequests(clients, clock)

    async def read(self, client_id: str, uri: str) -> Mapping[str, Any]:
        """See `IClientResources.read`."""
        if not self._clients.connections(client_id):
            raise internal_error("The client is not connected")
        params = {"channel": ROOT, "uri": uri, "encoding": "base64"}
        _, answer = await self._requests.ask(client_id, "resourceRead", params)
        if not isinstance(answer, Mapping):
            raise internal_error("The client answered resourceRead with no resource")
        return answer
