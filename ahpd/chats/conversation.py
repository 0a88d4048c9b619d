"""The backend's half of a chat: the order turns run on its conversation.

The backend runs one turn at a time, in the order their starts were said; what comes
between two turns, closing a conversation or deleting it, waits its turn there too.
"""

from collections import deque
from collections.abc import Callable, Collection
from typing import Final, Protocol, cast

from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IDelayedCall
from twisted.logger import Logger

from ahpd.bounded import words_of
from ahpd.calling import asked
from ahpd.chats.attached import with_attachments
from ahpd.chats.backend import Backend, Opening
from ahpd.chats.handed import handed_turn
from ahpd.chats.happenings import dropped
from ahpd.chats.owner import Surroundings, TurnFailure
from ahpd.chats.tasks import finished, is_over
from ahpd.chats.turn import Turn
from ahpd.interfaces import (
    AgentFailure,
    IAgent,
    IAgentChat,
    IResumingChat,
    StoreFailure,
    TurnOver,
)

log = Logger()

#: How long a stopped turn's backend has before its work is cancelled, in seconds.
STOP_GRACE: Final = 5.0

_BROKEN: Final = TurnFailure("agentError", "The agent failed while it ran this turn.")


def store_failed(failure: StoreFailure) -> TurnFailure:
    """The end of a turn whose words can no longer be kept."""
    return TurnFailure("storeFailed", f"What this turn says can no longer be kept: {failure}")


class Conversing(Opening, Protocol):
    """The chat a conversation is the backend's half of."""

    closed: bool

    def holds_turn(self, turn_id: str) -> bool:
        """Whether a turn of this id is the chat's."""

    @property
    def in_use(self) -> bool:
        """Whether the backend does something for it though no turn runs."""

    def ended(self, turn: Turn, failure: TurnFailure | None) -> None:
        """The backend is done with `turn`."""


