"""`send_message`: into another chat, as a client's message would go."""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.interfaces import HostTool, ToolCallContext, ToolEffects
from ahpd.protocol import State
from ahpd.tools import naming
from ahpd.tools.limits import Allowance
from ahpd.tools.links import link_to
from ahpd.tools.messages import delegated
from ahpd.tools.ports import SessionWorld

SEND_MESSAGE: Final = "send_message"

_DEFINITION: Final[State] = {
    "name": SEND_MESSAGE,
    "title": "Send Message",
    "description": (
        "Sends a message to another session or chat and starts a turn there. Name it by a "
        "session's URI from `list_sessions` or by an `agent-host-session://` link, which names a "
        "chat where it carries its id. Where that chat is busy the message waits in its queue and "
        "runs once the active turn completes. The call does not wait for the reply and does not "
        "return it."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "session": {
                "type": "string",
                "description": (
                    "The session or chat the message is for: a session's URI from "
                    "`list_sessions`, or an `agent-host-session://` link."
                ),
            },
            "message": {"type": "string", "description": "What to say there."},
        },
        "required": ["session", "message"],
    },
    "annotations": {
        "title": "Send Message",
        "readOnlyHint": False,
        "destructiveHint": True,
        "openWorldHint": False,
    },
}


def sending_tool(world: SessionWorld, allowance: Allowance) -> HostTool:
    """The tool; `allowance` bounds how many messages one session's agents send."""

    async def run(arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        text = naming.said(SEND_MESSAGE, "message", arguments["message"])
        seen, _ = await naming.known_chat(world, context, SEND_MESSAGE, arguments["session"])
        if seen.uri == context.chat:
            raise naming.invalid(SEND_MESSAGE, "refusing to send a message to the current chat.")
        caller = world.caller(context)
        with allowance.one(caller.root):
            waits = await world.send(seen, delegated(context, caller, text))
        return f"Message {'queued' if waits else 'sent'} ({link_to(seen.row, seen.uri)})."

    effects = ToolEffects(writes=True, destructive=True)
    return HostTool(definition=_DEFINITION, run=run, effects=effects)
