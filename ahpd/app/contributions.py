"""The parts of a built host that take what plugins contribute (`ahpd.plugins.live.Takers`)."""

from collections.abc import Awaitable, Callable, Mapping, Sequence

import attrs
from twisted.logger import Logger

from ahpd.app.beside import Beside
from ahpd.app.plugin_connection import PluginConnections
from ahpd.calling import asked, called
from ahpd.canvases.service import Canvases
from ahpd.connectors.service import ConnectorsService
from ahpd.extensions.triggers import TriggerTypes
from ahpd.interfaces import Owned
from ahpd.plugins.fold import Fold, Problem
from ahpd.records.records_service import AgentRecordsService
from ahpd.root.service import RootService
from ahpd.sessions.service import SessionsService
from ahpd.tools.registry import ToolRegistry
from ahpd.transports.plugin_routes import PluginRoutes
from ahpd.tunnels.service import TunnelsService

log = Logger(namespace="ahpd.plugin")

#: What the tool registry calls the tools that plugins register.
TOOLS = "plugins"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Contributions:
    """See the module. What takes its part at once comes first, what has to be awaited after it."""

    beside: Beside
    root: RootService
    sessions: SessionsService
    tools: ToolRegistry
    routes: PluginRoutes
    triggers: TriggerTypes
    records: AgentRecordsService
    connectors: ConnectorsService
    tunnels: TunnelsService
    connections: PluginConnections
    canvases: Canvases

    async def take(self, folded: Fold) -> Sequence[Problem]:
        """See `Takers.take`. A part that fails costs no other its own."""
        problems: list[Problem] = []
        for kind, call in self._at_once(folded, problems):
            try:
                called(call)
            except Exception:
                log.failure("what plugins contribute as {kind} could not be taken", kind=kind)
        for kind, coroutine in self._awaited(folded):
            try:
                await asked(coroutine)
            except Exception:
                log.failure("what plugins contribute as {kind} could not be taken", kind=kind)
        return problems

    def _at_once(
        self, folded: Fold, problems: list[Problem]
    ) -> Sequence[tuple[str, Callable[[], object]]]:
        beside, sessions = self.beside, self.sessions

        def report(plugin: str, line: str) -> None:
            problems.append(Problem(plugin, line))

        return (
            ("grants", lambda: beside.described.contributed_grants(folded.grants)),
            ("schemes", lambda: beside.described.contributed(folded.resource_providers)),
            ("channels", lambda: beside.extensions.contributed_channels(folded.channels)),
            ("methods", lambda: beside.extensions.contributed_methods(folded.methods)),
            ("routes", lambda: self.routes.contributed(folded.routes)),
            ("tools", lambda: problems.extend(self._tools(folded.tools))),
            ("session settings", lambda: sessions.keys.contributed(folded.session_config, report)),
            ("session meta", lambda: sessions.meta.contributed(folded.session_meta, report)),
            ("preambles", lambda: sessions.preambles.contributed(folded.preambles)),
            (
                "provider configuration",
                lambda: self.root.contributed_configuration(folded.provider_configurations, report),
            ),
            ("trigger types", lambda: self.triggers.contributed(folded.trigger_types)),
        )

    def _awaited(self, folded: Fold) -> Sequence[tuple[str, Callable[[], Awaitable[object]]]]:
        return (
            ("agents", lambda: self.records.contributed_agents(folded.agents)),
            ("engines", lambda: self.records.contributed_engines(folded.engines)),
            ("adapters", lambda: self.connectors.contributed(folded.adapters)),
            ("tunnel kinds", lambda: self.tunnels.contributed(folded.tunnel_kinds)),
        )

    def _tools(self, tools: Mapping[str, Owned]) -> Sequence[Problem]:
        lines = self.tools.replace(TOOLS, {name: owned.value for name, owned in tools.items()})
        # A line begins with the name of its tool.
        return [Problem(_whose(line, tools), line) for line in lines]

    async def end_sessions(self, providers: Sequence[str]) -> None:
        """See `Takers.end_sessions`."""
        for provider in providers:
            await self.sessions.agents_moved.end_sessions_of(provider)

    async def gone(self, plugin: str) -> None:
        """See `Takers.gone`."""
        await self.connections.close(plugin)
        self.canvases.unloaded(plugin)


def _whose(line: str, tools: Mapping[str, Owned]) -> str:
    for name, owned in tools.items():
        if line.startswith(f"the tool {name} "):
            return owned.plugin
    return ""
