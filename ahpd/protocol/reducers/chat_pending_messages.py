"""Messages a chat holds for later: one that steers the running turn, and the queue behind it."""

from typing import Final

from ahpd.protocol import Action, State, keyed
from ahpd.protocol.reducers.dispatch import Handler


def take_up(state: State, identifier: str) -> None:
    """Take the message of that id out, wherever it waits: a turn started from it."""
    _remove_steering(state, identifier)
    _remove_queued(state, identifier)


def _remove_steering(state: State, identifier: str) -> None:
    steering = state.get("steeringMessage")
    if steering is not None and steering["id"] == identifier:
        del state["steeringMessage"]


def _remove_queued(state: State, identifier: str) -> None:
    """The last message takes the queue with it."""
    if keyed.remove(state, "queuedMessages", "id", identifier) and not state["queuedMessages"]:
        del state["queuedMessages"]


def _set(state: State, action: Action) -> None:
    """There is one steering message; a queued one keeps its place when it is set again."""
    entry = {"id": action["id"], "message": action["message"]}
    if action["kind"] == "steering":
        state["steeringMessage"] = entry
    else:
        keyed.upsert(state, "queuedMessages", "id", entry)


def _removed(state: State, action: Action) -> None:
    if action["kind"] == "steering":
        _remove_steering(state, action["id"])
    else:
        _remove_queued(state, action["id"])


def _reordered(state: State, action: Action) -> None:
    """The named ones first, in that order; what is not named stays behind, as it stood."""
    queued = state.get("queuedMessages")
    if queued is None:
        return
    waiting = {message["id"]: message for message in queued}
    named = [waiting.pop(identifier) for identifier in action["order"] if identifier in waiting]
    state["queuedMessages"] = [*named, *waiting.values()]


HANDLERS: Final[dict[str, Handler]] = {
    "chat/pendingMessageSet": _set,
    "chat/pendingMessageRemoved": _removed,
    "chat/queuedMessagesReordered": _reordered,
}
