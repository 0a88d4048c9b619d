"""The registrations: each checked against its contract, and recorded in the contribution.

A registration that is not allowed raises `PluginError`, which fails the plugin's `apply`. What
is recorded is the host's own copy: what a plugin does to its values later changes nothing here.
Source: PLUGINS.txt, "What you can register", "The contracts", "Reserved names".
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from twisted.application.service import IService

from ahpd.interfaces import (
    EVENTS,
    Adapter,
    ChangesetOperations,
    Channel,
    HostTool,
    IAgent,
    IEngine,
    Method,
    PluginError,
    ProviderConfiguration,
    SessionConfigKey,
    TriggerType,
    TunnelKind,
)
from ahpd.plugins import checked, copies
from ahpd.plugins.checked import Checks
from ahpd.plugins.contribution import Contribution, GrantSubject, Port
from ahpd.plugins.ports import check_port
from ahpd.protocol import State

__all__ = ["Checks", "Registrar"]


class Registrar:
    """Takes the registrations of one plugin while its `apply` runs.

    `listed(kind, name)` raises `PluginError` for what the plugin's contracts do not list. `warn`
    is told of what is registered all the same, in one line.
    """

    def __init__(
        self,
        contribution: Contribution,
        checks: Checks,
        listed: Callable[[str, str], None],
        warn: Callable[[str], None],
    ) -> None:
        self.contribution = contribution
        self._checks = checks
        self._listed = listed
        self._warn = warn
        self._closed = False
        self._waiting: list[Callable[[], None]] = []

    @property
    def is_open(self) -> bool:
        """Whether `apply` runs."""
        return not self._closed

    def when_closed(self, call: Callable[[], None]) -> None:
        """Call once `apply` returned."""
        if self._closed:
            call()
        else:
            self._waiting.append(call)

    def close_registrations(self) -> None:
        """`apply` returned: nothing is registered from here on."""
        self._closed = True
        waiting, self._waiting = self._waiting, []
        for call in waiting:
            call()

    # -- agents, engines, tools ------------------------------------------------------

    def register_agent(self, agent: Any) -> None:
        """See `IPluginHost.register_agent`."""
        self._still()
        checked.check_provides(IAgent, agent, "an agent")
        provider = checked.check_with(
            "the provider of an agent", self._checks.scheme, agent.provider
        )
        if provider != agent.provider:
            raise PluginError(f"the provider of an agent is written small: {agent.provider!r}")
        if provider in self.contribution.resource_providers:  # the other way round is the fold's
            self._warn(
                f"the agent {provider} is left out: it is the name of the plugin's own scheme"
            )
            return
        self._take("agents", "agents", provider, agent)

    def register_engine(self, engine: Any) -> None:
        """See `IPluginHost.register_engine`."""
        self._still()
        checked.check_provides(IEngine, engine, "an engine")
        checked.check_slug("the name of an engine", engine.name)
        at = f"the engine {engine.name}"
        schema = copies.object_copy(
            checked.check_with(at, lambda one: one.schema(), engine), f"{at}: its schema"
        )
        self._take("engines", "engines", engine.name, engine)
        self._gaps(f"engine {engine.name}", schema)
        for path in self._checks.write_only(schema):
            self._warn(f"engine {engine.name} {path}: writeOnly kept in the vault; mark it secret")

    def register_tool(self, tool: HostTool) -> None:
        """See `IPluginHost.register_tool`."""
        self._still()
        checked.check_instance(HostTool, tool)
        checked.check_with(_called(tool), self._checks.tool, tool)
        checked.check_callable(f"what runs the tool {tool.name}", tool.run, required=True)
        held = copies.tool_copy(tool)
        self._take("tools", "tools", tool.name, held)
        self._gaps(f"tool {tool.name}", held.definition.get("inputSchema"))

    # -- what sessions and the root are configured with ----------------------------------

    def register_session_config(self, key: str, schema: State, completer: Any = None) -> None:
        """See `IPluginHost.register_session_config`."""
        self._still()
        checked.check_text("the key of a session setting", key)
        checked.check_callable(f"what answers the session setting {key}", completer)
        held = copies.object_copy(schema, f"the schema of the session setting {key}")
        value = SessionConfigKey(key=key, schema=held, completer=completer)
        self._take("sessionConfigs", "session_config", key, value)
        self._gaps(f"session setting {key}", held)

    def register_provider_configuration(self, registration: ProviderConfiguration) -> None:
        """See `IPluginHost.register_provider_configuration`."""
        self._still()
        checked.check_instance(ProviderConfiguration, registration)
        provider = registration.provider
        checked.check_text("the provider of a configuration", provider)
        checked.check_text(f"the title of the configuration of {provider}", registration.title)
        held = copies.configuration_copy(registration)
        self._take("providerConfigurations", "provider_configurations", provider, held)
        for key, schema in held.properties.items():
            self._gaps(f"configuration {provider} {key}", schema)

    # -- schemes, channels, commands ----------------------------------------------------

    def register_resource_provider(self, scheme: str, provider: Any) -> None:
        """See `IPluginHost.register_resource_provider`."""
        self._still()
        name = checked.check_with("a resource scheme", self._checks.scheme, scheme)
        checked.check_resource_provider(f"{name}", provider)
        self._take("resourceProviders", "resource_providers", name, provider)

    def register_channel(self, scheme: str, channel: Channel) -> None:
        """See `IPluginHost.register_channel`; the handle is the plugin's host's to make."""
        self._still()
        checked.check_instance(Channel, channel)
        checked.check_channel(scheme, channel)
        self._take("channels", "channels", scheme, channel)

    def register_method(self, name: str, method: Method) -> None:
        """See `IPluginHost.register_method`."""
        self._still()
        checked.check_instance(Method, method)
        checked.check_method(name, method)
        self._take("methods", "methods", name, method)

    def register_grants(
        self, subject: str, title: str, operations: Sequence[str], description: str = ""
    ) -> None:
        """See `IPluginHost.register_grants`. Again it adds its operations to those there are."""
        self._still()
        checked.check_grants(subject, title, operations, description)
        held = self.contribution.grants.pop(subject, None)
        if held is not None:
            title, description = held.title, held.description
            operations = (*held.operations, *operations)
        value = GrantSubject(
            title=title, description=description, operations=tuple(dict.fromkeys(operations))
        )
        self._take("grants", "grants", subject, value)

    # -- adapters, tunnels, triggers ------------------------------------------------------

    def register_adapter(self, adapter: Adapter) -> None:
        """See `IPluginHost.register_adapter`."""
        self._still()
        checked.check_instance(Adapter, adapter)
        checked.check_slug("the name of an adapter", adapter.name)
        checked.check_with(f"the adapter {adapter.name}", self._checks.adapter, adapter)
        held = copies.adapter_copy(adapter)
        self._take("adapters", "adapters", adapter.name, held)
        self._gaps(f"adapter {adapter.name}", held.schema)
        for line in self._checks.adapter_warnings(held):
            self._warn(line)
        for one in held.capabilities:
            self._gaps(f"adapter {adapter.name} {one.name}", one.input)

    def register_tunnel_kind(self, kind: TunnelKind) -> None:
        """See `IPluginHost.register_tunnel_kind`."""
        self._still()
        checked.check_instance(TunnelKind, kind)
        checked.check_slug("the name of a tunnel kind", kind.name)
        checked.check_with(f"the tunnel kind {kind.name}", self._checks.tunnel_kind, kind)
        held = copies.kind_copy(kind)
        self._take("tunnelKinds", "tunnel_kinds", kind.name, held)
        self._gaps(f"tunnel kind {kind.name}", held.schema)
        for one in held.operations:
            self._gaps(f"tunnel kind {kind.name} {one.id}", one.input)

    def register_trigger_type(self, definition: TriggerType) -> None:
        """See `IPluginHost.register_trigger_type`."""
        self._still()
        checked.check_instance(TriggerType, definition)
        checked.check_text("the type of a trigger", definition.type)
        what = f"the trigger type {definition.type}"
        checked.check_with(what, self._checks.trigger_type, definition)
        held = copies.trigger_copy(definition)
        self._take("triggerTypes", "trigger_types", definition.type, held)
        self._gaps(f"trigger type {definition.type}", held.config_schema)

    def register_changeset_operations(self, contribution: ChangesetOperations) -> None:
        """See `IPluginHost.register_changeset_operations`."""
        self._still()
        checked.check_instance(ChangesetOperations, contribution)
        checked.check_operations(contribution)
        held = copies.operations_copy(contribution)
        for name in held.handlers:
            self._take("changesetOperations", "changeset_operations", name, held)

    # -- chats, sessions ---------------------------------------------------------------

    def register_chat_preamble(self, preamble: Callable[..., Any]) -> None:
        """See `IPluginHost.register_chat_preamble`."""
        self._open("chatPreambles", "preamble")
        checked.check_callable("a chat preamble", preamble, required=True)
        self.contribution.preambles.append(preamble)

    def register_session_meta(self, key: str, read: Callable[[str], Any]) -> None:
        """See `IPluginHost.register_session_meta`."""
        self._still()
        checked.check_text("the key of a session's _meta", key)
        checked.check_callable(f"what reads the _meta key {key}", read, required=True)
        self._take("sessionMeta", "session_meta", key, read)

    # -- routes, services, closers --------------------------------------------------------

    def register_route(self, handler: Any) -> None:
        """See `IPluginHost.register_route`."""
        self._open("routes", "route")
        if self.contribution.route is not None:
            raise PluginError("a plugin has one route, and this one has one already")
        from twisted.web.resource import IResource, Resource  # noqa: PLC0415 - for who has a route

        # What is a Resource need not be asked what it provides, which is worked out anew for
        # each class and takes longer than all of the registration does.
        served = callable(handler) or isinstance(handler, Resource)
        if not served and not IResource.providedBy(handler):
            raise PluginError("a route is served by a coroutine function or an IResource")
        self.contribution.route = handler

    def register_service(self, service: Any) -> None:
        """See `IPluginHost.register_service`."""
        self._open("services", "service")
        checked.check_provides(IService, service, "a service")
        if service.running:
            raise PluginError("a service is started by the host, and this one runs already")
        if service in self.contribution.services:
            raise PluginError("a service is registered once, and this one is already")
        self.contribution.services.append(service)

    def register_close(self, close: Callable[[], Any]) -> None:
        """See `IPluginHost.register_close`."""
        self._open("closers", "closer")
        checked.check_callable("a closer", close, required=True)
        self.contribution.closers.append(close)

    # -- ports and events ------------------------------------------------------------------

    def register_port(self, name: str, value: Any, replace: bool) -> None:
        """One of `ahpd.plugins.ports.PORTS`."""
        self._open("ports", name)
        if name in self.contribution.ports:
            raise PluginError(f"the port {name} is registered twice")
        check_port(name, value)
        if not isinstance(replace, bool):
            raise PluginError(f"the port {name}: replace is True or False, found {replace!r}")
        self.contribution.ports[name] = Port(value=value, replace=replace)

    def listen(self, event: str, handler: Callable[..., Any]) -> None:
        """See `IPluginHost.on`. One that comes after `apply` hears nothing."""
        if event not in EVENTS:
            raise PluginError(f"there is no event {event!r}; there are {', '.join(EVENTS)}")
        checked.check_callable(f"the listener of {event}", handler, required=True)
        if self._closed:
            self._warn(f"a listener of {event} came after apply returned and hears nothing")
            return
        self.contribution.listeners.setdefault(event, []).append(handler)

    # -- what they have in common ----------------------------------------------------------

    def _still(self) -> None:
        """Whether `apply` still runs is asked first, whatever else is wrong."""
        if self._closed:
            raise PluginError(
                f"{self.contribution.plugin}: nothing may be registered after apply returned; the "
                "host has already taken its copy of what this plugin contributed"
            )

    def _open(self, kind: str, name: str) -> None:
        self._still()
        self._listed(kind, name)

    def _take(self, kind: str, field: str, name: str, value: Any) -> None:
        self._open(kind, name)
        held = getattr(self.contribution, field)
        if name in held:
            raise PluginError(f"{kind}: {name} is registered twice")
        held[name] = value

    def _gaps(self, place: str, schema: Any) -> None:
        for gap in self._checks.gaps(dict(schema)) if isinstance(schema, Mapping) else ():
            # What is wrong with the whole of a schema is told without a path.
            self._warn(f"{place} {gap}" if ": " in gap else f"{place}: {gap}")


def _called(tool: HostTool) -> str:
    """A tool in words, whose definition was not looked at yet."""
    definition: Any = tool.definition
    name = definition.get("name") if isinstance(definition, Mapping) else None
    return f"the tool {name[:64]}" if isinstance(name, str) and name else "a tool"
