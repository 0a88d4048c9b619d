"""Answers to a call's question that are not taken, because they are not what was asked.

An answer counts as it was sent, or not at all: what a client showed its person as edited, or
as picked, is what runs. Sources: schema, ChatToolCallApprovedAction; PLUGINS.txt, "A question
about a tool call".
"""

from typing import Final

import attrs

from ahpd.chats.asked import Asked, Judge
from ahpd.protocol import Action, State

#: The kinds of calls that rules are held against by more than their tool's name.
_TOLD_APART: Final = frozenset({"shell", "read", "write", "url"})


def contradiction(action: Action, held: State, asked: Asked | None, judge: Judge) -> str | None:
    """Why an approval of a call that waits is not taken, in words; None where it is.

    `held` is the call (schema: ToolCallPendingConfirmationState), `asked` what it asked for.
    An input that was edited is judged again: a person may let a call run, and not one that
    the host's rules refuse.
    """
    if not action["approved"]:
        return None
    call_id, chosen = action["toolCallId"], action.get("selectedOptionId")
    for option in held.get("options") or ():
        if option["id"] == chosen and option["kind"] == "deny":
            return f"Option {chosen} of tool call {call_id} does not approve it."
    edited = action.get("editedToolInput")
    if edited is None or edited == held.get("toolInput"):
        return None
    if not held.get("editable"):
        return f"The input of tool call {call_id} is not to be edited."
    return None if asked is None else _edited(call_id, edited, held, asked, judge)


def _edited(call_id: str, edited: str, held: State, asked: Asked, judge: Judge) -> str | None:
    permission = asked.permission
    if permission.edited is not None:
        permission = permission.edited(edited)
    elif permission.kind == "shell" and held.get("toolInput") == permission.command:
        permission = attrs.evolve(permission, command=edited)
    elif permission.kind in _TOLD_APART:
        return f"Tool call {call_id} cannot be edited: nobody could tell what it does then."
    verdict = judge(attrs.evolve(asked, permission=permission))
    if verdict.decision != "deny":
        return None
    return f"Tool call {call_id} is not allowed as it was edited: {verdict.because}."
