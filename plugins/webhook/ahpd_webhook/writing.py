"""A message in a session that is there: said over a connection to the host, as a client says one."""

from collections.abc import Mapping
from typing import Any, Final
from uuid import uuid4

from twisted.internet.defer import Deferred
from twisted.internet.defer import TimeoutError as TookTooLong

from ahpd.interfaces import IConnectionToHost, IPluginHost, RpcError
from ahpd.protocol import State
from ahpd.protocol.errors import invalid_params

#: Seconds the host may take to say that it has the message.
_PATIENCE: Final = 20.0
_SEQUENCE: Final = 1


async def write(host: IPluginHost, session: str, text: str) -> str:
    """Put a message into the default chat of a session; the chat's URI.

    A chat that is at something gets to it afterwards. Raises `RpcError` in the host's words.
    """
    connection = host.connect()
    client = f"webhook-{uuid4()}"
    try:
        await connection.request(
            "initialize",
            {"channel": "ahp-root://", "clientId": client, "protocolVersions": ["1.0.0"]},
        )
        opened = await connection.request("subscribe", {"channel": session})
        chat: str = opened["snapshot"]["state"]["defaultChat"]
        await connection.request("subscribe", {"channel": chat})
        await _said(host, connection, client, chat, text)
        return chat
    finally:
        connection.close()


async def _said(
    host: IPluginHost, connection: IConnectionToHost, client: str, chat: str, text: str
) -> None:
    """Queue the message, and wait until the host has taken it."""
    taken: Deferred[Mapping[str, Any]] = Deferred()

    def heard(message: State) -> None:
        # What a client dispatches comes back in its place among the actions, refused or not.
        envelope = message.get("params") or {}
        origin = envelope.get("origin") or {}
        ours = (origin.get("clientId"), origin.get("clientSeq")) == (client, _SEQUENCE)
        if message.get("method") == "action" and ours and not taken.called:
            taken.callback(envelope)

    connection.on_message(heard)
    action = {
        "type": "chat/pendingMessageSet",
        "kind": "queued",
        "id": f"webhook-{uuid4()}",
        "message": {"text": text, "origin": {"kind": "user"}},
    }
    connection.notify("dispatchAction", {"channel": chat, "clientSeq": _SEQUENCE, "action": action})
    taken.addTimeout(_PATIENCE, host.reactor)
    try:
        envelope = await taken
    except TookTooLong:
        raise RpcError(-32603, "the host did not take the message in time") from None
    if "rejectionReason" in envelope:
        raise invalid_params(envelope["rejectionReason"])
