"""Where a backend says what its turn does: the host's hottest path."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.internet.task import deferLater
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.channels.store import ChannelStore
from ahpd.chats.answers import Answers
from ahpd.chats.asked import Judge, ask_people
from ahpd.interfaces import (
    AgentFailure,
    Grant,
    InputAnswer,
    ITurnOutput,
    IWorkerOutput,
    Permission,
    ToolAnswer,
)
from ahpd.protocol import Action, State
from ahpd.protocol.actions import TURN_ACTIONS

log = Logger()

#: What appends to something, and the key that names what it appends to.
DELTAS: Final = {
    "chat/delta": "partId",
    "chat/reasoning": "partId",
    "chat/toolCallDelta": "toolCallId",
}

_CALL: Final = DELTAS["chat/toolCallDelta"]

#: What a backend says that names no turn.
_OF_THE_CHAT: Final = frozenset(
    {"chat/activityChanged", "chat/inputRequested", "chat/inputCompleted"}
)
#: What the host says itself, from what it knows; a backend's own is dropped (AHP.txt,
#: `chat/backgroundWorkSet` and "Being asked").
_DROPPED: Final = frozenset(
    {
        "chat/backgroundWorkSet",
        "chat/backgroundWorkRemoved",
        "session/inputNeededSet",
        "session/inputNeededRemoved",
    }
)
#: What begins a call, asks about it or completes it.
_ABOUT_CALLS: Final = frozenset(
    {"chat/toolCallStart", "chat/toolCallReady", "chat/toolCallComplete"}
)

#: It would be in the transcript twice (AHP.txt, "Tool calls").
_MADE_ALREADY: Final = "a tool call's part is made by chat/toolCallStart, not said beside it"

#: Characters held back to be merged at most. What is held is in no client's queue, so it
#: would get round a backend's waiting for them; and a piece this large costs little to send.
MOST_HELD: Final = 64 * 1024

#: How often a backend that was asked to wait looks again, in seconds.
_LOOK_AGAIN: Final = 0.01
#: The longest one `drained` waits, in seconds: a client that takes longer is the peer's to end.
_LONGEST_WAIT: Final = 30.0

#: Opens the worker chat a call of a turn spawned: turn, call, message, title.
OpenWorker = Callable[[str, str, Mapping[str, Any], str], IWorkerOutput]


#: Names in an action about a call the worker it spawns.
Linked = Callable[[Action], Action]


def _as_it_is(action: Action) -> Action:
    return action


def _no_workers(turn: str, call: str, message: Mapping[str, Any], title: str) -> IWorkerOutput:
    raise AgentFailure("A call of this chat cannot open a chat of its own.")


@implementer(ITurnOutput)
class TurnOutput:
    """One turn's voice on its chat's channel.

    Deltas of one part that come within `window` seconds of the first of them are said
    as one, up to `MOST_HELD`; 0 says each as it comes. Whoever says anything else on
    the chat calls `flush` first, so that the order of what was said is kept.

    `open_worker` makes the worker chats its calls spawn; `point` is the backend's name for
    where the turn ends, None while it named none; `linked` names them in what is said of those.
    `judge` decides about the calls that ask, before people do.
    """

    __slots__ = (
        "_answers",
        "_chat",
        "_clock",
        "_dispatch",
        "_ended",
        "_held",
        "_held_length",
        "_judge",
        "_key",
        "_linked",
        "_open_worker",
        "_session",
        "_store",
        "_timer",
        "_window",
        "point",
        "turn_id",
    )

    def __init__(
        self,
        store: ChannelStore,
        clock: IReactorTime,
        session: str,
        chat: str,
        turn_id: str,
        window: float,
        open_worker: OpenWorker = _no_workers,
        linked: Linked = _as_it_is,
        judge: Judge = ask_people,
    ) -> None:
        self.turn_id = turn_id
        self.point: str | None = None
        self._store = store
        self._dispatch = store.dispatch
        self._clock = clock
        self._session = session
        self._chat = chat
        self._window = window
        self._held: list[str] = []
        self._held_length = 0
        self._key: tuple[str, str] = ("", "")
        self._timer: IDelayedCall | None = None
        self._ended = False
        self._open_worker = open_worker
        self._linked = linked
        self._judge = judge
        self._answers = Answers()

    def emit(self, action: Action, permission: Permission | None = None) -> None:
        """See `ITurnOutput.emit`."""
        if self._ended:
            return
        kind = action["type"]
        names = DELTAS.get(kind)
        if names is None:
            self._say(kind, action, permission)
            return
        if action.get("turnId", self.turn_id) != self.turn_id:
            return  # about a turn that is not this one's to speak of
        if self._window and self._merged(kind, names, action):
            return
        if names == _CALL and "_meta" in action:
            action = self._linked(action)
            self._answers.said(action, self._clock.seconds())
        if self._held:
            self.flush()
        self._dispatch(self._chat, {**action, "turnId": self.turn_id})

    def _say(self, kind: str, action: Action, permission: Permission | None = None) -> None:
        """Say what appends to nothing."""
        if kind in _DROPPED:
            log.warn("{kind} is the host's to say; dropped in {chat}", kind=kind, chat=self._chat)
            return
        if kind not in TURN_ACTIONS:
            raise ValueError(f"a turn's output does not say {kind}: the host or a client does")
        if action.get("turnId", self.turn_id) != self.turn_id:
            return
        if kind in _OF_THE_CHAT:
            self._say_of_the_chat(kind, action)
            return
        if kind in _ABOUT_CALLS:
            self._say_of_a_call(kind, self._linked(action), permission)
            return
        if kind == "chat/toolCallContentChanged":
            action = self._linked(action)
        elif kind == "chat/responsePart":
            if action["part"].get("kind") == "toolCall":
                raise ValueError(_MADE_ALREADY)
            self._end_refused()
        self.flush()
        self._dispatch(self._chat, {**action, "turnId": self.turn_id})

    def _say_of_a_call(self, kind: str, action: Action, permission: Permission | None) -> None:
        self.flush()
        asks = kind == "chat/toolCallReady" and action.get("confirmed") is None
        if asks:
            said = self._asked(action, permission)
        else:
            said = self._answers.said(action, self._clock.seconds())
        for each in said:
            self._dispatch(self._chat, {**each, "turnId": self.turn_id})

    def _asked(self, action: Action, permission: Permission | None) -> Sequence[Action]:
        """What is said of a call that asks, once it was decided who answers it."""
        state, now = self._now()
        asked = self._answers.asking(action, permission, state, now)
        if asked is None or self._answers.is_over:
            return (action,)  # it is in nobody's state, and nobody is asked
        return self._answers.decided(action, self._judge(asked))

    def _end_refused(self) -> None:
        ended = self._answers.went_on()
        if ended:
            self.flush()
            for each in ended:
                self._dispatch(self._chat, {**each, "turnId": self.turn_id})

    def granted(self, action: Action, state: State) -> Grant | None:
        """What a client's answer to a call grants, should it be said on the chat of `state` now."""
        return self._answers.granted(action, state)

    def contradiction(self, action: Action, state: State) -> str | None:
        """Why a client's answer to a call is not taken, in words; None where it is."""
        return self._answers.contradiction(action, state, self._judge)

    def _say_of_the_chat(self, kind: str, action: Action) -> None:
        if kind != "chat/activityChanged":
            if self._answers.is_over:
                return  # it would be asked in the turn that took this one's place
            if kind == "chat/inputRequested":
                self._answers.asked(action["request"]["id"])
        self.flush()
        self._dispatch(self._chat, {key: action[key] for key in action if key != "turnId"})

    def _merged(self, kind: str, names: str, action: Action) -> bool:
        if "_meta" in action or "invocationMessage" in action:
            return False
        content, target = action.get("content"), action.get(names)
        if not isinstance(content, str) or not isinstance(target, str):
            return False
        if not (self._held and self._key == (kind, target)):
            self.flush()
            self._key = (kind, target)
            self._timer = self._clock.callLater(self._window, self._due)
        self._held.append(content)
        self._held_length += len(content)
        if self._held_length >= MOST_HELD:
            self.flush()
        return True

    def _due(self) -> None:
        self._timer = None
        self.flush()

    def flush(self) -> None:
        """Say now what was held back to be merged."""
        if not self._held:
            return
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        kind, target = self._key
        content = "".join(self._held)
        self._held.clear()
        self._held_length = 0
        self._dispatch(
            self._chat,
            {"type": kind, "turnId": self.turn_id, DELTAS[kind]: target, "content": content},
        )

    def last(self, action: Action) -> None:
        """Say something of a turn whose end is about to be said, though it takes nothing more.

        It is for whoever ends the turn, who says the end right behind it.
        """
        self._say(action["type"], action)

    def end(self) -> None:
        """The turn is over: what is held goes out, and nothing more is taken."""
        self.flush()
        self._ended = True

    def heard(self, action: Action, state: State) -> None:
        """One of `answers.ANSWERS` was applied on the chat, whose state is `state`."""
        self._answers.heard(action, state)

    def let_go(self) -> None:
        """Nobody can answer this turn any more: raise `TurnOver` in all it waits for.

        Its backend goes on in here, so whoever calls this has said the end before.
        """
        self._answers.over()

    async def confirmed(self, tool_call_id: str) -> ToolAnswer:
        """See `ITurnOutput.confirmed`."""
        return await self._answers.confirmed(tool_call_id, *self._now())

    async def result_confirmed(self, tool_call_id: str) -> ToolAnswer:
        """See `ITurnOutput.result_confirmed`."""
        return await self._answers.result_confirmed(tool_call_id, *self._now())

    async def client_result(self, tool_call_id: str) -> Mapping[str, Any]:
        """See `ITurnOutput.client_result`."""
        return await self._answers.client_result(tool_call_id, *self._now())

    async def answered(self, request_id: str) -> InputAnswer:
        """See `ITurnOutput.answered`."""
        return await self._answers.answered(request_id, self._now()[0])

    def _now(self) -> tuple[State, float]:
        state = self._store.find(self._chat)
        return state or {}, self._clock.seconds()

    def ended_at(self, point: str) -> None:
        """See `ITurnOutput.ended_at`."""
        if not self._ended:
            self.point = point

    def worker(self, tool_call_id: str, message: Mapping[str, Any], title: str) -> IWorkerOutput:
        """See `ITurnOutput.worker`. Raises `AgentFailure` where none can be opened."""
        self.flush()
        return self._open_worker(self.turn_id, tool_call_id, message, title)

    async def drained(self) -> None:
        """See `ITurnOutput.drained`. One wait is at most 30 seconds."""
        watched = (self._chat, self._session)
        until = self._clock.seconds() + _LONGEST_WAIT
        while not self._ended and self._store.lagging(watched) and self._clock.seconds() < until:
            await deferLater(self._clock, _LOOK_AGAIN)
