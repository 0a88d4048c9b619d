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
from ahpd.chats.history import tell_page
from ahpd.chats.owner import IDLE_RELEASE, Surroundings
from ahpd.chats.rows import summary_of
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
    SESSION_ALREADY_EXISTS,
    RpcError,
    internal_error,
    invalid_params,
    resource_not_found,
    session_not_found,
)
from ahpd.protocol.text import plain
from ahpd.protocol.uris import ChannelKind, session_id
from ahpd.sessions.actions import SessionActions
from ahpd.sessions.addresses import Addresses
from ahpd.sessions.annotations import AnnotationActions
from ahpd.sessions.channels import SessionChannels
from ahpd.sessions.chat_creation import ChatCreation
from ahpd.sessions.company import SessionCompany
from ahpd.sessions.config import chosen, resolved
from ahpd.sessions.creation import (
    checked_active_client,
    checked_directories,
    checked_session_uri,
    chosen_agent,
    mint_default_chat,
    new_chat_state,
    new_session_state,
)
from ahpd.sessions.decisions import Unkept
from ahpd.sessions.held_back import HeldBack, StopsOfNothing
from ahpd.sessions.listed import BackendListings
from ahpd.sessions.moved_files import settle_attachments
from ahpd.sessions.moving import ChatMoves, with_workers
from ahpd.sessions.presence import Presence
from ahpd.sessions.provisional import Provisional
from ahpd.sessions.registry import SessionRegistry, is_default, session_of
from ahpd.sessions.session import Session
from ahpd.sessions.sleeping import SLEEP_AFTER, Sleeping
from ahpd.sessions.terminals import SessionTerminals
from ahpd.sessions.waking import load

log = Logger()

#: How long a client waits at most for the backend of what it disposed of, in seconds.
LONGEST_CLOSE: Final = STOP_GRACE + CLOSE_GRACE + 1.0


class SessionsService(Service):
    """The catalogue and everything in it.

    `agents` are the agents this host offers by provider, the first one the default;
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
        )
        self.attachments = attachments
        self._delete_closed = delete_closed
        self._store = store
        self._agents = agents
        self._schemas: dict[str, State] = {}
        self.registry = SessionRegistry(self._world, agents, self.journals)
        self._catalogue = self.registry.catalogue
        self.chat_creation = ChatCreation(self._world, self.registry)
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
        self._listings = BackendListings(self._world, self.registry, agents, self._company.tools.of)
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

    def __len__(self) -> int:
        return len(self.registry)

    # -- sessions ---------------------------------------------------------------

    def create(
        self,
        params: Mapping[str, Any],
        client_id: str,
        derived_chat: bool = False,
        admit: Callable[[IAgent], None] = lambda agent: None,
    ) -> None:
        """`createSession`: a session held, announced to nobody before its first message.

        `admit` raises where this client may not use the agent.
        Asked again for what is there it keeps what is there. `derived_chat` is for a client
        that computes the first chat's URI. Raises `RpcError` -32602, -32002 and -32003 as
        AHP.txt says.
        """
        uri = checked_session_uri(params["channel"])
        client = params.get("activeClient")
        checked_active_client(client, client_id)
        provider = params.get("provider")
        held = self._catalogue.entry(session_id(uri))
        if held is not None:
            if held.uri != uri or provider not in (None, held.provider):
                raise RpcError(
                    SESSION_ALREADY_EXISTS,
                    f"Session already exists: {held.uri} ({held.provider})",
                )
            return
        if self._catalogue.closing:
            raise internal_error("The host is shutting down and makes no new session.")
        agent = chosen_agent(self._agents, provider, uri)
        admit(agent)
        directories = checked_directories(agent, params.get("workingDirectories") or ())
        config = chosen(agent, next(iter(directories), None), params.get("config") or {})
        self._share_schema(agent, config)
        chat = new_chat_state(self._world, mint_default_chat(self._world, uri, derived_chat))
        row = summary_of(chat)
        meta = params.get("_meta")
        state = new_session_state(agent, row, directories, config, client, meta)
        self._open(agent, uri, state, chat)

    def _open(self, agent: IAgent, uri: str, state: State, chat: State) -> None:
        found = agent.info().get("customizations") or []
        self.company.seed(state, found)
        session = Session(self._world, self._catalogue, agent, state, uri, self._world.stamp())
        session.found = found
        self.registry.hold(session, [chat])

    def _share_schema(self, agent: IAgent, config: State) -> None:
        """Hold one copy of a schema that thousands of sessions have alike."""
        last = self._schemas.get(agent.provider)
        if last == config["schema"]:
            config["schema"] = last
        else:
            self._schemas[agent.provider] = config["schema"]

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
        await self._listings.delete(session.agent.provider, left)

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

    def resolve_config(self, params: Mapping[str, Any]) -> State:
        """`resolveSessionConfig` (schema: ResolveSessionConfigResult)."""
        agent = chosen_agent(self._agents, params.get("provider"), "")
        directory = params.get("workingDirectory")
        return resolved(agent, directory, params.get("config") or {})

    def set_server_tools(self, tools: Sequence[State]) -> None:
        """The host's own tools (schema: ToolDefinition) from now on, in place of those before."""
        self.company.tools.replace(tools)

    # -- chats --------------------------------------------------------------------

    def create_chat(self, params: Mapping[str, Any]) -> None:
        """`createChat`: see `ChatCreation.create`."""
        self.chat_creation.create(params)

    def move_chat(self, params: Mapping[str, Any]) -> State:
        """`moveChat`: see `ChatMoves.move`."""
        return self.moves.move(params)

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
            await self._listings.delete(session.agent.provider, [conversation])

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