class Conversation:
    """One chat's conversation on its agent, open or not."""

    __slots__ = (
        "_chat",
        "_grace",
        "_idle",
        "_renewed",
        "_side",
        "_task",
        "_tending",
        "_waiting",
        "_world",
        "running",
    )

    def __init__(self, world: Surroundings, chat: Conversing) -> None:
        self._world = world
        self._chat = chat
        self._side = Backend(world, chat)
        self.running: Turn | None = None
        """The turn that has the backend, from its preparation until the backend let go of it."""
        self._waiting: deque[Turn] | None = None
        self._task: Deferred[None] | None = None
        self._tending = False
        self._renewed = False
        self._grace: IDelayedCall | None = None
        self._idle: IDelayedCall | None = None

    @property
    def backend(self) -> IAgentChat | None:
        """The conversation, while it is open."""
        return self._side.open

    @property
    def agent(self) -> IAgent:
        """The agent it is open on; the chat's, which it is opened on next, where it is not."""
        return self._side.agent or self._chat.agent

    @property
    def is_open(self) -> bool:
        """Whether a conversation is open on the agent, or being opened or closed."""
        return self.backend is not None or self.running is not None or self._tending

    # -- turns, in their order --------------------------------------------------------

    def run(self, turn: Turn) -> None:
        """Run `turn` behind the work in front of it."""
        if self.running is None and not self._tending:
            self._begin(turn)
            return
        if self._waiting is None:
            self._waiting = deque()
        self._waiting.append(turn)

    def halt(self) -> None:
        """Have the backend let go of what it runs, and run none of what waits behind it."""
        self.halting()()

    def halting(self) -> Callable[[], None]:
        """What halts all there is now: not a turn that is started while a stop is being said."""
        running, waiting = self.running, tuple(self._waiting or ())

        def halt() -> None:
            for turn in waiting:
                if turn in (self._waiting or ()):
                    dropped(self._world, self._chat, turn)
            later = [turn for turn in self._waiting or () if turn not in waiting]
            self._waiting = deque(later) if later else None
            self._chat.steering.forget()
            if running is not None and running is self.running and not running.halted:
                self._let_go(running)

        return halt

    def _let_go(self, turn: Turn) -> None:
        self._chat.owner.workers_over(self._chat.uri, turn.turn_id)
        turn.output.end()
        dropped(self._world, self._chat, turn)
        turn.over = turn.halted = True
        if turn.handed and self.backend is not None:
            what = f"stopping turn {turn.turn_id} of {self._chat.uri}"
            self._world.tasks.spawn(what, asked(self.backend.stop, turn.turn_id))
        if self.running is turn:  # a backend may have let go in the call itself
            self._grace = self._world.clock.callLater(STOP_GRACE, self._overdue)
        turn.output.let_go()

    def _overdue(self) -> None:
        self._grace = None
        self._side.stale = True
        log.warn("the agent did not let go of a stopped turn of {chat}", chat=self._chat.uri)
        if self._task is not None:
            self._task.cancel()

    def _begin(self, turn: Turn) -> None:
        self._stay()
        self.running = turn
        what = f"turn {turn.turn_id} of {self._chat.uri}"
        task = self._world.tasks.spawn(what, self._work(turn))
        if self.running is turn:
            self._task = task

    async def _work(self, turn: Turn) -> None:
        failure: TurnFailure | None = None
        try:
            await self._hand(turn)
        except TurnOver:
            pass  # nobody is left to answer it: its end was said, or its place is another turn's
        except AgentFailure as failed:
            failure = TurnFailure(failed.error_type, failed.message, failed.resumable)
        except StoreFailure as failed:
            failure = store_failed(failed)
        except GeneratorExit:
            raise
        except BaseException as broken:
            if not turn.over:
                log.error(
                    "turn {turn} of {chat} broke off: {error}",
                    turn=turn.turn_id,
                    chat=self._chat.uri,
                    error=words_of(broken),
                )
            failure = _BROKEN
        try:
            self._chat.ended(turn, self._kept(turn) or failure)
            turn.output.let_go()
        finally:  # whoever waits behind it waits for nothing else
            self._next()

    async def _hand(self, turn: Turn) -> None:
        """Prepare the turn, open the conversation and run it; a stop on the way ends it unhanded."""
        if turn.over:
            return
        owner = self._chat.owner
        request = await with_attachments(self._world.attachments, turn.request)
        request = await owner.prepare_turn(self._chat.uri, request)
        if turn.over:
            return
        backend = await self._side.opened()
        if turn.over:
            return
        turn.request = handed_turn(request, owner.client_tools)
        owner.turn_handed()
        if turn.over:
            return  # stopped by somebody who was just told that the session is ready
        turn.handed = True
        run = cast("IResumingChat", backend).resume if turn.resumed else backend.run
        running = Deferred.fromCoroutine(asked(run, turn.request, turn.output))
        if not running.called:
            self._chat.steering.offer()
        await running

    def _kept(self, turn: Turn) -> TurnFailure | None:
        """Have the turn's point on disk before its end is said; how that failed."""
        chat = self._chat
        if turn.handed and not chat.closed and chat.holds_turn(turn.turn_id):
            try:
                chat.kept.ended(turn.turn_id, turn.output.point)
            except StoreFailure as unkept:
                return store_failed(unkept)
        return None

    def _next(self) -> None:
        self.running = self._task = None
        if self._grace is not None:
            self._grace.cancel()
            self._grace = None
        if self._chat.closed:
            return
        if self._waiting:
            self._begin(self._waiting.popleft())
        elif self._chat.kept.over or self._renewed:
            self._tend()
        else:
            self._rest()

    # -- between two turns ----------------------------------------------------------------

    def refresh(self) -> None:
        """Begin again, on what is in force then, at the next turn."""
        self._side.stale = True

    def renew(self) -> None:
        """Its agent is another one: let go of what it is open on, behind the turn that runs.

        While the backend does something for it though no turn runs, that is at the next turn.
        """
        if self.is_open:
            self._side.stale = True
            self._renewed = self.running is not None or self._tending
            if not self._renewed and not self._chat.in_use:
                self._tend()

    def configure(self) -> None:
        """The configuration moved: told to a backend that takes it, or begun again with it."""
        self._side.configure()

    def rewind(self, turn_id: str, left: Collection[str]) -> None:
        """See `Backend.rewind`."""
        self._side.rewind(turn_id, left)

    def start_over(self, left: Collection[str]) -> None:
        """See `Backend.start_over`."""
        self._side.start_over(self.running is not None, left)

    def settle(self) -> None:
        """Delete now what is to be deleted, unless a turn is on the way, which does it first."""
        if self.running is None and not self._tending and self._chat.kept.over:
            self._tend()

    def _tend(self) -> None:
        self._stay()
        self._tending, self._renewed = True, False
        task = self._world.tasks.spawn(f"closing the agent of {self._chat.uri}", self._tended())
        if self._tending:
            self._task = task

    async def _tended(self) -> None:
        try:
            await self._side.settled()
        finally:
            self._tending = False
            self._next()

    # -- closing ------------------------------------------------------------------------

    def _rest(self) -> None:
        """Nothing runs: let go of the backend once that has been so for a while."""
        seconds = self._world.idle_release
        if seconds and self.backend is not None and self._chat.agent.abilities.reopens:
            self._idle = self._world.clock.callLater(seconds, self._idled)

    def _stay(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
            self._idle = None

    def _idled(self) -> None:
        self._idle = None
        if self._chat.in_use:
            self._rest()
            return
        self._side.stale = True
        self._tend()

    async def release(self) -> None:
        """Stop what runs, saying nothing of it, and return when the backend is down."""
        self._stay()
        self.halt()
        while self._task is not None and not is_over(self._task):
            await finished(self._task)
        self._stay()
        await self._side.close()
