"""`create_session` and `create_chat`: work handed on, with its first message."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ahpd.interfaces import HostTool, IResources, ToolCallContext, ToolEffects, ToolFailure
from ahpd.protocol import State
from ahpd.tools import naming
from ahpd.tools.limits import MOST_DEEP, Allowance
from ahpd.tools.links import link_to
from ahpd.tools.messages import delegated
from ahpd.tools.ports import Caller, SessionWorld

CREATE_SESSION: Final = "create_session"
CREATE_CHAT: Final = "create_chat"

_HERE: Final = "currentSession"
_APART: Final = "independent"

_PROMPT: Final[State] = {"type": "string", "description": "The first message of what is made."}
_SESSION: Final[State] = {
    "name": CREATE_SESSION,
    "title": "Create Session",
    "description": (
        "Hands work on and starts it with a first prompt: in a new chat of this session, or in a "
        "session of its own."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "relationship": {
                "type": "string",
                "enum": [_HERE, _APART],
                "description": (
                    "`independent` only where the user asks for a sibling or top-level session in "
                    "so many words. Leave it out else: the work is a new chat of the current "
                    'session (`currentSession`), also where a "new session" or a "new chat" is '
                    "asked for."
                ),
            },
            "prompt": _PROMPT,
            "workspace": {
                "type": "string",
                "description": (
                    "Where the work is done: the name of one project, a project's or workspace's "
                    "URI, an absolute folder path, or a working directory of a session there is. "
                    "Leave it out for work that needs none, and in `currentSession` for work in "
                    "the session's own."
                ),
            },
            "worktree": {
                "type": "boolean",
                "description": (
                    "True where the work needs a Git worktree of its own; reading does not. Takes "
                    "`workspace` beside it."
                ),
            },
            "title": {
                "type": "string",
                "maxLength": naming.LONGEST_TITLE,
                "description": "A short title for the new chat or session.",
            },
            "model": {
                "type": "string",
                "description": (
                    "A model's id or display name; the current chat's where it is left out. In "
                    "`currentSession` it is one of the session's provider; of an `independent` "
                    "session it decides the provider."
                ),
            },
        },
        "required": ["prompt", "title"],
    },
    "annotations": {"title": "Create Session", "readOnlyHint": False, "destructiveHint": True},
}
_CHAT: Final[State] = {
    "name": CREATE_CHAT,
    "title": "Create Chat",
    "description": (
        "Makes a new chat in a session and starts it with a first prompt. It shares the session's "
        "workspace, its life and its changes. Without `session` it is made in this one."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "session": {
                "type": "string",
                "description": (
                    "The session that gets the chat: a session's URI from `list_sessions` or an "
                    "`agent-host-session://` link. This one where it is left out."
                ),
            },
            "prompt": _PROMPT,
            "title": {
                "type": "string",
                "maxLength": naming.LONGEST_TITLE,
                "description": "A short title for the new chat.",
            },
            "model": {
                "type": "string",
                "description": "The id or display name of a model of the session's provider.",
            },
        },
        "required": ["prompt"],
    },
    "annotations": {"title": "Create Chat", "readOnlyHint": False, "destructiveHint": True},
}


class Creation:
    """Makes what agents hand on, within what they are allowed."""

    def __init__(
        self,
        world: SessionWorld,
        resources: IResources | None,
        sessions: Allowance,
        chats: Allowance,
    ) -> None:
        self._world = world
        self._resources = resources
        self._sessions = sessions
        self._chats = chats

    def tools(self) -> Sequence[HostTool]:
        """The two tools."""
        effects = ToolEffects(writes=True, destructive=True)
        return (
            HostTool(definition=_SESSION, run=self.create_session, effects=effects),
            HostTool(definition=_CHAT, run=self.create_chat, effects=effects),
        )

    async def create_session(self, arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        """See `CREATE_SESSION`."""
        tool = CREATE_SESSION
        text = naming.said(tool, "prompt", arguments["prompt"])
        title = naming.title(tool, arguments["title"])
        worktree = arguments.get("worktree")
        if worktree is not None and "workspace" not in arguments:
            raise naming.invalid(tool, "worktree requires workspace.")
        caller = self._world.caller(context)
        folder = None
        if "workspace" in arguments:
            rows = self._world.rows(context.session)
            folder = naming.workspace(tool, arguments["workspace"], rows)
        if arguments.get("relationship", _HERE) == _HERE:
            return await self._here(context, caller, arguments, text, title, folder)
        if caller.depth >= MOST_DEEP:
            raise ToolFailure(
                f"Refusing to create a session: {MOST_DEEP} sessions deep is as deep as tools go, "
                f"and this one was made {caller.depth} deep."
            )
        model = self._model(tool, arguments)
        provider = caller.row["provider"] if model is None else model["provider"]
        with self._sessions.one(caller.root):
            if folder is not None:
                await naming.is_there(self._resources, tool, folder)
            row = await self._world.create_session(
                context,
                provider=provider,
                folder=folder,
                worktree=worktree,
                title=title,
                message=delegated(context, caller, text, _selected(caller, provider, model)),
            )
        return f"New session created ({link_to(row)})."

    async def _here(
        self,
        context: ToolCallContext,
        caller: Caller,
        arguments: Mapping[str, Any],
        text: str,
        title: str,
        folder: str | None,
    ) -> str:
        """The work is a chat of the caller's own session, in one of its folders."""
        tool = CREATE_SESSION
        if arguments.get("worktree"):
            raise naming.invalid(
                tool,
                "a chat of the current session has no worktree of its own here; use relationship "
                '"independent".',
            )
        if folder is not None:
            held = self._world.folders(context.session)
            found = [each for each in held if naming.same_folder(each, folder)]
            if not found:
                raise naming.invalid(
                    tool,
                    f"{folder} is no folder of the current session; use one of its folders or "
                    'relationship "independent".',
                )
            folder = found[0]
        link = await self._chat(tool, context, caller, caller.row, arguments, text, title, folder)
        return f"Chat created in the current session ({link})."

    async def create_chat(self, arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        """See `CREATE_CHAT`."""
        tool = CREATE_CHAT
        text = naming.said(tool, "prompt", arguments["prompt"])
        title = naming.title(tool, arguments["title"]) if "title" in arguments else None
        caller = self._world.caller(context)
        row = caller.row
        if "session" in arguments:
            row = naming.known_session(self._world, context, tool, arguments["session"])
        link = await self._chat(tool, context, caller, row, arguments, text, title, None)
        return f"Chat created ({link})."

    async def _chat(
        self,
        tool: str,
        context: ToolCallContext,
        caller: Caller,
        row: State,
        arguments: Mapping[str, Any],
        text: str,
        title: str | None,
        folder: str | None,
    ) -> str:
        """Make a chat in the session of `row`; the link to it."""
        provider = row["provider"]
        model = self._model(tool, arguments, provider)
        message = delegated(context, caller, text, _selected(caller, provider, model))
        with self._chats.one(caller.root):
            chat = await self._world.create_chat(row, title=title, folder=folder, message=message)
        return link_to(row, chat)

    def _model(
        self, tool: str, arguments: Mapping[str, Any], provider: str | None = None
    ) -> State | None:
        if "model" not in arguments:
            return None
        return naming.model(tool, self._world.models(), arguments["model"], provider)


def _selected(caller: Caller, provider: str, model: State | None) -> State | None:
    """What the first message runs on (schema: ModelSelection): what was asked for, or else what
    the caller runs on where that is the same agent's."""
    if model is not None:
        return {"id": model["id"]}
    return caller.model if caller.row["provider"] == provider else None
