"""A tool call's way through its statuses (schema: ToolCallState).

    streaming -> pending-confirmation <-> running <-> auth-required
    running, pending-confirmation -> pending-result-confirmation -> completed, cancelled
    any of these -> completed or cancelled

A step makes a new call of the old one and carries what the next status holds; only the
input that streams in grows in place. A step that does not lead on from where the call
is changes nothing. The session shows a waiting call too, and would share it.
"""

from typing import Any, Final

from ahpd.protocol import Action, State
from ahpd.protocol.reducers.chat_activity import active_turn, refresh_activity
from ahpd.protocol.reducers.dispatch import Handler
from ahpd.protocol.reducers.fields import present
from ahpd.protocol.text import appended

_ALWAYS: Final = (
    "toolCallId",
    "toolName",
    "displayName",
    "intention",
    "contributor",
    "_meta",
)
_ASKED: Final = (*_ALWAYS, "invocationMessage", "toolInput")
_RUN: Final = (*_ASKED, "confirmed", "selectedOption", "content")
_RESULT: Final = (*_RUN, "success", "pastTenseMessage", "structuredContent", "error")
#: What a question about a call says beside the call itself.
_QUESTION: Final = ("confirmationTitle", "riskAssessment", "edits", "editable", "options")


def _step(call: State, status: str, carried: tuple[str, ...], action: Action) -> State:
    """The call in its next status, with what is carried over and the action's `_meta`."""
    moved = present(call, carried)
    moved["status"] = status
    return moved | present(action, ("_meta",))


def cancelled(call: State, reason: str) -> State:
    """The call, called off by the end of its turn."""
    streaming = call["status"] == "streaming"
    moved = _step(call, "cancelled", (*_ALWAYS, "invocationMessage") if streaming else _ASKED, {})
    moved.setdefault("invocationMessage", "")
    moved["reason"] = reason
    return moved


def _part(state: State, action: Action) -> State | None:
    """The active turn's part that holds the call the action is about."""
    active = active_turn(state, action)
    if active is None:
        return None
    identifier = action["toolCallId"]
    part: State
    for part in reversed(active["responseParts"]):
        if part["kind"] == "toolCall" and part["toolCall"]["toolCallId"] == identifier:
            return part
    return None


def _part_in(state: State, action: Action, *statuses: str) -> State | None:
    """The same, if its call is in one of `statuses`."""
    part = _part(state, action)
    if part is None or part["toolCall"]["status"] not in statuses:
        return None
    return part


def _move(state: State, part: State, call: State) -> None:
    part["toolCall"] = call
    refresh_activity(state)


def _start(state: State, action: Action) -> None:
    active = active_turn(state, action)
    if active is not None:
        call = present(action, _ALWAYS)
        call["status"] = "streaming"
        active["responseParts"].append({"kind": "toolCall", "toolCall": call})


def _delta(state: State, action: Action) -> None:
    """Append to the input that streams in, in constant time."""
    part = _part(state, action)
    if part is None:
        return
    call = part["toolCall"]
    if call["status"] != "streaming":
        return
    content = action.get("content")
    if content is not None:
        call["partialInput"] = appended(call.get("partialInput") or "", content)
    for field in ("_meta", "invocationMessage"):
        said = action.get(field)
        if said is not None:
            call[field] = said


def _contributor(held: Any, named: Any) -> Any:
    """Who contributes the call from now on: never another client, nor one where none did.

    The client that runs a call is settled by its start; the rest is only said better.
    """
    client = "client"
    if named is None or held == named:
        return held
    if held is not None and held["kind"] == client:
        same = named["kind"] == client and named["clientId"] == held["clientId"]
        return named if same else held
    return held if named["kind"] == client else named


