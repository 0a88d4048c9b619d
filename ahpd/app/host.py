"""The composition root: builds the parts of a host and hands each what it needs.

`make_host` answers a tree of named services (`ahpd.app.tree`), in the order in which each stands on
the ones before it. At the stop they go down in the opposite order: the plugins are told and their
services are down, the routes say that the host is draining, the sessions end their turns while
their clients can still be told, the plugins' closers run, the children are gone, then the
connections close and the wire log is flushed.
"""

import uuid
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

from ahpd.app.agent_records import make_agent_records, make_agents, serve_agent_records
from ahpd.app.agent_side import Later, make_credentials, make_offers, make_tools
from ahpd.app.beside import make_beside
from ahpd.app.built import Domains
from ahpd.app.domains import (
    attachments_folder,
    configured_judge,
    configured_servers,
    local_terminals,
    make_resources,
    make_sessions,
    make_terminals,
    managed_settings,
)
from ahpd.app.ground import Ground
from ahpd.app.kept_records import KeptRecords
from ahpd.app.observed import observe
from ahpd.app.plugin_parts import make_plugin_parts
from ahpd.app.plugin_side import PluginSide, make_plugin_side
from ahpd.app.serving import serve
from ahpd.app.tree import Around, Host, plant
from ahpd.app.ways import make_ways
from ahpd.channels.store import ChannelStore
from ahpd.config.settings import Settings
from ahpd.extensions.access import OpenAccess
from ahpd.extensions.completions import Choices
from ahpd.extensions.triggers import TriggerTypes
from ahpd.interfaces import IAccess, IAgent, IJudge, ISessionStore, ITerminals
from ahpd.peers.clients import ClientRegistry
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.root.service import RootService
from ahpd.schemas import Vaulted
from ahpd.stores.chosen import make_store
from ahpd.threads import in_thread

__all__ = ["Host", "make_host"]


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
    access: IAccess | None = None,
    plugins: PluginSide | None = None,
) -> Host:
    """A host as `settings` say. `agents` by provider replace the configured ones.

    `now` is the wall clock (aware), `ids` a source of ids that never repeats. `kept` is a
    session store in place of the configured one, not open. `terminals` starts the programs of
    terminals in place of this machine's own, and `resources` are the providers by scheme
    (`IResourceProvider`) in place of this machine's files. `judge` answers questions about
    calls before people do, in place of the configured rules; `access` says who may do what
    beside the protocol, everybody everything where it is None. `plugins` are the plugins' side,
    what it loads loaded; without it none is loaded until the host runs. Raises `StoreFailure` where what
    is kept cannot be opened.
    """
    side = make_plugin_side(settings, reactor, now=now) if plugins is None else plugins
    folded = side.plugins.folded
    if kept is None:
        kept = folded.port("sessions") or make_store(settings, in_thread(reactor))
    kept.open()
    try:
        ground = _ground(settings, reactor, now, ids, kept, side)
        allowed = OpenAccess() if access is None else access
        return _make_host(ground, side, agents, terminals, resources, judge, allowed)
    except BaseException:
        kept.close()
        raise


def _ground(
    settings: Settings,
    reactor: Any,
    now: Callable[[], datetime],
    ids: Callable[[], str],
    kept: ISessionStore,
    side: PluginSide,
) -> Ground:
    supervisor = ProcessSupervisor(reactor, secrets=settings.secrets)
    side.programs.supervisor = supervisor
    return Ground(
        settings=settings,
        reactor=reactor,
        now=now,
        ids=ids,
        kept=kept,
        scheduler=side.scheduler,
        store=ChannelStore(settings.replay_bytes),
        supervisor=supervisor,
        clients=ClientRegistry(side.scheduler),
    )


def _make_host(
    ground: Ground,
    side: PluginSide,
    agents: Mapping[str, IAgent] | None,
    port: ITerminals | None,
    providers: Mapping[str, Any] | None,
    judge: IJudge | None,
    access: IAccess,
) -> Host:
    choices = Choices(access)
    vaulted = Vaulted(side.world.secrets, side.environ, side.unspoken.add)
    domains = _make_domains(ground, side, agents, port, providers, judge, access, choices, vaulted)
    root, sessions, parts = domains.root, domains.sessions, domains.resources
    observe(
        side.events,
        ground,
        sessions,
        domains.terminals,
        parts.resources,
        domains.credentials,
        access,
    )
    beside = make_beside(ground, root, access, choices, side.rows.problem)
    triggers = TriggerTypes(partial(choices.stamped, dynamic=True), side.rows.problem)
    ways = make_ways(ground, serve(ground, domains, beside, triggers))
    serve_agent_records(domains.records, beside.extensions, beside.invocations)
    choices.listen(domains.records.connectors_moved)
    plugins = make_plugin_parts(ground, side, beside, domains, triggers, vaulted, ways)
    return plant(ground, domains, Around(ways=ways, beside=beside, side=side, plugins=plugins))


def _make_domains(
    ground: Ground,
    side: PluginSide,
    agents: Mapping[str, IAgent] | None,
    port: ITerminals | None,
    providers: Mapping[str, Any] | None,
    judge: IJudge | None,
    access: IAccess,
    choices: Choices,
    vaulted: Vaulted,
) -> Domains:
    settings, folded = ground.settings, side.plugins.folded
    # What of the configuration may be refused comes ahead of the agents, who hold something.
    servers, managed = configured_servers(settings), managed_settings(settings)
    if judge is None:
        judge = configured_judge(settings, folded.port("commandParser"))
    folder = attachments_folder(settings, ground.ids)
    if port is None:
        port = folded.port("terminals") or local_terminals(ground.reactor, ground.supervisor)
    parts = make_resources(ground, providers, folded)
    terminals = None if port is None else make_terminals(ground, port, lambda: root)
    kept = KeptRecords(ground, parts.threads.run, folded.port("records"))
    side.world.records_are(kept.for_plugins)
    held = make_agents(ground, agents, lambda: root.agents_changed(held.agents.values()))
    records = make_agent_records(
        ground,
        held,
        settings.agents if agents is None else (),
        parts.resources,
        terminals,
        access=access,
        secrets=side.world.secrets,
        registered=folded.agents,
        registered_engines=folded.engines,
        collection=lambda: kept.collection("agents"),
        taken=lambda name: f"the scheme {name}:" if parts.resources.serves(name) else None,
        connectors=lambda: choices.connectors(),  # noqa: PLW0108 - what they are is said later
        stamped=partial(choices.stamped, dynamic=True),
        methods_of=side.world.methods_of,
        plugin_icons=side.rows.icons_of,
        icons=side.icons,
    )
    root = RootService(
        ground.store,
        held.agents.values(),
        settings.client_queue_bytes,
        settings.replay_bytes,
        terminals=port is not None,
    )
    later = Later()
    credentials = make_credentials(ground, root.agents, later)
    offers = make_offers(ground, root, credentials, later, judge, servers.current, managed)
    sessions = make_sessions(ground, held.agents, folder, terminals, offers)
    sessions.registry.absent, held.sessions = held.agents.absent, sessions.agents_moved
    later.registry = sessions.registry
    root.on_config = sessions.moves.switched
    tools, world = make_tools(ground, sessions, parts.resources, terminals)
    offers.tools = tools
    return Domains(
        folder=folder,
        resources=parts,
        terminals=terminals,
        kept=kept,
        agents=held,
        records=records,
        root=root,
        credentials=credentials,
        offers=offers,
        sessions=sessions,
        tools=tools,
        artifacts=world.kept,
        later=later,
    )
