"""The composition root: builds the parts of a host and hands each what it needs.

`make_host` answers a tree of named services, in the order in which each stands on
the ones before it. At the stop they go down in the opposite order: the routes say
that the host is draining, the sessions end their turns while their clients can still
be told, the children are gone, then the connections close and the wire log is flushed.
"""

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import attrs
from twisted.application.service import MultiService, Service
from twisted.internet.defer import Deferred

from ahpd import __version__
from ahpd.app.agent_side import (
    Later,
    ToolsService,
    make_credentials,
    make_offers,
    make_tools,
    serve_tools,
)
from ahpd.app.domains import (
    ResourceParts,
    attachments_folder,
    configured_agents,
    configured_judge,
    configured_servers,
    local_terminals,
    make_resources,
    make_sessions,
    make_terminals,
    managed_settings,
    policy,
)
from ahpd.app.ground import Ground
from ahpd.app.offers import Offers
from ahpd.app.serving import NAME, serve
from ahpd.attachments.folder import AttachmentsFolder
from ahpd.channels.store import ChannelStore
from ahpd.config.settings import Settings
from ahpd.interfaces import IAgent, IJudge, IPeerFactory, ISessionStore, ITerminals
from ahpd.journal.upkeep import StoreUpkeep
from ahpd.peers.clients import ClientRegistry
from ahpd.peers.hub import PeerHub
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.protocol.versions import SUPPORTED
from ahpd.records.service import AgentsService
from ahpd.root.service import RootService
from ahpd.scheduler import Scheduler
from ahpd.service_tree import ServiceTree
from ahpd.sessions.service import SessionsService
from ahpd.stores.chosen import make_store
from ahpd.terminals.service import TerminalsService
from ahpd.threads import in_thread
from ahpd.transports.http import HostRouter
from ahpd.transports.recorder import WireLog
from ahpd.transports.stdio import StdioTransport
from ahpd.transports.websocket import WebSocketListener


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

    def __init__(self, router: HostRouter) -> None:
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
    terminals: ITerminals | None = None,
    resources: Mapping[str, Any] | None = None,
    judge: IJudge | None = None,
) -> Host:
    """A host as `settings` say. `agents` by provider replace the configured ones.

    `now` is the wall clock (aware), `ids` a source of ids that never repeats. `kept` is a
    session store in place of the configured one, not open. `terminals` starts the programs of
    terminals in place of this machine's own, and `resources` are the providers by scheme
    (`IResourceProvider`) in place of this machine's files. `judge` answers questions about
    calls before people do, in place of the configured rules. Raises `StoreFailure` where what
    is kept cannot be opened.
    """
    if kept is None:
        kept = make_store(settings, in_thread(reactor))
    kept.open()
    try:
        return _make_host(settings, reactor, agents, now, ids, kept, terminals, resources, judge)
    except BaseException:
        kept.close()
        raise


def _ground(
    settings: Settings,
    reactor: Any,
    now: Callable[[], datetime],
    ids: Callable[[], str],
    kept: ISessionStore,
) -> Ground:
    scheduler = Scheduler(reactor)
    return Ground(
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


def _make_host(
    settings: Settings,
    reactor: Any,
    agents: Mapping[str, IAgent] | None,
    now: Callable[[], datetime],
    ids: Callable[[], str],
    kept: ISessionStore,
    port: ITerminals | None,
    providers: Mapping[str, Any] | None,
    judge: IJudge | None,
) -> Host:
    ground = _ground(settings, reactor, now, ids, kept)
    # What of the configuration may be refused comes ahead of the agents, who hold something.
    servers, managed = configured_servers(settings), managed_settings(settings)
    judge = configured_judge(settings) if judge is None else judge
    folder = attachments_folder(settings, ids)
    if port is None:
        port = local_terminals(reactor, ground.supervisor)
    parts = make_resources(ground, providers)
    terminals = None if port is None else make_terminals(ground, port, lambda: root)
    if agents is None:
        agents = configured_agents(ground, parts.resources, terminals)
    root = RootService(
        ground.store,
        agents.values(),
        settings.client_queue_bytes,
        settings.replay_bytes,
        terminals=port is not None,
    )
    later = Later()
    credentials = make_credentials(ground, root.agents, later)
    offers = make_offers(ground, root, credentials, later, judge, servers.current, managed)
    sessions = make_sessions(ground, agents, folder, terminals, offers)
    later.registry = sessions.registry
    root.on_config = sessions.moves.switched
    tools, world = make_tools(ground, sessions, parts.resources, terminals)
    offers.tools = tools
    hub = serve(ground, agents, root, sessions, terminals, parts, credentials, world.kept)
    held = AgentsService(
        agents, ground.scheduler, lambda: root.agents_changed(held.agents.values())
    )
    return _listening(
        ground,
        Built(
            folder=folder,
            sessions=sessions,
            terminals=terminals,
            resources=parts,
            hub=hub,
            offers=offers,
            agents=held,
            tools=ToolsService(tools, offers.servers),
            later=later,
        ),
    )


@attrs.frozen(kw_only=True, eq=False)
class Built:
    """The domains of a host, and the connections' side, before they are put in their order."""

    folder: AttachmentsFolder | None
    sessions: SessionsService
    terminals: TerminalsService | None
    resources: ResourceParts
    hub: PeerHub
    offers: Offers
    agents: AgentsService
    tools: ToolsService
    later: Later


def _listening(ground: Ground, built: Built) -> Host:
    """The tree of services, each standing on the ones before it, and the ways in."""
    settings, reactor = ground.settings, ground.reactor
    router = HostRouter(NAME, __version__, SUPPORTED)
    upkeep = StoreUpkeep(ground.kept, ground.scheduler)
    services: list[Service] = [ground.scheduler, upkeep, ground.store]
    peers: IPeerFactory = built.hub
    if settings.wire is not None:
        wire = WireLog(settings.wire, ground.scheduler, lambda: ground.now().timestamp())
        peers = wire.wrap(built.hub)
        services.append(wire)
    services.append(built.hub)
    listener = stdio = None
    if settings.listens:
        listener = WebSocketListener(reactor, settings.endpoint, peers, policy(settings), router)
        built.later.url = partial(getattr, listener, "url")
        serve_tools(router, built.offers.servers, ground, NAME)
        services.append(listener)
    if settings.stdio:
        stdio = StdioTransport(reactor, peers)
        services.append(stdio)
    if built.folder is not None:
        services.append(built.folder)
    parts = built.resources
    services += [parts.threads, parts.watches, parts.files, parts.clients, ground.supervisor]
    if built.terminals is not None:
        services.append(built.terminals)
    services += [built.agents, built.sessions, built.tools, Routes(router)]
    tree = ServiceTree(reactor, NAME)
    for service in services:
        service.setServiceParent(tree)
    ready = Deferred.fromCoroutine(_ready(listener))
    ended: Deferred[str] = Deferred()
    if stdio is not None and listener is None:
        ended = Deferred.fromCoroutine(stdio.when_ended())
    return Host(tree, ready, ended, built.hub, ground.store, built.sessions, ground.kept)


async def _ready(listener: WebSocketListener | None) -> str | None:
    return None if listener is None else await listener.when_listening()
