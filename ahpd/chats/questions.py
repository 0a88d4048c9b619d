"""Questions of an agent's: which answers are taken, and when a form is whole.

Source: AHP.txt, `chat/inputAnswerChanged` and `chat/inputCompleted`.
"""

from collections.abc import Mapping
from typing import Any, Final

from ahpd.chats.parts import open_question_in
from ahpd.protocol import Action, State

#: What the value of an answer of each kind holds under `value`.
_PAYLOADS: Final[Mapping[str, tuple[type, ...]]] = {
    "text": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "selected": (str,),
    "selected-many": (list,),
}
_VALUED: Final = frozenset({"draft", "submitted"})


def answer_refused(answer: Mapping[str, Any], at: str) -> str | None:
    """Why an answer (schema: ChatInputAnswer) is not taken, in words; None when it is.

    `at` is where it stands in its action. A value of a kind nobody here knows is taken
    as it is.
    """
    if answer.get("state") not in _VALUED:
        return None
    value = answer.get("value")
    if not isinstance(value, dict):
        return f"{at}.value: a {answer['state']} answer has a value, found {_named(value)}"
    kind = value.get("kind")
    if not isinstance(kind, str):
        return f"{at}.value.kind: found {_named(kind)}, expected a string"
    payload = _PAYLOADS.get(kind)
    held = value.get("value")
    if payload is not None and not _fits(held, payload):
        return f"{at}.value.value: found {_named(held)}, which is no {kind} answer"
    return None


def _fits(held: Any, payload: tuple[type, ...]) -> bool:
    if isinstance(held, bool) and bool not in payload:
        return False
    if payload == (list,):
        return isinstance(held, list) and all(isinstance(one, str) for one in held)
    return isinstance(held, payload)


def _named(value: Any) -> str:
    return "nothing" if value is None else f"a {type(value).__name__}"


def completion_refused(state: State, action: Action) -> str | None:
    """Why a client's `chat/inputCompleted` is not taken, in words; None when it is.

    An acceptance needs a submitted answer to every question that is required, synced
    before or carried by it. `state` is the chat's.
    """
    carried: Mapping[str, Any] = action.get("answers") or {}
    for question_id, answer in carried.items():
        refused = answer_refused(answer, f"answers.{question_id}")
        if refused is not None:
            return refused
    part = open_question_in(state.get("activeTurn"), action["requestId"])
    if action["response"] != "accept" or part is None:
        return None
    request = part["request"]
    answers = {**(request.get("answers") or {}), **carried}
    for question in request.get("questions") or ():
        if question.get("required") is True:
            named = question.get("id")
            answer = answers.get(named)
            if answer is None or answer.get("state") != "submitted":
                return f"A required question has no submitted answer: {named}"
    return None
