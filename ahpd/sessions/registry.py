"""Which sessions and chats there are, under which names, and how each is found and held.

A session is found by any spelling of its URI (AHP.txt, "Session URIs"), a chat by its
own URI or by the one derived from its session ("Chat URIs"). A session that is asleep is
woken by whoever asks for it; one whose conversation only its backend keeps has to be read
first (`ahpd.sessions.channels`).
"""

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

from twisted.internet.defer import succeed
from twisted.logger import Logger

from ahpd.chats.chat import Chat
from ahpd.chats.owner import Surroundings
from ahpd.interfaces import (
    IAgent,
    IConversations,
    SessionRow,
    StoreFailure,
)
from ahpd.journal.book import Journals
from ahpd.protocol import Action, State
from ahpd.protocol.errors import internal_error
from ahpd.protocol.uris import (
    default_chat,
    scheme,
    session_id,
    session_of_default_chat,
)
from ahpd.sessions.catalogue import Catalogue
from ahpd.sessions.conversations import CLOSED, Left, OwnConversations
from ahpd.sessions.entry import Entry
from ahpd.sessions.missing import MissingAgent
from ahpd.sessions.session import Session
from ahpd.sessions.waking import wake
from ahpd.sessions.workers import Workers

log = Logger()

#: Why a session is gone: somebody disposed of it.
DISPOSED: Final = "disposed"


