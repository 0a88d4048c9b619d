"""What a client may say of a chat's tool calls and questions (AHP.txt, the `chat/*` table).

An answer is said to everybody as it was sent, the one that came too late included: the
state says which of two counted. What it decides goes to the backend once it was applied
(`ahpd.chats.answers`).
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from ahpd.channels.envelope import Origin
from ahpd.chats.parts import held_call
from ahpd.chats.questions import answer_refused, completion_refused
from ahpd.interfaces import Refusal
from ahpd.protocol import Action, State


class Said(Protocol):
    """The chat an action is about."""

    @property
    def state(self) -> State:
        """The chat's state (schema: ChatState), to read."""

    def say(self, action: Action, origin: Origin | None = None) -> None:
        """Say an action on its channel."""


def answer_result(chat: Said, action: Action, origin: Origin) -> None:
    """A call's result is let through or not. Any client may say so."""
    chat.say(action, origin)


def report_on_call(chat: Said, action: Action, origin: Origin) -> None:
    """The result of a call, or its progress: the client's that runs it, and nobody else's.

    That holds wherever the chat has the call; one the chat does not have is anybody's.
    """
    call = held_call(chat.state, action["turnId"], action["toolCallId"])
    if call is not None:
        contributor: Mapping[str, Any] = call.get("contributor") or {}
        if contributor.get("kind") != "client" or contributor.get("clientId") != origin["clientId"]:
            call_id = action["toolCallId"]
            raise Refusal(f"Only the client that provides tool call {call_id} may report on it.")
    chat.say(action, origin)


def change_answer(chat: Said, action: Action, origin: Origin) -> None:
    """One answer of an open form, as it is typed."""
    answer = action.get("answer")
    refused = None if answer is None else answer_refused(answer, "answer")
    if refused is not None:
        raise Refusal(refused)
    chat.say(action, origin)


def complete_question(chat: Said, action: Action, origin: Origin) -> None:
    """A form is sent off, or turned down, which is an answer too."""
    refused = completion_refused(chat.state, action)
    if refused is not None:
        raise Refusal(refused)
    chat.say(action, origin)


#: Each action of this module by its type. A call's own answer may grant rules beside it
#: (`ahpd.chats.grants`).
TOOL_ACTIONS: Final[Mapping[str, Callable[[Said, Action, Origin], None]]] = {
    "chat/toolCallResultConfirmed": answer_result,
    "chat/toolCallComplete": report_on_call,
    "chat/toolCallContentChanged": report_on_call,
    "chat/inputAnswerChanged": change_answer,
    "chat/inputCompleted": complete_question,
}
