"""The agents' side of a host: what they are offered, and how it is reached.

An agent's tools, its endpoint and the tokens it may spend are of its session, and sessions are
made with what they offer: so the parts here look the sessions up when they are asked.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

import attrs
from twisted.application.service import Service

from ahpd import __version__
from ahpd.app.ground import Ground
from ahpd.app.offers import AdvertisedHere, Offers, SessionTools
from ahpd.app.tool_sessions import ToolSessions
from ahpd.chats.queue import next_pending
from ahpd.credentials.lent import Target
from ahpd.credentials.service import Credentials
from ahpd.interfaces import (
    IClientConnection,
    IJudge,
    IResources,
    ISignedInChat,
    ToolCallContext,
)
from ahpd.interfaces.http import Response, text_response
from ahpd.mcp.resource import ToolsResource, admitted
from ahpd.mcp.servers import PREFIX, ToolsServers
from ahpd.protocol import State
from ahpd.root.service import RootService
from ahpd.sessions.registry import SessionRegistry
from ahpd.sessions.service import SessionsService
from ahpd.terminals.service import TerminalsService
from ahpd.tools.own import own_tools
from ahpd.tools.registry import ToolRegistry
from ahpd.transports.admission import Guard
from ahpd.transports.head import RequestHead
from ahpd.transports.http import Router


@attrs.define(eq=False, repr=False)
class Later:
    """What is known once the host is built: its sessions, and where it listens."""

    registry: SessionRegistry | None = None
    url: Callable[[], str | None] = lambda: None

    def sessions(self) -> SessionRegistry:
        """The sessions' registry."""
        assert self.registry is not None, "the host is built before anybody is offered anything"
        return self.registry


def make_credentials(
    ground: Ground, agents: Callable[[], Iterable[State]], later: Later
) -> Credentials:
    """The tokens that are lent to this host's sessions."""
    store, clients = ground.store, ground.clients

    def watchers(session: str) -> Iterable[str]:
        for subscriber in store.watchers(session):
            record = getattr(subscriber, "record", None)
            if record is not None:
                yield record.client_id

    def watched(connection: IClientConnection) -> Collection[str]:
        sessions = later.sessions().catalogue.sessions()
        return {one.uri for one in sessions if store.is_watching(one.uri, connection)}

    def signed_in(resource: str, target: Target | None) -> None:
        server = None if target is None else target.server
        for session in tuple(later.sessions().catalogue.sessions()):
            if target is not None and session.uri != target.session:
                continue
            for chat in tuple(session.chats.values()):
                backend = chat.backend
                if not ISignedInChat.providedBy(backend):
                    continue
                if credentials.spent(session.uri, chat.uri, resource, server) is not None:
                    backend.signed_in(resource, server)

    def starting(chat: str) -> str | None:
        held = later.sessions().open_chats.get(chat)
        if held is None or held.current is None or held.current.said:
            return None
        pending = next_pending(held.state)
        return None if pending is None else pending["id"]

    credentials = Credentials(
        ground.scheduler,
        AdvertisedHere(agents, later.sessions),
        clients.connections,
        watchers,
        watched,
        signed_in,
        starting,
    )
    return credentials


def make_offers(
    ground: Ground,
    root: RootService,
    credentials: Credentials,
    later: Later,
    judge: IJudge | None = None,
    mcp: Callable[[], Mapping[str, Mapping[str, Any]]] = dict,
    managed: Mapping[str, Any] | None = None,
) -> Offers:
    """What the agents of this host's sessions are offered."""
    servers = ToolsServers(
        SessionTools(lambda: offers.tools, later.sessions),
        lambda: http_origin(later.url()),
        ground.ids,
    )
    offers = Offers(
        judge=judge,
        tools=NoTools(),
        servers=servers,
        credentials=credentials,
        root=root,
        mcp=mcp,
        managed=managed or {},
    )
    return offers


class NoTools:
    """A host without tools of its own."""

    def definitions(self, session: str) -> Sequence[State]:
        """None."""
        return ()

    def instructions(self, session: str) -> str | None:
        """None."""
        return None

    async def run(self, name: str, arguments: Mapping[str, Any], context: ToolCallContext) -> State:
        """There is nothing to run."""
        words = f"This host has no tool named {name}."
        return {"success": False, "pastTenseMessage": words, "error": {"message": words}}

    def session_gone(self, session: str) -> None:
        """Nothing runs."""


class ToolsService(Service):
    """The host's own tools while it runs, and the endpoints that serve them: none from the stop
    on."""

    name = "tools"

    def __init__(self, registry: ToolRegistry, servers: ToolsServers) -> None:
        self.registry = registry
        self._servers = servers

    def stopService(self) -> None:
        """What runs is cancelled; the sessions it works with stop behind it."""
        super().stopService()  # type: ignore[no-untyped-call]
        self.registry.stop()
        self._servers.stop()


def make_tools(
    ground: Ground,
    sessions: SessionsService,
    resources: IResources,
    terminals: TerminalsService | None,
) -> tuple[ToolRegistry, ToolSessions]:
    """The tools this host has of its own, and the sessions as they reach them."""
    world = ToolSessions(sessions)
    own = own_tools(
        world,
        seconds=ground.scheduler.seconds,
        ids=ground.ids,
        resources=resources,
        terminals=terminals,
        infos=tuple if terminals is None else terminals.infos,
    )
    advanced = ground.settings.advanced_tools
    registry = ToolRegistry(
        own,
        advanced=lambda: advanced,
        listed=world.listed,
        configured=world.configured,
    )

    def changed() -> None:
        sessions.set_server_tools(registry.offered)

    registry.changed = changed
    changed()
    return registry, world


def http_origin(url: str | None) -> str | None:
    """Where a program of this machine reaches the host over HTTP; None where it cannot.

    `url` is the listener's own (`ws://127.0.0.1:9187`).
    """
    for scheme, plain in (("ws://", "http://"), ("wss://", "https://")):
        if url is not None and url.startswith(scheme):
            return plain + url.removeprefix(scheme)
    return None


def serve_tools(router: Router, servers: ToolsServers, ground: Ground, name: str) -> None:
    """Serve the sessions' endpoints on the host's own listener."""

    def admit(head: RequestHead) -> Response | None:
        status = admitted(servers, head.path, head.values(b"authorization"))
        if status is None:
            return None
        if status == 401:
            challenge = (("WWW-Authenticate", "Bearer"),)
            return text_response(401, "the bearer token of this endpoint is needed", challenge)
        return text_response(404, "there is no such endpoint")

    resource = ToolsResource(servers, name, __version__, ground.scheduler.callLater)
    router.register(PREFIX, resource, Guard.ORIGIN, ("GET", "POST"), admit)
