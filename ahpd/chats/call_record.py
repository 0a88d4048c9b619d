"""One call as its turn knows it: what was said of it, and what was decided about it.

Sources: AHP.txt, `chat/toolCallConfirmed`; PLUGINS.txt, "A question about a tool call".
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.chats.asked import Asked, answered_unasked, without_question
from ahpd.chats.parts import plain_words
from ahpd.chats.waits import Wait
from ahpd.interfaces import Grant, ToolAnswer
from ahpd.protocol import Action, State
from ahpd.protocol.text import plain

RESULT_DENIED: Final = "The user denied the tool result."
_CALL_DENIED: Final = "The user did not allow the tool call."
CALL_REFUSED: Final = "The host's rules do not allow the tool call."

#: Where a client says who decided on its side (PLUGINS.txt, "A question about a tool call").
_SOURCE: Final = "agentHost.permissionDecisionSource"
_SOURCES: Final = frozenset(
    {"human_response", "host_policy", "assisted_approval", "unattended_fallback"}
)
_BY_RULES: Final = "host_policy"
#: What the host's rules answer where they let a call run, and where they do not.
ALLOWED: Final = ToolAnswer(approved=True, decided_by="not-needed", decision_source=_BY_RULES)
REFUSED: Final = ToolAnswer(approved=False, decision_source=_BY_RULES)

#: What is told of a question whose call was completed before anybody answered it.
UNANSWERED: Final = ToolAnswer(approved=False, reason="skipped")


@attrs.define(eq=False, repr=False)
class CallRecord:
    """What a turn said of one call, and what it waits on people for about it."""

    began: float
    """When its start was said, in the clock's seconds."""
    tool: str | None = None
    """Its tool's name; None where its start was not said in this run of the turn."""
    contributor: Mapping[str, Any] | None = None
    """Who runs it, as the call's start or question last said it."""
    meta: Mapping[str, Any] | None = None
    """Its `_meta`, as the call's start, input or question last said it."""
    marks: Mapping[str, Any] = attrs.field(factory=dict)
    """What the rules marked its question with, beside that."""
    asked: Asked | None = None
    """What its question asked for last."""
    offered: Sequence[State] = ()
    """The options its backend put last."""
    grants: Mapping[str, Grant] = attrs.field(factory=dict)
    """What its question grants, by the option's id."""
    standing: bool = False
    """Whether a question about it was put and has no answer."""
    ruled: ToolAnswer | None = None
    """What the host's rules answered, where nobody was asked last."""
    awaited: Action | None = None
    """The `chat/toolCallReady` said of it last, until it was applied."""
    unsaid: Action | None = None
    """The question the rules refused: nobody saw it, and the call is still to be ready."""
    ran: bool = False
    confirmed: Wait[ToolAnswer] | None = None
    result_confirmed: Wait[ToolAnswer] | None = None
    client_result: Wait[Mapping[str, Any]] | None = None
    reported: Mapping[str, Any] | None = None
    """The result its client gave, which may still wait to be let through."""


def ended_unrun(call: CallRecord, unsaid: Action, completion: Action) -> tuple[Action, ...]:
    """What ends a call whose question `unsaid` was refused by the rules, as its backend ended it.

    No completion ends a call whose input streams, so it is ready first. A client's is not
    said to run, because its client would run it: it is turned down as a person turns one down.
    """
    if (call.contributor or {}).get("kind") != "client":
        return (answered_unasked(unsaid), completion)
    result = completion["result"]
    words = (result.get("error") or {}).get("message") or result["pastTenseMessage"]
    denied = {
        "type": "chat/toolCallConfirmed",
        "toolCallId": completion["toolCallId"],
        "approved": False,
        "reason": "denied",
        "reasonMessage": words,
    }
    return (without_question(unsaid), denied)


def agreeing(grants: Mapping[str, Grant], before: Mapping[str, Grant]) -> Mapping[str, Grant]:
    """What a question put again grants; `before` is what it granted while it stood.

    An answer on its way may be to what was asked before. So an option that would keep other
    rules now than it did then keeps none.
    """
    return {
        option: grant if before.get(option, grant) == grant else Grant(scope=grant.scope, rules=())
        for option, grant in grants.items()
    }


def marked(call: CallRecord, action: Action, marks: Mapping[str, Any]) -> Action:
    """The action with the marks of its question, and without those of the one before it."""
    before, call.marks = call.marks, marks
    if not before and not marks:
        return action
    return {**action, "_meta": {**(call.meta or {}), **marks}}


def answer_of(call: CallRecord, action: Action, held: State) -> ToolAnswer:
    """What was decided about a call that waited: by the rules, by the action, or by where it is."""
    runs = held["status"] != "cancelled"
    if call.ruled is not None and call.ruled.approved == runs:
        return call.ruled
    if action["type"] != "chat/toolCallConfirmed":
        return ToolAnswer(approved=runs, decided_by=held.get("confirmed") or "not-needed")
    option = action.get("selectedOptionId")
    source = (action.get("_meta") or {}).get(_SOURCE)
    source = source if isinstance(source, str) and source in _SOURCES else None
    if action["approved"]:
        edited = action.get("editedToolInput")
        return ToolAnswer(
            approved=True,
            option=option,
            edited_input=edited if isinstance(held.get("toolInput"), str) else None,
            decided_by=action.get("confirmed") or "not-needed",
            decision_source=source,
        )
    return ToolAnswer(
        approved=False,
        reason=action.get("reason") or "denied",
        message=plain_words(action.get("reasonMessage")),
        suggestion=action.get("userSuggestion"),
        option=option,
        decision_source=source,
    )


def final_result(call: CallRecord, held: State) -> Mapping[str, Any]:
    """What a client's call came to (schema: ToolCallResult)."""
    if held["status"] == "completed":
        return call.reported if call.reported is not None else _result_of(held)
    if held.get("reason") == "result-denied":
        return failed_result(RESULT_DENIED)
    words = CALL_REFUSED if call.ruled is REFUSED else _CALL_DENIED
    return failed_result(words)


def failed_result(words: str) -> State:
    """The result of a call that did not come to one (schema: ToolCallResult)."""
    return {"success": False, "pastTenseMessage": words, "error": {"message": words}}


def _result_of(held: State) -> State:
    fields = ("success", "pastTenseMessage", "content", "structuredContent", "error")
    return {field: plain(held[field]) for field in fields if field in held}
