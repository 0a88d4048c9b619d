"""Questions in a turn: asked, answered bit by bit, and closed where they stand in the stream.

The request and its answers are shown on the session too, so they are replaced where
they change, never changed in place.
"""

from typing import Final

from ahpd.protocol import Action, State
from ahpd.protocol.reducers.chat_activity import refresh_activity
from ahpd.protocol.reducers.dispatch import Handler
from ahpd.protocol.reducers.fields import assign
from ahpd.protocol.status import IS_READ, with_flag


def _open_part(state: State, request_id: str) -> State | None:
    """The active turn's part that asks this and has no response yet."""
    active = state.get("activeTurn")
    if active is None:
        return None
    part: State
    for part in reversed(active["responseParts"]):
        if (
            part["kind"] == "inputRequest"
            and part.get("response") is None
            and part["request"]["id"] == request_id
        ):
            return part
    return None


def _answer(part: State, answers: State) -> None:
    request = dict(part["request"])
    assign(request, "answers", answers or None)
    part["request"] = request


def _requested(state: State, action: Action) -> None:
    """Asked again under the same id, it keeps its place, and the answers unless it brings some."""
    active = state.get("activeTurn")
    if active is None:
        return
    request = action["request"]
    part = _open_part(state, request["id"])
    if part is None:
        active["responseParts"].append({"kind": "inputRequest", "request": request})
    else:
        held = part["request"].get("answers")
        part["request"] = request
        if request.get("answers") is None:
            _answer(part, held)
    refresh_activity(state)
    state["status"] = with_flag(state["status"], IS_READ, False)


def _answer_changed(state: State, action: Action) -> None:
    """One answer is set, or taken back when the action carries none."""
    part = _open_part(state, action["requestId"])
    if part is None:
        return
    answers = dict(part["request"].get("answers") or {})
    assign(answers, action["questionId"], action.get("answer"))
    _answer(part, answers)


def _completed(state: State, action: Action) -> None:
    """The answers sent with the response lie over those given before."""
    part = _open_part(state, action["requestId"])
    if part is None:
        return
    given = part["request"].get("answers") or {}
    _answer(part, {**given, **(action.get("answers") or {})})
    part["response"] = action["response"]
    refresh_activity(state)


HANDLERS: Final[dict[str, Handler]] = {
    "chat/inputRequested": _requested,
    "chat/inputAnswerChanged": _answer_changed,
    "chat/inputCompleted": _completed,
}
