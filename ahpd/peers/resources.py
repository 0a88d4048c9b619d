"""Reading what a client alone has, over a connection of its own."""

from collections.abc import Mapping
from typing import Any

from zope.interface import implementer

from ahpd.interfaces import IClientResources, IClients
from ahpd.protocol.errors import internal_error
from ahpd.protocol.uris import ROOT


@implementer(IClientResources)
class ClientResources:
    """Asks the newest connection of the client."""

    def __init__(self, clients: IClients) -> None:
        self._clients = clients

    async def read(self, client_id: str, uri: str) -> Mapping[str, Any]:
        """See `IClientResources.read`."""
        connections = self._clients.connections(client_id)
        if not connections:
            raise internal_error("The client is not connected")
        params = {"channel": ROOT, "uri": uri, "encoding": "base64"}
        answer = await connections[-1].request("resourceRead", params)
        if not isinstance(answer, Mapping):
            raise internal_error("The client answered resourceRead with no resource")
        return answer
