"""How a session's read bit and its chats' move each other (AHP.txt, `chat/isReadChanged` and
`session/isReadChanged`).

A session's state is made of its chats but for a tool's and a hidden one.
"""

from typing import Protocol

from ahpd.chats.chat import Chat
from ahpd.protocol import Action, State
from ahpd.protocol.status import IS_READ


class Read(Protocol):
    """A session, as its read state is seen."""

    @property
    def state(self) -> State:
        """The session's state (schema: SessionState)."""

    def counted_chats(self) -> list[Chat]:
        """The chats its read state is made of."""

    def say(self, action: Action) -> None:
        """Say an action of the host's own on the session's channel."""


def counts(chat: State) -> bool:
    """Whether a chat (its state or its row) is one its session's read state is made of."""
    origin: State = chat.get("origin") or {}
    return origin.get("kind") != "tool" and chat.get("interactivity") != "hidden"


def _is_read(state: State) -> bool:
    return bool(state["status"] & IS_READ)


def any_unread(session: Read) -> bool:
    """Whether the session has peers and one of them is unread."""
    counted = session.counted_chats()
    return len(counted) > 1 and not all(_is_read(chat.state) for chat in counted)


def couple_only_chat(session: Read, is_read: bool) -> None:
    """The session was marked: a chat that is alone in it goes with it."""
    counted = session.counted_chats()
    if len(counted) == 1 and _is_read(counted[0].state) != is_read:
        counted[0].say({"type": "chat/isReadChanged", "isRead": is_read})


def couple_session(session: Read, chat: Chat, was_read: bool) -> None:
    """A chat of the session's read state was marked: the session's bit goes after it."""
    counted = session.counted_chats()
    if chat not in counted:
        return
    session_read = _is_read(session.state)
    if not _is_read(chat.state):
        if session_read:
            session.say({"type": "session/isReadChanged", "isRead": False})
        return
    if session_read or (was_read and len(counted) > 1):
        return
    if all(_is_read(other.state) for other in counted):
        session.say({"type": "session/isReadChanged", "isRead": True})
