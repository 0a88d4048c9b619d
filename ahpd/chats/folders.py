"""The folders a chat works in."""

from typing import Protocol

from ahpd.chats.kept import Kept
from ahpd.chats.owner import ChatOwner
from ahpd.protocol import State


class Working(Protocol):
    """A chat, as its folders are seen."""

    owner: ChatOwner
    kept: Kept

    @property
    def state(self) -> State:
        """The chat's state (schema: ChatState)."""


def folders_of(chat: Working) -> tuple[str, ...]:
    """The folders a chat works in, as URIs, the first of them first: its own, or its session's."""
    own = chat.state.get("workingDirectories", chat.kept.folders)
    return chat.owner.working_directories if own is None else tuple(own)
