"""What people decide in one turn: kept from the moment it is said until the backend asks.

A wait is opened when its question is said and filled by the first answer the chat's
state took. What counts is therefore what every client sees: an answer that reduced to
nothing fills no wait. Sources: AHP.txt, `chat/toolCallConfirmed`, `chat/toolCallComplete`,
`chat/toolCallResultConfirmed`, `chat/inputCompleted` and "A client's tools are the client's
to run".
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ahpd.chats.asked import Asked, Judge, answered_unasked
from ahpd.chats.call_record import (
    ALLOWED,
    CALL_REFUSED,
    REFUSED,
    UNANSWERED,
    CallRecord,
    agreeing,
    answer_of,
    ended_unrun,
    failed_result,
    final_result,
    marked,
)
from ahpd.chats.contradictions import contradiction
from ahpd.chats.parts import call_in, question_in
from ahpd.chats.waits import Wait
from ahpd.interfaces import Grant, InputAnswer, Permission, ToolAnswer, TurnOver, Verdict
from ahpd.protocol import Action, State
from ahpd.protocol.text import plain

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

#: A call in one of these has been answered, or never had to be.
_UNDECIDED: Final = frozenset({"streaming", "pending-confirmation"})
#: A call that has its result.
_REPORTED: Final = frozenset({"completed", "pending-result-confirmation"})


class Answers:
    """What one turn waits on people for."""

    __slots__ = ("_calls", "_over", "_questions", "_unsaid")

    def __init__(self) -> None:
        self._unsaid: set[str] = set()
        self._calls: dict[str, CallRecord] = {}
        self._questions: dict[str, Wait[InputAnswer]] = {}
        self._over = False

    @property
    def is_over(self) -> bool:
        """Whether nobody can answer this turn any more."""
        return self._over

    # -- what the backend says ------------------------------------------------------

    def said(self, action: Action, now: float) -> tuple[Action, ...]:
        """What is said for a backend's action about a call that asks nothing.

        The completion of a call that ran says how long, and that of one whose question the
        rules refused is how it ends (`ended_unrun`). `now` is in the clock's seconds.
        """
        call = self._call(action["toolCallId"], now)
        kind = action["type"]
        if kind == "chat/toolCallComplete":
            return self._completing(call, action, now)
        self._noted(call, action)
        if kind == "chat/toolCallStart":
            call.tool = action["toolName"]
            call.ruled = call.unsaid = None
        elif kind == "chat/toolCallReady":
            call.ran = True
            call.ruled = call.unsaid = None
            call.awaited = action
        return (action,)

    def asking(
        self, action: Action, permission: Permission | None, state: State, now: float
    ) -> Asked | None:
        """A backend's `chat/toolCallReady` without `confirmed`, for whoever decides about it.

        None for a call nobody said, which the chat, whose state is `state`, does not have.
        """
        call = self._call(action["toolCallId"], now)
        self._noted(call, action)
        if call.tool is None:
            held = call_in(state.get("activeTurn"), action["toolCallId"])
            if held is None:
                return None
            call.tool = held["toolName"]
            call.contributor = call.contributor or held.get("contributor")
        call.offered = action.get("options") or call.offered
        call.asked = Asked(
            tool=call.tool,
            permission=permission or Permission(kind="custom-tool"),
            contributor=call.contributor,
            options=call.offered,
        )
        return call.asked

    def decided(self, action: Action, verdict: Verdict) -> tuple[Action, ...]:
        """What is said for the action `asking` took, and its answer made ready where there is one.

        A question that stands and is refused when it is put again is answered for all to see.
        """
        call = self._calls[action["toolCallId"]]
        call.unsaid = None
        before, call.grants = call.grants if call.standing else {}, {}
        if verdict.decision == "deny":
            return self._refused(call, action)
        if call.confirmed is None or call.confirmed.given:
            call.confirmed = Wait()
        if verdict.decision == "approve":
            call.standing, call.ran, call.ruled = False, True, ALLOWED
            call.awaited = marked(call, answered_unasked(action), {})
            return (call.awaited,)
        call.standing, call.ruled = True, None
        call.grants = agreeing(verdict.grants, before)
        if verdict.options:
            action = {**action, "options": [dict(option) for option in verdict.options]}
        call.awaited = marked(call, action, verdict.meta)
        return (call.awaited,)

    def _refused(self, call: CallRecord, action: Action) -> tuple[Action, ...]:
        stood, call.standing, call.ruled = call.standing, False, REFUSED
        if stood:
            named = {"type": "chat/toolCallConfirmed", "toolCallId": action["toolCallId"]}
            return ({**named, "approved": False, "reason": "denied"},)
        if not call.ran:
            call.unsaid = marked(call, action, {})
            self._unsaid.add(action["toolCallId"])
        if call.confirmed is None or call.confirmed.given:
            call.confirmed = Wait()
        call.confirmed.give(REFUSED)
        if call.client_result is not None:
            call.client_result.give(failed_result(CALL_REFUSED))
        return ()

    def went_on(self) -> Sequence[Action]:
        """What is said before the turn says something new: of the calls the rules refused.

        Their backend went on without a word of them, so the host ends them.
        """
        ended: list[Action] = []
        for identifier in sorted(self._unsaid):
            call = self._calls[identifier]
            unsaid, call.unsaid = call.unsaid, None
            if unsaid is not None:
                result = failed_result(CALL_REFUSED)
                named = {"type": "chat/toolCallComplete", "toolCallId": identifier}
                ended += ended_unrun(call, unsaid, {**named, "result": result})
        self._unsaid.clear()
        return ended

    def _noted(self, call: CallRecord, action: Action) -> None:
        if action.get("_meta") is not None:
            call.meta = action["_meta"]
        named = action.get("contributor")
        # The client that runs a call is settled by its start.
        if named is not None and (call.contributor or {}).get("kind") != "client":
            call.contributor = named

    def asked(self, request_id: str) -> None:
        """A question is about to be said under this id."""
        held = self._questions.get(request_id)
        if held is None or held.given:
            self._questions[request_id] = Wait()

    def _call(self, identifier: str, now: float) -> CallRecord:
        call = self._calls.get(identifier)
        if call is None:
            call = self._calls[identifier] = CallRecord(now)
        return call

    def _completing(self, call: CallRecord, action: Action, now: float) -> tuple[Action, ...]:
        if action.get("requiresResultConfirmation") and call.result_confirmed is None:
            call.result_confirmed = Wait()
        if not call.ran:
            unsaid, call.unsaid = call.unsaid, None
            return (action,) if unsaid is None else ended_unrun(call, unsaid, action)
        meta = action.get("_meta")
        kept = {**(call.meta or {}), **call.marks} if meta is None else dict(meta)
        kept.setdefault(DURATION, max(0, round((now - call.began) * 1000)))
        return ({**action, "_meta": kept},)

    # -- what people grant ------------------------------------------------------------

    def granted(self, action: Action, state: State) -> Grant | None:
        """What a client's `chat/toolCallConfirmed` grants, should it be said now.

        Nothing where its question does not stand in the chat's state any more: of two
        answers one counts, and so does what it grants.
        """
        found = self._standing(action, state)
        chosen = action.get("selectedOptionId")
        if found is None or not action["approved"] or chosen is None:
            return None
        return found[0].grants.get(chosen)

    def contradiction(self, action: Action, state: State, judge: Judge) -> str | None:
        """Why a client's `chat/toolCallConfirmed` is not taken, in words; None where it is.

        One that comes too late decides nothing, and is said as any other.
        """
        found = self._standing(action, state)
        return None if found is None else contradiction(action, found[1], found[0].asked, judge)

    def _standing(self, action: Action, state: State) -> tuple[CallRecord, State] | None:
        """The call an answer is about, and its state; None where its question does not stand."""
        call = self._calls.get(action["toolCallId"])
        turn = state.get("activeTurn")
        if self._over or call is None or turn is None or turn["id"] != action["turnId"]:
            return None
        held = call_in(turn, action["toolCallId"])
        if held is None or held["status"] != "pending-confirmation":
            return None
        return call, held

    # -- what was applied -------------------------------------------------------------

    def heard(self, action: Action, state: State) -> None:
        """One of `ANSWERS` was applied on the turn's chat, whose state is `state`."""
        if action["type"] == "chat/inputCompleted":
            self._question_answered(action["requestId"], state)
            return
        turn = state.get("activeTurn")
        if turn is None or turn["id"] != action["turnId"]:
            return  # of another turn, whose calls may go by the same ids
        call = self._calls.get(action["toolCallId"])
        if call is None:
            return
        awaited = call.awaited
        if awaited is not None and {**awaited, "turnId": turn["id"]} == action:
            call.awaited = None
        self._settle(call, action, state)

    def _settle(self, call: CallRecord, action: Action, state: State) -> None:
        """Fill what the state the call is in now has decided.

        Whoever waits goes on inside: what is to be known of the call is noted first.
        """
        held = call_in(state.get("activeTurn"), action["toolCallId"])
        if held is None:
            return
        status, kind = held["status"], action["type"]
        if status in _REPORTED and call.reported is None and kind == "chat/toolCallComplete":
            call.reported = action["result"]
        if status not in _UNDECIDED and call.awaited is None:
            # Where it is ready once more and that is still to be applied, it is not there yet.
            call.ran = call.ran or status != "cancelled"
            unanswered = call.standing and kind == "chat/toolCallComplete"
            # Asked about once more when it had ended: whatever allows it, it runs no more.
            unanswered |= status in _REPORTED and kind == "chat/toolCallReady"
            call.standing, call.grants = False, {}
            if call.confirmed is not None and not call.confirmed.given:
                call.confirmed.give(UNANSWERED if unanswered else answer_of(call, action, held))
        if status in ("completed", "cancelled"):
            approved = status == "completed"
            if call.result_confirmed is not None:
                call.result_confirmed.give(
                    ToolAnswer(approved=approved, reason=None if approved else "denied")
                )
            if call.client_result is not None:
                call.client_result.give(final_result(call, held))

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
            if call.ruled is REFUSED:
                call.client_result.give(failed_result(CALL_REFUSED))
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

    def _waited(self, call_id: str, now: float) -> CallRecord:
        self._check_on()
        return self._call(call_id, now)

    def _settle_now(self, call: CallRecord, call_id: str, state: State) -> None:
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
