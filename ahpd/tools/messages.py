"""What one agent says to another: a message that says where it came from."""

from typing import Final

from ahpd.interfaces import ToolCallContext
from ahpd.protocol import State
from ahpd.tools.ports import Caller

#: Where a window reads which session and chat a message was sent from.
DELEGATION: Final = "vscode.chat.delegation"


def delegated(
    context: ToolCallContext, caller: Caller, text: str, model: State | None = None
) -> State:
    """A message (schema: Message) of the agent that calls; `model` is its ModelSelection."""
    source: State = {"sourceSession": context.session, "sourceChat": context.chat}
    if caller.turn is not None:
        source["sourceTurnId"] = caller.turn
    message: State = {"text": text, "origin": {"kind": "agent"}, "_meta": {DELEGATION: source}}
    if model is not None:
        message["model"] = model
    return message
