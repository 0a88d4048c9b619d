"""What happens in sessions and chats, as events. Source: PLUGINS.txt, "Events".

It is told what happened in the step in which it did (`ahpd.chats.owner.Told`) and says it in the
same step. A payload is made once somebody listens. What a plugin reads off an event:

- Of a turn both ends are said, `turn_start` and `turn_end`; but for a worker's, which begins inside
  a call of another turn, and for one that was refused, which have an end alone. A turn that was
  stopped while its start was being said has no start either. A turn that is resumed begins again,
  under its id, with no message.
- A `rejected` turn whose start was said is in the chat's history: its sender has it no more
  (`recoverable` is false). One whose start could not be kept is in nobody's.
- What an earlier process left behind is no event of this one: a session that is woken did not
  start, and a turn that is found interrupted at a start did not end now.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from ahpd.events.opened import Opened
from ahpd.events.plans import plan_of
from ahpd.interfaces import IAgent, IEvents
from ahpd.protocol import Action, State

#: Where a message says who sent it, on a host that knows its users (AHP.txt, "a turn says who
#: sent it").
SENDER: Final = "ahpd.sender"

#: Finds a call (schema: ToolCallState) in a chat's state, by its turn's id and its own.
HeldCall = Callable[[State, str, str], State | None]


class SeenSession(Protocol):
    """A session as it is held."""

    uri: str

    @property
    def state(self) -> State:
        """Schema: SessionState."""


class SeenChat(Protocol):
    """A chat as it is held."""

    uri: str

    @property
    def state(self) -> State:
        """Schema: ChatState."""

    @property
    def agent(self) -> IAgent:
        """The agent it runs on."""


class Observed:
    """Says what happens in sessions; `opened` is told of those that are gone.

    `knows_users` tells whether this host has a directory of users: without one nobody is named as
    a message's sender, whatever a client writes into it.
    """

    def __init__(
        self,
        events: IEvents,
        held_call: HeldCall,
        opened: Opened,
        knows_users: Callable[[], bool] = lambda: False,
    ) -> None:
        self._events = events
        self._opened = opened
        self._held_call = held_call
        self._knows_users = knows_users
        #: The tools of the calls that run, by chat and turn and then by call.
        self._calls: dict[tuple[str, str], dict[str, str]] = {}

    # -- sessions ---------------------------------------------------------------------

    def session_began(self, session: str, provider: str, client: str | None) -> None:
        """See `Told.session_began`."""
        if self._events.listened("session_start"):
            named = {} if client is None else {"client": client}
            self._events.emit("session_start", {"session": session, "provider": provider, **named})

    def session_over(self, session: str, reason: str) -> None:
        """See `Told.session_over`."""
        self._opened.session_over(session)
        if self._events.listened("session_end"):
            self._events.emit("session_end", {"session": session, "reason": reason})

    def session_moved(self, session: str, action: Action) -> None:
        """See `Told.session_moved`."""
        kind = action["type"]
        if kind == "session/inputNeededSet":
            if self._events.listened("input_needed_set"):
                asked = action["request"]
                told = {"chat": asked["chat"], "id": asked["id"], "kind": asked["kind"]}
                self._events.emit("input_needed_set", {"session": session, **told})
        elif kind == "session/inputNeededRemoved" and self._events.listened("input_needed_removed"):
            self._events.emit("input_needed_removed", {"session": session, "id": action["id"]})

    # -- turns ------------------------------------------------------------------------

    def turn_begun(
        self,
        session: str,
        chat: str,
        turn_id: str,
        message: Mapping[str, Any],
        *,
        queued: str | None,
        resumed: bool,
    ) -> None:
        """See `Told.turn_begun`."""
        turn = {"session": session, "chat": chat, "turn": turn_id}
        if self._events.listened("turn_start"):
            self._events.emit("turn_start", {**turn, **self._beside(message, queued)})
        if not resumed and self._events.listened("message"):
            self._events.emit("message", {**turn, "text": message["text"]})

    def turn_over(
        self,
        session: str,
        chat: str,
        turn_id: str,
        message: Mapping[str, Any],
        action: Action,
        *,
        rejected: bool,
        command: bool,
        queued: str | None,
    ) -> None:
        """See `Told.turn_over`."""
        self._calls.pop((chat, turn_id), None)
        if self._events.listened("turn_end"):
            reason = _reason(action, rejected, command)
            self._end(session, chat, turn_id, reason, self._beside(message, queued))

    def turn_refused(
        self,
        session: str,
        chat: str,
        turn_id: str,
        message: Mapping[str, Any],
        error: State,
        *,
        queued: str | None,
    ) -> None:
        """See `Told.turn_refused`."""
        if self._events.listened("turn_end"):
            reason = {"kind": "rejected", "error": error, "recoverable": True}
            self._end(session, chat, turn_id, reason, self._beside(message, queued))

    def _end(
        self, session: str, chat: str, turn_id: str, reason: State, beside: Mapping[str, str]
    ) -> None:
        end = {"session": session, "channel": chat, "turnId": turn_id, "reason": reason}
        self._events.emit("turn_end", {**end, **beside})

    def _beside(self, message: Mapping[str, Any], queued: str | None) -> Mapping[str, str]:
        """Who sent a turn's message, and what it waited under, where these are told."""
        named = self._sender(message)
        return named if queued is None else {**named, "queuedMessageId": queued}

    def _sender(self, message: Mapping[str, Any]) -> Mapping[str, str]:
        sender = (message.get("_meta") or {}).get(SENDER) if self._knows_users() else None
        return {"sender": sender} if isinstance(sender, str) else {}

    # -- calls ------------------------------------------------------------------------

    def chat_moved(self, session: SeenSession, chat: SeenChat, action: Action) -> None:
        """See `Told.chat_moved`."""
        kind = action["type"]
        if kind == "chat/toolCallStart":
            if self._events.listened("tool_call") or self._events.listened("plan_update"):
                calls = self._calls.setdefault((chat.uri, action["turnId"]), {})
                calls[action["toolCallId"]] = action["toolName"]
        elif kind == "chat/toolCallComplete" and self._calls:
            self._completed(session, chat, action)

    def _completed(self, session: SeenSession, chat: SeenChat, action: Action) -> None:
        """A call's result was said. One that is said twice is told of once, and a call that was
        turned down is not told of: it did not run."""
        turn_id, call_id, result = action["turnId"], action["toolCallId"], action["result"]
        tool = self._calls.get((chat.uri, turn_id), {}).pop(call_id, None)
        if tool is None:
            return
        held = self._held_call(chat.state, turn_id, call_id)
        if held is not None and held["status"] == "cancelled":
            return
        if self._events.listened("tool_call"):
            told: State = {"session": session.uri, "chat": chat.uri, "tool": tool}
            told["ok"] = result["success"]
            if "error" in result:
                told["error"] = result["error"]["message"]
            self._events.emit("tool_call", told)
        if result["success"] and self._events.listened("plan_update"):
            self._plan(session, chat, turn_id, tool, result)

    def _plan(
        self, session: SeenSession, chat: SeenChat, turn_id: str, tool: str, result: State
    ) -> None:
        plan = plan_of(tool, result)
        if plan is None:
            return
        told: State = {
            "session": session.uri,
            "chat": chat.uri,
            "turn": turn_id,
            "harness": chat.agent.provider,
            "tool": tool,
        }
        title = session.state.get("title")
        if title:
            told["title"] = title
        turn = chat.state.get("activeTurn")
        if turn is not None and turn["id"] == turn_id:
            told.update(self._sender(turn["message"]))
        self._events.emit("plan_update", {**told, **plan})


def _reason(action: Action, rejected: bool, command: bool) -> State:
    """Why a turn ended, of the action that says it did."""
    kind = action["type"]
    if kind == "chat/turnCancelled":
        return {"kind": "cancelled"}
    if kind == "chat/turnComplete":
        return {"kind": "localCommand" if command else "success"}
    part = action["part"]
    if rejected:
        return {"kind": "rejected", "error": part["error"], "recoverable": False}
    return {"kind": "error", "error": part["error"], "resumable": bool(part.get("resumable"))}
