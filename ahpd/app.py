"""The composition root: builds the parts of a host and hands each what it needs.

`make_host` answers a tree of named services, in the order in which each stands on
the ones before it. At the stop they go down in the opposite order: the routes say
that the host is draining, the sessions end their turns while their clients can still
be told, the children are gone, then the connections close and the wire log is flushed.
"""

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

import attrs
from twisted.application.service import MultiService, Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorFDSet

from ahpd import __version__
from ahpd.agents.demo.agent import DemoAgent
from ahpd.attachments.files import AttachmentFiles
from ahpd.attachments.folder import AttachmentsFolder
from ahpd.attachments.service import Attachments
from ahpd.channels.directory import ChannelDirectory
from ahpd.channels.store import ChannelStore
from ahpd.commands.chats import chat_commands
from ahpd.commands.completions import completion_commands, config_commands
from ahpd.commands.dispatch import Dispatcher
from ahpd.commands.handshake import Handshake
from ahpd.commands.sessions import session_commands
from ahpd.commands.subscriptions import Subscriptions
from ahpd.completions.completer import Completer
from ahpd.completions.tokens import TRIGGERS
from ahpd.completions.workspace import WorkspaceFiles
from ahpd.config.settings import Settings
from ahpd.interfaces import IAgent, IHostRecord, IPeerFactory, ISessionStore
from ahpd.journal.upkeep import StoreUpkeep
from ahpd.peers.clients import ClientRegistry
from ahpd.peers.hub import PeerHub
from ahpd.peers.older_windows import CHAT_URIS
from ahpd.peers.peer import Peer
from ahpd.peers.resources import ClientResources
from ahpd.processes.programs import Programs
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.protocol import State
from ahpd.protocol.errors import RpcError
from ahpd.protocol.uris import ChannelKind
from ahpd.protocol.versions import SUPPORTED
from ahpd.root.service import RootService
from ahpd.scheduler import Scheduler
from ahpd.service_tree import ServiceTree
from ahpd.sessions.service import SessionsService
from ahpd.stores.chosen import make_store
from ahpd.stores.host_record import FileRecord
from ahpd.threads import in_thread
from ahpd.transports.admission import Policy
from ahpd.transports.http import Router
from ahpd.transports.recorder import WireLog
from ahpd.transports.stdio import StdioTransport
from ahpd.transports.websocket import WebSocketListener

NAME = "ahpd"


@attrs.frozen(eq=False)
class Host:
    """A host that is built and not started yet.

    `ready` fires with the URL once it listens, with None where it serves stdio alone,
    and fails with words where it cannot listen. `ended` fires when a host that serves
    stdio alone has lost the one client it is for. `peers` makes a client of any
    connection, which is how a plugin or a test connects without a socket. `kept` is where
    the sessions are kept.
    """

    service: MultiService
    ready: "Deferred[str | None]"
    ended: "Deferred[str]"
    peers: IPeerFactory
    store: ChannelStore
    sessions: SessionsService
    kept: ISessionStore


class Routes(Service):
    """The plain HTTP of the host's port; `/health` says it when the host is on its way out."""

    name = "routes"

    def __init__(self, router: Router) -> None:
        self.router = router

    def stopService(self) -> None:
        """From here on the host drains."""
        super().stopService()  # type: ignore[no-untyped-call]
        self.router.draining = True


def make_host(
    settings: Settings,
    reactor: Any,
    agents: Mapping[str, IAgent] | None = None,
    *,
    now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ids: Callable[[], str] = lambda: str(uuid.uuid4()),
    kept: ISessionStore | None = None,
) -> Host:
    """A host as `settings` say. `agents` by provider replace the configured ones.

    `now` is the wall clock (aware), `ids` a source of ids that never repeats. `kept` is a
    session store in place of the configured one, not open. Raises `StoreFailure` where what
    is kept cannot be opened.
    """
    if kept is None:
        kept = make_store(settings, in_thread(reactor))
    kept.open()
    try:
        return _make_host(settings, reactor, agents, now, ids, kept)
    except BaseException:
        kept.close()
        raise


