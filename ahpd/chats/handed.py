"""What a backend is handed, as it may read it: nothing it writes to one reaches the host.

Source: PLUGINS.txt, "Everything you are handed is read-only".
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import attrs

from ahpd.interfaces import ChatStart, TurnRequest
from ahpd.protocol.read_only import read_only


def handed_start(start: ChatStart) -> ChatStart:
    """A start whose values are copies that cannot be written to."""
    return attrs.evolve(
        start,
        config=read_only(start.config),
        history=_each(start.history),
        client_tools=_each(start.client_tools),
        server_tools=_each(start.server_tools),
        mcp_servers=read_only(start.mcp_servers),
        managed_settings=read_only(start.managed_settings),
    )


def handed_turn(request: TurnRequest, client_tools: Iterable[Mapping[str, Any]]) -> TurnRequest:
    """A turn's request, with the tools of the session's clients now, likewise."""
    return attrs.evolve(
        request,
        message=read_only(request.message),
        model=read_only(request.model),
        attachments=_each(request.attachments),
        client_tools=_each(client_tools),
    )


def _each(values: Iterable[Mapping[str, Any]]) -> Sequence[Mapping[str, Any]]:
    """Those of a tuple as a tuple, which is what the chats keep few things in."""
    if isinstance(values, tuple):
        return tuple(read_only(value) for value in values)
    held: Sequence[Mapping[str, Any]] = read_only(list(values))
    return held
