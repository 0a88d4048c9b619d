"""The agents of a host and the records they are made of, put together."""

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from ahpd import __version__
from ahpd.agents.demo.agent import DemoAgent
from ahpd.app.ground import Ground
from ahpd.app.plugin_icons import PluginIcons
from ahpd.config.errors import ConfigError
from ahpd.config.records import WrittenRecord
from ahpd.extensions.operations import Invocations
from ahpd.extensions.registry import Extensions
from ahpd.interfaces import (
    EnginePorts,
    IAccess,
    IAgent,
    IHostTerminals,
    IRecords,
    IResources,
    ISecrets,
    Owned,
    Template,
)
from ahpd.protocol import State
from ahpd.protocol.reserved import is_reserved
from ahpd.records.agents import RecordsGround
from ahpd.records.asking import Taken
from ahpd.records.demo import BUILT_IN
from ahpd.records.engine_rows import EngineRows
from ahpd.records.engines import Engines
from ahpd.records.ports import agents_folder, blocking, ports_for
from ahpd.records.records_service import AgentRecordsService
from ahpd.records.roster import OWN, REGISTERED, AgentsRoster
from ahpd.records.rules import Rules
from ahpd.records.service import AgentsService
from ahpd.schemas import Vaulted
from ahpd.threads import in_thread


def make_agents(
    ground: Ground, agents: Mapping[str, IAgent] | None, changed: Callable[[], object]
) -> AgentsService:
    """The agents of a host by provider, those of records aside.

    `agents` are a host's that is given its own; None offers the demo agent where the settings
    say so. `changed` is told that what they show is something else. Raises `ConfigError` for one
    of a name that is the host's.
    """
    if agents is None:
        agents = {}
        if ground.settings.offers_demo:
            demo = DemoAgent(ground.reactor, ground.supervisor)
            agents = {demo.provider: demo}
    for provider in agents:
        if is_reserved(provider):
            raise ConfigError(f"the name {provider} is reserved for the host: no agent may have it")
    return AgentsService(AgentsRoster(**{OWN: agents}), ground.scheduler, changed)


def make_agent_records(
    ground: Ground,
    agents: AgentsService,
    written: Sequence[WrittenRecord],
    resources: IResources,
    terminals: IHostTerminals | None,
    *,
    access: IAccess,
    secrets: ISecrets,
    registered: Mapping[str, Owned] | None = None,
    registered_engines: Mapping[str, Owned] | None = None,
    collection: Callable[[], IRecords | None] = lambda: None,
    taken: Taken = lambda name: None,
    connectors: Callable[[], Sequence[State]] = tuple,
    stamped: Callable[[State], State] = lambda schema: schema,
    methods_of: Callable[[str], Collection[str]] = lambda plugin: (),
    plugin_icons: Callable[[str], Sequence[State]],
    icons: PluginIcons,
) -> AgentRecordsService:
    """The records agents are made of, those of the configuration (`written`) opened.

    `registered` are the agents that plugins registered by provider, `registered_engines` their
    engines by name. Raises `ConfigError` for two records with one id, and for one of a name that is the host's.
    """
    settings = ground.settings
    for record in written:
        if is_reserved(record.id):
            raise ConfigError(
                f"{record.place}.id: found {record.id!r}, allowed: a name that is not reserved "
                "for the host"
            )
    environ = dict(os.environ)
    common = EnginePorts(
        reactor=ground.reactor,
        supervisor=ground.supervisor,
        now=ground.now,
        ids=ground.ids,
        run_blocking=blocking(in_thread(ground.reactor)),
        environ=environ,
        default_directory=settings.default_directory,
        resources=resources,
        terminals=terminals,
        version=__version__,
    )
    engines = Engines(BUILT_IN)
    engines.contributed(registered_engines or {})

    def engine_icons(name: str) -> Sequence[State]:
        return icons.of_engine(engines.registrant(name), engines.held(name))

    def template_icons(name: str, template: Template) -> Sequence[State]:
        return icons.of_template(engines.registrant(name), engines.held(name), template)

    agents.begin(
        REGISTERED, {provider: owned.value for provider, owned in (registered or {}).items()}
    )
    return AgentRecordsService(
        RecordsGround(
            engines=engines,
            defaults=settings.engines,
            ports_for=ports_for(common, agents_folder(settings)),
            agents=agents,
            rules=Rules(access),
            secrets=secrets,
            now=ground.now,
            methods_of=methods_of,
            template_icons=template_icons,
        ),
        Vaulted(secrets, environ),
        EngineRows(engines, stamped, plugin_icons, engine_icons, template_icons),
        written,
        collection=collection,
        taken=taken,
        connectors=connectors,
    )


def serve_agent_records(
    records: AgentRecordsService, extensions: Extensions, invocations: Invocations
) -> None:
    """Have clients subscribe to the agents and engines, and send what changes them."""
    attached: Mapping[str, Any] = {
        records.rows.scheme: records.rows,
        records.engines.rows.scheme: records.engines,
    }
    for scheme, channel in records.channels().items():
        attached[scheme].attach(extensions.add_channel(scheme, channel))
    extensions.add_methods(records.methods())
    invocations.register(records.rows.uri, records.operations())
