"""What one agent says to another: a message that says where it came from."""

from typing import Any, Final

from ahpd.interfaces import ToolCallContext
from ahpd.protocol import State
from ahpd.tools.ports import Caller

#: Where a window reads which session and chat a message was sent from.
DELEGATION: Final = "vscode.chat.delegation"
#: Whose such a message is; a client speaks for its user alone.
_AGENT: Final = "agent"


def delegated(
    context: ToolCallContext, caller: Caller, text: str, model: State | None = None
) -> State:
    """A message (schema: Message) of the agent that calls; `model` is its ModelSelection."""
    source: State = {"sourceSession": context.session, "sourceChat": context.chat}
    if caller.turn is not None:
        source["sourceTurnId"] = caller.turn
    message: State = {"text": text, "origin": {"kind": _AGENT}, "_meta": {DELEGATION: source}}
    if model is not None:
        message["model"] = model
    return message


def delegated_from(message: Any) -> tuple[str, str] | None:
    """The session and the chat an agent's message (`delegated`) came from; None for any other."""
    if not isinstance(message, dict) or message.get("origin", {}).get("kind") != _AGENT:
        return None
    source = (message.get("_meta") or {}).get(DELEGATION)
    if not isinstance(source, dict):
        return None
    return source["sourceSession"], source["sourceChat"]
