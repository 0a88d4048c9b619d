"""A changeset: its files, and the operations offered on them (schema: ChangesetState)."""

from typing import Final

from ahpd.protocol import Action, State, keyed
from ahpd.protocol.reducers.dispatch import Handler, reducer
from ahpd.protocol.reducers.fields import assign, replace


def _with_status(held: State, action: Action) -> State:
    """`held` with the action's status, and its error exactly where that status is `error`."""
    changed = {**held, "status": action["status"]}
    assign(changed, "error", action.get("error") if action["status"] == "error" else None)
    return changed


def _status_changed(state: State, action: Action) -> None:
    changed = _with_status({}, action)
    state["status"] = changed["status"]
    assign(state, "error", changed.get("error"))


def _file_set(state: State, action: Action) -> None:
    keyed.upsert(state, "files", "id", action["file"])


def _file_removed(state: State, action: Action) -> None:
    keyed.remove(state, "files", "id", action["fileId"])


def _files_review_changed(state: State, action: Action) -> None:
    named = frozenset(action["files"])
    reviewed = action["reviewed"]
    state["files"] = [
        {**file, "reviewed": reviewed} if file["id"] in named else file for file in state["files"]
    ]


def _content_changed(state: State, action: Action) -> None:
    """Operations the action does not name are as they were."""
    state["files"] = action["files"]
    operations = action.get("operations")
    if operations is not None:
        state["operations"] = operations


def _operation_status_changed(state: State, action: Action) -> None:
    operations = state.get("operations") or []
    place = keyed.place_of(operations, "id", action["operationId"])
    if place is not None:
        changed = _with_status(operations[place], action)
        state["operations"] = keyed.replaced(operations, place, changed)


def _cleared(state: State, action: Action) -> None:
    state["files"] = []


HANDLERS: Final[dict[str, Handler]] = {
    "changeset/statusChanged": _status_changed,
    "changeset/fileSet": _file_set,
    "changeset/fileRemoved": _file_removed,
    "changeset/filesReviewChanged": _files_review_changed,
    "changeset/contentChanged": _content_changed,
    "changeset/operationsChanged": replace("operations"),
    "changeset/operationStatusChanged": _operation_status_changed,
    "changeset/cleared": _cleared,
}

reduce = reducer(HANDLERS)
