"""An AHP 1.0.0 client: one conversation with a host, over whatever carries its messages.

from ahpd.client import Client
from ahpd.transports.websocket_client import connect

client = Client("my-tool", clock=reactor, info={"name": "my-tool"})
await connect(reactor, url, client, token=token)
await client.initialize(subscriptions=["ahp-root://"])
state = await client.subscribe(session)
result = await client.request("x-notes/put", id="milk", text="buy some")
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
