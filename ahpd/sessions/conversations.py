"""Which of the conversations that backends keep are this host's own, or hidden for good.

A backend lists all it has. What a chat of this host is held on is no session of its own,
asleep or not, and neither is what a chat or a session that is gone left behind
(CHATS.txt, "The first chat, and the rest"). The store knows each by a channel of the
conversation's name, under the session it is of; those of no session any more are under one
that is never shown, whose id is empty.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from ahpd.chats.chat import Chat
from ahpd.interfaces import (
    DropChannel,
    DropSession,
    IAgent,
    IConversations,
    ISessionStore,
    PutChannel,
    PutSession,
    SessionRow,
    Write,
)
from ahpd.protocol.uris import session_id
from ahpd.sessions.missing import MissingAgent
from ahpd.sessions.session import Session

#: Conversations of a session that goes, and the agent they are on.
Left = tuple[IAgent, Sequence[str]]

#: The kind of a channel that stands for a conversation.
KIND: Final = "conversation"
#: The id no session's URI can have: what is under it is shown to nobody.
HIDDEN: Final = ""
#: The fact of a session that names the conversations its closed chats left behind: by each
#: the provider it is on, true for the session's own.
CLOSED: Final = "closed"

_HIDDEN_ROW: Final = SessionRow(
    id=HIDDEN,
    uri="",
    provider="",
    created_at="",
    modified_at="",
    ordinal=0,
    announced=False,
    summary=b"{}",
)


class OwnConversations:
    """What the store knows of conversations; what changes is answered as writes to be made."""

    def __init__(self, store: ISessionStore) -> None:
        self._store = store

    def is_own(self, provider: str, conversation: str) -> bool:
        """Whether a conversation is one of this host's, or hidden."""
        return self._store.session_of(_name(provider, conversation)) is not None

    def is_of(self, session: str, provider: str, conversation: str) -> bool:
        """Whether a conversation is known to be a chat's of the session of that id."""
        return self._store.session_of(_name(provider, conversation)) == session

    def kept(self, session: str, provider: str, conversation: str) -> Write:
        """A chat of the session of that id is held on a conversation."""
        return PutChannel(
            session=session, channel=_name(provider, conversation), kind=KIND, head=b"{}"
        )

    def moved(self, chats: Iterable[Chat], session: str) -> Iterator[Write]:
        """Chats go to the session of that id, their conversations with them."""
        for chat in chats:
            agent = chat.agent
            if chat.kept.conversation is not None and IConversations.providedBy(agent):
                yield self.kept(session, agent.provider, chat.kept.conversation)

    def dropped(self, session: Session, left: Iterable[Left]) -> Iterator[Write]:
        """A session goes; the conversations it had are hidden, where their backends list them.

        One that is not there now may list them when it is there again.
        """
        for agent, conversations in left:
            if IConversations.providedBy(agent) or isinstance(agent, MissingAgent):
                yield from self.hidden(agent.provider, conversations)
        yield DropSession(id=session_id(session.uri))

    def hidden(self, provider: str, conversations: Iterable[str]) -> Iterator[Write]:
        """Conversations of no session here are to be shown to nobody."""
        for place, conversation in enumerate(conversations):
            if place == 0:
                yield PutSession(row=_HIDDEN_ROW)
            yield self.kept(HIDDEN, provider, conversation)

    def deleted(self, provider: str, conversation: str) -> Write:
        """A backend keeps a conversation no more."""
        return DropChannel(channel=_name(provider, conversation))


def _name(provider: str, conversation: str) -> str:
    return f"{KIND}:{provider}/{conversation}"
