"""The sessions of a host: made, found, listed and disposed of, with their chats.

Which there are the registry knows; this decides, and holds the handlers of what clients
dispatch on their channels.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ahpd.channels.store import ChannelStore, Journal, Unsaved
from ahpd.chats.actions import ChatActions
from ahpd.chats.backend import CLOSE_GRACE
from ahpd.chats.chat import Chat
from ahpd.chats.conversation import STOP_GRACE
from ahpd.chats.from_plugins import FromPlugins
from ahpd.chats.history import tell_page
from ahpd.chats.owner import IDLE_RELEASE, Happenings, Surroundings
from ahpd.chats.tasks import Tasks, finished
from ahpd.interfaces import (
    IAgent,
    IAttachments,
    IClients,
    IHostRecord,
    IHostTerminals,
    IOffers,
    ISessionStore,
    SessionRow,
)
from ahpd.journal.book import Journals
from ahpd.protocol import State
from ahpd.protocol.errors import (
    invalid_params,
    resource_not_found,
    session_not_found,
)
from ahpd.protocol.text import plain
from ahpd.protocol.uris import ChannelKind, session_id
from ahpd.sessions.actions import SessionActions
from ahpd.sessions.addresses import Addresses
from ahpd.sessions.agents_moved import AgentChanges
from ahpd.sessions.annotations import AnnotationActions
from ahpd.sessions.channels import SessionChannels
from ahpd.sessions.chat_creation import ChatCreation
from ahpd.sessions.company import SessionCompany
from ahpd.sessions.config import HOST_KEYS
from ahpd.sessions.decisions import Unkept
from ahpd.sessions.held_back import HeldBack, StopsOfNothing
from ahpd.sessions.listed import BackendListings
from ahpd.sessions.making import Admit, SessionMaking, anybody
from ahpd.sessions.moved_files import settle_attachments
from ahpd.sessions.moving import ChatMoves, with_workers
from ahpd.sessions.preambles import ChatOpening, Preambles
from ahpd.sessions.presence import Presence
from ahpd.sessions.provisional import Provisional
from ahpd.sessions.registry import SessionRegistry, is_default, session_of
from ahpd.sessions.server_tools import Offered
from ahpd.sessions.session import Session
from ahpd.sessions.session_keys import SessionKeys
from ahpd.sessions.session_meta import SessionMeta
from ahpd.sessions.sleeping import SLEEP_AFTER, Sleeping
from ahpd.sessions.terminals import SessionTerminals
from ahpd.sessions.waking import load

log = Logger()

#: How long a client waits at most for the backend of what it disposed of, in seconds.
LONGEST_CLOSE: Final = STOP_GRACE + CLOSE_GRACE + 1.0


class SessionsService(Service):
    """The catalogue and everything in it.

    `agents` are the agents this host offers by provider, the first one the default; it may
    move while the host runs, and `agents_moved` is told of it then;
    `now` is the wall clock (aware), `ids` a source of new ids, `delta_window_ms` the
    time within which deltas of one part are said as one (0: none are). `clients` says who
    is connected, `record` keeps what is decided for more than one session; without it
    that goes with the process. `delete_closed` has agents delete what they keep of a chat
    that is closed; it is hidden alone otherwise.

    `kept` is where sessions are kept, and is open. `sleep_after` seconds after anything
    happened in it, a session nobody watches is let go of, and woken when it is asked for;
    0 keeps all. `idle_release` is that of `Surroundings`. `upkeep` is the clock of what is
    done behind what clients see: writing in batches, folding, sleeping. `terminals` is where
    `!` commands run; without it such a message goes to the agent. `offers` is what agents are
    offered beside their turns. Raises `StoreFailure` where
    what is kept cannot be read.
    """

    def __init__(
        self,
        store: ChannelStore,
        agents: Mapping[str, IAgent],
        clock: IReactorTime,
        now: Callable[[], datetime],
        ids: Callable[[], str],
        delta_window_ms: float = 0,
        attachments: IAttachments | None = None,
        clients: IClients | None = None,
        record: IHostRecord | None = None,
        delete_closed: bool = False,
        *,
        kept: ISessionStore,
        sleep_after: float = SLEEP_AFTER,
        idle_release: float = IDLE_RELEASE,
        upkeep: IReactorTime | None = None,
        terminals: IHostTerminals | None = None,
        offers: IOffers | None = None,
    ) -> None:
        self.setName("sessions")  # type: ignore[no-untyped-call]
        self._company: SessionCompany | None = None
        upkeep = clock if upkeep is None else upkeep
        milliseconds = partial(_milliseconds, now)
        self.journals = Journals(kept, store, upkeep, milliseconds, self._row)
        tasks = Tasks()
        self.terminals = SessionTerminals(terminals, store, tasks, upkeep, self.journals.apply)
        self._world = Surroundings(
            store=store,
            clock=clock,
            now=now,
            ids=ids,
            delta_window=delta_window_ms / 1000,
            idle_release=idle_release,
            tasks=tasks,
            attachments=attachments,
            note=self._note,
            facts=self.journals.facts,
            journal=self._journal,
            save=self._save,
            company=lambda: self._company,
            terminals=terminals,
            left=self.terminals,
            offers=offers,
            agent_of=self._agent_of,
        )
        #: The session settings plugins contribute.
        self.keys = SessionKeys(HOST_KEYS)
        self._world.from_plugins.settings = lambda: self.keys.properties
        self.attachments = attachments
        self._delete_closed = delete_closed
        self._store = store
        self.registry = SessionRegistry(self._world, agents, self.journals)
        self._catalogue = self.registry.catalogue
        self.meta = SessionMeta(self._world, self._catalogue, self.registry.named)
        self._world.from_plugins.meta = self.meta.of
        self.making = SessionMaking(self._world, self.registry, lambda: self.company)
        self.chat_creation = ChatCreation(self._world, self.registry)
        self.preambles = Preambles(clock)
        self.opening = ChatOpening(self.chat_creation, self.preambles)
        self.moves = ChatMoves(self._world, self.registry)
        self._company = SessionCompany(
            self._world,
            self.registry.find,
            self.registry.awake,
            self.registry.catalogue.sessions,
            clients,
            Unkept() if record is None else record,
        )
        load(self.registry)
        self._sleeping = Sleeping(self.registry, upkeep, sleep_after)
        self._provisional = Provisional(self.registry, upkeep)
        self._listings = BackendListings(self._world, self.registry, self._company.tools.of)
        self.agents_moved = AgentChanges(self._world, self.registry, self._listings)
        self.channels = SessionChannels(
            self.registry, self._listings.surface, self._listings.latest
        )
        self.addresses = Addresses(self.registry, self.channels)
        self._decide()
        self._listings.refresh()

    def _decide(self) -> None:
        """The handlers of what clients dispatch."""
        store, waited = self._store, self.channels.waited
        self.session_actions = HeldBack(SessionActions(store, self.find, self.company), waited)
        chat_actions = ChatActions(store, self.find_chat, is_default, self.attachments)
        stops = StopsOfNothing(chat_actions, store, self.registry.sleeping_chat)
        self.chat_actions = HeldBack(stops, waited)
        marks = AnnotationActions(store, self.channels.annotations)
        self.annotation_actions = HeldBack(marks, waited)

    @property
    def from_plugins(self) -> FromPlugins:
        """What plugins add to sessions and chats; whoever composes the host sets its canvases."""
        return self._world.from_plugins

    @property
    def happenings(self) -> Happenings:
        """Who is told what happens in sessions; whoever composes the host sets it."""
        return self._world.happenings

    @property
    def company(self) -> SessionCompany:
        """What the sessions have in common."""
        assert self._company is not None, "made with the service"
        return self._company

    @property
    def presence(self) -> Presence:
        """Who is in which session."""
        return self.company.presence

    # -- what the parts ask of each other -----------------------------------------

    def _row(self, identifier: str) -> SessionRow | None:
        return self.registry.row(identifier)

    def _agent_of(self, provider: str) -> IAgent:
        return self.registry.agent_of(provider)

    def _note(self, channel: str, facts: Mapping[str, Any]) -> None:
        self.registry.note(channel, facts)

    def _save(self, session: str) -> None:
        self.journals.save(session_id(session))

    def _journal(
        self,
        session: str,
        channel: str,
        kind: ChannelKind,
        unsaved: Unsaved | None,
        facts: Mapping[str, Any] | None,
    ) -> Journal:
        held = None if facts is None else plain(facts)
        return self.journals.open(session_id(session), channel, kind, unsaved, held)

    def find(self, uri: str) -> Session | None:
        """See `SessionRegistry.find`."""
        return self.registry.find(uri)

    def find_chat(self, uri: str) -> Chat | None:
        """See `SessionRegistry.find_chat`."""
        return self.registry.find_chat(uri)

    async def reach_chat(self, uri: str) -> str | None:
        """See `SessionChannels.reach_chat`."""
        return await self.channels.reach_chat(uri)

    def __len__(self) -> int:
        return len(self.registry)

    # -- sessions ---------------------------------------------------------------

    def create(
        self,
        params: Mapping[str, Any],
        client_id: str,
        derived_chat: bool = False,
        admit: Admit = anybody,
    ) -> None:
        """`createSession`: a session held, announced to nobody before its first message.

        `admit` raises where this client may not use the agent.
        Asked again for what is there it keeps what is there. `derived_chat` is for a client
        that computes the first chat's URI. Raises `RpcError` -32602, -32002 and -32003 as
        AHP.txt says.
        """
        self.making.create(params, client_id, derived_chat, admit)

    async def dispose(self, channel: str) -> None:
        """`disposeSession`: gone from the catalogue at once; returns when its backends are down.

        Raises `RpcError` -32001 for a session nobody has.
        """
        unread = self.channels.unread(channel)
        if unread is not None:
            await self._listings.forget(unread)
            return
        session = self.find(channel)
        if session is None:
            raise session_not_found(channel)
        chats = list(session.chats.values())
        for chat in chats:  # what ends one chat's turn moves its session, which reads them all
            chat.cancel()
        left = self.registry.conversations_of(session)
        terminals = self.registry.drop(session)
        if self._world.offers is not None:
            self._world.offers.session_gone(session.uri)
        if self.attachments is not None:
            what = f"removing the attachments of {session.uri}"
            self._world.tasks.spawn(what, self.attachments.forget(session.uri))
        closing = [self._closing(chat) for chat in chats]
        for done in closing:
            await done
        await terminals
        for agent, conversations in left:
            await self._listings.delete(agent.provider, conversations)

    def _closing(self, chat: Chat) -> "Deferred[None]":
        """Fires when the chat's backend is down, or has had all the time it is given."""
        closed = finished(self._world.tasks.spawn(f"closing {chat.uri}", chat.close()))

        def given_up(result: object, seconds: float) -> None:
            log.error("the agent of {chat} does not let go; left to itself", chat=chat.uri)

        return closed.addTimeout(LONGEST_CLOSE, self._world.clock, given_up)

    def listing(
        self,
        params: Mapping[str, Any],
        shown: Callable[[State], State | None] | None = None,
    ) -> State:
        """`listSessions` (schema: ListSessionsResult); for `shown` see `ICaller.shown_row`."""
        self._listings.refresh()  # answered is what they said last
        return self._catalogue.listing(params.get("limit"), params.get("cursor"), shown)

    def resolve_config(self, params: Mapping[str, Any], locale: str | None = None) -> State:
        """`resolveSessionConfig`: see `SessionMaking.resolve`."""
        return self.making.resolve(params, locale)

    def set_server_tools(self, tools: Offered | Sequence[State]) -> None:
        """The host's own tools (schema: ToolDefinition) from now on, in place of those before.

        A sequence is every session's; a function says what one of a URI and of these values of
        its configuration may list.
        """
        self.company.tools.replace(tools)

    # -- chats --------------------------------------------------------------------

    def create_chat(self, params: Mapping[str, Any]) -> None:
        """`createChat`: see `ChatCreation.create`."""
        self.chat_creation.create(params)

    def move_chat(self, params: Mapping[str, Any], client_id: str = "") -> State:
        """`moveChat`: see `ChatMoves.move`."""
        return self.moves.move(params, client_id)

    async def dispose_chat(self, channel: str) -> None:
        """`disposeChat`: a default chat, and one nobody has, are left as they are."""
        chat = self.find_chat(channel)
        if chat is None or is_default(chat):
            return
        session = session_of(chat)
        gone = with_workers(chat, session)
        for one in gone:
            one.cancel()
        for one in reversed(gone):
            self.registry.drop_chat(one)
        settle_attachments(self._world, session)
        for done in [self._closing(one) for one in gone]:
            await done
        conversation = chat.kept.conversation
        if self._delete_closed and conversation is not None:
            await self._listings.delete(chat.agent.provider, [conversation])

    def fetch_turns(self, channel: str, cursor: str | None) -> State:
        """`fetchTurns`: the page before `cursor`, said on the chat's channel for all watching.

        Raises `RpcError` -32001 for a chat nobody has, -32602 for a cursor that names no
        turn of it.
        """
        chat = self.find_chat(channel)
        if chat is None:
            raise resource_not_found(channel)
        if cursor is None:
            return {}
        if not tell_page(self._store, chat, cursor):
            raise invalid_params(f"cursor: {cursor!r} names no turn of {chat.uri}")
        return {}

    # -- its life -----------------------------------------------------------------

    def startService(self) -> None:
        """Take away what an earlier life left of the attachments of sessions that are gone."""
        super().startService()  # type: ignore[no-untyped-call]
        if len(self):
            log.info("sessions kept from before: {count}", count=len(self))
        if self.attachments is not None:
            self._world.tasks.spawn("sweeping attachments", self.attachments.sweep())

    async def drain(self) -> None:
        """Start no turn any more, end the running ones as interrupted, close every backend."""
        self._catalogue.closing = True
        self._sleeping.stop()
        self._provisional.stop()
        self.terminals.stop()
        self.company.stop()
        self.meta.stop()
        for chat in self.registry.chats():
            chat.interrupt()
            if chat.is_open:
                self._world.tasks.spawn(f"closing {chat.uri}", chat.release())
        await self._world.tasks.settled()
        self._catalogue.flush_all()
        self.journals.fold_all()

    def stopService(self) -> "Deferred[None]":
        """Returns when every chat's backend is down."""
        super().stopService()  # type: ignore[no-untyped-call]
        return Deferred.fromCoroutine(self.drain())


def _milliseconds(now: Callable[[], datetime]) -> int:
    return int(now().timestamp() * 1000)
