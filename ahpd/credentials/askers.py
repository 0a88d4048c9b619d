"""Who asked for what runs in a chat: the client whose tokens are spent on it (no I/O).

A turn is its sender's, also one whose message waited: whoever wrote it pays, whatever anybody
said in the meantime. A chat nobody sent anything to is its session's maker's.
"""

from collections.abc import Callable, Mapping
from typing import Final

import attrs

from ahpd.protocol import Action

#: How many messages of one chat are known by who wrote them; the oldest gives way.
MOST_WAITING: Final = 1000


@attrs.define(eq=False, repr=False)
class _Chat:
    session: str
    sender: str | None = None
    waiting: dict[str, str] = attrs.field(factory=dict)
    """Who wrote what waits, by the id it waits under."""


class Askers:
    """The clients that asked for something, by session and chat (their URIs)."""

    def __init__(self) -> None:
        self._makers: dict[str, str] = {}
        self._chats: dict[str, _Chat] = {}

    def __len__(self) -> int:
        return len(self._makers) + len(self._chats)

    def made(self, session: str, client: str) -> None:
        """`client` made a session."""
        self._makers[session] = client

    def said(self, session: str, chat: str, action: Action, client: str | None) -> None:
        """`action` was applied in a chat of a session; `client` sent it, the host for None."""
        handler = _HANDLERS.get(action["type"])
        if handler is None or (client is None and chat not in self._chats):
            return
        held = self._chats.setdefault(chat, _Chat(session))
        held.session = session
        handler(held, action, client)

    def chat_gone(self, chat: str) -> None:
        """A chat is gone."""
        self._chats.pop(chat, None)

    def session_gone(self, session: str) -> None:
        """A session is gone, and its chats are."""
        self._makers.pop(session, None)
        for chat in [chat for chat, held in self._chats.items() if held.session == session]:
            del self._chats[chat]

    def clear(self) -> None:
        """Forget everybody."""
        self._makers.clear()
        self._chats.clear()

    def of(self, session: str, chat: str, starting: str | None = None) -> list[str]:
        """Whose tokens a chat of a session spends, the first that has one.

        `starting` is the id a message waited under whose turn begins just now.
        """
        held = self._chats.get(chat)
        found = [self._makers.get(session)]
        if held is not None:
            found.insert(0, held.sender if starting is None else held.waiting.get(starting))
        return [client for client in dict.fromkeys(found) if client is not None]


def _started(held: _Chat, action: Action, client: str | None) -> None:
    queued = action.get("queuedMessageId")
    writer = None if queued is None else held.waiting.pop(queued, None)
    if client is not None or writer is not None:
        held.sender = client or writer


def _resumed(held: _Chat, action: Action, client: str | None) -> None:
    if client is not None:
        held.sender = client


def _waits(held: _Chat, action: Action, client: str | None) -> None:
    if client is None:
        return  # a message the host gives back is still its writer's
    held.waiting.pop(action["id"], None)
    held.waiting[action["id"]] = client
    if len(held.waiting) > MOST_WAITING:
        del held.waiting[next(iter(held.waiting))]


def _removed(held: _Chat, action: Action, client: str | None) -> None:
    if client is not None:  # the host takes one out to put it somewhere else
        held.waiting.pop(action["id"], None)


_HANDLERS: Final[Mapping[str, Callable[[_Chat, Action, str | None], None]]] = {
    "chat/turnStarted": _started,
    "chat/turnResume": _resumed,
    "chat/pendingMessageSet": _waits,
    "chat/pendingMessageRemoved": _removed,
}
