"""Fields that channels of several kinds have, and the actions that change them."""

from collections.abc import Iterable
from typing import Any

from ahpd.protocol import Action, State
from ahpd.protocol.reducers.dispatch import Handler
from ahpd.protocol.status import IS_ARCHIVED, IS_READ, with_flag


def assign(state: State, field: str, value: Any) -> None:
    """Set an optional field; None takes it away."""
    if value is None:
        state.pop(field, None)
    else:
        state[field] = value


def present(source: Action, fields: Iterable[str]) -> State:
    """Those of `fields` that `source` has a value for."""
    return {field: value for field in fields if (value := source.get(field)) is not None}


def replace(field: str, source: str | None = None) -> Handler:
    """The handler that sets `field` to what the action carries under `source` (the same name).

    An action that carries nothing there takes the field away.
    """
    carried = source or field

    def handle(state: State, action: Action) -> None:
        assign(state, field, action.get(carried))

    return handle


def is_read_changed(state: State, action: Action) -> None:
    """Only the one bit: a chat's and its session's are independent of each other."""
    state["status"] = with_flag(state["status"], IS_READ, action["isRead"])


def is_archived_changed(state: State, action: Action) -> None:
    """Only the one bit, as for read."""
    state["status"] = with_flag(state["status"], IS_ARCHIVED, action["isArchived"])


def config_changed(state: State, action: Action) -> None:
    """Merge values, or with `replace` take them as all there are.

    A state without a configuration has no value to change and stays without. A null is
    a value like any other here.
    """
    config = state.get("config")
    if config is None:
        return
    changed = action["config"]
    held = {} if action.get("replace") else config.get("values") or {}
    state["config"] = {**config, "values": {**held, **changed}}


def working_directory_set(state: State, action: Action) -> None:
    """Append a folder, unless it is there already."""
    directories = state.get("workingDirectories") or []
    if action["directory"] not in directories:
        state["workingDirectories"] = [*directories, action["directory"]]


def working_directory_removed(state: State, action: Action) -> None:
    """Take a folder out; the list stays, empty if it was the last."""
    directories = state.get("workingDirectories") or []
    if action["directory"] in directories:
        left = list(directories)
        left.remove(action["directory"])
        state["workingDirectories"] = left
