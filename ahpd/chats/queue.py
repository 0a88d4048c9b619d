"""What waits behind a chat's turn, and when it may go (CHATS.txt, Turns).

A turn that completes starts the next; a stopped and a failed one start nothing, and what
waits stays until a client touches it while nothing runs, or a turn a client starts
completes. Behind a failure that can be resumed nothing starts, nor while the backend holds
a steering message.
"""

from collections.abc import Sequence
from typing import Final, Protocol

from ahpd.channels.envelope import Envelope
from ahpd.chats.owner import ChatOwner
from ahpd.chats.steering import Steering
from ahpd.chats.turn import Turn
from ahpd.protocol import Action, State
from ahpd.protocol.text import plain

#: What a client does to the queue; done while nothing runs, it starts the head.
QUEUE_CHANGES: Final = frozenset(
    {"chat/pendingMessageSet", "chat/pendingMessageRemoved", "chat/queuedMessagesReordered"}
)


class Queued(Protocol):
    """The chat messages wait in."""

    closed: bool
    current: Turn | None
    owner: ChatOwner
    steering: Steering

    @property
    def state(self) -> State:
        """The chat's state (schema: ChatState)."""

    def start_message(self, message: State, queued_id: str | None = None) -> None:
        """Start a turn of the host's own with what waited under `queued_id`."""


class Queue:
    """Starts what waits in one chat, one at a time."""

    __slots__ = ("_chat", "_taken", "_wanted")

    def __init__(self, chat: Queued) -> None:
        self._chat = chat
        self._taken: str | None = None
        self._wanted = False

    def moved(self, envelope: Envelope) -> None:
        """One of `QUEUE_CHANGES` was applied."""
        action = envelope.action
        if envelope.type == "chat/pendingMessageSet" and action["kind"] == "steering":
            self._chat.steering.was_set(action["id"], action["message"])
        if envelope.origin is not None:
            self.drain()

    def go_on(self) -> None:
        """The backend holds less: start the next where the latest turn is complete.

        Where it is not, what a client did in the meantime starts it all the same.
        """
        turns: Sequence[State] = self._chat.state["turns"]
        if self._wanted or not turns or turns[-1].get("state") == "complete":
            self.drain()

    def drain(self) -> None:
        """Start the next, if nothing runs and something may."""
        chat = self._chat
        if chat.current is not None or chat.closed:
            return
        if chat.owner.closing or chat.owner.paused:
            return
        self._wanted = chat.steering.holding
        if self._wanted:
            return
        pending = next_pending(chat.state)
        # What was taken is in the state until its start is applied.
        if pending is None or pending["id"] == self._taken:
            return
        steering = chat.state.get("steeringMessage")
        if steering is not None and chat.steering.has_read(steering["id"]):
            return  # so is what the turn before has read, until its removal is
        self._taken = pending["id"]
        chat.start_message(plain(pending["message"]), pending["id"])

    def started(self, action: Action) -> None:
        """A turn's start was applied: what it was made of waits no longer."""
        identifier = action.get("queuedMessageId")
        if identifier is None:
            return
        self._chat.steering.withdrawn(identifier)
        if identifier == self._taken:
            self._taken = None

    def not_started(self) -> None:
        """The start was not said after all: what it was made of waits still."""
        self._taken = None


def next_pending(state: State) -> State | None:
    """The message that runs next (schema: PendingMessage): steering first, then the queue's head.

    None while nothing waits, and while the chat's latest turn ended in an error a
    client can resume.
    """
    if _resumable(state):
        return None
    steering: State | None = state.get("steeringMessage")
    if steering is not None:
        return steering
    queued: list[State] = state.get("queuedMessages") or []
    return queued[0] if queued else None


def _resumable(state: State) -> bool:
    turns: list[State] = state["turns"]
    if not turns or turns[-1].get("state") != "error":
        return False
    return resumable_error(turns[-1])


def resumable_error(turn: State) -> bool:
    """Whether a turn (schema: Turn) ends in an error that can be resumed."""
    parts: list[State] = turn["responseParts"]
    if not parts or parts[-1].get("kind") != "error":
        return False
    return parts[-1].get("resumable") is True
