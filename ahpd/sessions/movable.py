"""Which chats may be moved: the host's own answer, and no promise that a move succeeds.

Sources: AHP.txt, `chat/movableChanged` and `moveChat`; schema: ChatState.movable.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from ahpd.channels.store import ChannelStore
from ahpd.chats.chat import Chat
from ahpd.interfaces import IAgent
from ahpd.protocol import State
from ahpd.protocol.status import IS_ARCHIVED
from ahpd.protocol.uris import ROOT

#: The key of the root configuration that lets chats be moved at all.
MOVES_KEY: Final = "chatMoves.enabled"

#: What moves the answer for all chats of the session it is said on.
DECIDES_MOVABLE: Final = frozenset(
    {
        "session/isArchivedChanged",
        "session/workingDirectorySet",
        "session/workingDirectoryRemoved",
        "session/workingDirectoryReplaced",
    }
)


class Owning(Protocol):
    """A session, as what may be moved of it is seen."""

    @property
    def agent(self) -> IAgent:
        """The agent its chats run on."""

    @property
    def state(self) -> State:
        """The session's state (schema: SessionState)."""

    @property
    def chats(self) -> Mapping[str, Chat]:
        """Its chats by their URIs."""


class MovableChats:
    """What the chats of one session last said of whether they may be moved."""

    __slots__ = ("_said", "_store", "changing")

    def __init__(self, store: ChannelStore) -> None:
        self._store = store
        self._said: set[str] = set()
        self.changing = 0
        """How many changes of the session's folders wait for a person."""

    def opened(self, chat: State) -> None:
        """A chat of this state is here from now on."""
        if chat.get("movable"):
            self._said.add(chat["resource"])

    def sync(self, session: Owning, chat: Chat) -> None:
        """Say whether a chat may be moved, where that differs from what was said last."""
        self._sync(session, chat, moves_enabled(self._store))

    def _sync(self, session: Owning, chat: Chat, enabled: bool) -> None:
        answer = (
            enabled and not self.changing and is_movable(session.agent, session.state, chat.state)
        )
        if answer != (chat.uri in self._said):
            (self._said.add if answer else self._said.discard)(chat.uri)
            chat.say({"type": "chat/movableChanged", "movable": answer})

    def sync_all(self, session: Owning) -> None:
        """See `sync`; for every chat the session has now, and no other is remembered."""
        if self._said:
            self._said.intersection_update(session.chats)
        enabled = moves_enabled(self._store)
        if enabled or self._said:
            for chat in session.chats.values():
                self._sync(session, chat, enabled)


def moves_enabled(store: ChannelStore) -> bool:
    """Whether a window turned the moving of chats on."""
    root = store.find(ROOT)
    config: State = {} if root is None else root.get("config") or {}
    return config.get("values", {}).get(MOVES_KEY) is True


def rooted(agent: IAgent, chat: State, default_chat: str) -> str | None:
    """Why no move is ever made of this chat, in words; None where one can be.

    `chat` is its state (schema: ChatState), `default_chat` its session's.
    """
    if chat["resource"] == default_chat:
        return "it is its session's default chat"
    if chat.get("provider") not in (None, agent.provider):
        return "it is of another agent than its session"
    if is_worker(chat):
        return "it goes where the chat it works for goes"
    if chat.get("interactivity", "full") != "full":
        return "it is no chat of a person's"
    if not agent.abilities.reopens:
        return f"agent {agent.provider!r} cannot take its conversation up again"
    return None


def is_movable(agent: IAgent, session: State, chat: State) -> bool:
    """Whether a chat may be the source of a move, moves being enabled.

    `session` (schema: SessionState) is the one it is in.
    """
    return (
        bool(chat["turns"])
        and "activeTurn" not in chat
        and rooted(agent, chat, session.get("defaultChat", "")) is None
        and bool(folders_of(session, chat))
        and not session["status"] & IS_ARCHIVED
    )


def folders_of(session: State, chat: State) -> list[str]:
    """The folders a chat works in: its own, or all of its session's."""
    own: list[str] | None = chat.get("workingDirectories")
    return list(session.get("workingDirectories", ())) if own is None else list(own)


def is_worker(chat: State) -> bool:
    """Whether a tool call spawned the chat (its state or its row)."""
    origin: State = chat.get("origin") or {}
    return origin.get("kind") == "tool"
