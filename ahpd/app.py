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

from ahpd import __version__
from ahpd.agents.demo.agent import DemoAgent
from ahpd.channels.directory import ChannelDirectory
from ahpd.channels.store import ChannelStore
from ahpd.commands.chats import chat_commands
from ahpd.commands.dispatch import Dispatcher
from ahpd.commands.handshake import Handshake
from ahpd.commands.sessions import session_commands
from ahpd.commands.subscriptions import Subscriptions
from ahpd.config.settings import Settings
from ahpd.interfaces import IAgent, IPeerFactory
from ahpd.peers.clients import ClientRegistry
from ahpd.peers.hub import PeerHub
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.protocol import State
from ahpd.protocol.uris import ChannelKind
from ahpd.protocol.versions import SUPPORTED
from ahpd.root.service import RootService
from ahpd.scheduler import Scheduler
from ahpd.service_tree import ServiceTree
from ahpd.sessions.service import SessionsService
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
    connection, which is how a plugin or a test connects without a socket.
    """

    service: MultiService
    ready: "Deferred[str | None]"
    ended: "Deferred[str]"
    peers: IPeerFactory
    store: ChannelStore
    sessions: SessionsService


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
) -> Host:
    """A host as `settings` say. `agents` by provider replace the configured ones.

    `now` is the wall clock (aware), `ids` a source of ids that never repeats.
    """
    tree = ServiceTree(reactor, NAME)
    scheduler = Scheduler(reactor)
    store = ChannelStore(settings.replay_bytes)
    supervisor = ProcessSupervisor(reactor, secrets=settings.secrets)
    if agents is None:
        agents = configured_agents(settings, reactor, supervisor)
    root = RootService(store, agents.values(), settings.client_queue_bytes, settings.replay_bytes)
    sessions = SessionsService(
        store,
        agents,
        scheduler,
        now=now,
        ids=ids,
        delta_window_ms=settings.delta_window_ms,
    )
    hub = serve(settings, scheduler, store, root, sessions)
    router = Router(NAME, __version__, SUPPORTED)
    services: list[Service] = [scheduler, store]
    peers: IPeerFactory = hub
    if settings.wire is not None:
        wire = WireLog(settings.wire, scheduler, lambda: now().timestamp())
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
    services += [supervisor, sessions, Routes(router)]
    for service in services:
        service.setServiceParent(tree)
    ready = Deferred.fromCoroutine(_ready(listener))
    ended: Deferred[str] = Deferred()
    if stdio is not None and listener is None:
        ended = Deferred.fromCoroutine(stdio.when_ended())
    return Host(tree, ready, ended, hub, store, sessions)


def configured_agents(
    settings: Settings, reactor: Any, supervisor: ProcessSupervisor
) -> Mapping[str, IAgent]:
    """The agents this host offers: the demo agent, until the configuration names another."""
    if settings.demo is False:
        return {}
    demo = DemoAgent(reactor, supervisor)
    return {demo.provider: demo}


def policy(settings: Settings) -> Policy:
    """Who the listener lets in."""
    return Policy(
        token=settings.connection_token,
        hosts=frozenset(settings.allowed_hosts),
        origins=frozenset(settings.allowed_origins),
    )


def serve(
    settings: Settings,
    scheduler: Scheduler,
    store: ChannelStore,
    root: RootService,
    sessions: SessionsService,
) -> PeerHub:
    """The connections' side: which channels there are, which commands, who decides on actions."""
    clients = ClientRegistry(scheduler)
    directory = ChannelDirectory(store)
    dispatcher = Dispatcher(store, directory)
    dispatcher.register(ChannelKind.ROOT, root)
    for kind, handler in (
        (ChannelKind.SESSION, sessions.session_actions),
        (ChannelKind.CHAT, sessions.chat_actions),
        (ChannelKind.ANNOTATIONS, sessions.annotation_actions),
    ):
        directory.register(kind, sessions)
        dispatcher.register(kind, handler)
    subscriptions = Subscriptions(store, directory)

    def describe() -> State:
        return {
            "serverInfo": {"name": NAME, "version": __version__, "title": "ahpd"},
            "defaultDirectory": settings.default_directory.as_uri(),
        }

    handshake = Handshake(store, directory, subscriptions, clients, describe)
    hub = PeerHub(scheduler, store, clients, root.client_queue_bytes)
    hub.serve(
        {
            **handshake.commands(),
            **subscriptions.commands(),
            **session_commands(sessions),
            **chat_commands(sessions),
        },
        {**subscriptions.notifications(), **dispatcher.notifications()},
    )
    return hub


async def _ready(listener: WebSocketListener | None) -> str | None:
    return None if listener is None else await listener.when_listening()
