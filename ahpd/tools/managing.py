"""`rename_chat`, `set_workspace` and `delete_session`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ahpd.interfaces import HostTool, IResources, ToolCallContext, ToolEffects, ToolFailure
from ahpd.protocol import State
from ahpd.tools import naming
from ahpd.tools.ports import SeenChat, SessionWorld

RENAME_CHAT: Final = "rename_chat"
SET_WORKSPACE: Final = "set_workspace"
DELETE_SESSION: Final = "delete_session"

_RENAME: Final[State] = {
    "name": RENAME_CHAT,
    "title": "Rename Chat",
    "description": (
        "Gives one chat a name it is found by later. The name of a session's default chat is its "
        "session's too; other chats have names of their own. Use one to four plain words in "
        "sentence case. Pass a session's or chat's `agent-host-session://` link to rename another "
        "chat; without `chat` it is the one this runs in. Name a new chat once it is clear what "
        "it is about, and again whenever the user asks: each call replaces the title."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "session": {
                "type": "string",
                "description": (
                    "The session the chat is in, a URI from `list_sessions` or an "
                    "`agent-host-session://` link. Beside `chat` it has to be that chat's."
                ),
            },
            "chat": {
                "type": "string",
                "description": (
                    "The chat to rename, as the `agent-host-session://` link of a session or a "
                    "chat. The one this runs in where it is left out."
                ),
            },
            "title": {
                "type": "string",
                "maxLength": naming.LONGEST_TITLE,
                "description": "The new title, one to four words.",
            },
            "automatic": {
                "type": "boolean",
                "description": (
                    "True only where this answers the host's own reminder to name the chat; leave "
                    "it out where the user asked."
                ),
            },
        },
        "required": ["title"],
    },
    "annotations": {"title": "Rename Chat", "readOnlyHint": False, "destructiveHint": False},
}
_WORKSPACE: Final[State] = {
    "name": SET_WORKSPACE,
    "title": "Set Workspace",
    "description": (
        "Gives this session a real workspace, for work that changes the files of a project or "
        "runs commands in its environment; not for scratch work on attachments, pasted or made-up "
        "content, or what is thrown away or exported. Session, chat and history stay. Right "
        "before each call ask the user one question that confirms both the workspace and the "
        "isolation, with the tool that asks users, also where both were named already: allowing "
        "the call is no answer to it. `isolation` is true for a Git worktree the host manages, "
        "false for the folder itself. The host attaches the workspace once this turn is over and "
        "goes on with the task, so let this be the turn's last call."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "workspaceFolder": {
                "type": "string",
                "description": (
                    "The folder, an absolute local path or a file URI; one the user or "
                    "`list_sessions` named, never a guess."
                ),
            },
            "isolation": {
                "type": "boolean",
                "description": (
                    "Whether the workspace is a Git worktree made for it. The question right "
                    "before the call names this choice too."
                ),
            },
        },
        "required": ["workspaceFolder", "isolation"],
    },
    "annotations": {"title": "Set Workspace", "readOnlyHint": False, "destructiveHint": True},
}
_DELETE: Final[State] = {
    "name": DELETE_SESSION,
    "title": "Delete Session",
    "description": (
        "Deletes a session (its URI from `list_sessions`) and what is stored of it, for good. It "
        "does not delete the session it is called from."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "session": {
                "type": "string",
                "description": (
                    "The session to delete: its URI from `list_sessions` or its "
                    "`agent-host-session://` link."
                ),
            }
        },
        "required": ["session"],
    },
    "annotations": {"title": "Delete Session", "readOnlyHint": False, "destructiveHint": True},
}


def managing_tools(world: SessionWorld, resources: IResources | None) -> Sequence[HostTool]:
    """The three tools."""

    async def rename_chat(arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        seen = await _chat_to_rename(world, arguments, context)
        plain = not (seen.is_default and world.folders(seen.row["resource"]))
        title = naming.title(RENAME_CHAT, arguments["title"], plain)
        await world.rename(seen, title)
        return "Renamed chat." if arguments.get("automatic") else f'Renamed chat to "{title}".'

    async def set_workspace(arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        if world.caller(context).turn is None:
            raise ToolFailure(f"{SET_WORKSPACE} must run from an active chat turn.")
        uri = naming.folder(SET_WORKSPACE, "workspaceFolder", arguments["workspaceFolder"])
        if arguments["isolation"]:
            raise naming.invalid(
                SET_WORKSPACE,
                "this host makes no worktrees; ask the user whether to work in the folder itself.",
            )
        await naming.is_there(resources, SET_WORKSPACE, uri)
        await world.work_in(context, uri, _notice(uri))
        return (
            f"The workspace is {uri} once this turn is over. End the turn now, with no more "
            "calls and no reply; the host goes on with the task there by itself."
        )

    async def delete_session(arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        row = naming.known_session(world, context, DELETE_SESSION, arguments["session"])
        if row["resource"] == world.caller(context).row["resource"]:
            raise naming.invalid(DELETE_SESSION, "refusing to delete the current session.")
        await world.delete(row["resource"])
        return f"Deleted session {row['resource']}. Reply with one short sentence that says so."

    asks = ToolEffects(writes=True, destructive=True)
    return (
        HostTool(definition=_RENAME, run=rename_chat, effects=ToolEffects(writes=True)),
        HostTool(definition=_WORKSPACE, run=set_workspace, effects=asks),
        HostTool(definition=_DELETE, run=delete_session, effects=asks),
    )


async def _chat_to_rename(
    world: SessionWorld, arguments: Mapping[str, Any], context: ToolCallContext
) -> SeenChat:
    """The chat that was named, in the session that was; the one the call is made in for none."""
    session = None
    if "session" in arguments:
        session = naming.known_session(world, context, RENAME_CHAT, arguments["session"])
    if "chat" in arguments:
        seen, _ = await naming.known_chat(world, context, RENAME_CHAT, arguments["chat"])
    else:
        own = await world.chat_of(context.session, context.chat)
        if own is None:
            raise naming.invalid(RENAME_CHAT, "the tool must run inside a chat, or name one.")
        seen = own
    if session is not None and session["resource"] != seen.row["resource"]:
        raise naming.invalid(RENAME_CHAT, "session must match the owning session of chat.")
    return seen


def _notice(folder: str) -> State:
    """The message (schema: Message) a chat goes on with in another workspace."""
    return {
        "text": (
            f"The workspace of this session is {folder} now. Go on with the task you were given, "
            "in that workspace."
        ),
        "origin": {"kind": "systemNotification"},
        "_meta": {
            "vscode.chat.requestHiddenFromTranscript": True,
            "vscode.chat.systemInitiatedLabel": "Continue in Requested Workspace",
            "vscode.chat.workspaceContinuation": True,
        },
    }
