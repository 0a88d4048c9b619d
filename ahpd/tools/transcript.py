"""`get_session_context`: what was said in a chat, cut down to what a model can use."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.interfaces import HostTool, ToolCallContext, ToolEffects
from ahpd.protocol import State
from ahpd.protocol.text import GrowingText
from ahpd.tools import naming
from ahpd.tools.links import Named, link_to
from ahpd.tools.ports import SeenChat, SessionReading

GET_SESSION_CONTEXT: Final = "get_session_context"

#: How many turns are told where nobody says, and at most.
USUAL_TURNS: Final = 10
MOST_TURNS: Final = 50
#: How many of a turn's calls are named.
MOST_CALLS: Final = 100


@attrs.frozen
class _Caps:
    """How many characters of each text are told; 0 leaves it out."""

    user: int
    assistant: int
    tool_input: int


_CAPS: Final = {
    "summary": _Caps(160, 140, 0),
    "digest": _Caps(300, 800, 0),
    "full": _Caps(1000, 2000, 200),
}
#: The states of a turn that is over.
_OVER: Final = frozenset({"complete", "cancelled", "error"})

_DEFINITION: Final[State] = {
    "name": GET_SESSION_CONTEXT,
    "title": "Get Session Context",
    "description": (
        "Reads what was said lately in a session or chat: its turns in short, with the messages, "
        "the replies and the tool calls. Use it to see how a session you made is doing, or what "
        "it is about before you send it a message. `detail` says how much is told: `summary` "
        "(where it is left out), `digest` or `full`. What a session is and what state it is in "
        "`list_sessions` tells, given its `session`."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "session": {
                "type": "string",
                "description": (
                    "The session or chat to read: a session's URI from `list_sessions`, or an "
                    "`agent-host-session://` link, which names a chat where it carries its id."
                ),
            },
            "detail": {
                "type": "string",
                "enum": list(_CAPS),
                "description": (
                    "`summary`: each turn's state, its message and the start of the reply. "
                    "`digest`: more of the reply, and the names of the tools that were called. "
                    "`full`: their inputs too. The more, the more tokens it takes."
                ),
            },
            "transcriptLimit": {
                "type": "number",
                "description": (
                    f"How many of the latest turns to tell: {USUAL_TURNS} where it is left out, "
                    f"{MOST_TURNS} at most."
                ),
            },
        },
        "required": ["session"],
    },
    "annotations": {"title": "Get Session Context", "readOnlyHint": True, "openWorldHint": False},
}


def context_tool(world: SessionReading) -> HostTool:
    """The tool."""

    async def run(arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        limit = arguments.get("transcriptLimit", USUAL_TURNS)
        if limit < 1:
            raise naming.invalid(GET_SESSION_CONTEXT, "transcriptLimit must be a positive number.")
        seen, named = await naming.known_chat(
            world, context, GET_SESSION_CONTEXT, arguments["session"]
        )
        detail = arguments.get("detail", "summary")
        told = transcript(seen, named, detail, int(min(limit, MOST_TURNS)))
        return json.dumps(told, ensure_ascii=False)

    return HostTool(definition=_DEFINITION, run=run, effects=ToolEffects(reads=True))


def transcript(seen: SeenChat, named: Named, detail: str, limit: int) -> State:
    """The latest `limit` turns of a chat, up to the one that was named where one was.

    Raises `ToolFailure` for a turn the chat does not have.
    """
    turns = _turns(seen.state, named.turn)
    start = max(0, len(turns) - limit)
    cut = _Cut(_CAPS[detail])
    told = [
        {"turn": start + index + 1, **cut.turn(turn, names_calls=detail != "summary")}
        for index, turn in enumerate(turns[start:])
    ]
    return {
        "session": seen.row["resource"],
        "openLink": link_to(seen.row, seen.uri),
        "detail": detail,
        "transcript": told,
        "hasMoreHistory": False,
        "truncated": cut.happened or start > 0,
    }


def _turns(state: State, last: str | None) -> Sequence[State]:
    active = state.get("activeTurn")
    turns = [*state["turns"], *([] if active is None else [active])]
    if last is None:
        return turns
    for index, turn in enumerate(turns):
        if turn["id"] == last:
            return turns[: index + 1]
    raise naming.invalid(GET_SESSION_CONTEXT, f"the chat has no turn {last}.")


class _Cut:
    """Tells turns within `caps`, and knows whether anything was cut."""

    def __init__(self, caps: _Caps) -> None:
        self._caps = caps
        self.happened = False

    def turn(self, turn: State, names_calls: bool) -> State:
        """What is told of one turn (schema: Turn or ActiveTurn)."""
        parts: Sequence[State] = turn["responseParts"]
        state = turn.get("state")
        told: State = {"state": state if state in _OVER else "inProgress"}
        user = self._text([turn["message"]["text"]], self._caps.user)
        answers = [part["content"] for part in parts if part["kind"] == "markdown"]
        assistant = self._text(answers, self._caps.assistant)
        if user:
            told["user"] = user
        if assistant:
            told["assistant"] = assistant
        calls = [part["toolCall"] for part in parts if part["kind"] == "toolCall"]
        if names_calls and calls:
            self.happened |= len(calls) > MOST_CALLS
            told["toolCalls"] = [self._call(call) for call in calls[:MOST_CALLS]]
        return told

    def _call(self, call: State) -> str | State:
        name: str = call["toolName"]
        if not self._caps.tool_input:
            return name
        given = call.get("toolInput")
        if call["status"] == "streaming" or not isinstance(given, str | GrowingText):
            return {"name": name}
        text = self._text([given], self._caps.tool_input)
        return {"name": name, "input": text} if text else {"name": name}

    def _text(self, texts: Sequence[str | GrowingText], most: int) -> str:
        """The front of the texts, one behind the other; a long one is never joined for it."""
        found, length = "", sum(map(len, texts))
        for text in texts:
            ahead = most * 4 - len(found)  # blanks at its front are none of it
            found += text.between(0, ahead) if isinstance(text, GrowingText) else text[:ahead]
        stripped = found.strip()
        if len(stripped) <= most and len(found) == length:
            return stripped
        self.happened = True
        return stripped[: most - 1].rstrip() + "…"
