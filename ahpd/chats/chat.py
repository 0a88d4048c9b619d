"""One conversation: its running turn, the turns behind it, and its backend.

Clients see one active turn, the one whose start was said last. The backend runs one
turn at a time, in the order their starts were said. The two differ while a turn
sent in front of its end waits for the one it replaced, and after a stop, until the
backend has let the stopped turn go (AHP.txt, `chat/turnStarted` and
`chat/turnCancelled`).
"""

from collections import deque
from collections.abc import Sequence
from typing import Final

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ahpd.channels.envelope import Envelope, Origin
from ahpd.chats.output import DELTAS, TurnOutput
from ahpd.chats.owner import ChatOwner, Surroundings, TurnFailure
from ahpd.chats.queue import next_pending
from ahpd.chats.rows import Row
from ahpd.chats.tasks import finished
from ahpd.chats.turn import Turn
from ahpd.interfaces import AgentFailure, ChatStart, IAgentChat, TurnRequest
from ahpd.protocol import Action, State
from ahpd.protocol.status import IS_ARCHIVED
from ahpd.protocol.text import plain

log = Logger()

#: How long a stopped turn's backend has before its work is cancelled, in seconds.
STOP_GRACE: Final = 5.0
#: How long a backend has to close, in seconds.
CLOSE_GRACE: Final = 10.0

#: What a client does to the queue; done while nothing runs, it starts the head.
_QUEUE_CHANGES: Final = frozenset(
    {"chat/pendingMessageSet", "chat/pendingMessageRemoved", "chat/queuedMessagesReordered"}
)

_ENDS: Final = frozenset({"chat/turnComplete", "chat/turnCancelled", "chat/error"})

INTERRUPTED: Final = TurnFailure(
    "executionInterrupted", "The agent was interrupted before this request finished."
)
_BROKEN: Final = TurnFailure("agentError", "The agent failed while it ran this turn.")