@attrs.frozen(kw_only=True, eq=False)
class Ground:
    """What every part of one host stands on."""

    settings: Settings
    reactor: Any
    now: Callable[[], datetime]
    ids: Callable[[], str]
    kept: ISessionStore
    scheduler: Scheduler
    store: ChannelStore
    supervisor: ProcessSupervisor
    clients: ClientRegistry


def _make_host(
    settings: Settings,
    reactor: Any,
    agents: Mapping[str, IAgent] | None,
    now: Callable[[], datetime],
    ids: Callable[[], str],
    kept: ISessionStore,
) -> Host:
    scheduler = Scheduler(reactor)
    ground = Ground(
        settings=settings,
        reactor=reactor,
        now=now,
        ids=ids,
        kept=kept,
        scheduler=scheduler,
        store=ChannelStore(settings.replay_bytes),
        supervisor=ProcessSupervisor(reactor, secrets=settings.secrets),
        clients=ClientRegistry(scheduler),
    )
    if agents is None:
        agents = configured_agents(settings, reactor, ground.supervisor)
    folder = attachments_folder(settings, ids)
    root = RootService(
        ground.store, agents.values(), settings.client_queue_bytes, settings.replay_bytes
    )
    sessions = make_sessions(ground, agents, folder)
    root.on_config = sessions.moves.switched
    hub = serve(ground, agents, root, sessions)
    return _listening(ground, folder, sessions, hub)


def make_sessions(
    ground: Ground, agents: Mapping[str, IAgent], folder: AttachmentsFolder | None
) -> SessionsService:
    """The sessions' side, with the attachments in `folder`; None keeps none."""
    settings = ground.settings
    attachments = None
    if folder is not None:
        attachments = Attachments(
            AttachmentFiles(folder.path, ground.ids, power=settings.sessions_sync == "power"),
            in_thread(ground.reactor),
            lambda uri: _chat_state(sessions, uri),
            ClientResources(ground.clients, ground.scheduler),
            settings.attachment_fetch_limit_bytes,
            lambda: sessions.registry.catalogue.identifiers,
        )
    sessions = SessionsService(
        ground.store,
        agents,
        ground.scheduler,
        now=ground.now,
        ids=ground.ids,
        delta_window_ms=settings.delta_window_ms,
        attachments=attachments,
        clients=ground.clients,
        delete_closed=settings.closed_chats == "delete",
        record=host_record(settings),
        kept=ground.kept,
        sleep_after=settings.session_idle_seconds,
        idle_release=settings.agent_idle_seconds,
    )
    return sessions


def make_completer(ground: Ground) -> Completer:
    """What completes a word somebody types, off the reactor's thread."""
    # A reactor that watches no pipes, a test's clock, runs no programs.
    runs = IReactorFDSet.providedBy(ground.reactor)
    programs = Programs(ground.supervisor, ground.reactor) if runs else None
    thread = in_thread(ground.reactor)
    return Completer(WorkspaceFiles(ground.scheduler, thread, programs), thread)


def _listening(
    ground: Ground, folder: AttachmentsFolder | None, sessions: SessionsService, hub: PeerHub
) -> Host:
    """The tree of services, each standing on the ones before it, and the ways in."""
    settings, reactor = ground.settings, ground.reactor
    router = Router(NAME, __version__, SUPPORTED)
    upkeep = StoreUpkeep(ground.kept, ground.scheduler)
    services: list[Service] = [ground.scheduler, upkeep, ground.store]
    peers: IPeerFactory = hub
    if settings.wire is not None:
        wire = WireLog(settings.wire, ground.scheduler, lambda: ground.now().timestamp())
        peers = wire.wrap(hub)
        services.append(wire)
    services.append(hub)
    listener = stdio = None
    if settings.listens:
        listener = WebSocketListener(reactor, settings.endpoint, peers, policy(settings), router)
        services.append(listener)
    if settings.stdio:
        stdio = StdioTransport(reactor, peers)
        services.append(stdio)
    if folder is not None:
        services.append(folder)
    services += [ground.supervisor, sessions, Routes(router)]
    tree = ServiceTree(reactor, NAME)
    for service in services:
        service.setServiceParent(tree)
    ready = Deferred.fromCoroutine(_ready(listener))
    ended: Deferred[str] = Deferred()
    if stdio is not None and listener is None:
        ended = Deferred.fromCoroutine(stdio.when_ended())
    return Host(tree, ready, ended, hub, ground.store, sessions, ground.kept)


