"""A chat's turns: how one starts, grows, ends, and is opened again.

`modifiedAt` moves with a turn's start and end alone, by the timestamps and durations
the actions carry. An end and a start touch no turn that is over, however many there are.
"""

from typing import Final

from ahpd.protocol import Action, State
from ahpd.protocol.reducers.chat_activity import active_turn, refresh_activity
from ahpd.protocol.reducers.chat_pending_messages import take_up
from ahpd.protocol.reducers.chat_tool_calls import cancelled
from ahpd.protocol.reducers.dispatch import Handler
from ahpd.protocol.reducers.fields import assign
from ahpd.protocol.status import ERROR, IS_READ, with_activity, with_flag
from ahpd.protocol.text import GrowingText, appended, settled
from ahpd.protocol.timestamps import later


def _owned(part: State) -> State:
    """A copy of a part, as deep as an active turn's part is changed in place."""
    copy = dict(part)
    if copy["kind"] == "toolCall":
        copy["toolCall"] = dict(copy["toolCall"])
    elif isinstance(copy.get("content"), GrowingText):
        copy["content"] = copy["content"].copy()
    return copy


def _started(state: State, action: Action) -> None:
    """A turn that was running is replaced, and is in no history (AHP.txt, `chat/turnStarted`)."""
    state["activeTurn"] = {
        "id": action["turnId"],
        "startedAt": action["startedAt"],
        "message": action["message"],
        "responseParts": [],
    }
    state["modifiedAt"] = action["startedAt"]
    refresh_activity(state)
    state["status"] = with_flag(state["status"], IS_READ, False)
    queued = action.get("queuedMessageId")
    if queued is not None:
        take_up(state, queued)


# -- what streams ----------------------------------------------------------------


def _grow(state: State, action: Action, kind: str) -> None:
    """Append to the part the action names, in constant time; a part of another kind takes nothing.

    The part that grows is the newest or close to it, so the search starts at the end.
    """
    active = state.get("activeTurn")
    if active is None or active["id"] != action["turnId"]:
        return
    identifier = action["partId"]
    for part in reversed(active["responseParts"]):
        if part.get("id") == identifier:
            if part["kind"] == kind:
                part["content"] = appended(part["content"], action["content"])
            return


def _delta(state: State, action: Action) -> None:
    _grow(state, action, "markdown")


def _reasoning(state: State, action: Action) -> None:
    _grow(state, action, "reasoning")


def _response_part(state: State, action: Action) -> None:
    """An error is no part of its own: it comes with the end of a turn (`chat/error`)."""
    active = active_turn(state, action)
    if active is not None and action["part"]["kind"] != "error":
        active["responseParts"].append(_owned(action["part"]))


def _usage(state: State, action: Action) -> None:
    active = active_turn(state, action)
    if active is not None:
        active["usage"] = action["usage"]


# -- how it ends -----------------------------------------------------------------


def _settle(parts: list[State]) -> None:
    """Make an ended turn's parts final: their texts settled, and no call still on its way."""
    for part in parts:
        if part["kind"] == "toolCall":
            call = part["toolCall"]
            if call["status"] not in ("completed", "cancelled"):
                part["toolCall"] = cancelled(call, "skipped")
        elif isinstance(part.get("content"), GrowingText):
            part["content"] = settled(part["content"])


def _end(state: State, action: Action, how: str) -> bool:
    """Move the active turn to the turns that are over; whether the action was about it.

    An error the action carries is the last of the turn's parts. `modifiedAt` stays where
    it was if the turn's start is no timestamp to reckon from.
    """
    active = active_turn(state, action)
    if active is None:
        return False
    duration = max(0, action["duration"])
    parts = active["responseParts"]
    _settle(parts)
    if how == "error":
        parts.append(action["part"])
    turn = {
        "id": active["id"],
        "startedAt": active["startedAt"],
        "duration": duration,
        "message": active["message"],
        "responseParts": parts,
        "state": how,
    }
    assign(turn, "usage", active.get("usage"))
    state["turns"].append(turn)
    del state["activeTurn"]
    ended_at = later(active["startedAt"], duration)
    if ended_at is not None:
        state["modifiedAt"] = ended_at
    refresh_activity(state)
    return True


def _complete(state: State, action: Action) -> None:
    _end(state, action, "complete")


def _cancelled(state: State, action: Action) -> None:
    _end(state, action, "cancelled")


def _error(state: State, action: Action) -> None:
    """The chat's status says so until its next turn."""
    if _end(state, action, "error"):
        state["status"] = with_activity(state["status"], ERROR)


def _resume(state: State, action: Action) -> None:
    """Open the latest turn again, if it stopped at an error it can go on from.

    Its parts are copied: a turn that is over may be shared with a fork of this chat.
    """
    turns = state["turns"]
    if state.get("activeTurn") is not None or not turns:
        return
    turn = turns[-1]
    last = turn["responseParts"][-1] if turn["responseParts"] else None
    if (
        turn["id"] != action["turnId"]
        or turn["state"] != "error"
        or last is None
        or last["kind"] != "error"
        or last.get("resumable") is not True
    ):
        return
    turns.pop()
    active = {
        "id": turn["id"],
        "startedAt": turn.get("startedAt") or state["modifiedAt"],
        "message": turn["message"],
        "responseParts": [_owned(part) for part in turn["responseParts"]],
    }
    assign(active, "usage", turn.get("usage"))
    state["activeTurn"] = active
    refresh_activity(state)
    state["status"] = with_flag(state["status"], IS_READ, False)


# -- the history -----------------------------------------------------------------


def _truncated(state: State, action: Action) -> None:
    """Keep the turns up to the named one, or none; a turn under way is dropped with the rest."""
    turns = state["turns"]
    turn_id = action.get("turnId")
    if turn_id is None:
        kept = 0
        state.pop("turnsNextCursor", None)
    else:
        kept = next(
            (place + 1 for place in reversed(range(len(turns))) if turns[place]["id"] == turn_id), 0
        )
        if kept == 0:
            return
    del turns[kept:]
    state.pop("activeTurn", None)
    refresh_activity(state)


def _loaded(state: State, action: Action) -> None:
    """Put older turns in front; of a turn that is here already, the one here stays."""
    held = {turn["id"] for turn in state["turns"]}
    state["turns"][:0] = [turn for turn in action["turns"] if turn["id"] not in held]
    assign(state, "turnsNextCursor", action.get("turnsNextCursor"))


HANDLERS: Final[dict[str, Handler]] = {
    "chat/turnStarted": _started,
    "chat/delta": _delta,
    "chat/reasoning": _reasoning,
    "chat/responsePart": _response_part,
    "chat/usage": _usage,
    "chat/turnComplete": _complete,
    "chat/turnCancelled": _cancelled,
    "chat/error": _error,
    "chat/turnResume": _resume,
    "chat/truncated": _truncated,
    "chat/turnsLoaded": _loaded,
}