class Chat:
    """One chat of one session; its state is the store's, under `uri`."""

    __slots__ = (
        "_backend",
        "_grace",
        "_running",
        "_stale",
        "_taken",
        "_task",
        "_turn_ids",
        "_waiting",
        "_world",
        "closed",
        "current",
        "owner",
        "row",
        "uri",
    )

    def __init__(self, world: Surroundings, owner: ChatOwner, uri: str, row: Row) -> None:
        self._world = world
        self.owner = owner
        self.uri = uri
        self.row = row
        """The row in the session as it was last said."""
        self.current: Turn | None = None
        """The turn that is active in every client's state."""
        self.closed = False
        self._running: Turn | None = None
        self._waiting: deque[Turn] | None = None
        self._task: Deferred[None] | None = None
        self._grace: IDelayedCall | None = None
        self._backend: IAgentChat | None = None
        self._stale = False
        self._taken: str | None = None
        self._turn_ids: set[str] | None = None

    @property
    def state(self) -> State:
        """The chat's state (schema: ChatState), to read."""
        return self._world.store.state(self.uri)

    @property
    def is_open(self) -> bool:
        """Whether a conversation is open on the agent, or being opened."""
        return self._backend is not None or self._running is not None

    def holds_turn(self, turn_id: str) -> bool:
        """Whether a turn of this id was started here and not dropped since."""
        return turn_id in self._known_turns()

    def _known_turns(self) -> set[str]:
        if self._turn_ids is None:
            self._turn_ids = {turn["id"] for turn in self.state["turns"]}
        return self._turn_ids

    # -- saying ---------------------------------------------------------------

    def say(self, action: Action, origin: Origin | None = None) -> None:
        """Say `action` on the chat's channel, behind all its turn has said so far."""
        if self.closed:
            return
        if self._running is not None:
            self._running.output.flush()
        self._world.store.dispatch(self.uri, action, origin)

    def observe(self, envelope: Envelope) -> None:
        """What follows from an action that was applied here; the store calls it."""
        kind = envelope.type
        if kind in DELTAS or self.closed:
            return
        self.owner.chat_moved(self.uri, envelope)
        if kind == "chat/turnStarted":
            self._start_applied(envelope.action)
        if kind in _ENDS and self.current is None and "activity" in self.state:
            self.say({"type": "chat/activityChanged"})
        if kind == "chat/turnComplete":
            self._say_unread()
            self._drain()
        elif kind in _QUEUE_CHANGES and envelope.origin is not None:
            self._drain()
        elif kind == "chat/truncated":
            self._truncated(envelope.action.get("turnId"))
        self.owner.activity_moved()

    def _start_applied(self, action: Action) -> None:
        if self.current is not None and self.current.turn_id == action["turnId"]:
            self.current.said = True
        if action.get("queuedMessageId") == self._taken:
            self._taken = None

    def _say_unread(self) -> None:
        self.say({"type": "chat/isReadChanged", "isRead": False})

    # -- turns ----------------------------------------------------------------

    def start_turn(self, action: Action, origin: Origin | None = None) -> None:
        """Say a turn's start, admit it, and run it behind the work in front of it."""
        world, turn_id = self._world, action["turnId"]
        self._known_turns().add(turn_id)
        message = action["message"]
        output = TurnOutput(
            world.store, world.clock, self.owner.uri, self.uri, turn_id, world.delta_window
        )
        request = TurnRequest(turn_id=turn_id, message=message, model=message.get("model"))
        turn = self.current = Turn(request, output, world.clock.seconds())
        self.say(action, origin)
        refused = self.owner.turn_refused(bool(self.state["status"] & IS_ARCHIVED))
        if refused is not None:
            self._fail(turn, refused)
            return
        self.owner.turn_admitted(self.uri, message)
        if self._running is None:
            self._run(turn)
            return
        if self._waiting is None:
            self._waiting = deque()
        self._waiting.append(turn)

    def start_message(self, message: State, queued_id: str | None = None) -> None:
        """Start a turn of the host's own with `message`, a queued one's under its id."""
        action: State = {
            "type": "chat/turnStarted",
            "turnId": self._world.ids(),
            "startedAt": self._world.stamp(),
            "message": message,
        }
        if queued_id is not None:
            action["queuedMessageId"] = queued_id
        self.start_turn(action)

    def _drain(self) -> None:
        if self.current is not None or self.closed:
            return
        pending = next_pending(self.state)
        # One that was taken is in the state until its start is applied.
        if pending is not None and pending["id"] != self._taken and not self.owner.closing:
            self._taken = pending["id"]
            self.start_message(plain(pending["message"]), pending["id"])

    def stop(self, action: Action, origin: Origin | None = None) -> None:
        """Take a `chat/turnCancelled`: said at once, and the backend told behind it.

        One that names no turn that runs is said and stops nothing.
        """
        turn = self.current
        if turn is None or action["turnId"] != turn.turn_id:
            self.say(action, origin)
            return
        self.current = None
        turn.output.end()
        turn.over = True
        self.say(action, origin)
        steering = self.state.get("steeringMessage")
        if steering is not None:
            self.say(
                {"type": "chat/pendingMessageRemoved", "kind": "steering", "id": steering["id"]}
            )
        self._say_unread()
        self._halt()

    def _truncated(self, turn_id: str | None) -> None:
        state = self.state
        turns: Sequence[State] = state["turns"]
        if turn_id is not None and (not turns or turns[-1]["id"] != turn_id):
            return  # the chat holds no such turn: nothing was dropped, nothing is cut
        self._turn_ids = None
        # The backend begins again on the turns that are left.
        self._stale = True
        if self.current is not None and self.current.said and "activeTurn" not in state:
            self.current.over = True
            self.current = None
            self._halt()

    def _halt(self) -> None:
        """Have the backend let go of what it runs, and run none of what waits behind it."""
        self._waiting = None
        turn = self._running
        if turn is None or turn.halted:
            return
        turn.output.end()
        turn.over = turn.halted = True
        if turn.handed and self._backend is not None:
            what = f"stopping turn {turn.turn_id} of {self.uri}"
            self._world.tasks.spawn(what, _stopped(self._backend, turn.turn_id))
        if self._running is turn:  # a backend may have let go in the call itself
            self._grace = self._world.clock.callLater(STOP_GRACE, self._overdue)

    def _overdue(self) -> None:
        self._grace = None
        self._stale = True
        log.warn("the agent did not let go of a stopped turn of {chat}", chat=self.uri)
        if self._task is not None:
            self._task.cancel()

    # -- the backend ----------------------------------------------------------

    def _run(self, turn: Turn) -> None:
        self._running = turn
        what = f"turn {turn.turn_id} of {self.uri}"
        task = self._world.tasks.spawn(what, self._work(turn))
        if self._running is turn:
            self._task = task

    async def _work(self, turn: Turn) -> None:
        failure: TurnFailure | None = None
        try:
            backend = await self._opened()
            if not turn.over:
                turn.handed = True
                self.owner.turn_handed()
                await backend.run(turn.request, turn.output)
        except AgentFailure as failed:
            failure = TurnFailure(failed.error_type, failed.message, failed.resumable)
        except Exception as broken:
            if not turn.over:
                log.error(
                    "turn {turn} of {chat} broke off: {kind}: {error}",
                    turn=turn.turn_id,
                    chat=self.uri,
                    kind=type(broken).__name__,
                    error=str(broken),
                )
            failure = _BROKEN
        if failure is None:
            self._complete(turn)
        else:
            self._fail(turn, failure)
        self._advance()

    def _advance(self) -> None:
        self._running = self._task = None
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None
        if self._waiting and not self.closed:
            self._run(self._waiting.popleft())

    async def _opened(self) -> IAgentChat:
        if self._stale:
            self._stale = False
            await self._let_go()
        if self._backend is None:
            state = self.state
            directories = state.get("workingDirectories")
            self._backend = await self.owner.agent.open_chat(
                ChatStart(
                    session=self.owner.uri,
                    chat=self.uri,
                    working_directories=(
                        self.owner.working_directories
                        if directories is None
                        else tuple(directories)
                    ),
                    config=dict(self.owner.config_values),
                    history=plain(state["turns"]),
                )
            )
        return self._backend

    def refresh_backend(self) -> None:
        """Have the backend begin again, on what is in force then, at the next turn."""
        if self._backend is not None or self._running is not None:
            self._stale = True

    # -- ends -----------------------------------------------------------------

    def _complete(self, turn: Turn) -> None:
        if self._ends(turn):
            duration = turn.duration(self._world.clock.seconds())
            self.say({"type": "chat/turnComplete", "turnId": turn.turn_id, "duration": duration})

    def _fail(self, turn: Turn, failure: TurnFailure) -> None:
        if not self._ends(turn):
            return
        self.say(
            {
                "type": "chat/error",
                "turnId": turn.turn_id,
                "duration": turn.duration(self._world.clock.seconds()),
                "part": failure.part(),
            }
        )
        self._say_unread()
        if not turn.handed:
            self.owner.turn_unhanded(failure)

    def _ends(self, turn: Turn) -> bool:
        """Whether `turn`'s end is still to be said; it is the caller's then."""
        if turn.over:
            return False
        turn.output.end()
        turn.over = True
        if self.current is turn:
            self.current = None
        return True

    def interrupt(self) -> None:
        """End the active turn because the host is going."""
        if self.current is not None:
            self._fail(self.current, INTERRUPTED)
        self._halt()

    def cancel(self) -> None:
        """End the active turn as a stop of the host's own, because the chat is going."""
        turn = self.current
        if turn is not None:
            duration = turn.duration(self._world.clock.seconds())
            self.stop({"type": "chat/turnCancelled", "turnId": turn.turn_id, "duration": duration})
        self._halt()

    async def close(self) -> None:
        """Let go of the conversation for good; returns when its backend is down."""
        self.closed = True
        await self.release()

    async def release(self) -> None:
        """Stop what runs, saying nothing of it, and return when the backend is down."""
        self._halt()
        while self._task is not None:
            await finished(self._task)
        await self._let_go()

    async def _let_go(self) -> None:
        backend, self._backend = self._backend, None
        if backend is None:
            return
        closing = Deferred.fromCoroutine(_closed(backend))
        closing.addTimeout(CLOSE_GRACE, self._world.clock)
        try:
            await closing
        except Exception as failed:
            log.error(
                "the agent's side of {chat} did not close: {kind}: {error}",
                chat=self.uri,
                kind=type(failed).__name__,
                error=str(failed),
            )


async def _stopped(backend: IAgentChat, turn_id: str) -> None:
    await backend.stop(turn_id)


async def _closed(backend: IAgentChat) -> None:
    await backend.close()
