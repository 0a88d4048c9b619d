"""What people decide in one turn: kept from the moment it is said until the backend asks.

A wait is opened when its question is said and filled by the first answer the chat's
state took. What counts is therefore what every client sees: an answer that reduced to
nothing fills no wait. Sources: AHP.txt, `chat/toolCallConfirmed`, `chat/toolCallComplete`,
`chat/toolCallResultConfirmed`, `chat/inputCompleted` and "A client's tools are the client's
to run".
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import attrs
from twisted.internet.defer import Deferred

from ahpd.chats.parts import call_in, plain_words, question_in
from ahpd.interfaces import InputAnswer, ToolAnswer, TurnOver
from ahpd.protocol import Action, State
from ahpd.protocol.text import plain

T = TypeVar("T")

#: What may settle something a turn waits for; whoever observes a chat passes these on.
ANSWERS: Final = frozenset(
    {
        "chat/toolCallReady",
        "chat/toolCallConfirmed",
        "chat/toolCallComplete",
        "chat/toolCallResultConfirmed",
        "chat/inputCompleted",
    }
)

#: How long a call ran, in milliseconds, on its completion (AHP.txt, `chat/toolCallComplete`).
DURATION: Final = "vscode.toolCallDurationMs"

#: What a person is offered where the backend put no options of its own.
OPTIONS: Final[Sequence[State]] = (
    {"id": "allow-session", "label": "Allow in this Session", "kind": "approve", "group": 1},
    {"id": "allow-once", "label": "Allow Once", "kind": "approve"},
    {"id": "skip", "label": "Skip", "kind": "deny", "group": 2},
)

RESULT_DENIED: Final = "The user denied the tool result."
_CALL_DENIED: Final = "The user did not allow the tool call."

#: A call in one of these has been answered, or never had to be.
_UNDECIDED: Final = frozenset({"streaming", "pending-confirmation"})
#: A call that has its result.
_REPORTED: Final = frozenset({"completed", "pending-result-confirmation"})


class Wait(Generic[T]):
    """One answer, given at most once and read by whoever waits, before it came or after."""

    __slots__ = ("_given", "_waiting")

    def __init__(self) -> None:
        self._given: tuple[T] | None = None
        self._waiting: list[Deferred[T]] = []

    @property
    def given(self) -> bool:
        """Whether the answer came."""
        return self._given is not None

    def give(self, answer: T) -> None:
        """The answer; a second one is ignored."""
        if self._given is not None:
            return
        self._given = (answer,)
        waiting, self._waiting = self._waiting, []
        for deferred in waiting:
            deferred.callback(answer)

    def over(self) -> None:
        """No answer comes any more: raise `TurnOver` in whoever waits."""
        waiting, self._waiting = self._waiting, []
        for deferred in waiting:
            deferred.errback(TurnOver())

    async def answer(self) -> T:
        """The answer, once it is there."""
        if self._given is not None:
            return self._given[0]
        deferred: Deferred[T] = Deferred(self._forget)
        self._waiting.append(deferred)
        return await deferred

    def _forget(self, deferred: "Deferred[T]") -> None:
        if deferred in self._waiting:
            self._waiting.remove(deferred)


@attrs.define(eq=False)
class _Call:
    """What a turn said of one call, and what it waits on people for about it."""

    began: float
    """When its start was said, in the clock's seconds."""
    meta: Mapping[str, Any] | None = None
    """Its `_meta`, as the call's start, input or question last said it."""
    options: bool = False
    """Whether a question about it offered something already."""
    ran: bool = False
    confirmed: Wait[ToolAnswer] | None = None
    result_confirmed: Wait[ToolAnswer] | None = None
    client_result: Wait[Mapping[str, Any]] | None = None
    reported: Mapping[str, Any] | None = None
    """The result its client gave, which may still wait to be let through."""


