"""What this host offers the agents of its sessions, put together of the parts that serve it."""

from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping, Sequence
from typing import Any, Protocol

import attrs
from zope.interface import implementer

from ahpd.credentials.service import Credentials
from ahpd.interfaces import (
    IJudge,
    IOffers,
    IToolsServer,
    RunClientTool,
    ToolCallContext,
)
from ahpd.mcp.servers import ToolsServers
from ahpd.protocol import Action, State
from ahpd.protocol.uris import canonical
from ahpd.root.service import RootService
from ahpd.sessions.client_tools import tools_of
from ahpd.sessions.customization_lists import every
from ahpd.sessions.registry import SessionRegistry
from ahpd.sessions.trust import trusted
from ahpd.tools.messages import delegated_from


class HostTools(Protocol):
    """The host's own tools, as they are called."""

    def definitions(self, session: str) -> Sequence[State]:
        """Those a session is offered (schema: ToolDefinition)."""

    def instructions(self, session: str) -> str | None:
        """What a model is told of them."""

    def run(
        self, name: str, arguments: Mapping[str, Any], context: ToolCallContext
    ) -> Awaitable[State]:
        """Run one (schema: ToolCallResult). Never raises."""

    def session_gone(self, session: str) -> None:
        """A session is disposed of: what runs for it is cancelled."""


class SessionTools:
    """What the sessions have of tools, for their endpoints (`mcp.endpoint.ToolsOfSessions`)."""

    def __init__(
        self, tools: Callable[[], HostTools], registry: Callable[[], SessionRegistry]
    ) -> None:
        self._tools = tools
        self._registry = registry

    def host_tools(self, session: str) -> Sequence[Mapping[str, Any]]:
        """See `ToolsOfSessions.host_tools`."""
        return self._tools().definitions(session)

    def client_tools(self, session: str) -> Sequence[Mapping[str, Any]]:
        """See `ToolsOfSessions.client_tools`."""
        found = self._registry().find(session)
        return () if found is None else tools_of(found.state)

    def run(
        self, name: str, arguments: Mapping[str, Any], context: ToolCallContext
    ) -> Awaitable[State]:
        """See `ToolsOfSessions.run`."""
        return self._tools().run(name, arguments, context)


class AdvertisedHere:
    """What may be signed in to: of the agents, and what sessions wait for now.

    `agents` is what clients are shown of them (schema: AgentInfo).
    """

    def __init__(
        self, agents: Callable[[], Iterable[State]], registry: Callable[[], SessionRegistry]
    ) -> None:
        self._agents = agents
        self._registry = registry

    def of_agents(self) -> Iterable[Mapping[str, Any]]:
        """See `Advertised.of_agents`."""
        for agent in self._agents():
            yield from filter(_is_resource, agent.get("protectedResources") or ())

    def of_sessions(
        self, watched: Collection[str] | None
    ) -> Iterable[tuple[str, Mapping[str, Any]]]:
        """See `Advertised.of_sessions`: servers that need a sign-in, and calls that wait for one."""
        for session in self._registry().catalogue.sessions():
            if watched is not None and session.uri not in watched:
                continue
            for entry in every(session.state.get("customizations") or ()):
                state = entry.get("state") or {}
                if state.get("kind") == "authRequired" and _is_resource(state.get("resource")):
                    yield session.uri, state["resource"]
            for asked in session.state.get("inputNeeded") or ():
                if asked["kind"] == "toolAuthentication":
                    yield session.uri, asked["toolCall"]["auth"]["resource"]

    def server(self, session: str, server: str) -> str | None:
        """See `Advertised.server`."""
        found = self._registry().find(canonical(session))
        if found is None:
            return None
        entries = every(found.state.get("customizations") or ())
        known = any(entry["type"] == "mcpServer" and entry["id"] == server for entry in entries)
        return found.uri if known else None


def _is_resource(record: Any) -> bool:
    """Whether a backend's word for a resource is one: a server's own words are passed on."""
    return isinstance(record, dict) and isinstance(record.get("resource"), str)


@implementer(IOffers)
@attrs.define(kw_only=True, eq=False, repr=False)
class Offers:
    """See `IOffers`."""

    judge: IJudge | None
    tools: HostTools
    """Set once there are sessions for them to work with."""
    servers: ToolsServers
    credentials: Credentials
    root: RootService
    mcp: Callable[[], Mapping[str, Mapping[str, Any]]]
    managed: Mapping[str, Any]

    def instructions(self, session: str) -> str | None:
        """See `IOffers.instructions`."""
        return self.tools.instructions(session)

    async def run_tool(
        self, name: str, arguments: Mapping[str, Any], context: ToolCallContext
    ) -> State:
        """See `IOffers.run_tool`."""
        return await self.tools.run(name, arguments, context)

    def tools_server(
        self, session: str, chat: str, run_client_tool: RunClientTool | None, notify: bool
    ) -> IToolsServer | None:
        """See `IOffers.tools_server`."""
        return self.servers.open(session, chat, run_client_tool, notify)

    def tools_moved(self, session: str) -> None:
        """See `IOffers.tools_moved`."""
        self.servers.moved(session)

    def session_gone(self, session: str) -> None:
        """See `IOffers.session_gone`."""
        self.servers.session_gone(session)
        self.tools.session_gone(session)
        self.credentials.askers.session_gone(session)

    def chat_gone(self, chat: str) -> None:
        """See `IOffers.chat_gone`."""
        self.servers.chat_gone(chat)
        self.credentials.askers.chat_gone(chat)

    def chat_moved(
        self, session: str, chat: str, action: Action, origin: Mapping[str, Any] | None
    ) -> None:
        """See `IOffers.chat_moved`. What an agent says is said for whom it works for."""
        askers = self.credentials.askers
        source = None if origin is not None else delegated_from(action.get("message"))
        client = None if origin is None else origin["clientId"]
        if source is not None:
            client = next(iter(askers.of(*source)), None)
        askers.said(session, chat, action, client)

    def credential(
        self, session: str, chat: str, resource: str, server: str | None = None
    ) -> str | None:
        """See `IOffers.credential`."""
        return self.credentials.spent(session, chat, resource, server)

    def mcp_servers(self) -> Mapping[str, Mapping[str, Any]]:
        """See `IOffers.mcp_servers`."""
        return self.mcp()

    def managed_settings(self) -> Mapping[str, Any]:
        """See `IOffers.managed_settings`."""
        return self.managed

    def trusted(self, folders: Sequence[str]) -> bool:
        """See `IOffers.trusted`."""
        values = self.host_values()
        return all(trusted(folder, values) for folder in folders)

    def host_values(self) -> Mapping[str, Any]:
        """See `IOffers.host_values`."""
        return self.root.values()

    def grant(self, rules: Sequence[str]) -> None:
        """See `IOffers.grant`."""
        self.root.grant(rules)
