"""The tools of a session's clients, and what becomes of a call when its client is gone.

Source: AHP.txt, "A client's tools are the client's to run".
"""

from collections.abc import Collection, Iterable
from typing import Any, Final

from ahpd.chats.call_record import failed_result
from ahpd.chats.parts import call_in
from ahpd.chats.tool_actions import Said
from ahpd.protocol import Action, State

#: A call in one of these is out with its client, or would be next.
_OUT: Final = frozenset({"pending-confirmation", "running"})
#: What may leave a call out with a client.
_HANDING_OUT: Final = frozenset({"chat/toolCallReady", "chat/toolCallConfirmed"})


def client_ids(state: State) -> Collection[str]:
    """The ids of the active clients of a session (schema: SessionState)."""
    return {client["clientId"] for client in _named(state)}


def tools_of(state: State) -> tuple[State, ...]:
    """Every tool an active client provides (schema: ToolDefinition), `clientId` added to each.

    An entry that names no client, or no tools, provides none.
    """
    return tuple(
        {**tool, "clientId": client["clientId"]}
        for client in _named(state)
        for tool in client.get("tools") or ()
    )


def _named(state: State) -> Iterable[State]:
    clients: list[Any] = state.get("activeClients") or []
    return [client for client in clients if isinstance(client.get("clientId"), str)]


def fail_calls(chat: Said, client_id: str) -> None:
    """Complete as failed every call of `chat`'s running turn that is out with a client that left."""
    turn = chat.state.get("activeTurn")
    if turn is None:
        return
    for part in tuple(turn["responseParts"]):
        call = part.get("toolCall")
        if call is not None and _is_out(call, {client_id}):
            _fail(chat, turn["id"], call)


def fail_orphan(chat: Said, action: Action, clients: Collection[str]) -> None:
    """Fail the call `action` handed out where its client is none of the session's `clients`.

    A running turn keeps the tools it began with, a client that left meanwhile among them.
    """
    if action["type"] not in _HANDING_OUT:
        return
    turn = chat.state.get("activeTurn")
    call = call_in(turn, action["toolCallId"])
    if turn is None or call is None or not _is_out(call, None):
        return
    if call["contributor"]["clientId"] not in clients:
        _fail(chat, turn["id"], call)


def _is_out(call: State, clients: Collection[str] | None) -> bool:
    """Whether a call is out with one of `clients`; with any client for None."""
    contributor = call.get("contributor") or {}
    return (
        call["status"] in _OUT
        and contributor.get("kind") == "client"
        and (clients is None or contributor.get("clientId") in clients)
    )


def _fail(chat: Said, turn_id: str, call: State) -> None:
    name = call.get("displayName") or call.get("toolName") or "The tool"
    words = f"{name} could not run: the client that provides it has left."
    chat.say(
        {
            "type": "chat/toolCallComplete",
            "turnId": turn_id,
            "toolCallId": call["toolCallId"],
            "result": failed_result(words),
        }
    )
