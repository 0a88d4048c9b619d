"""`list_sessions` and `get_current_session`: the catalogue, as a model reads it."""

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from ahpd.interfaces import HostTool, ToolCallContext, ToolEffects
from ahpd.protocol import State
from ahpd.protocol.status import ERROR, IDLE, IN_PROGRESS, INPUT_NEEDED, IS_ARCHIVED, IS_READ
from ahpd.protocol.timestamps import instant
from ahpd.tools import naming
from ahpd.tools.links import link_to
from ahpd.tools.ports import SessionReading

LIST_SESSIONS: Final = "list_sessions"
GET_CURRENT_SESSION: Final = "get_current_session"

#: The most a listing takes, in characters of JSON: a catalogue may have thousands of sessions.
MOST_CHARACTERS: Final = 100_000

_STATUS_WORDS: Final = ("idle", "inProgress", "inputNeeded", "error", "archived")
#: What is told of a session's git and GitHub state, and what its `_meta` calls it.
_GIT: Final = {
    "branch": "branchName",
    "baseBranch": "baseBranchName",
    "upstreamBranch": "upstreamBranchName",
    "ahead": "outgoingChanges",
    "behind": "incomingChanges",
    "uncommittedChanges": "uncommittedChanges",
}
_GITHUB: Final = {"owner": "owner", "repo": "repo", "pullRequestUrl": "pullRequestUrl"}

_LISTING: Final[State] = {
    "name": LIST_SESSIONS,
    "title": "List Sessions",
    "description": (
        "Lists sessions with what is known of each in short: status, activity, working "
        "directory, project, pending changes, git and GitHub state, times. `session` of a result "
        "is its identity, for the input of other tools; `openLink` is for Markdown links a person "
        "clicks, and `session` is not. Pass `session` to look one up. Archived sessions are left "
        "out unless they are asked for. Filters: `status`, `workspace`, `withChanges`, `unread`, "
        "`withPullRequest`, `includeArchived`, `createdAfter`, `createdBefore`."
    ),
    "inputSchema": {
        "type": "object",
        "properties": {
            "session": {
                "type": "string",
                "description": (
                    "Look up the one session of this URI or `agent-host-session://` link; the "
                    "other filters count for nothing then."
                ),
            },
            "status": {
                "type": "array",
                "items": {"type": "string", "enum": list(_STATUS_WORDS)},
                "description": (
                    "Sessions in one of these states: `inputNeeded` waits for a person, "
                    "`inProgress` runs, `archived` is filed away as done and implies "
                    "`includeArchived`. Every state where it is left out."
                ),
            },
            "workspace": {
                "type": "string",
                "description": (
                    "Sessions of this project (name or URI) or working directory (path or URI)."
                ),
            },
            "withChanges": {
                "type": "boolean",
                "description": "True for sessions whose working tree has pending changes alone.",
            },
            "unread": {
                "type": "boolean",
                "description": "True for sessions with news the user has not seen alone.",
            },
            "withPullRequest": {
                "type": "boolean",
                "description": "True for sessions with a GitHub pull request alone.",
            },
            "includeArchived": {
                "type": "boolean",
                "description": "True to list archived sessions too; false where it is left out.",
            },
            "createdAfter": {
                "type": "string",
                "description": (
                    "Sessions made at this time or later (ISO 8601, `2025-01-31T00:00:00Z`)."
                ),
            },
            "createdBefore": {
                "type": "string",
                "description": "Sessions made at this time or earlier (ISO 8601).",
            },
        },
    },
    "annotations": {"title": "List Sessions", "readOnlyHint": True, "openWorldHint": False},
}

_CURRENT: Final[State] = {
    "name": GET_CURRENT_SESSION,
    "title": "Get Current Session",
    "description": (
        "Tells about the session this conversation runs in, with the link that opens it: to refer "
        "to it, or to add a chat to it."
    ),
    "inputSchema": {"type": "object", "properties": {}},
    "annotations": {"title": "Get Current Session", "readOnlyHint": True, "openWorldHint": False},
}


