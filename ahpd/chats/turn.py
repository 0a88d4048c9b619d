"""A turn as the host runs it."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import attrs

from ahpd.chats.judged import Judged, Questioned
from ahpd.chats.output import TurnOutput
from ahpd.chats.owner import Surroundings
from ahpd.interfaces import IWorkerOutput, TurnRequest
from ahpd.protocol import Action, State

STARTS: Final = frozenset({"chat/turnStarted", "chat/turnResume"})
ENDS: Final = frozenset({"chat/turnComplete", "chat/turnCancelled", "chat/error"})


@attrs.define(eq=False, repr=False)
class Turn:
    """One turn between its start and the backend letting go of it."""

    request: TurnRequest
    output: TurnOutput
    began: float
    """When its start was said, in the clock's seconds."""
    resumed: bool = False
    """Whether it is run again after a failure (`chat/turnResume`)."""
    before: int = 0
    """Milliseconds it took in the runs before this one."""
    held_parts: int = 0
    """How many parts it had when it was resumed."""
    elsewhere: Callable[[], None] | None = None
    """Of a turn this chat's own backend does not run: tells whoever does of a stop."""
    replaced: "Turn | None" = None
    """The turn clients saw before it, until its own start was applied."""
    said: bool = False
    """Whether its start was applied: one said from inside a delivery waits for its turn."""
    handed: bool = False
    """Whether the backend was handed it."""
    over: bool = False
    """Whether its end was said, or will not be."""
    halted: bool = False
    """Whether the backend was told to let go."""
    queued_id: str | None = None
    """The id its message waited under, where it waited."""
    drained: bool = False
    """Whether the host took it out of the queue itself."""
    rejected: bool = False
    """Whether the host refused it, its start being said, before anybody was handed it."""
    command: bool = False
    """Whether it is a command of the host's own."""
    lost: bool = False
    """Whether its start could not be kept, and so was not said."""

    @property
    def turn_id(self) -> str:
        """The turn's id."""
        return self.request.turn_id

    def duration(self, now: float) -> int:
        """Milliseconds it took in all its runs, at `now` in the clock's seconds."""
        return self.before + max(0, round((now - self.began) * 1000))


def ids_of(state: State, current: Turn | None) -> set[str]:
    """The ids of a chat's turns: those its state holds, and those whose start waits to be said.

    `current` is the turn that clients see, or will.
    """
    ids = {turn["id"] for turn in state["turns"]}
    active: State | None = state.get("activeTurn")
    if active is not None:
        ids.add(active["id"])
    while current is not None and not current.said:
        ids.add(current.turn_id)
        current = current.replaced
    return ids


def new_turn(world: Surroundings, chat: Questioned, turn_id: str, message: State) -> Turn:
    """A turn that begins now, with `message` (schema: Message) as it was sent."""

    def open_worker(turn: str, call: str, prompt: Mapping[str, Any], title: str) -> IWorkerOutput:
        return chat.owner.open_worker(chat.uri, turn, call, prompt, title)

    def linked(action: Action) -> Action:
        return chat.owner.linked(chat.uri, action)

    output = TurnOutput(
        world.store,
        world.clock,
        chat.owner.uri,
        chat.uri,
        turn_id,
        world.delta_window,
        open_worker,
        linked,
        Judged(world, chat).verdict,
    )
    request = TurnRequest(
        turn_id=turn_id,
        message=message,
        model=message.get("model"),
        attachments=tuple(message.get("attachments") or ()),
    )
    return Turn(request, output, world.clock.seconds())