def _ready(state: State, action: Action) -> None:
    """The input is whole: run it, or ask first. A question asked again keeps what it had said."""
    part = _part_in(state, action, "streaming", "running", "pending-confirmation")
    if part is None:
        return
    held = part["toolCall"]
    confirmed = action.get("confirmed")
    if confirmed is not None:
        call = _step(held, "running", _ASKED, action)
        call["confirmed"] = confirmed
    else:
        asked = held["status"] == "pending-confirmation"
        carried = (*_ASKED, *_QUESTION) if asked else _ASKED
        call = _step(held, "pending-confirmation", carried, action)
        call |= present(action, _QUESTION)
    call |= present(action, ("intention", "invocationMessage", "toolInput"))
    contributor = _contributor(held.get("contributor"), action.get("contributor"))
    if contributor is not None:
        call["contributor"] = contributor
    _move(state, part, call)


def _confirmed(state: State, action: Action) -> None:
    """An answer to the question: run, with the input as the person edited it, or do not.

    Only input that is written out in the call can have been edited.
    """
    part = _part_in(state, action, "pending-confirmation")
    if part is None:
        return
    held = part["toolCall"]
    if action["approved"]:
        call = _step(held, "running", _ASKED, action)
        call["confirmed"] = action.get("confirmed") or "not-needed"
        edited = action.get("editedToolInput")
        if edited is not None and isinstance(call.get("toolInput"), str):
            call["toolInput"] = edited
    else:
        call = _step(held, "cancelled", _ASKED, action)
        call["reason"] = action.get("reason") or "denied"
        call |= present(action, ("reasonMessage", "userSuggestion"))
    chosen = action.get("selectedOptionId")
    for option in held.get("options") or ():
        if option["id"] == chosen:
            call["selectedOption"] = option
            break
    _move(state, part, call)


def _complete(state: State, action: Action) -> None:
    """The result is in. A call nobody was asked about counts as one that needed no asking.

    A call that waits for a sign-in never ran on: it can be given up, which keeps what it
    had produced and asks nobody about the result, but it cannot have succeeded.
    """
    part = _part_in(state, action, "running", "pending-confirmation", "auth-required")
    if part is None:
        return
    held, result = part["toolCall"], action["result"]
    given_up = held["status"] == "auth-required"
    if given_up and result["success"]:
        return
    review = action.get("requiresResultConfirmation") and not given_up
    call = _step(held, "pending-result-confirmation" if review else "completed", _RUN, action)
    if not given_up:
        call.pop("content", None)
    call.setdefault("confirmed", "not-needed")
    said = {field: value for field, value in result.items() if value is not None}
    _move(state, part, {**said, **call, **present(said, ("content",))})


def _result_confirmed(state: State, action: Action) -> None:
    part = _part_in(state, action, "pending-result-confirmation")
    if part is None:
        return
    held = part["toolCall"]
    if action["approved"]:
        call = _step(held, "completed", _RESULT, action)
    else:
        call = _step(held, "cancelled", (*_ASKED, "selectedOption"), action)
        call["reason"] = "result-denied"
    _move(state, part, call)


def _content_changed(state: State, action: Action) -> None:
    part = _part_in(state, action, "running")
    if part is not None:
        changed = present(action, ("_meta",))
        part["toolCall"] = {**part["toolCall"], **changed, "content": action["content"]}


def _auth_required(state: State, action: Action) -> None:
    """Only a call an MCP server makes can wait for a sign-in to it."""
    part = _part_in(state, action, "running")
    if part is None:
        return
    contributor = part["toolCall"].get("contributor")
    if contributor is None or contributor["kind"] != "mcp":
        return
    call = _step(part["toolCall"], "auth-required", _RUN, action)
    call["auth"] = action["auth"]
    _move(state, part, call)


def _auth_resolved(state: State, action: Action) -> None:
    part = _part_in(state, action, "auth-required")
    if part is not None:
        _move(state, part, _step(part["toolCall"], "running", _RUN, action))


HANDLERS: Final[dict[str, Handler]] = {
    "chat/toolCallStart": _start,
    "chat/toolCallDelta": _delta,
    "chat/toolCallReady": _ready,
    "chat/toolCallConfirmed": _confirmed,
    "chat/toolCallComplete": _complete,
    "chat/toolCallResultConfirmed": _result_confirmed,
    "chat/toolCallContentChanged": _content_changed,
    "chat/toolCallAuthRequired": _auth_required,
    "chat/toolCallAuthResolved": _auth_resolved,
}
