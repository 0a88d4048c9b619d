"""Which turns may run on a chat, and what one ends in that the host went away under."""

from typing import Final, Protocol

from ahpd.chats.owner import ChatOwner, TurnFailure
from ahpd.protocol import State
from ahpd.protocol.status import IS_ARCHIVED

_READ_ONLY: Final = TurnFailure("chatReadOnly", "The chat is read-only and takes no turn.")


class Admitting(Protocol):
    """The chat a turn is to run on."""

    owner: ChatOwner

    @property
    def state(self) -> State:
        """The chat's state (schema: ChatState)."""

    @property
    def read_only(self) -> bool:
        """Whether people watch it and send it nothing."""


def refused(chat: Admitting) -> TurnFailure | None:
    """Why a turn may not run on the chat's backend now; None when it may."""
    if chat.read_only:
        return _READ_ONLY
    return chat.owner.turn_refused(bool(chat.state["status"] & IS_ARCHIVED))


def interrupted(resumable: bool) -> TurnFailure:
    """The end of a turn the host, or its agent, went away under."""
    words = "The agent was interrupted before this request finished."
    return TurnFailure("executionInterrupted", words, resumable)
