"""A session's row in the catalogue, derived from its own state.

Sources: session-channel.txt, "Chat aggregation"; AHP.txt, `root/sessionSummaryChanged`.
"""

from collections.abc import Sequence
from typing import Final

from ahpd.protocol import State
from ahpd.protocol.status import (
    ACTIVITY_MASK,
    ERROR,
    IN_PROGRESS,
    INPUT_NEEDED,
    IS_ARCHIVED,
    with_activity,
)
from ahpd.protocol.timestamps import instant

#: What a client's row never moves in, and a change never carries.
IDENTITY: Final = frozenset({"resource", "provider", "createdAt"})

#: What a row takes from the session's state as it is, when it is there.
_CARRIED: Final = ("activity", "origin", "project", "workingDirectories", "annotations", "_meta")
#: What a row's chat takes from the chat's row in the session, when it is there.
_OF_A_CHAT: Final = ("resource", "title", "origin", "interactivity", "status", "changes")


def driving_chat(state: State) -> State | None:
    """The chat (schema: ChatSummary) whose activity is the session's.

    One that waits for a person before one that failed, and either before the default
    chat, or the chat that moved last where there is no default.
    """
    chats: Sequence[State] = state["chats"]
    if not chats:
        return None
    default = state.get("defaultChat")
    lead = next((chat for chat in chats if chat["resource"] == default), None)
    if lead is None:
        lead = max(chats, key=lambda chat: instant(chat["modifiedAt"]) or 0.0)
    ordered = [lead, *(chat for chat in chats if chat is not lead)]
    for promoted in (INPUT_NEEDED, ERROR):
        for chat in ordered:
            if chat["status"] & ACTIVITY_MASK == promoted:
                return chat
    return lead


def modified_at(state: State, created_at: str) -> str:
    """When any chat of the session moved last; its creation for one that never did."""
    latest, at = created_at, instant(created_at) or 0.0
    for chat in state["chats"]:
        moved = instant(chat["modifiedAt"])
        if moved is not None and moved > at:
            latest, at = chat["modifiedAt"], moved
    return latest


def summary_of(resource: str, created_at: str, state: State, marks: State | None = None) -> State:
    """The session's row (schema: SessionSummary), a new object at each call.

    `marks` counts its annotations (schema: AnnotationsSummary), where it has some.
    """
    lead = driving_chat(state)
    status = state["status"]
    if lead is not None:
        status = with_activity(status, lead["status"] & ACTIVITY_MASK)
    summary: State = {
        "resource": resource,
        "provider": state["provider"],
        "title": state["title"],
        "status": status,
        "createdAt": created_at,
        "modifiedAt": modified_at(state, created_at),
        "chats": [
            _compact(chat)
            for chat in state["chats"]
            if chat.get("origin", {}).get("kind") != "tool"
        ],
    }
    if "defaultChat" in state:
        summary["defaultChat"] = state["defaultChat"]
    for field in _CARRIED:
        if field in state:
            summary[field] = state[field]
    if marks is not None:
        summary["annotations"] = marks
    return summary


def _compact(chat: State) -> State:
    """A chat as the catalogue lists it (schema: SessionChatSummary).

    An archived one says so beside its status too, which is what a client of 0.9 reads.
    """
    row: State = {field: chat[field] for field in _OF_A_CHAT if field in chat}
    if chat["status"] & IS_ARCHIVED:
        row["archived"] = True
    return row


def changes_between(before: State, after: State) -> State:
    """What moved from one row to the next, the identity left out.

    An activity that ended is null, a `_meta` that is gone is empty: a key that is left off is a
    field that did not move.
    """
    changes = {
        field: value
        for field, value in after.items()
        if field not in IDENTITY and (field not in before or before[field] != value)
    }
    if "activity" in before and "activity" not in after:
        changes["activity"] = None
    if "_meta" in before and "_meta" not in after:
        changes["_meta"] = {}
    if "annotations" in before and "annotations" not in after:
        changes["annotations"] = {
            **before["annotations"], "annotationCount": 0, "entryCount": 0
        }  # fmt: skip
    return changes


def interrupted(row: State) -> State:
    """A row as it reads back after the end of the process: nothing runs. Itself if nothing does."""
    if not row["status"] & IN_PROGRESS and "activity" not in row:
        return row
    kept: State = {key: value for key, value in row.items() if key != "activity"}
    kept["status"] = _over(row["status"])
    kept["chats"] = [{**chat, "status": _over(chat["status"])} for chat in row.get("chats", ())]
    return kept


def _over(status: int) -> int:
    return with_activity(status, ERROR) if status & IN_PROGRESS else status
