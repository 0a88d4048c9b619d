"""The artifact tools: an agent records what its session made or found (AHP.txt, of that name)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ahpd.interfaces import HostTool, ToolCallContext, ToolEffects
from ahpd.protocol import State
from ahpd.tools import artifact_entries
from ahpd.tools.naming import invalid
from ahpd.tools.ports import SessionArtifacts

ADD: Final = "add_artifact_or_reference"
REMOVE: Final = "remove_artifact_or_reference"
LIST: Final = "list_artifacts_and_references"

#: The most one call records.
MOST_AT_ONCE: Final = 50

_WHICH: Final = (
    "An issue or pull request that you make, or try to fix, change or unblock, is an artifact; "
    "one you only look at or review is a reference."
)
_NOT: Final = (
    "Leave out routine files, scratch files, caches, logs, intermediate results and snapshots of "
    "configuration unless the user asked for them; that a file is kept, or is outside of the "
    "workspace, says nothing. Leave out what is incidental, and sessions and chats made with the "
    "session tools. Never create, copy or move a file to have something to record."
)
#: When a model is to record something: what the descriptions alone do not get it to do.
INSTRUCTIONS: Final = (
    f"Record notable artifacts and references with `{ADD}`; the user sees them beside the chat's "
    "input. It is no inventory of what was saved: where in doubt, record nothing. "
    f"{_WHICH} Other artifacts are deliverables the user asked for in so many words, and results "
    "that stand alone and are clearly likely to be opened, downloaded or used again; references "
    "are things that exist already and the user will likely want to look at. Record related ones "
    "in one call. Leave out commits you make unless the user asks for them. "
    f"{_NOT} To list and remove what is recorded (look for the tools where you do not have them): "
    f"`{LIST}`, `{REMOVE}`."
)

_ENTRY: Final[State] = {
    "type": "object",
    "properties": {
        "type": {
            "type": "string",
            "enum": list(artifact_entries.TYPES),
            "description": "What kind of thing it is; `resource` only where no other fits.",
        },
        "label": {"type": "string", "description": "A short label the user is shown."},
        "isArtifact": {
            "type": "boolean",
            "description": (
                f"Always needed: true for an artifact, false for a reference. {_WHICH} Other "
                "artifacts are what the user asked for, or a result of its own that is clearly "
                "likely to be opened or used again, a report for one. A reference exists already, "
                "and the user should look at it because of this task."
            ),
        },
        "link": {
            "type": "string",
            "description": "URL of the pull request, issue, commit or website; those need it.",
        },
        "uri": {
            "type": "string",
            "description": (
                "An absolute URI with its scheme, which a `file` and a `resource` need. A local "
                "file's is `file:///path/to/file`, and no plain path."
            ),
        },
        "commitHash": {"type": "string", "description": "The hash; a `commit` needs it."},
    },
    "required": ["type", "label", "isArtifact"],
}
_ADD: Final[State] = {
    "name": ADD,
    "title": "Add Artifact or Reference",
    "description": (
        "Records artifacts or references, which the user is shown beside the chat's input; related "
        "ones in one call, in `items`. It is no inventory of what was saved: where in doubt, "
        f"record nothing. {_WHICH} Other artifacts are deliverables the user asked for, or results "
        "that stand alone and are clearly likely to be opened, downloaded or used again, such as a "
        "report or a plan. References are notable things that exist already. "
        f"{_NOT} An artifact takes the place, and the id, of a reference to the same thing; never "
        "the other way round."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "items": {
                "type": "array",
                "minItems": 1,
                "description": "What to record in this call.",
                "items": _ENTRY,
            }
        },
        "required": ["items"],
    },
    "annotations": {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False},
}
_REMOVE: Final[State] = {
    "name": REMOVE,
    "title": "Remove Artifact or Reference",
    "description": "Takes an artifact or reference of this session away, by its id.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": f"The id, as `{ADD}` or `{LIST}` said it."}
        },
        "required": ["id"],
    },
    "annotations": {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False},
}
_LIST: Final[State] = {
    "name": LIST,
    "title": "List Artifacts and References",
    "description": "Lists what is recorded on this session, with its ids.",
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"readOnlyHint": True, "openWorldHint": False},
}


def artifact_tools(sessions: SessionArtifacts, ids: Callable[[], str]) -> Sequence[HostTool]:
    """The three tools; `ids` is a source of new ids."""

    async def add(arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        items = arguments["items"]
        if len(items) > MOST_AT_ONCE:
            raise invalid(ADD, f"items must not exceed {MOST_AT_ONCE}.")
        entries = [
            artifact_entries.entry(ADD, given, f"items[{index}]")
            for index, given in enumerate(items)
        ]
        before = list(sessions.artifacts(context.session))
        held, said = before, []
        for entry in entries:
            held, words = artifact_entries.recorded(held, entry, ids)
            said.append(words)
        if held != before:
            await sessions.keep_artifacts(context.session, held)
        return "\n".join(said)

    async def remove(arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        held = sessions.artifacts(context.session)
        gone = next((each for each in held if each["id"] == arguments["id"]), None)
        if gone is None:
            return f"No artifact or reference with id {arguments['id'][:100]}."
        left = [each for each in held if each is not gone]
        await sessions.keep_artifacts(context.session, left)
        return f"Removed {artifact_entries.noun(gone)}: {gone['id']}"

    async def listed(arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        held = sessions.artifacts(context.session)
        lines = [artifact_entries.described(each) for each in held]
        return "\n".join(lines) or "No artifacts or references recorded for this session."

    writes = ToolEffects(writes=True)
    return (
        HostTool(definition=_ADD, run=add, effects=writes, instructions=INSTRUCTIONS),
        HostTool(definition=_REMOVE, run=remove, effects=writes),
        HostTool(definition=_LIST, run=listed, effects=ToolEffects(reads=True)),
    )
