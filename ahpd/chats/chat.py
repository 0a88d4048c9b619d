"""One conversation as its clients see it: its active turn, and what waits behind it.

Clients see one active turn, the one whose start was said last. The backend's half
(`ahpd.chats.conversation`) runs one turn at a time, in the order their starts were said.
The two differ while a turn sent in front of its end waits for the one it replaced, and
after a stop, until the backend has let the stopped turn go (AHP.txt, `chat/turnStarted`
and `chat/turnCancelled`).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ahpd.channels.envelope import Envelope, Origin
from ahpd.chats.admission import interrupted, refused
from ahpd.chats.answers import ANSWERS
from ahpd.chats.background import BackgroundWork
from ahpd.chats.commands import LocalCommands
from ahpd.chats.conversation import Conversation
from ahpd.chats.happenings import begun, dropped, ended, ending, not_kept
from ahpd.chats.kept import Kept
from ahpd.chats.output import DELTAS
from ahpd.chats.owner import ChatOwner, Surroundings, TurnFailure
from ahpd.chats.queue import QUEUE_CHANGES, Queue
from ahpd.chats.rewinding import truncated
from ahpd.chats.rows import Row
from ahpd.chats.steering import Steering
from ahpd.chats.turn import ENDS, STARTS, Turn, ids_of, new_turn
from ahpd.chats.unsaved import lost
from ahpd.interfaces import BackgroundTask, IAgent, IAgentChat, StoreFailure
from ahpd.protocol import Action, State
from ahpd.protocol.text import plain


class Chat:
    """One chat of one session; its state is the store's, under `uri`.

    `facts` are what was kept of it (`ahpd.chats.kept`).
    """

    __slots__ = (
        "_turn_ids",
        "_work",
        "_world",
        "closed",
        "commands",
        "conversation",
        "current",
        "ending",
        "kept",
        "owner",
        "provider",
        "queue",
        "row",
        "steering",
        "uri",
    )

    def __init__(
        self,
        world: Surroundings,
        owner: ChatOwner,
        uri: str,
        row: Row,
        facts: Mapping[str, Any] | None = None,
    ) -> None:
        self._world = world
        self.owner = owner
        self.uri = uri
        self.row = row
        """The row in the session as it was last said."""
        self.provider: str | None = None
        """Whose it is for good, where that is another agent than its session's."""
        self.current: Turn | None = None
        """The turn that is active in every client's state."""
        self.ending: dict[str, Turn] | None = None
        """The turns whose ends are on their way to clients, by their ids."""
        self.closed = False
        self.kept = Kept(self._note, facts)
        self.steering = Steering(self)
        self.conversation = Conversation(world, self)
        self.queue = Queue(self)
        self.commands = LocalCommands(world, self)
        self._turn_ids: set[str] | None = None
        self._work: BackgroundWork | None = None

    def _note(self, facts: Mapping[str, Any]) -> None:
        self._world.note(self.uri, facts)

    @property
    def state(self) -> State:
        """The chat's state (schema: ChatState), to read."""
        return self._world.store.state(self.uri)

    @property
    def agent(self) -> IAgent:
        """The agent it runs on."""
        other = None if self.provider is None else self._world.agent_of(self.provider)
        return self.owner.agent if other is None else other

    @property
    def is_open(self) -> bool:
        """Whether a conversation is open on the agent, or being opened."""
        return self.conversation.is_open

    @property
    def backend(self) -> IAgentChat | None:
        """The conversation that is open on the agent."""
        return self.conversation.backend

    @property
    def read_only(self) -> bool:
        """Whether people watch it and send it nothing: a worker's."""
        shown: str = self.state.get("interactivity", "full")
        return shown != "full"

    @property
    def runs(self) -> bool:
        """Whether a turn clients see runs, or a command none of them sees any more."""
        return self.current is not None or self.commands.running

    @property
    def in_use(self) -> bool:
        """Whether its backend does something for it though no turn runs."""
        return (
            self.steering.holding
            or bool(self.state.get("backgroundWork"))
            or self.owner.workers_run(self.uri)
        )

    @property
    def can_steer(self) -> bool:
        """Whether its agent takes messages into a running turn."""
        return self.conversation.agent.abilities.steering

    def holds_turn(self, turn_id: str) -> bool:
        """Whether a turn of this id was started here and not dropped since."""
        return turn_id in self.known_turns()

    def known_turns(self) -> set[str]:
        """The ids of the turns that were started here and not dropped since."""
        if self._turn_ids is None:
            self._turn_ids = ids_of(self.state, self.current)
        return self._turn_ids

    def forget_turns(self) -> None:
        """The history got shorter: which turns there are is read off it again."""
        self._turn_ids = None

    # -- saying ---------------------------------------------------------------

    def say(self, action: Action, origin: Origin | None = None, *, unsaved: bool = False) -> None:
        """Say `action` on the chat's channel, behind all its turn has said so far.

        `unsaved` says it although it cannot be kept (`ChannelStore.dispatch`).
        """
        if self.closed:
            return
        speaking = self.conversation.running or self.current
        if speaking is not None:
            speaking.output.flush()
        self._world.store.dispatch(self.uri, action, origin, unsaved=unsaved)

    def observe(self, envelope: Envelope) -> None:
        """What follows from an action that was applied here; the store calls it."""
        kind = envelope.type
        if self.steering.waiting and "turnId" in envelope.action:
            self.steering.offer()
        if kind in DELTAS or self.closed:
            return
        self.owner.chat_moved(self.uri, envelope)
        if kind in ANSWERS and self.current is not None:
            self.current.output.heard(envelope.action, self.state)
        if kind in STARTS:
            self._start_applied(envelope.action)
        elif kind in ENDS:
            ended(self._world, self, envelope.action)
            if self.current is None and "activity" in self.state:
                self.say({"type": "chat/activityChanged"})
        if kind == "chat/turnComplete":
            self._say_unread(envelope.action["turnId"])
            self.queue.drain()
        elif kind in QUEUE_CHANGES:
            self.queue.moved(envelope)
        elif kind == "chat/truncated":
            truncated(self, envelope.action.get("turnId"))
        self.owner.activity_moved()

    def _start_applied(self, action: Action) -> None:
        self.queue.started(action)
        turn = self.current
        if turn is None or turn.turn_id != action["turnId"]:
            return
        replaced, turn.replaced, turn.said = turn.replaced, None, True
        self.steering.began()
        active = self.state.get("activeTurn")
        if active is None or active["id"] != turn.turn_id:
            # Resumed when something said before it had dropped the turn.
            self.drop_turn(turn)
            self.conversation.halt()
        elif "steeringMessage" in self.state:
            self.steering.offer()
        while replaced is not None:  # nobody is asked in a turn that is in nobody's state
            replaced.output.let_go()
            replaced = replaced.replaced

    def _say_unread(self, turn_id: str) -> None:
        """A turn ended: there is news, unless it was a command that somebody ran."""
        if not self.kept.is_command(turn_id):
            self.say({"type": "chat/isReadChanged", "isRead": False})

    # -- turns ----------------------------------------------------------------

    def start_turn(self, action: Action, origin: Origin | None = None) -> None:
        """Say a turn's start, admit it, and run it behind the work in front of it."""
        if self.commands.took(action, origin):
            return
        turn = self.begin_turn(action, origin)
        if turn.over:
            return  # its start could not be kept
        failure = refused(self)
        if failure is not None:
            self.reject(turn, failure)
            return
        begun(self._world, self, turn)
        self.owner.turn_admitted(self.uri, action["message"])
        if not turn.over:
            self.conversation.run(turn)

    def begin_turn(
        self,
        action: Action,
        origin: Origin | None = None,
        elsewhere: Callable[[], None] | None = None,
    ) -> Turn:
        """Say a turn's start and make it the one clients see.

        What is run `elsewhere` than on this chat's own backend is ended by whoever runs
        it, with `complete` or `fail`; a stop of it calls `elsewhere`.
        """
        turn_id, message = action["turnId"], action["message"]
        self.known_turns().add(turn_id)
        turn = new_turn(self._world, self, turn_id, message)
        turn.elsewhere, turn.queued_id = elsewhere, action.get("queuedMessageId")
        turn.drained = origin is None and turn.queued_id is not None
        turn.replaced, self.current = self.current, turn
        self.say(action, origin)
        return turn

    def resume_turn(self, action: Action, origin: Origin | None = None) -> None:
        """Take a `chat/turnResume` of the latest turn: said, and run again on the backend."""
        latest: State = self.state["turns"][-1]
        turn = new_turn(self._world, self, latest["id"], plain(latest["message"]))
        turn.resumed = True
        turn.before = latest.get("duration") or 0
        turn.held_parts = len(latest["responseParts"])
        self.current = turn
        self.say(action, origin)
        failure = None if turn.over else refused(self)
        if failure is not None:
            self.reject(turn, failure)
        elif not turn.over:
            begun(self._world, self, turn)
            self.conversation.run(turn)

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

    def go_on(self) -> None:
        """See `Queue.go_on`."""
        self.queue.go_on()

    def not_started(self, turn: Turn, failure: TurnFailure) -> None:
        """The start of `turn` could not be kept: clients see the turn before it, or none."""
        before, turn.replaced, turn.over = turn.replaced, None, True
        self.current = None if before is None or before.over else before
        not_kept(self._world, self, turn, failure)
        self.queue.not_started()
        if not turn.resumed:
            self.known_turns().discard(turn.turn_id)
        if self.conversation.running is turn:
            self.conversation.halt()

    def stop(self, action: Action, origin: Origin | None = None) -> None:
        """Take a `chat/turnCancelled`: said at once, and the backend told behind it.

        One that names no turn that runs is said and stops nothing. A resumed turn's is said
        with the time of all its runs (AHP.txt, `chat/turnResume`).
        """
        tell, kill = self.commands.stopping()
        turn = self.current
        if turn is None or action["turnId"] != turn.turn_id:
            self.say(action, origin)
            return
        self.current = None
        turn.output.end()
        turn.over = True
        ending(self._world, self, turn)
        if turn.resumed:
            action = {**action, "duration": turn.duration(self._world.clock.seconds())}
        halt = self.conversation.halting()
        # In one go, so that nothing that follows from the stop is said in between.
        self._world.store.behind(lambda: self._say_stopped(action, origin, tell))
        halt()
        kill()
        if turn.elsewhere is not None:
            turn.elsewhere()

    def _say_stopped(self, action: Action, origin: Origin | None, tell: Callable[[], None]) -> None:
        """Say what commands came to, a stop, and that the steering it takes along is out."""
        tell()
        self.say(action, origin)
        steering = self.state.get("steeringMessage")
        if steering is not None:
            self.steering.take_out(steering["id"])
        self._say_unread(action["turnId"])

    def halt(self) -> None:
        """Have all that runs on it be let go of, its backend's and the host's own."""
        self.conversation.halt()
        self.commands.halt()

    def refresh_backend(self) -> None:
        """Have the backend begin again, resumed on what is in force then, at the next turn."""
        self.conversation.refresh()

    def config_moved(self) -> None:
        """Its configuration is another one: told to the backend, or begun again with."""
        self.conversation.configure()

    # -- what the conversation says ---------------------------------------------

    def background(self, tasks: Sequence[BackgroundTask]) -> None:
        """See `IChatHost.background`."""
        if not self.closed:
            self.work.report(tasks)

    @property
    def work(self) -> BackgroundWork:
        """What runs on behind its turns. Made when it is first asked for: few chats have any."""
        if self._work is None:
            self._work = BackgroundWork(self.say, self.state.get("backgroundWork") or ())
        return self._work

    def ended(self, turn: Turn, failure: TurnFailure | None) -> None:
        """See `Conversing.ended`."""
        if failure is None:
            self.complete(turn)
        else:
            self.fail(turn, failure)

    # -- ends -----------------------------------------------------------------

    def complete(self, turn: Turn) -> None:
        """Say that `turn` is complete, unless its end was said."""
        if self._ends(turn):
            duration = turn.duration(self._world.clock.seconds())
            self.say({"type": "chat/turnComplete", "turnId": turn.turn_id, "duration": duration})

    def fail(self, turn: Turn, failure: TurnFailure, unsaved: bool = False) -> None:
        """Say that `turn` failed, unless its end was said; `unsaved` although it is not kept."""
        if not self._ends(turn):
            return
        if turn.resumed and self._not_begun(turn):
            # A resume nobody took up loses nothing: it can be asked for again.
            failure = TurnFailure(failure.error_type, failure.message, resumable=True)
        self.say(
            {
                "type": "chat/error",
                "turnId": turn.turn_id,
                "duration": turn.duration(self._world.clock.seconds()),
                "part": failure.part(),
            },
            unsaved=unsaved,
        )
        self._say_unread(turn.turn_id)
        if not turn.handed and turn.elsewhere is None:
            self.owner.turn_unhanded(failure)

    def reject(self, turn: Turn, failure: TurnFailure) -> None:
        """Say that `turn` failed, refused before anybody was handed it."""
        turn.rejected = True
        self.fail(turn, failure)

    def drop_turn(self, turn: Turn) -> None:
        """`turn` is in nobody's state any more: it is over, and no end of it is said."""
        dropped(self._world, self, turn)
        turn.over, self.current = True, None

    def _not_begun(self, turn: Turn) -> bool:
        """Whether a resumed turn ends as it was resumed, with nothing said in between."""
        active = self.state.get("activeTurn")
        return active is None or len(active["responseParts"]) == turn.held_parts

    def _ends(self, turn: Turn) -> bool:
        """Whether `turn`'s end is still to be said; it is the caller's then."""
        if turn.over:
            return False
        turn.output.end()
        turn.over = True
        ending(self._world, self, turn)
        if self.current is turn:
            self.current = None
        return True

    def interrupt(self) -> None:
        """End the active turn because the host is going."""
        self.commands.say_stopped()
        turn = self.current
        if turn is not None:
            self.fail(turn, interrupted(turn.handed and self.agent.abilities.resume))
        self.halt()

    async def abandon(self, failure: TurnFailure) -> None:
        """Its agent goes: the turn that runs on it ends in `failure`, and its backend closes.

        A command of the host's own runs on. Returns when the backend is down.
        """
        turn = self.current
        if turn is not None and turn.elsewhere is None:
            self.fail(turn, failure)
        await self.conversation.release()

    def unsaved(self, envelope: Envelope | None, failure: StoreFailure) -> None:
        """Something of the chat's could not be kept (`ahpd.channels.store.Unsaved`)."""
        lost(self, envelope, failure)

    # -- the end --------------------------------------------------------------

    def cancel(self) -> None:
        """End the active turn as a stop of the host's own, because the chat is going."""
        turn = self.current
        if turn is not None:
            duration = turn.duration(self._world.clock.seconds())
            self.stop({"type": "chat/turnCancelled", "turnId": turn.turn_id, "duration": duration})
        self.halt()

    async def close(self) -> None:
        """Let go of what runs for good; returns when its backend and its commands are down."""
        self.closed = True
        await self.release()

    async def release(self) -> None:
        """Stop what runs, saying nothing of it, and return when all of it is down."""
        self.commands.halt()
        await self.conversation.release()
        await self.commands.settled()
