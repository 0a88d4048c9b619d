"""Finding a call or a question in a turn, newest first."""

from collections.abc import Iterator, Mapping
from typing import Any

from ahpd.protocol import State


def call_in(turn: State | None, call_id: str) -> State | None:
    """The call (schema: ToolCallState) of this id in `turn` (schema: ActiveTurn or Turn)."""
    if turn is None:
        return None
    for part in reversed(turn["responseParts"]):
        call: State = part.get("toolCall") or {}
        if call.get("toolCallId") == call_id:
            return call
    return None


def held_call(state: State, turn_id: str, call_id: str) -> State | None:
    """The call wherever the chat holds it: in the running turn, or in the one named."""
    call = call_in(state.get("activeTurn"), call_id)
    if call is not None:
        return call
    for turn in reversed(state["turns"]):
        if turn["id"] == turn_id:
            call = call_in(turn, call_id)
            if call is not None:
                return call
    return None


def question_in(turn: State | None, request_id: str) -> State | None:
    """The part (schema: InputRequestResponsePart) that asks this in `turn`, open or not."""
    return next(_questions(turn, request_id), None)


def open_question_in(turn: State | None, request_id: str) -> State | None:
    """The part that asks this in `turn` and has no response: the one an answer is about."""
    return next((part for part in _questions(turn, request_id) if is_open(part)), None)


def is_open(part: State) -> bool:
    """Whether a question's part waits for its response."""
    return part.get("response") is None


def _questions(turn: State | None, request_id: str) -> Iterator[State]:
    for part in reversed(turn["responseParts"] if turn is not None else ()):
        if part["kind"] == "inputRequest" and part["request"]["id"] == request_id:
            yield part


def plain_words(words: str | Mapping[str, Any] | None) -> str | None:
    """The text of a StringOrMarkdown, its markup left in."""
    if words is None or isinstance(words, str):
        return words
    markdown: str = words["markdown"]
    return markdown
