"""Steering: messages on their way into a turn that runs (CHATS.txt, Turns).

A chat's state holds one steering message. From here it is offered to the backend: at
the start of the turn clients see, when it is set, and at each of that turn's actions
until the backend takes it. What the backend holds then it reads (`taken`), hands back
unsent (`returned`) or lets go of (`withdrawn`); what it does not hold is a message that
waits, and runs or steers as the chat decides.
"""

from typing import Final, Protocol, cast

from twisted.logger import Logger

from ahpd.calling import called
from ahpd.chats.turn import Turn
from ahpd.interfaces import IAgentChat, ISteeredChat
from ahpd.protocol import Action, State
from ahpd.protocol.text import plain

log = Logger()

#: A client is told this of a message the backend holds and keeps as it is.
BEING_PROCESSED: Final = "Cannot change a steering message while it is being processed."


class Steered(Protocol):
    """The chat whose turns are steered."""

    uri: str
    current: Turn | None

    @property
    def state(self) -> State:
        """The chat's state (schema: ChatState)."""

    @property
    def backend(self) -> IAgentChat | None:
        """The conversation that is open."""

    @property
    def can_steer(self) -> bool:
        """Whether the agent's chats provide `ISteeredChat`."""

    def say(self, action: Action) -> None:
        """Say an action of the host's own."""

    def go_on(self) -> None:
        """Start what waits, where the chat's latest turn lets it."""


class Steering:
    """The steering messages of one chat that its backend holds or has read."""

    __slots__ = ("_chat", "_held", "_read", "waiting")

    def __init__(self, chat: Steered) -> None:
        self._chat = chat
        self._held: dict[str, State] | None = None
        self._read: dict[str, State] | None = None
        self.waiting = False
        """Whether the running turn's next action is to offer a message again."""

    @property
    def holding(self) -> bool:
        """Whether the backend holds a message it was handed and has not run."""
        return bool(self._held)

    def has_read(self, message_id: str) -> bool:
        """Whether the latest turn has read the message of this id."""
        return self._read is not None and message_id in self._read

    def message(self, message_id: str) -> State | None:
        """The message of this id that the backend holds, or that the latest turn has read."""
        held = (self._held or {}).get(message_id)
        return (self._read or {}).get(message_id) if held is None else held

    # -- into the turn --------------------------------------------------------------

    def began(self) -> None:
        """A turn's start was applied: what turns before it have read is theirs."""
        self._read = None

    def offer(self) -> None:
        """Offer what waits to the turn that runs, if the backend has that turn."""
        self.waiting = False
        chat = self._chat
        turn, pending = chat.current, chat.state.get("steeringMessage")
        if turn is None or pending is None or turn.over or not chat.can_steer:
            return
        if pending["id"] in (self._held or ()):
            return
        if not (turn.said and turn.handed and chat.backend is not None):
            return  # offered once it is handed
        message_id, message = pending["id"], plain(pending["message"])
        held = self._held = self._held or {}
        held[message_id] = message
        try:
            took = called(cast("ISteeredChat", chat.backend).steer, message_id, message)
        except Exception:
            log.failure("the agent of {chat} failed over a steering message", chat=chat.uri)
            took = False
        if not took:
            held.pop(message_id, None)
            self.waiting = not turn.over

    # -- what the backend says of it ------------------------------------------------

    def taken(self, message_id: str) -> None:
        """The model has read it: it is pending no longer. One it does not hold is no error."""
        message = (self._held or {}).pop(message_id, None)
        if message is None:
            return
        self._read = self._read or {}
        self._read[message_id] = message
        self.take_out(message_id)
        self._chat.go_on()

    def returned(self, message_id: str) -> None:
        """It goes back unsent: it steers the turn that runs next, or runs as one of its own."""
        chat = self._chat
        message = (self._held or {}).pop(message_id, None)
        if message is None:
            return
        pending = chat.state.get("steeringMessage")
        if pending is None or pending["id"] != message_id:
            _queue_first(chat, message_id, message)  # another one has its place by now
        self.waiting = chat.current is not None
        chat.go_on()

    def forget(self) -> None:
        """The backend let go of its turn or is gone: it holds nothing any more."""
        self._held = None
        self.waiting = False

    # -- what clients do to it ------------------------------------------------------

    def refused(self, message_id: str, message: State) -> str | None:
        """Why a client may not set this one, in words: None where it may."""
        held = (self._held or {}).get(message_id)
        if held is not None:
            return None if held == message else BEING_PROCESSED
        read = (self._read or {}).get(message_id)
        if read is None or read == message or self._chat.current is None:
            return None
        return BEING_PROCESSED

    def was_set(self, message_id: str, message: State) -> None:
        """A steering message was set: one the turn has read goes out again, any other in."""
        read = (self._read or {}).pop(message_id, None)
        if read == message:
            self._read = {**(self._read or {}), message_id: message}
            self.take_out(message_id)
        elif self._chat.current is not None:
            self.offer()

    def withdrawn(self, message_id: str) -> bool:
        """Take it back from the backend; False where that keeps it for the turn that runs."""
        chat = self._chat
        if message_id not in (self._held or ()):
            return True
        backend = chat.backend
        try:
            gave = backend is None or called(cast("ISteeredChat", backend).withdraw, message_id)
        except Exception:
            log.failure("the agent of {chat} failed over a steering message", chat=chat.uri)
            gave = False
        if not gave and chat.current is not None:
            return False
        (self._held or {}).pop(message_id, None)
        return True

    def take_out(self, message_id: str) -> None:
        """Say that the message waits no longer, where clients see it waiting."""
        pending = self._chat.state.get("steeringMessage")
        if pending is not None and pending["id"] == message_id:
            self._chat.say(
                {"type": "chat/pendingMessageRemoved", "kind": "steering", "id": message_id}
            )


def _queue_first(chat: Steered, message_id: str, message: State) -> None:
    """Put a message at the head of the queue, the steering message's place being taken."""
    entry: Action = {"id": message_id, "message": message}
    chat.say({"type": "chat/pendingMessageSet", "kind": "queued", **entry})
    chat.say({"type": "chat/queuedMessagesReordered", "order": [message_id]})
