"""An AHP 1.0.0 client: one conversation with a host, over whatever carries its messages.

client = Client("my-tool", clock=reactor, info={"name": "my-tool"})
await connect(reactor, url, client, token=token)     # ahpd.transports
await client.initialize(subscriptions=["ahp-root://"])
await client.subscribe(session)
...
await connect(reactor, url, client, token=token)     # after the connection went
await client.reconnect()
"""

from ahpd.client.client import Client
from ahpd.client.conversation import Reconnected
from ahpd.client.envelope import ActionEnvelope
from ahpd.client.failures import ActionRefused, ConnectionGone
from ahpd.client.streams import EnvelopeStream
from ahpd.protocol.errors import RpcError

__all__ = [
    "ActionEnvelope",
    "ActionRefused",
    "Client",
    "ConnectionGone",
    "EnvelopeStream",
    "Reconnected",
    "RpcError",
]
