"""A chat: its turns, and what stands around them (schema: ChatState).

Only what a turn under way is made of is changed in place: the active turn, its parts
and their growing text. Everything else a state holds may be shared with an action or
another state, and is replaced where it changes.
"""

from typing import Final

from ahpd.protocol import Action, State, keyed
from ahpd.protocol.reducers.chat_input_requests import HANDLERS as INPUT_REQUESTS
from ahpd.protocol.reducers.chat_pending_messages import HANDLERS as PENDING_MESSAGES
from ahpd.protocol.reducers.chat_tool_calls import HANDLERS as TOOL_CALLS
from ahpd.protocol.reducers.chat_turns import HANDLERS as TURNS
from ahpd.protocol.reducers.dispatch import Handler, reducer
from ahpd.protocol.reducers.fields import (
    assign,
    is_archived_changed,
    is_read_changed,
    replace,
    working_directory_removed,
    working_directory_set,
)


def _background_work_set(state: State, action: Action) -> None:
    """Work of a kind nobody here knows is kept like any other."""
    keyed.upsert(state, "backgroundWork", "id", action["work"])


def _background_work_removed(state: State, action: Action) -> None:
    """The last entry takes the list with it: a chat that runs nothing has none."""
    if keyed.remove(state, "backgroundWork", "id", action["id"]) and not state["backgroundWork"]:
        del state["backgroundWork"]


def _config_changed(state: State, action: Action) -> None:
    """The chat's own values alone: merged, or with `replace` all there are; none, no config.

    Their schema is the session's.
    """
    held = {} if action.get("replace") else state.get("config") or {}
    assign(state, "config", {**held, **action["config"]} or None)


HANDLERS: Final[dict[str, Handler]] = {
    **TURNS,
    **TOOL_CALLS,
    **INPUT_REQUESTS,
    **PENDING_MESSAGES,
    "chat/activityChanged": replace("activity"),
    "chat/backgroundWorkSet": _background_work_set,
    "chat/backgroundWorkRemoved": _background_work_removed,
    "chat/movableChanged": replace("movable"),
    "chat/changesetsChanged": replace("changesets"),
    "chat/canvasesChanged": replace("canvases"),
    "chat/workingDirectorySet": working_directory_set,
    "chat/workingDirectoryRemoved": working_directory_removed,
    "chat/draftChanged": replace("draft"),
    "chat/isReadChanged": is_read_changed,
    "chat/isArchivedChanged": is_archived_changed,
    # Not AHP 1.0.0: a value the chat sets for itself (AHP.txt, "What is served outside
    # the protocol").
    "chat/configChanged": _config_changed,
    # No chat action carries a title; a rename sent on a chat's own channel renames the
    # chat (AHP.txt, `session/titleChanged`).
    "session/titleChanged": replace("title"),
}

reduce = reducer(HANDLERS)