class Answers:
    """What one turn waits on people for."""

    __slots__ = ("_calls", "_over", "_questions")

    def __init__(self) -> None:
        self._calls: dict[str, _Call] = {}
        self._questions: dict[str, Wait[InputAnswer]] = {}
        self._over = False

    @property
    def is_over(self) -> bool:
        """Whether nobody can answer this turn any more."""
        return self._over

    # -- what the backend says ------------------------------------------------------

    def said(self, action: Action, now: float) -> Action:
        """The action to say for one of a backend's about a call; its waits are opened by it.

        A question without options gets the usual three, and the completion of a call that
        ran says how long. `now` is in the clock's seconds.
        """
        call = self._call(action["toolCallId"], now)
        kind = action["type"]
        if kind == "chat/toolCallComplete":
            return self._completing(call, action, now)
        if action.get("_meta") is not None:
            call.meta = action["_meta"]
        if kind == "chat/toolCallReady":
            if action.get("confirmed") is not None:
                call.ran = True
            else:
                return self._asking(call, action)
        return action

    def asked(self, request_id: str) -> None:
        """A question is about to be said under this id."""
        held = self._questions.get(request_id)
        if held is None or held.given:
            self._questions[request_id] = Wait()

    def _call(self, identifier: str, now: float) -> _Call:
        call = self._calls.get(identifier)
        if call is None:
            call = self._calls[identifier] = _Call(now)
        return call

    def _asking(self, call: _Call, action: Action) -> Action:
        if call.confirmed is None or call.confirmed.given:
            call.confirmed = Wait()
        if action.get("options"):
            call.options = True
        elif not call.options:
            call.options = True
            return {**action, "options": [dict(option) for option in OPTIONS]}
        return action

    def _completing(self, call: _Call, action: Action, now: float) -> Action:
        if action.get("requiresResultConfirmation") and call.result_confirmed is None:
            call.result_confirmed = Wait()
        if not call.ran:
            return action
        meta = action.get("_meta")
        kept = dict((call.meta or {}) if meta is None else meta)
        kept.setdefault(DURATION, max(0, round((now - call.began) * 1000)))
        return {**action, "_meta": kept}

    # -- what was applied -------------------------------------------------------------

    def heard(self, action: Action, state: State) -> None:
        """One of `ANSWERS` was applied on the turn's chat, whose state is `state`."""
        if action["type"] == "chat/inputCompleted":
            self._question_answered(action["requestId"], state)
            return
        call = self._calls.get(action["toolCallId"])
        if call is not None:
            self._settle(call, action, state)

    def _settle(self, call: _Call, action: Action, state: State) -> None:
        """Fill what the state the call is in now has decided.

        Whoever waits goes on inside: what is to be known of the call is noted first.
        """
        held = call_in(state.get("activeTurn"), action["toolCallId"])
        if held is None:
            return
        status, kind = held["status"], action["type"]
        if status in _REPORTED and call.reported is None and kind == "chat/toolCallComplete":
            call.reported = action["result"]
        if status not in _UNDECIDED:
            call.ran = call.ran or status != "cancelled"
            if call.confirmed is not None and not call.confirmed.given:
                call.confirmed.give(_answer(action, held))
        if status in ("completed", "cancelled"):
            approved = status == "completed"
            if call.result_confirmed is not None:
                call.result_confirmed.give(
                    ToolAnswer(approved=approved, reason=None if approved else "denied")
                )
            if call.client_result is not None:
                call.client_result.give(_final_result(call, held))

    def _question_answered(self, request_id: str, state: State) -> None:
        wait = self._questions.get(request_id)
        part = question_in(state.get("activeTurn"), request_id)
        if wait is not None and part is not None and part.get("response") is not None:
            answers = part["request"].get("answers") or {}
            wait.give(InputAnswer(response=part["response"], answers=plain(answers)))

    # -- what the backend asks for ----------------------------------------------------

    async def confirmed(self, call_id: str, state: State, now: float) -> ToolAnswer:
        """See `ITurnOutput.confirmed`; `state` is the chat's now."""
        call = self._waited(call_id, now)
        if call.confirmed is None:
            call.confirmed = Wait()
            self._settle_now(call, call_id, state)
        return await call.confirmed.answer()

    async def result_confirmed(self, call_id: str, state: State, now: float) -> ToolAnswer:
        """See `ITurnOutput.result_confirmed`."""
        call = self._waited(call_id, now)
        if call.result_confirmed is None:
            call.result_confirmed = Wait()
            self._settle_now(call, call_id, state)
        return await call.result_confirmed.answer()

    async def client_result(self, call_id: str, state: State, now: float) -> Mapping[str, Any]:
        """See `ITurnOutput.client_result`."""
        call = self._waited(call_id, now)
        if call.client_result is None:
            call.client_result = Wait()
            self._settle_now(call, call_id, state)
        return await call.client_result.answer()

    async def answered(self, request_id: str, state: State) -> InputAnswer:
        """See `ITurnOutput.answered`."""
        self._check_on()
        wait = self._questions.get(request_id)
        if wait is None:  # asked before this run of the turn
            wait = self._questions[request_id] = Wait()
            self._question_answered(request_id, state)
        return await wait.answer()

    def _waited(self, call_id: str, now: float) -> _Call:
        self._check_on()
        return self._call(call_id, now)

    def _settle_now(self, call: _Call, call_id: str, state: State) -> None:
        """What was decided before the backend asked."""
        self._settle(call, {"type": "", "toolCallId": call_id}, state)

    def _check_on(self) -> None:
        if self._over:
            raise TurnOver

    def over(self) -> None:
        """Nobody can answer any more: raise `TurnOver` in all that waits and will wait."""
        self._over = True
        for call in list(self._calls.values()):
            for wait in (call.confirmed, call.result_confirmed, call.client_result):
                if wait is not None:
                    wait.over()
        for question in list(self._questions.values()):
            question.over()


def _answer(action: Action, call: State) -> ToolAnswer:
    """What was decided about a call that waited: by the action, or by where the call is now."""
    if action["type"] != "chat/toolCallConfirmed":
        reason = call.get("confirmed") or "not-needed"
        return ToolAnswer(approved=call["status"] != "cancelled", decided_by=reason)
    option = action.get("selectedOptionId")
    if action["approved"]:
        edited = action.get("editedToolInput")
        return ToolAnswer(
            approved=True,
            option=option,
            edited_input=edited if isinstance(call.get("toolInput"), str) else None,
            decided_by=action.get("confirmed") or "not-needed",
        )
    return ToolAnswer(
        approved=False,
        reason=action.get("reason") or "denied",
        message=plain_words(action.get("reasonMessage")),
        suggestion=action.get("userSuggestion"),
        option=option,
    )


def _final_result(call: _Call, held: State) -> Mapping[str, Any]:
    """What a client's call came to (schema: ToolCallResult)."""
    if held["status"] == "completed":
        return call.reported if call.reported is not None else _result_of(held)
    words = RESULT_DENIED if held.get("reason") == "result-denied" else _CALL_DENIED
    return failed_result(words)


def failed_result(words: str) -> State:
    """The result of a call that did not come to one (schema: ToolCallResult)."""
    return {"success": False, "pastTenseMessage": words, "error": {"message": words}}


def _result_of(held: State) -> State:
    fields = ("success", "pastTenseMessage", "content", "structuredContent", "error")
    return {field: plain(held[field]) for field in fields if field in held}
