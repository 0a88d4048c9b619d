"""Reading what a client alone has, over a connection of its own."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from zope.interface import implementer

from ahpd.interfaces import IClientResources
from ahpd.peers.peer import Peer
from ahpd.protocol.errors import internal_error
from ahpd.protocol.uris import ROOT


@implementer(IClientResources)
class ClientResources:
    """Asks the newest connection of the client. `peers` are the ones open now, oldest first."""

    def __init__(self, peers: Callable[[], Sequence[Peer]]) -> None:
        self._peers = peers

    async def read(self, client_id: str, uri: str) -> Mapping[str, Any]:
        """See `IClientResources.read`."""
        for peer in reversed(self._peers()):
            if peer.record is not None and peer.record.client_id == client_id:
                params = {"channel": ROOT, "uri": uri, "encoding": "base64"}
                answer = await peer.request("resourceRead", params)
                if not isinstance(answer, Mapping):
                    raise internal_error("The client answered resourceRead with no resource")
                return answer
        raise internal_error("The client is not connected")
