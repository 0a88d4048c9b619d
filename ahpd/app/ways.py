"""The ways into a host: what is served where, before any of it listens."""

import attrs

from ahpd import __version__
from ahpd.app.ground import Ground
from ahpd.app.serving import NAME
from ahpd.interfaces import IPeerFactory, Reader
from ahpd.peers.hub import PeerHub
from ahpd.protocol.versions import SUPPORTED
from ahpd.transports.http import HostRouter, Router, RoutesRouter
from ahpd.transports.plugin_routes import PluginRoutes
from ahpd.transports.recorder import WireLog


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Ways:
    """The ways into a host: what is served where, before any of it listens."""

    router: HostRouter
    routes: PluginRoutes
    routes_router: Router
    """Where the plugins' routes are: the host's own, or that of a listener of theirs."""
    wire: WireLog | None
    peers: IPeerFactory
    hub: PeerHub

    def signed_in(self, reader: Reader) -> IPeerFactory:
        """Makes peers of connections on which `reader` is signed in."""
        peers = self.hub.signed_in(reader)
        return peers if self.wire is None else self.wire.wrap(peers)


def make_ways(ground: Ground, hub: PeerHub) -> Ways:
    """The ways into a host that serves `hub`."""
    settings = ground.settings
    router = HostRouter(NAME, __version__, SUPPORTED)
    routes_router: Router = router
    if settings.routes is not None:
        routes_router = RoutesRouter()
        PluginRoutes(router)  # there are none on the host's own port: 404, and no token is asked
    wire = None
    if settings.wire is not None:
        wire = WireLog(settings.wire, ground.scheduler, lambda: ground.now().timestamp())
    return Ways(
        router=router,
        routes=PluginRoutes(routes_router),
        routes_router=routes_router,
        wire=wire,
        peers=hub if wire is None else wire.wrap(hub),
        hub=hub,
    )
