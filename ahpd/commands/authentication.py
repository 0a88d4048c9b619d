"""Signing in: `authenticate`, and which client a session's tokens are looked for at."""

from collections.abc import Awaitable, Mapping
from typing import Any, Final, cast

from zope.interface import implementer

from ahpd.channels.envelope import Origin
from ahpd.credentials.service import Credentials
from ahpd.interfaces import Command, IActionHandler, ICaller, IClientConnection
from ahpd.protocol import Action, State
from ahpd.protocol.uris import canonical

#: What asks an agent for something, on its sender's credentials.
_ASKING: Final = frozenset({"chat/turnStarted", "chat/pendingMessageSet", "chat/turnResume"})


def authentication_commands(credentials: Credentials) -> Mapping[str, Command]:
    """`authenticate`."""

    def authenticate(caller: ICaller, params: State) -> State:
        credentials.authenticate(cast("IClientConnection", caller), params)
        return {}

    return {"authenticate": authenticate}


@implementer(IActionHandler)
class AskedBy:
    """Notes who asks a chat's agent for something, in front of the handler that decides."""

    def __init__(self, handler: Any, credentials: Credentials) -> None:
        self._handler = handler
        self._credentials = credentials

    def handle(self, channel: str, action: Action, origin: Origin) -> Awaitable[None] | None:
        """See `IActionHandler.handle`."""
        if action["type"] in _ASKING:
            self._credentials.asked(canonical(channel), origin["clientId"])
        decided: Awaitable[None] | None = self._handler.handle(channel, action, origin)
        return decided