class SessionRegistry:
    """The sessions of a host and their chats. `agents` by provider, the first the default."""

    def __init__(
        self, world: Surroundings, agents: Mapping[str, IAgent], journals: Journals
    ) -> None:
        self.world = world
        self.agents = agents
        self.journals = journals
        self.conversations = OwnConversations(journals.store)
        self.catalogue: Catalogue[Session] = Catalogue(world, journals.save)
        self.open_chats: dict[str, Chat] = {}
        """Every chat whose state is held now, by its URI."""
        self.workers = Workers(world, self._hold_chat)
        #: Why an agent is not offered, in words; None where nothing more is known of it.
        self.absent: Callable[[str], str | None] = lambda provider: None
        #: Told that a session is awake.
        self.woken: Callable[[], None] = lambda: None

    def __len__(self) -> int:
        return len(self.catalogue)

    def agent_of(self, provider: str) -> IAgent:
        """The agent of a session of `provider`; what stands for one that is not offered."""
        return self.agents.get(provider) or MissingAgent(provider, self.absent(provider))

    def row(self, identifier: str) -> SessionRow | None:
        """The row of a session as it is stored."""
        entry = self.catalogue.entry(identifier)
        return None if entry is None or entry.conversation is not None else entry.row()

    # -- finding ----------------------------------------------------------------

    def named(self, uri: str) -> Entry[Session] | None:
        """The place of the session `uri` names; it stays asleep if it is.

        It is named by its own name, by `ahp-session:` or by an agent's scheme.
        """
        entry = self.catalogue.entry(session_id(uri))
        if entry is None or entry.uri == uri:
            return entry
        name = scheme(uri)
        known = name == "ahp-session" or name == scheme(entry.uri) or name in self.agents
        return entry if known else None

    def find(self, uri: str) -> Session | None:
        """The session `uri` names, awake from now on. None too for one to be read first.

        Raises `RpcError` -32603 for one that cannot be read back.
        """
        return self._awake(self.named(uri))

    def held(self, identifier: str) -> Session | None:
        """The session of this id, whatever its URI is spelled like; see `find`."""
        return self._awake(self.catalogue.entry(identifier))

    def find_chat(self, uri: str) -> Chat | None:
        """The chat of this URI, or the default chat it is derived for; see `find`."""
        chat = self.open_chats.get(uri)
        if chat is not None:
            return chat
        stored = self.stored_chat(uri)
        if stored is not None:
            self._awake(stored[1])
            return self.open_chats.get(stored[0])
        named = session_of_default_chat(uri)
        session = None if named is None else self.find(named)
        if session is None or session_of_default_chat(session.default_chat) is None:
            return None
        return self.open_chats.get(session.default_chat)

    def _awake(self, entry: Entry[Session] | None) -> Session | None:
        if entry is None or entry.conversation is not None:
            return None
        entry.touched = self.world.clock.seconds()
        return wake(self, entry) if entry.session is None else entry.session

    def chats(self) -> tuple[Chat, ...]:
        """Every chat whose state is held now."""
        return tuple(self.open_chats.values())

    def awake(self, channel: str) -> Session | None:
        """The session a session's or a chat's channel belongs to, if it is awake."""
        chat = self.open_chats.get(channel)
        if chat is not None:
            return session_of(chat)
        entry = self.named(channel)
        return None if entry is None else entry.session

    def stored_chat(self, uri: str) -> tuple[str, Entry[Session]] | None:
        """The name a chat of a session that is asleep is kept under, and the session's place.

        None for a URI that names no such chat.
        """
        identifier = self._kept_for(uri)
        entry = None if identifier is None else self.catalogue.entry(identifier)
        if entry is not None and entry.session is None:
            return uri, entry
        named = session_of_default_chat(uri)
        entry = None if named is None else self.named(named)
        if entry is None or entry.session is not None:
            return None
        name = default_chat(entry.uri)
        return (name, entry) if self._kept_for(name) == entry.identifier else None

    def _kept_for(self, channel: str) -> str | None:
        """The id of the session a channel is kept for; None too where the store cannot say."""
        try:
            return self.journals.store.session_of(channel)
        except StoreFailure as failure:
            log.error("who has {channel} is unknown: {words}", channel=channel, words=str(failure))
            return None

    def sleeping_chat(self, uri: str) -> str | None:
        """The name of a chat of a session that is asleep; None for any other."""
        if uri in self.open_chats:
            return None
        stored = self.stored_chat(uri)
        return None if stored is None else stored[0]

    # -- holding ------------------------------------------------------------------

    def hold(
        self, session: Session, chats: Iterable[State], facts: Mapping[str, Any] | None = None
    ) -> None:
        """Hold a session nobody is told of so far, and the chats its state lists.

        It is on disk when this returns. Raises `RpcError` -32603, and it is not held.
        `facts` are the first chat's.
        """
        session.workers = self.workers
        self.catalogue.add(session)
        for state in chats:
            self.open_chats[state["resource"]] = session.open_chat(state, facts)
            facts = None
        with saving(session.uri):
            try:
                self.journals.save(session_id(session.uri))
            except StoreFailure:
                self._let_go(session)
                raise
        self.woken()

    def add_chat(
        self, session: Session, state: State, facts: Mapping[str, Any] | None = None
    ) -> Chat:
        """Hold a new chat of a session beside the ones it has, with its facts, and say its row.

        Raises `RpcError` -32603 where it cannot be saved, and there is none then.
        """
        with saving(state["resource"]):
            return self._hold_chat(session, state, facts)

    def _hold_chat(
        self, session: Session, state: State, facts: Mapping[str, Any] | None = None
    ) -> Chat:
        """See `add_chat`; raises `StoreFailure`."""
        chat = self.open_chats[state["resource"]] = session.add_chat(state, facts)
        return chat

    def keep_move(
        self,
        source: Session,
        target: Session,
        moved: Sequence[Chat],
        leaving: Sequence[Action],
        joining: Sequence[Action],
    ) -> None:
        """Have chats be another session's on disk, with what is about to be said of it.

        A target nobody holds so far is held from now on. Raises `RpcError` -32603, nothing
        written; such a target is let go of then.
        """
        identifier = session_id(target.uri)
        fresh = self.catalogue.entry(identifier) is None
        if fresh:
            target.workers = self.workers
            self.catalogue.add(target)
        entry = self.catalogue.entry(identifier)
        assert entry is not None
        announced, entry.announced = entry.announced, True  # to whoever starts after a crash
        with saving(target.uri):
            try:
                self.journals.transfer(
                    [chat.uri for chat in moved],
                    session_id(source.uri),
                    identifier,
                    {source.uri: leaving, target.uri: joining},
                    *self.conversations.moved(moved, identifier),
                )
                entry.announced = announced
            except StoreFailure:
                entry.announced = announced
                if fresh:
                    self._let_go(target)
                raise

    def drop_chat(self, chat: Chat) -> None:
        """Let go of one chat and say it. Its turn's end was said.

        Raises `RpcError` -32603 where the store keeps it all the same; then it stays.
        """
        session, conversation = session_of(chat), chat.kept.conversation
        with saving(chat.uri):
            if conversation is not None:  # its backend lists it still, and it is nobody's session
                self.journals.note(session.uri, {CLOSED: {conversation: chat.provider or True}})
            removed: Action = {"type": "session/chatRemoved", "chat": chat.uri}
            self.journals.drop(chat.uri, session_id(session.uri), {session.uri: [removed]})
        del self.open_chats[chat.uri]
        session.drop_chat(chat)
        if self.world.offers is not None:
            self.world.offers.chat_gone(chat.uri)
        if self.world.left is not None:
            self.world.left.chat_gone(chat.uri)
        self.world.from_plugins.chat_gone(chat.uri)

    def drop(self, session: Session, reason: str = DISPOSED) -> Awaitable[None]:
        """Let go of a session and its chats, and say it. Their turns' ends were said.

        `reason` is what is told of it (`ahpd.chats.owner.Told.session_over`).
        The conversations of its chats are hidden from the listing of what backends keep.
        The answer is there when the programs of its terminals are gone, and never fails.
        Raises `RpcError` -32603 where the store keeps it all the same; then it stays.
        """
        with saving(session.uri):
            left = self.conversations_of(session)
            self.journals.apply(*self.conversations.dropped(session, left))
        self._let_go(session)
        self.tell_over(session.uri, reason)
        terminals = self.world.left
        return succeed(None) if terminals is None else terminals.session_gone(session.uri)

    def tell_over(self, session: str, reason: str = DISPOSED) -> None:
        """A session, held or listed alone, is gone for good."""
        told = self.world.happenings.told
        if told is not None:
            told.session_over(session, reason)

    def conversations_of(self, session: Session) -> Sequence[Left]:
        """What the chats of a session, closed ones too, have on their backends."""
        found: dict[str, list[str]] = {}
        for chat in session.chats.values():
            if chat.kept.conversation is not None:
                named = chat.provider or session.agent.provider
                found.setdefault(named, []).append(chat.kept.conversation)
        closed: Mapping[str, str | bool] = self.journals.facts(session.uri).get(CLOSED) or {}
        for conversation, on in closed.items():
            named = on if isinstance(on, str) else session.agent.provider
            found.setdefault(named, []).append(conversation)
        return [
            (session.agent if named == session.agent.provider else self.agent_of(named), left)
            for named, left in found.items()
        ]

    def note(self, channel: str, facts: Mapping[str, Any]) -> None:
        """See `Surroundings.note`. A conversation that is named is one of ours from now on.

        A chat's facts hold even where they could not be kept (`Kept`): they are owed then.
        """
        chat = self.open_chats.get(channel)
        try:
            if chat is not None:
                self._own(chat, chat.kept.conversation, facts.get("conversation"))
            self.journals.note(channel, facts)
        except StoreFailure:
            if chat is not None:
                self.journals.owe(channel, facts)
            raise

    def _own(self, chat: Chat, *conversations: str | None) -> None:
        """Know a chat's conversations for ours. One the disk had no room for is known later."""
        agent, session = chat.agent, session_id(chat.owner.uri)
        if not IConversations.providedBy(agent):
            return
        for each in conversations:
            if each is not None and not self.conversations.is_of(session, agent.provider, each):
                self.journals.apply(self.conversations.kept(session, agent.provider, each))

    def adopt(
        self, entry: Entry[Session], session: Session, chat: State, facts: Mapping[str, Any]
    ) -> None:
        """Hold a session that was a listed conversation so far, with its one chat.

        It is on disk when this returns. Raises `RpcError` -32603, and it is as it was.
        """
        conversation, entry.conversation = entry.conversation, None
        session.workers, session.ready = self.workers, True
        self.catalogue.wake(entry, session)
        self.open_chats[chat["resource"]] = session.open_chat(chat, facts)
        with saving(session.uri):
            try:
                self.journals.save(entry.identifier)
                if conversation is not None:
                    provider = session.agent.provider
                    self.journals.apply(
                        self.conversations.kept(entry.identifier, provider, conversation)
                    )
            except StoreFailure:
                entry.session, entry.conversation = None, conversation
                del self.open_chats[chat["resource"]]
                for channel in (chat["resource"], session.uri):
                    self.world.store.release(channel)
                raise
        self.woken()

    def _let_go(self, session: Session) -> None:
        for chat in session.chats.values():
            del self.open_chats[chat.uri]
            self.world.store.close(chat.uri)
            self.world.from_plugins.chat_gone(chat.uri)
        session.close()
        entry = self.catalogue.entry(session_id(session.uri))
        if entry is not None:
            self.catalogue.remove(entry)


@contextmanager
def saving(what: str) -> Iterator[None]:
    """A `StoreFailure` inside is an `RpcError` -32603 in its words, and logged."""
    try:
        yield
    except StoreFailure as failure:
        log.error("{what} could not be saved: {words}", what=what, words=str(failure))
        raise internal_error(f"{what} could not be saved: {failure}") from None


def session_of(chat: Chat) -> Session:
    """The session a chat is in now."""
    return cast("Session", chat.owner)


def is_default(chat: Chat) -> bool:
    """Whether the chat has its session's default role."""
    return session_of(chat).default_chat == chat.uri