def listing_tools(world: SessionReading) -> Sequence[HostTool]:
    """The two tools."""

    async def list_sessions(arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        asked = arguments.get("session")
        if asked is not None:
            row = naming.session(world, context, asked)
            return _told([] if row is None else [row])
        keeps = _filter(arguments)
        return _told([row for row in world.rows(context.session) if keeps(row)])

    async def get_current_session(arguments: Mapping[str, Any], context: ToolCallContext) -> str:
        return json.dumps(_described(world.caller(context).row), ensure_ascii=False)

    reads = ToolEffects(reads=True)
    return (
        HostTool(definition=_LISTING, run=list_sessions, effects=reads),
        HostTool(definition=_CURRENT, run=get_current_session, effects=reads),
    )


# -- which are listed -------------------------------------------------------------------


def status_words(status: int) -> list[str]:
    """The words a session's status answers to."""
    words = []
    if status & INPUT_NEEDED == INPUT_NEEDED:
        words.append("inputNeeded")
    elif status & IN_PROGRESS:
        words.append("inProgress")
    elif status & IDLE:
        words.append("idle")
    if status & ERROR:
        words.append("error")
    if status & IS_ARCHIVED:
        words.append("archived")
    return words


def _filter(arguments: Mapping[str, Any]) -> Callable[[State], bool]:
    wanted = arguments.get("status")
    archived = arguments.get("includeArchived") or "archived" in (wanted or ())
    workspace = arguments.get("workspace")
    after = _moment(arguments, "createdAfter")
    before = _moment(arguments, "createdBefore")

    def keeps(row: State) -> bool:
        status, made = row["status"], instant(row["createdAt"]) or 0.0
        return (
            (wanted is None or not set(wanted).isdisjoint(status_words(status)))
            and (workspace is None or _works_in(row, workspace))
            and (not arguments.get("withChanges") or _has_changes(row))
            and (not arguments.get("unread") or not status & IS_READ)
            and (not arguments.get("withPullRequest") or bool(_pull_requests(row)))
            and bool(archived or not status & IS_ARCHIVED)
            and (after is None or made >= after)
            and (before is None or made <= before)
        )

    return keeps


def _moment(arguments: Mapping[str, Any], field: str) -> float | None:
    value = arguments.get(field)
    if value is None:
        return None
    moment = instant(value)
    if moment is None:
        raise naming.invalid(
            LIST_SESSIONS, f"{field} must be an ISO 8601 timestamp (e.g. 2025-01-31T00:00:00Z)."
        )
    return moment


def _works_in(row: State, workspace: str) -> bool:
    project = row.get("project") or {}
    if project.get("displayName", "").lower() == workspace.lower():
        return True
    uris = [*row.get("workingDirectories", ()), *([project["uri"]] if project else ())]
    return any(naming.same_folder(uri, workspace) for uri in uris)


def _has_changes(row: State) -> bool:
    changes = row.get("changes") or {}
    return any(changes.get(field) for field in ("files", "additions", "deletions"))


def _meta(row: State, key: str) -> Mapping[str, Any]:
    held = (row.get("_meta") or {}).get(key)
    return held if isinstance(held, dict) else {}


def _pull_requests(row: State) -> list[str]:
    urls = _meta(row, "github").get("pullRequestUrls")
    return [url for url in urls if isinstance(url, str)] if isinstance(urls, list) else []


# -- what is told of one ------------------------------------------------------------------


def _told(rows: Sequence[State]) -> str:
    """The rows as JSON, as many as there is room for; how many were left out where some were."""
    told: list[State] = []
    room = MOST_CHARACTERS
    for row in rows:
        described = _described(row)
        room -= len(json.dumps(described, ensure_ascii=False)) + 1
        if room < 0 and told:
            break
        told.append(described)
    answer: State = {"sessions": told}
    if len(told) < len(rows):
        answer |= {"truncated": True, "leftOut": len(rows) - len(told)}
    return json.dumps(answer, ensure_ascii=False)


def _described(row: State) -> State:
    """What a model is told of a session's row (schema: SessionSummary)."""
    folders = row.get("workingDirectories") or []
    project = row.get("project")
    urls = _pull_requests(row)
    github = {**_meta(row, "github"), **({"pullRequestUrl": urls[0]} if urls else {})}
    told: State = {
        "session": row["resource"],
        "openLink": link_to(row),
        "title": row["title"],
        "status": ",".join(status_words(row["status"])) or "unknown",
        "activity": row.get("activity"),
        "workingDirectory": folders[0] if folders else None,
        "workingDirectories": folders if len(folders) > 1 else None,
        "project": project["displayName"] if project else None,
        "projectUri": project["uri"] if project else None,
        "unread": None if row["status"] & IS_READ else True,
        "createdAt": row["createdAt"],
        "modifiedAt": row["modifiedAt"],
        "changes": row.get("changes"),
        "git": _picked(_meta(row, "git"), _GIT),
        "github": _picked(github, _GITHUB),
    }
    return {key: value for key, value in told.items() if value is not None}


def _picked(held: Mapping[str, Any], names: Mapping[str, str]) -> State | None:
    found = {ours: held[theirs] for ours, theirs in names.items() if theirs in held}
    return found or None
