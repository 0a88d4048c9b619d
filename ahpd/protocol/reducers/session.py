"""A session: its chats, its clients, and what it waits on a person for (schema: SessionState)."""

from typing import Final

from ahpd.protocol import Action, State, keyed
from ahpd.protocol.reducers.dispatch import Handler, reducer
from ahpd.protocol.reducers.fields import (
    config_changed,
    is_archived_changed,
    is_read_changed,
    replace,
    working_directory_removed,
    working_directory_set,
)
from ahpd.protocol.reducers.session_customizations import HANDLERS as CUSTOMIZATIONS
from ahpd.protocol.status import IN_PROGRESS, INPUT_NEEDED, with_activity


def _ready(state: State, action: Action) -> None:
    """The lifecycle alone: a turn may be running already, and the status is its."""
    state["lifecycle"] = "ready"


def _creation_failed(state: State, action: Action) -> None:
    state["lifecycle"] = "failed"
    state["creationError"] = action["error"]


# -- chats ----------------------------------------------------------------------


def _chat_added(state: State, action: Action) -> None:
    keyed.upsert(state, "chats", "resource", action["summary"])


def _chat_removed(state: State, action: Action) -> None:
    chat = action["chat"]
    if keyed.remove(state, "chats", "resource", chat) and state.get("defaultChat") == chat:
        del state["defaultChat"]


def _chat_updated(state: State, action: Action) -> None:
    """Lay the changes over the chat's row; which chat it is about never changes."""
    chats = state["chats"]
    place = keyed.place_of(chats, "resource", action["chat"])
    if place is None:
        return
    row = {**chats[place], **action["changes"], "resource": action["chat"]}
    row = {field: value for field, value in row.items() if value is not None}
    state["chats"] = keyed.replaced(chats, place, row)


def _chats_reordered(state: State, action: Action) -> None:
    """An order that does not name every chat exactly once changes nothing."""
    order = action["chats"]
    rows = {chat["resource"]: chat for chat in state["chats"]}
    if len(order) == len(state["chats"]) and rows.keys() == set(order):
        state["chats"] = [rows[chat] for chat in order]


# -- clients, folders, input ----------------------------------------------------


def _active_client_set(state: State, action: Action) -> None:
    """An entry that names no client is the one entry that names none."""
    keyed.upsert(state, "activeClients", "clientId", action["activeClient"])


def _active_client_removed(state: State, action: Action) -> None:
    keyed.remove(state, "activeClients", "clientId", action["clientId"])


def _working_directory_replaced(state: State, action: Action) -> None:
    """Swap one folder for another, which keeps the earlier of the two places it then has."""
    directories = state.get("workingDirectories") or []
    if action["directory"] not in directories:
        return
    swapped = [
        action["replacement"] if held == action["directory"] else held for held in directories
    ]
    state["workingDirectories"] = list(dict.fromkeys(swapped))


def _refresh_input_needed(state: State) -> None:
    """Raise the status while the session waits on a person, and lower it after.

    A call a client runs is work handed over, not a question (schema:
    SessionState.inputNeeded). The status falls back to whatever is left of it: a turn
    in progress stays one, an idle session stays idle.
    """
    needed = state.get("inputNeeded") or []
    if any(request["kind"] != "toolClientExecution" for request in needed):
        state["status"] = with_activity(state["status"], INPUT_NEEDED)
    else:
        state["status"] &= ~(INPUT_NEEDED & ~IN_PROGRESS)


def _input_needed_set(state: State, action: Action) -> None:
    keyed.upsert(state, "inputNeeded", "id", action["request"])
    _refresh_input_needed(state)


def _input_needed_removed(state: State, action: Action) -> None:
    if keyed.remove(state, "inputNeeded", "id", action["id"]):
        if not state["inputNeeded"]:
            del state["inputNeeded"]
        _refresh_input_needed(state)


HANDLERS: Final[dict[str, Handler]] = {
    "session/ready": _ready,
    "session/creationFailed": _creation_failed,
    "session/chatAdded": _chat_added,
    "session/chatRemoved": _chat_removed,
    "session/chatUpdated": _chat_updated,
    "session/chatsReordered": _chats_reordered,
    "session/defaultChatChanged": replace("defaultChat"),
    "session/titleChanged": replace("title"),
    "session/serverToolsChanged": replace("serverTools", "tools"),
    "session/activeClientSet": _active_client_set,
    "session/activeClientRemoved": _active_client_removed,
    "session/workingDirectorySet": working_directory_set,
    "session/workingDirectoryRemoved": working_directory_removed,
    "session/workingDirectoryReplaced": _working_directory_replaced,
    "session/inputNeededSet": _input_needed_set,
    "session/inputNeededRemoved": _input_needed_removed,
    "session/isReadChanged": is_read_changed,
    "session/isArchivedChanged": is_archived_changed,
    "session/activityChanged": replace("activity"),
    "session/changesetsChanged": replace("changesets"),
    "session/configChanged": config_changed,
    "session/metaChanged": replace("_meta"),
    **CUSTOMIZATIONS,
}

reduce = reducer(HANDLERS)
