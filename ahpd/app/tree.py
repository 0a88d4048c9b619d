"""The tree of a host's services, each standing on the ones before it, and the ways in."""

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

import attrs
from twisted.application.service import MultiService, Service
from twisted.internet.defer import Deferred, gatherResults

from ahpd.app.agent_side import ToolsService, serve_tools
from ahpd.app.beside import Beside
from ahpd.app.built import Domains
from ahpd.app.domains import policy
from ahpd.app.ground import Ground
from ahpd.app.plugin_parts import PluginParts
from ahpd.app.plugin_side import Announced, PluginSide, listening_payload
from ahpd.app.serving import NAME
from ahpd.app.ways import Ways
from ahpd.bounded import awhile
from ahpd.channels.store import ChannelStore
from ahpd.interfaces import IPeerFactory, ISessionStore
from ahpd.journal.upkeep import StoreUpkeep
from ahpd.service_tree import ServiceTree
from ahpd.sessions.service import SessionsService
from ahpd.transports.http import HostRouter
from ahpd.transports.stdio import StdioTransport
from ahpd.transports.websocket import WebSocketListener

#: Seconds the start waits for records that are read. Those of a vault or a store that does not
#: answer are open later, or never.
READ_PATIENCE: Final = 2.0


@attrs.frozen(eq=False, repr=False)
class Host:
    """A host that is built and not started yet.

    `ready` fires with the URL once it listens and its plugins know or were given time to, with None where it serves
    stdio alone, and fails with words where it cannot listen. `ended` fires when a host that serves
    stdio alone has lost the one client it is for. `peers` makes a client of any
    connection, which is how a plugin or a test connects without a socket. `kept` is where
    the sessions are kept, `beside` what is served under `x-` names, `plugins` the plugins' side.
    """

    service: MultiService
    ready: "Deferred[str | None]"
    ended: "Deferred[str]"
    peers: IPeerFactory
    store: ChannelStore
    sessions: SessionsService
    kept: ISessionStore
    beside: Beside
    plugins: PluginSide

    def announced(self) -> Announced:
        """What is told of the plugins with the announcement; asked once the host is ready."""
        return self.plugins.announced()


class Routes(Service):
    """The plain HTTP of the host's port; `/health` says it when the host is on its way out."""

    name = "routes"

    def __init__(self, router: HostRouter) -> None:
        self.router = router

    def stopService(self) -> None:
        """From here on the host drains."""
        super().stopService()  # type: ignore[no-untyped-call]
        self.router.draining = True


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Around:
    """What stands around the domains: how they are reached, and what plugins have of them."""

    ways: Ways
    beside: Beside
    side: PluginSide
    plugins: PluginParts


def plant(ground: Ground, built: Domains, around: Around) -> Host:
    """The tree of services."""
    settings, reactor, ways = ground.settings, ground.reactor, around.ways
    upkeep = StoreUpkeep(ground.kept, ground.scheduler)
    services: list[Service] = [ground.scheduler, upkeep, ground.store]
    if ways.wire is not None:
        services.append(ways.wire)
    services.append(ways.hub)
    listener, others = _listeners(ground, built, ways)
    services += others
    stdio = None
    if settings.stdio:
        stdio = StdioTransport(reactor, ways.peers)
        services.append(stdio)
    if built.folder is not None:
        services.append(built.folder)
    parts, plugins = built.resources, around.side.plugins
    services += [parts.threads, parts.watches, parts.files, parts.clients, ground.supervisor]
    services += [built.kept, around.plugins.closers]
    if built.terminals is not None:
        services.append(built.terminals)
    tools = ToolsService(built.tools, built.offers.servers)
    services += [built.agents, built.records, built.sessions, tools, Routes(ways.router)]
    # What stands on plugins' code goes down ahead of their services: a tunnel's kind takes it down.
    # Their connections are closed behind the event that says so.
    connections = around.plugins.connections
    services += [around.side.events, connections, plugins, *around.plugins.services]
    tree = ServiceTree(reactor, NAME)
    for service in services:
        service.setServiceParent(tree)
    listening = partial(_listening, ground, built, around, listener)
    plugins.host(around.plugins.contributions, listening)
    ready = Deferred.fromCoroutine(_ready(listener, others, around.side))
    ended: Deferred[str] = Deferred()
    if stdio is not None and listener is None:
        ended = Deferred.fromCoroutine(stdio.when_ended())
    return Host(
        service=tree,
        ready=ready,
        ended=ended,
        peers=ways.hub,
        store=ground.store,
        sessions=built.sessions,
        kept=ground.kept,
        beside=around.beside,
        plugins=around.side,
    )


def _listeners(
    ground: Ground, built: Domains, ways: Ways
) -> tuple[WebSocketListener | None, list[WebSocketListener]]:
    """The listener of the protocol, and all there are, it among them."""
    settings = ground.settings
    if not settings.listens:
        return None, []
    admitted = policy(settings)
    listener = WebSocketListener(
        ground.reactor, settings.endpoint, ways.peers, admitted, ways.router
    )
    built.later.url = partial(getattr, listener, "url")
    serve_tools(ways.router, built.offers.servers, ground, NAME)
    if settings.routes is None:
        return listener, [listener]
    # A Host check of its own, and no token: whoever serves a route authenticates its callers.
    of_routes = attrs.evolve(admitted, token=None, origins=frozenset())
    theirs = WebSocketListener(
        ground.reactor, settings.routes.endpoint, ways.peers, of_routes, ways.routes_router
    )
    theirs.setName("routes listener")  # type: ignore[no-untyped-call]
    theirs.port_setting = "routes.port"
    return listener, [listener, theirs]


async def _listening(
    ground: Ground, built: Domains, around: Around, listener: WebSocketListener | None
) -> Mapping[str, Any] | None:
    """What the event `listening` carries, once the host listens; None where it does not."""
    # Whoever is told that the host listens finds what there is, but for what has to be waited for.
    reading = gatherResults(
        [
            Deferred.fromCoroutine(built.records.load()),
            Deferred.fromCoroutine(around.plugins.connectors.loaded()),
        ]
    )
    await awhile(reading, READ_PATIENCE, ground.scheduler)
    address = None
    if listener is not None:
        await listener.when_listening()
        address = listener.address
    built.records.listening()
    around.side.world.side = around.side.world.built
    around.plugins.tunnels.listening(getattr(address, "port", None))
    return None if listener is None else listening_payload(ground.settings, address)


async def _ready(
    listener: WebSocketListener | None, listeners: list[WebSocketListener], side: PluginSide
) -> str | None:
    for each in listeners:
        url = await each.when_listening()
        if each is not listener:
            address = url.replace("ws://", "http://", 1)
            side.announcements.say(f"routes on {address}/plugins/")
    await side.plugins.begun
    return None if listener is None else listener.url
