"""What a session that a tool makes takes from the one it is made in."""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.interfaces import IAgent, ToolFailure
from ahpd.protocol.errors import RpcError
from ahpd.protocol.permission_rules import KEY as PERMISSIONS
from ahpd.sessions.config import (
    SENSITIVE_EDIT_LOCATIONS,
    Added,
    chosen,
    permission_rules,
    resolved,
    schema_of,
)
from ahpd.sessions.server_tools import TOOLS

#: The configuration key that says where a session works, and its values.
_ISOLATION: Final = "isolation"
_WORKTREE: Final = "worktree"
_FOLDER: Final = "folder"


def binding(own: Mapping[str, Any]) -> Mapping[str, Any]:
    """What of a session's configuration binds what it makes on another agent, too.

    What is refused, asked about and switched off in it is so there: nothing is got around by
    having another agent do it. What is allowed in it was allowed to its own agent.
    """
    bound = {key: own[key] for key in (SENSITIVE_EDIT_LOCATIONS, TOOLS) if key in own}
    rules = permission_rules(own)
    if rules["deny"] or rules["ask"]:
        bound[PERMISSIONS] = {"allow": [], "deny": rules["deny"], "ask": rules["ask"]}
    return bound


def configured(
    agent: IAgent,
    own: Mapping[str, Any],
    folder: str | None,
    worktree: bool | None,
    *,
    at_home: bool,
    added: Added,
) -> Mapping[str, Any]:
    """The configuration of a new session of `agent` in `folder`.

    `own` is that of the session it is made in, of another agent's what binds (`binding`). What
    the agent does not take there is left out. Two sessions in one checkout edit each other's
    files, so a folder is worked in through a worktree where the agent makes any and nobody said
    otherwise; `added` are the settings that are no agent's; `at_home` is for the folder its maker works in, where it is as its maker is.
    Raises `ToolFailure` for a worktree of an agent that makes none.
    """
    values = dict(own)
    declared = schema_of(agent, folder, values, added)["properties"].get(_ISOLATION) or {}
    if _WORKTREE in (declared.get("enum") or ()):
        if folder is not None and worktree is not None:
            values[_ISOLATION] = _WORKTREE if worktree else _FOLDER
        elif folder is not None and not at_home:
            values[_ISOLATION] = _WORKTREE
    elif worktree:
        raise ToolFailure(f"Sessions of {agent.provider} have no worktree of their own here.")
    try:
        chosen(agent, folder, values, added)
    except RpcError:
        return dict(resolved(agent, folder, values, added)["values"])
    return values
