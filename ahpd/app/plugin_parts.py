"""What a host has for its plugins, and for what people make of them: put together once it is built."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import attrs
from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.app.beside import Beside
from ahpd.app.built import Domains
from ahpd.app.contributions import Contributions
from ahpd.app.form_language import FormLanguage
from ahpd.app.ground import Ground
from ahpd.app.plugin_calls import PluginCalls
from ahpd.app.plugin_connection import PluginConnections
from ahpd.app.plugin_settings import PluginSettings
from ahpd.app.plugin_side import PluginSide
from ahpd.app.produced import ProducedContent
from ahpd.app.ways import Ways
from ahpd.attachments.files import AttachmentFiles
from ahpd.canvases.service import Canvases
from ahpd.connectors.ground import Ground as ConnectorsGround
from ahpd.connectors.service import ConnectorsService
from ahpd.extensions.rows import Rows
from ahpd.extensions.triggers import TriggerTypes
from ahpd.plugins.at_need import RootAtNeed
from ahpd.plugins.closers import Closers
from ahpd.plugins.command_table import plugin_methods
from ahpd.records.records_service import AgentRecordsService
from ahpd.root.service import RootService
from ahpd.schemas import Vaulted
from ahpd.sessions.starting import OWNER, SessionStarts
from ahpd.tools.registry import ToolRegistry
from ahpd.tunnels.service import TunnelsService

if TYPE_CHECKING:
    from ahpd.plugins.commands import PluginCommands

log = Logger(namespace="ahpd.plugin")

#: What the tool registry calls the actions of connectors.
_ACTIONS = "connectors"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class PluginParts:
    """The parts, in the order in which their services start."""

    connectors: ConnectorsService
    tunnels: TunnelsService
    canvases: Canvases
    connections: PluginConnections
    closers: Closers
    contributions: Contributions

    @property
    def services(self) -> Sequence[Service]:
        """Those that stand on the sessions; they are down before the sessions are."""
        return (self.canvases, self.connectors, self.tunnels)


def _connectors(
    ground: Ground, side: PluginSide, beside: Beside, built: Domains, vaulted: Vaulted
) -> ConnectorsService:
    sessions, folder = built.sessions, built.folder

    def files(session: str) -> Path | None:
        return None if folder is None else AttachmentFiles(folder.path, ground.ids).folder(session)

    def config(session: str) -> Mapping[str, Any]:
        found = sessions.find(session)
        return {} if found is None else found.config_values

    def owner(session: str) -> str | None:
        whose: str | None = sessions.registry.world.facts(session).get(OWNER)
        return whose

    return ConnectorsService(
        built.kept.host_store,
        beside.access,
        ConnectorsGround(
            vaulted=vaulted,
            clock=ground.scheduler,
            now=ground.now,
            methods=side.world.methods_of,
            report=side.rows.problem,
            icons=side.icons.of_adapter,
            session_config=config,
            session_owner=owner,
            bindings=side.plugins.folded.port("bindings"),
            files=files,
            produced=ProducedContent(ground.store, sessions.find_chat),
        ),
    )


def make_plugin_parts(
    ground: Ground,
    side: PluginSide,
    beside: Beside,
    built: Domains,
    triggers: TriggerTypes,
    vaulted: Vaulted,
    ways: Ways,
) -> PluginParts:
    """Everything, wired to each other and served to clients."""
    root, sessions = built.root, built.sessions
    connectors = _connectors(ground, side, beside, built, vaulted)
    tunnels = TunnelsService(
        built.kept.host_store,
        vaulted,
        ground.scheduler,
        ground.ids,
        stamped=partial(beside.choices.stamped, dynamic=False),
        connectors=connectors.choices,
        report=side.rows.problem,
    )
    canvases = Canvases(ground.store, root.canvases_enabled, sessions.reach_chat, ground.ids)
    sessions.from_plugins.canvases = canvases.of
    sessions.from_plugins.chat_gone = canvases.chat_gone
    sessions.from_plugins.in_language = FormLanguage(side, built.agents, built.records).translated
    connections = PluginConnections(ground.scheduler, ways.signed_in)
    contributions = Contributions(
        beside=beside,
        root=root,
        sessions=sessions,
        tools=built.tools,
        routes=ways.routes,
        triggers=triggers,
        records=built.records,
        connectors=connectors,
        tunnels=tunnels,
        connections=connections,
        canvases=canvases,
    )
    folded = side.plugins
    side.world.built = PluginCalls(
        connections=connections,
        starts=SessionStarts(sessions, beside.access),
        meta=sessions.meta,
        canvases=canvases,
        extensions=beside.extensions,
        triggers=triggers,
        usage=folded.folded.port("usage"),
        automations=folded.folded.port("automations"),
        spawn=_spawn,
    )
    _serve(ground, side, beside, root, connectors, tunnels, built.tools, built.records)
    return PluginParts(
        connectors=connectors,
        tunnels=tunnels,
        canvases=canvases,
        connections=connections,
        closers=Closers(side.plugins),
        contributions=contributions,
    )


def _serve(
    ground: Ground,
    side: PluginSide,
    beside: Beside,
    root: RootService,
    connectors: ConnectorsService,
    tunnels: TunnelsService,
    tools: ToolRegistry,
    records: AgentRecordsService,
) -> None:
    """Have clients subscribe to what there is, and send what changes it."""
    listed: Sequence[Rows] = (
        side.rows.rows,
        connectors.adapters,
        connectors.connectors,
        tunnels.tunnels,
    )
    for rows in listed:
        rows.attach(beside.extensions.add_channel(rows.scheme, rows.channel))
    methods = dict(connectors.methods())
    settings = PluginSettings(side, root, partial(_may, ground, beside))
    if side.file is not None and side.root is not None:
        commands = _commands(side, side.file, side.root, beside, settings.say)
        methods |= plugin_methods(commands)
        settings.pushed = lambda plugin, values: commands().pushed(plugin, values)
    beside.extensions.add_methods(methods)
    beside.invocations.register(connectors.connectors.uri, connectors.operations())
    beside.invocations.register(tunnels.tunnels.uri, tunnels.operations())
    beside.choices.connectors = connectors.choices
    connectors.tools_moved = lambda: _offer(tools, connectors)
    connectors.choices_moved = beside.choices.moved
    tunnels.operations_moved = partial(beside.invocations.refresh, tunnels.tunnels.uri)
    beside.choices.listen(tunnels.connectors_changed)
    side.icons.moved = partial(_icons_moved, connectors, records)
    settings.say()


def _may(ground: Ground, beside: Beside, client: str, grant: str) -> bool:
    """Whether everybody who is connected as `client` holds a grant."""
    there = ground.clients.connections(client)
    readers = [beside.access.reader(connection) for connection in there]
    return bool(readers) and all(beside.access.holds(reader, grant) for reader in readers)


def _commands(
    side: PluginSide,
    file: Path,
    root: RootAtNeed,
    beside: Beside,
    moved: Callable[[], None],
) -> "Callable[[], PluginCommands]":
    base = Path.cwd()

    @cache
    def commands() -> "PluginCommands":
        # With the first of them.
        from ahpd.config.plugins_file import PluginsFile  # noqa: PLC0415
        from ahpd.plugins.commands import PluginCommands  # noqa: PLC0415

        return PluginCommands(
            plugins=side.plugins,
            named=lambda: side.loader.named,
            file=PluginsFile(file),
            entries=side.entries,
            installer=root.installer,
            base=base,
            written=root.written,
            mark_restart=beside.restart.mark,
            moved=moved,
        )

    return commands


def _offer(tools: ToolRegistry, connectors: ConnectorsService) -> None:
    for line in tools.replace(_ACTIONS, connectors.tools()):
        log.warn("{line}", line=line)


def _icons_moved(connectors: ConnectorsService, records: AgentRecordsService) -> None:
    connectors.icons_moved()
    records.icons_moved()


def _spawn(what: str, work: Any) -> "Deferred[Any]":
    """Run a coroutine in the background; what it raises is logged with what it was."""
    running: Deferred[Any] = Deferred.fromCoroutine(work)
    running.addErrback(lambda failure: log.failure("{what} failed", failure, what=what))
    return running
