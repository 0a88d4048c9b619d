"""Conversations that backends keep on this machine and that this host made no session of.

Each is listed as a session (AHP.txt, "Session URIs"); its turns are read when somebody
asks for them, and it is a session of this host's from then on. Backends are asked at the
start and behind every listing, which answers what is known by then.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final, cast
from urllib.parse import quote

from twisted.internet.defer import Deferred, DeferredList, DeferredSemaphore
from twisted.logger import Logger

from ahpd.calling import asked
from ahpd.chats.owner import Surroundings
from ahpd.chats.rows import summary_of as chat_row
from ahpd.chats.tasks import finished
from ahpd.interfaces import (
    AgentFailure,
    ConversationKept,
    IAgent,
    IConversations,
    ListedConversation,
    ReadConversation,
    StoreFailure,
)
from ahpd.protocol import State
from ahpd.protocol.errors import internal_error
from ahpd.protocol.status import IDLE, IS_READ
from ahpd.protocol.text import plain
from ahpd.protocol.uris import default_chat
from ahpd.sessions.config import chosen
from ahpd.sessions.creation import new_session_state
from ahpd.sessions.entry import Entry
from ahpd.sessions.registry import SessionRegistry, saving
from ahpd.sessions.session import Session

log = Logger()

#: The least time between two questions to one backend, in seconds.
APART: Final = 1.0
#: How many backends are asked at a time: each may start a program for it.
AT_ONCE: Final = 4
#: How long one may take to answer, in seconds, before the next one is asked in its place.
MOST_PATIENCE: Final = 60.0
#: How long somebody who names a session nobody here knows waits for the backends, in seconds.
LONGEST_LISTING: Final = 5.0


class BackendListings:
    """What the agents of a host that keep conversations list, merged into its catalogue.

    `tools_of` answers the host's tools that a session of a URI and a state lists.
    """

    def __init__(
        self,
        world: Surroundings,
        registry: SessionRegistry,
        tools_of: Callable[[str, State], list[State]] = lambda uri, state: [],
    ) -> None:
        self._tools_of = tools_of
        self._world = world
        self._registry = registry
        self._asked: dict[str, float] = {}
        self._asking: dict[str, Deferred[None]] = {}
        self._failed: set[str] = set()
        self._keeping: set[str] = set()
        self._reading: dict[str, list[Deferred[None]]] = {}
        self._turns = DeferredSemaphore(AT_ONCE)

    # -- listing --------------------------------------------------------------------

    def refresh(self) -> "list[Deferred[None]]":
        """Ask every backend what it keeps, unless it was asked just now. Waits for none.

        Answered is what fires when the answers are here that are not here so far.
        """
        now = self._world.clock.seconds()
        awaited = list(self._asking.values())
        for provider, agent in self._registry.agents.items():
            if not IConversations.providedBy(agent):
                continue
            asked = self._asked.get(provider)
            if provider in self._asking or (asked is not None and now - asked < APART):
                continue
            answered: Deferred[None] = Deferred()
            self._asking[provider] = answered
            awaited.append(answered)
            self._world.tasks.spawn(
                f"listing the conversations of {provider}",
                self._ask(provider, agent, answered),
            )
        return awaited

    def gone(self, provider: str) -> None:
        """An agent is not offered any more: what it alone keeps is listed no longer."""
        if provider not in self._registry.agents:
            self._asked.pop(provider, None)
            self._merge(provider, ())

    def _keeper(self, provider: str) -> IAgent | None:
        """The agent of this provider where it keeps conversations; None where there is none."""
        agent = self._registry.agents.get(provider)
        return agent if IConversations.providedBy(agent) else None

    def latest(self) -> "Deferred[None] | None":
        """Fires when what every backend keeps is known as it is now; None where it is.

        A backend that takes longer than `LONGEST_LISTING` is not waited for any more.
        """
        awaited = self.refresh()
        if not awaited:
            return None
        answers = [finished(answered) for answered in awaited]
        done: Deferred[Any] = DeferredList(answers, consumeErrors=True)
        done.addTimeout(LONGEST_LISTING, self._world.clock, lambda result, seconds: None)
        return done.addCallback(lambda _: None)

    async def _ask(self, provider: str, agent: IAgent, answered: "Deferred[None]") -> None:
        await self._turns.acquire()
        try:
            if self._registry.catalogue.closing or self._keeper(provider) is not agent:
                return
            listing = Deferred.fromCoroutine(
                asked(cast("IConversations", agent).list_conversations)
            )
            listing.addTimeout(MOST_PATIENCE, self._world.clock, _too_long)
            listed = await listing
        except Exception as failed:
            if provider not in self._failed:
                self._failed.add(provider)
                log.error(
                    "agent {provider} does not list its conversations: {error}",
                    provider=provider,
                    error=str(failed) if isinstance(failed, AgentFailure) else repr(failed),
                )
        else:
            self._failed.discard(provider)
            here = self._keeper(provider) is not None  # it may have gone meanwhile
            if here and not self._registry.catalogue.closing:
                self._merge(provider, listed)
        finally:
            self._turns.release()
            self._asking.pop(provider, None)
            self._asked[provider] = self._world.clock.seconds()
            answered.callback(None)

    def _merge(self, provider: str, listed: Sequence[ListedConversation]) -> None:
        catalogue, own = self._registry.catalogue, self._registry.conversations
        found = {each.id: each for each in listed if each.id}
        for entry in catalogue.entries():
            gone = entry.conversation is not None and entry.conversation not in found
            if gone and entry.provider == provider:
                catalogue.remove(entry)
        for identifier, conversation in found.items():
            held = catalogue.entry(identifier)
            if held is not None:
                if held.conversation == identifier and held.provider == provider:
                    catalogue.surfaced_moved(held, self._row(provider, conversation))
                continue
            if not own.is_own(provider, identifier):
                row = self._row(provider, conversation)
                catalogue.add_surfaced(identifier, row["resource"], row, provider, identifier)

    def _row(self, provider: str, conversation: ListedConversation) -> State:
        row = _row(provider, conversation)
        self._world.from_plugins.seed(row["resource"], row)
        return row

    # -- reading --------------------------------------------------------------------

    async def surface(self, entry: Entry[Session]) -> None:
        """Read the conversation of `entry` and hold it as a session.

        Raises `RpcError` -32603 where its backend cannot say it.
        """
        waiting = self._reading.get(entry.identifier)
        if waiting is not None:
            done: Deferred[None] = Deferred()
            waiting.append(done)
            await done
            return
        self._reading[entry.identifier] = []
        try:
            await self._read(entry)
        finally:
            for done in self._reading.pop(entry.identifier):
                done.callback(None)

    async def _read(self, entry: Entry[Session]) -> None:
        conversation = entry.conversation
        agent = self._keeper(entry.provider)
        if conversation is None or agent is None:
            return
        try:
            read = await asked(cast("IConversations", agent).read_conversation, conversation)
        except AgentFailure as failed:
            raise internal_error(f"{entry.uri} cannot be read: {failed.message}") from None
        except Exception as failed:
            log.error(
                "{uri} cannot be read: {kind}: {error}",
                uri=entry.uri,
                kind=type(failed).__name__,
                error=str(failed),
            )
            raise internal_error(f"{entry.uri} cannot be read; the host's log says why") from None
        # It may have gone, or become a session another way, while it was read.
        if self._registry.catalogue.entry(entry.identifier) is entry and entry.conversation:
            self._hold(entry, agent, conversation, read)

    def _hold(
        self, entry: Entry[Session], agent: IAgent, conversation: str, read: ReadConversation
    ) -> None:
        row = entry.summary
        directories = row.get("workingDirectories", [])
        added = self._world.from_plugins.settings()
        config = chosen(agent, next(iter(directories), None), {}, added)
        chat: State = {
            "resource": default_chat(entry.uri),
            "title": "",
            "status": IDLE | IS_READ,
            "modifiedAt": row["modifiedAt"],
            "origin": {"kind": "user"},
            "turns": plain(list(read.turns)),
        }
        state = new_session_state(agent, chat_row(chat), directories, config, None)
        self._world.from_plugins.seed(entry.uri, state)
        state["title"] = row["title"]
        state["status"] = row["status"]
        state["lifecycle"] = "ready"
        tools = self._tools_of(entry.uri, state)
        if tools:
            state["serverTools"] = tools
        catalogue = self._registry.catalogue
        session = Session(self._world, catalogue, agent, state, entry.uri, entry.created_at)
        facts: dict[str, Any] = {"conversation": conversation}
        if read.points:
            facts["points"] = dict(read.points)
        self._registry.adopt(entry, session, chat, facts)
        catalogue.moved(session)

    # -- deleting ---------------------------------------------------------------------

    async def forget(self, entry: Entry[Session]) -> None:
        """Take a listed conversation away for good; there is nothing of it here to end.

        Raises `RpcError` -32603 where that cannot be saved.
        """
        registry, provider, conversation = self._registry, entry.provider, entry.conversation
        assert conversation is not None, "only what is not read is forgotten"
        with saving(entry.uri):
            registry.journals.apply(*registry.conversations.hidden(provider, [conversation]))
        registry.catalogue.remove(entry)
        registry.tell_over(entry.uri)
        await self.delete(provider, [conversation])

    async def delete(self, provider: str, conversations: Sequence[str]) -> None:
        """Have a backend delete its copies of conversations. Those it does not stay hidden."""
        agent = self._keeper(provider)
        if agent is None:
            if conversations:
                self._keeps(provider)
            return
        for conversation in conversations:
            try:
                await cast("IConversations", agent).delete_conversation(conversation)
                self._registry.journals.apply(
                    self._registry.conversations.deleted(provider, conversation)
                )
            except ConversationKept:
                self._keeps(provider)
            except (AgentFailure, StoreFailure) as failed:
                log.error(
                    "agent {provider} did not delete {conversation}: {error}",
                    provider=provider,
                    conversation=conversation,
                    error=str(failed),
                )

    def _keeps(self, provider: str) -> None:
        """Say once that this backend deletes nothing."""
        if provider not in self._keeping:
            self._keeping.add(provider)
            log.info("agent {provider} keeps its copies of deleted sessions", provider=provider)


def _too_long(result: object, seconds: float) -> None:
    raise AgentFailure(f"it did not say within {seconds:g} seconds")


def _row(provider: str, conversation: ListedConversation) -> State:
    """What is listed of a conversation (schema: SessionSummary)."""
    uri = f"ahp-session:/{quote(conversation.id, safe='')}"
    row: State = {
        "resource": uri,
        "provider": provider,
        "title": conversation.title,
        "status": IDLE | IS_READ,
        "createdAt": conversation.created_at,
        "modifiedAt": conversation.modified_at,
        "defaultChat": default_chat(uri),
    }
    if conversation.working_directories:
        row["workingDirectories"] = list(conversation.working_directories)
    return row
