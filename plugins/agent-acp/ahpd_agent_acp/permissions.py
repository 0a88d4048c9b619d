"""A permission an ACP agent asks for: what the host judges it by, and what it is answered.

The host puts its own options before a person, and keeps what is to be kept; the agent is
answered for this once. A mode switch alone offers the agent's options, because they say
which mode is switched to. Source: PLUGINS.txt, "A question about a tool call".
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from ahpd.interfaces import Permission, ToolAnswer
from ahpd.protocol import State
from ahpd.protocol.file_uris import path_of
from ahpd_agent_acp.call import Call
from ahpd_agent_acp.content import text_in
from ahpd_agent_acp.diffs import absolute
from ahpd_agent_acp.inputs import command_line, folders_in, runs_words, url_in

#: What a call asks to do, by its ACP kind.
_KINDS: Final = {
    "execute": "shell",
    "read": "read",
    "search": "read",
    "edit": "write",
    "delete": "write",
    "move": "write",
    "fetch": "url",
}

_SCHEME: Final = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:/|file:)", re.IGNORECASE)

SWITCH_MODE: Final = "switch_mode"

CANCELLED: Final[State] = {"outcome": {"outcome": "cancelled"}}


def permission_of(call: Call, directory: str) -> Permission:
    """What a call asks to be allowed; a relative path is one of its session's folder.

    A call of several files is judged by all of them, and one of a command by the command,
    whatever else the agent says it is like.
    """
    if call.tool.of_a_server:
        return Permission(kind="mcp")
    kind = _KINDS.get(call.kind or "", "custom-tool")
    if kind == "shell" or (kind == "read" and runs_words(call.raw_input)):
        return _shell(call, directory)
    if kind == "url":
        return Permission(kind=kind, url=url_in(call.raw_input))
    if kind in ("read", "write"):
        first, *others = _paths(call, directory) or (None,)
        return Permission(kind=kind, path=first, more_paths=tuple(path for path in others if path))
    return Permission(kind=kind)


def _shell(call: Call, directory: str) -> Permission:
    folders = folders_in(call.raw_input)
    if len(folders) > 1:
        return Permission(kind="shell")  # nobody can tell where it runs
    named = _path(folders[0], directory) if folders else None
    return Permission(kind="shell", command=command_line(call.raw_input), directory=named)


def _paths(call: Call, directory: str) -> list[str]:
    """The files a call is of, the one its first location names first: its diffs' as well."""
    diffs = (text_in(diff, "path") for diff in call.diffs)
    named = (*call.paths, *(path for path in diffs if path is not None))
    return list(dict.fromkeys(_path(path, directory) for path in named))


def _path(named: str, directory: str) -> str:
    """What an agent named, absolute; as it is where only the agent knows what it means by it."""
    if _SCHEME.match(named):
        return path_of(named) or named
    return named if named.startswith("~") else absolute(named, directory)


def offered(options: Sequence[Mapping[str, Any]]) -> list[State]:
    """The agent's options as a person picks them, approvals first (schema: ConfirmationOption)."""
    found = []
    for option in options:
        identifier, kind = text_in(option, "optionId"), text_in(option, "kind") or ""
        if identifier is not None:
            approves = not kind.startswith("reject")
            found.append(
                {
                    "id": identifier,
                    "label": text_in(option, "name") or identifier,
                    "kind": "approve" if approves else "deny",
                }
            )
    return sorted(found, key=lambda option: option["kind"] == "deny")


def outcome(answer: ToolAnswer, options: Sequence[Mapping[str, Any]], switches_mode: bool) -> State:
    """What the agent is answered (ACP: RequestPermissionResponse).

    Never with an option that stands: one answer must not change what the agent asks about
    from then on. That is but for a mode's button, which is what was picked.
    """
    if switches_mode and answer.option is not None:
        for option in options:
            picked = option.get("optionId") == answer.option
            if picked and _approves(option) is answer.approved:
                return _selected(option)
    once = "allow_once" if answer.approved else "reject_once"
    for option in options:
        if option.get("kind") == once and text_in(option, "optionId") is not None:
            return _selected(option)
    return CANCELLED


def _approves(option: Mapping[str, Any]) -> bool:
    return not (text_in(option, "kind") or "").startswith("reject")


def _selected(option: Mapping[str, Any]) -> State:
    return {"outcome": {"outcome": "selected", "optionId": option["optionId"]}}