def configured_agents(
    settings: Settings, reactor: Any, supervisor: ProcessSupervisor
) -> Mapping[str, IAgent]:
    """The agents this host offers: the demo agent, until the configuration names another."""
    if settings.demo is False:
        return {}
    demo = DemoAgent(reactor, supervisor)
    return {demo.provider: demo}


def _chat_state(sessions: SessionsService, uri: str) -> State | None:
    """The state of the chat of this URI, whether its session was asleep or not (ChatState)."""
    try:
        chat = sessions.find_chat(uri)
    except RpcError:  # its session cannot be read back, which is in the log
        return None
    return None if chat is None else chat.state


def attachments_folder(settings: Settings, ids: Callable[[], str]) -> AttachmentsFolder | None:
    """Where what comes with messages is kept: as long as the sessions it came to are."""
    if settings.data_directory is None:
        return None
    kept = settings.data_directory / "attachments" if settings.sessions == "file" else None
    return AttachmentsFolder(kept, ids)


def host_record(settings: Settings) -> IHostRecord | None:
    """Where what is decided for more than one session is kept; None for this process alone.

    Raises `StoreFailure` for a file that is none of ours.
    """
    if settings.data_directory is None or settings.sessions != "file":
        return None
    return FileRecord(settings.data_directory / "host.json")


def policy(settings: Settings) -> Policy:
    """Who the listener lets in."""
    return Policy(
        token=settings.connection_token,
        hosts=frozenset(settings.allowed_hosts),
        origins=frozenset(settings.allowed_origins),
    )


def serve(
    ground: Ground,
    agents: Mapping[str, IAgent],
    root: RootService,
    sessions: SessionsService,
) -> PeerHub:
    """The connections' side: which channels there are, which commands, who decides on actions."""
    store, clients = ground.store, ground.clients
    directory = ChannelDirectory(store)
    dispatcher = Dispatcher(store, directory)
    dispatcher.register(ChannelKind.ROOT, root)
    for kind, handler in (
        (ChannelKind.SESSION, sessions.session_actions),
        (ChannelKind.CHAT, sessions.chat_actions),
        (ChannelKind.ANNOTATIONS, sessions.annotation_actions),
    ):
        directory.register(kind, sessions.channels)
        dispatcher.register(kind, handler)
    presence, addresses = sessions.presence, sessions.addresses
    subscriptions = Subscriptions(store, directory, presence)

    def describe() -> State:
        return {
            "serverInfo": {"name": NAME, "version": __version__, "title": "ahpd"},
            "defaultDirectory": ground.settings.default_directory.as_uri(),
            "completionTriggerCharacters": list(TRIGGERS),
            # A window names a session's next chat as the session's default one is named.
            "_meta": {CHAT_URIS: True},
        }

    handshake = Handshake(store, directory, subscriptions, clients, describe, presence, addresses)

    def gone(peer: Peer) -> None:
        if peer.record is not None:
            presence.gone(peer.record.client_id)

    hub = PeerHub(ground.scheduler, store, clients, root.client_queue_bytes, gone)
    hub.serve(
        {
            **handshake.commands(),
            **subscriptions.commands(),
            **session_commands(sessions),
            **chat_commands(sessions),
            **completion_commands(make_completer(ground), store, directory, sessions),
            **config_commands(sessions, agents, ground.scheduler),
        },
        {**subscriptions.notifications(), **dispatcher.notifications()},
    )
    return hub


async def _ready(listener: WebSocketListener | None) -> str | None:
    return None if listener is None else await listener.when_listening()
