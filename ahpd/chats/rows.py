"""A chat's row in its session: read off the chat's own state, said only where it moved.

Source: AHP.txt, `session/chatUpdated`.
"""

from typing import Any, Final

from ahpd.protocol import State

#: A row's fields but for `resource`, which names it, in the order they are compared.
FIELDS: Final = (
    "title",
    "status",
    "modifiedAt",
    "activity",
    "interactivity",
    "origin",
    "movable",
    "changes",
)
_STATUS: Final = FIELDS.index("status")
_ACTIVITY: Final = FIELDS.index("activity")

#: The values of `FIELDS`, as they were last said.
Row = tuple[Any, ...]


def row_of(state: State) -> Row:
    """The row's values as the chat's state has them now; None for a field it does not have."""
    return tuple(state.get(field) for field in FIELDS)


def summary_of(state: State) -> State:
    """The whole row (schema: ChatSummary)."""
    summary: State = {"resource": state["resource"]}
    for field in (*FIELDS, "workingDirectories", "provider"):
        if field in state:
            summary[field] = state[field]
    return summary


def moved(before: Row, after: Row) -> State:
    """What a client is told when a row goes from `before` to `after`; empty for nothing.

    An activity goes with a change of status and not without one. One that ended is
    said as "", because a partial has no other way to say that a field is gone.
    """
    changes = {
        field: now
        for field, was, now in zip(FIELDS, before, after, strict=True)
        if was != now and now is not None
    }
    changes.pop("activity", None)
    if before[_STATUS] != after[_STATUS] and before[_ACTIVITY] != after[_ACTIVITY]:
        changes["activity"] = after[_ACTIVITY] or ""
    return changes


def remembered(before: Row, after: Row) -> Row:
    """The row as clients hold it once `moved(before, after)` was said."""
    if before[_STATUS] != after[_STATUS]:
        return after
    return (*after[:_ACTIVITY], before[_ACTIVITY], *after[_ACTIVITY + 1 :])
