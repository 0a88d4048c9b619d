"""What turns say, judged: every action by its shape, parts and calls by their order."""

from typing import Any, Final

from zope.interface.exceptions import Invalid
from zope.interface.interface import InterfaceClass
from zope.interface.verify import verifyObject

from ahpd.protocol import Action
from ahpd.protocol.actions import ACTIONS, TURN_ACTIONS
from ahpd.protocol.check import ShapeError, check_strict
from ahpd.protocol.shapes import shape

#: What a turn says of its chat rather than of itself: no `turnId` on these.
_OF_THE_CHAT: Final = frozenset({"chat/activityChanged", "chat/inputRequested"})
#: The answer to a question: a client's, or a backend's that was answered elsewhere.
_ANSWER: Final = "chat/inputCompleted"
_SAYABLE: Final = TURN_ACTIONS | _OF_THE_CHAT | {_ANSWER}


def check_said(actions: list[Action], turn_id: str, *more: Any) -> None:
    """What one turn said, or several of one chat: actions and turn id, by turns.

    Each action is one a turn may say, fits its shape to the letter and names its turn;
    parts are opened once and before they grow; a tool call goes through its states; a
    question is asked once and answered after it was asked. A turn that waited for
    answers is given with them (`RecordedOutput.history`).
    """
    parts: dict[str, str] = {}
    calls: dict[str, str] = {}
    questions: dict[str, str] = {}
    turns = [(actions, turn_id), *zip(more[::2], more[1::2], strict=True)]
    for said, turn in turns:
        for action in said:
            _check_action(action, turn)
            _follow_parts(action, parts)
            _follow_calls(action, calls)
            _follow_questions(action, questions)


def _check_action(action: Action, turn_id: str) -> None:
    kind = action["type"]
    expect(kind in _SAYABLE, f"{kind} is not a turn's to say")
    if kind not in _OF_THE_CHAT and kind != _ANSWER:
        named = action.get("turnId", turn_id)
        expect(named == turn_id, f"{kind} of {turn_id} names the turn {named}")
        action = {**action, "turnId": turn_id}
    fits(dict(action), ACTIONS[kind].shape, kind)


def _follow_parts(action: Action, parts: dict[str, str]) -> None:
    kind = action["type"]
    if kind == "chat/responsePart" and "id" in action["part"]:
        part = action["part"]
        expect(part["id"] not in parts, f"the part {part['id']} was opened twice")
        parts[part["id"]] = part["kind"]
    grows = {"chat/delta": "markdown", "chat/reasoning": "reasoning"}.get(kind)
    if grows is not None:
        found = parts.get(action["partId"])
        expect(
            found == grows, f"{kind} appends to {action['partId']}, which is {found or 'not open'}"
        )


#: The states a tool call may be in before each action.
_BEFORE: Final = {
    "chat/toolCallStart": (None,),
    "chat/toolCallDelta": ("streaming",),
    "chat/toolCallReady": ("streaming", "running", "pending-confirmation"),
    "chat/toolCallConfirmed": ("pending-confirmation",),
    "chat/toolCallContentChanged": ("running",),
    "chat/toolCallAuthRequired": ("running",),
    "chat/toolCallAuthResolved": ("auth-required",),
    "chat/toolCallComplete": ("running", "auth-required"),
    "chat/toolCallResultConfirmed": ("pending-result-confirmation",),
}


def _follow_calls(action: Action, calls: dict[str, str]) -> None:
    kind = action["type"]
    if kind in _BEFORE:
        call = action["toolCallId"]
        found = calls.get(call)
        expect(found in _BEFORE[kind], f"{kind} of {call}, which is {found or 'not begun'}")
        calls[call] = _after(action)


def _after(action: Action) -> str:
    kind = action["type"]
    if kind in ("chat/toolCallStart", "chat/toolCallDelta"):
        return "streaming"
    if kind == "chat/toolCallReady" and action.get("confirmed") is None:
        return "pending-confirmation"
    if kind == "chat/toolCallAuthRequired":
        return "auth-required"
    if kind == "chat/toolCallComplete":
        review = action.get("requiresResultConfirmation")
        return "pending-result-confirmation" if review else "completed"
    if not action.get("approved", True):
        return "cancelled"
    return "completed" if kind == "chat/toolCallResultConfirmed" else "running"


def _follow_questions(action: Action, questions: dict[str, str]) -> None:
    kind = action["type"]
    if kind == "chat/inputRequested":
        request = action["request"]["id"]
        expect(request not in questions, f"the question {request} was asked twice")
        questions[request] = "open"
    if kind == _ANSWER:
        request = action["requestId"]
        found = questions.get(request)
        expect(found == "open", f"{kind} of {request}, which is {found or 'not asked'}")
        questions[request] = "answered already"


def fits(value: Any, declared: Any, what: str) -> None:
    """`value` has the shape `declared`: one, or the name it is declared at."""
    try:
        check_strict(value, shape(declared) if isinstance(declared, str) else declared, what)
    except ShapeError as error:
        raise AssertionError(str(error)) from None


def provides(interface: InterfaceClass, value: Any, what: str) -> None:
    """`value` provides the interface, and has its methods and attributes."""
    try:
        verifyObject(interface, value)
    except Invalid as error:
        raise AssertionError(f"{what}: {error}") from None


def expect(holds: bool, words: str) -> None:
    """Raise `AssertionError(words)` unless it holds."""
    if not holds:
        raise AssertionError(words)
