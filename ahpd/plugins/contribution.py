"""What one plugin registered, as the host's own copy of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import attrs

from ahpd.interfaces import (
    Adapter,
    ChangesetOperations,
    Channel,
    HostTool,
    Method,
    ProviderConfiguration,
    SessionConfigKey,
    TriggerType,
    TunnelKind,
)


@attrs.frozen(kw_only=True)
class Port:
    """A port a plugin supplies, and whether it says that it takes it over."""

    value: Any
    replace: bool


@attrs.frozen(kw_only=True)
class GrantSubject:
    """Operations that a grant may name."""

    title: str
    description: str
    operations: Sequence[str]


@attrs.define(kw_only=True, eq=False, repr=False)
class Contribution:
    """What one plugin registered. It grows while `apply` runs, and never after."""

    plugin: str
    agents: dict[str, Any] = attrs.field(factory=dict)
    """`IAgent` by provider."""
    engines: dict[str, Any] = attrs.field(factory=dict)
    """`IEngine` by name."""
    tools: dict[str, HostTool] = attrs.field(factory=dict)
    session_config: dict[str, SessionConfigKey] = attrs.field(factory=dict)
    provider_configurations: dict[str, ProviderConfiguration] = attrs.field(factory=dict)
    resource_providers: dict[str, Any] = attrs.field(factory=dict)
    """By scheme."""
    channels: dict[str, Channel] = attrs.field(factory=dict)
    """By scheme."""
    methods: dict[str, Method] = attrs.field(factory=dict)
    adapters: dict[str, Adapter] = attrs.field(factory=dict)
    tunnel_kinds: dict[str, TunnelKind] = attrs.field(factory=dict)
    trigger_types: dict[str, TriggerType] = attrs.field(factory=dict)
    changeset_operations: dict[str, ChangesetOperations] = attrs.field(factory=dict)
    """By the id of each handled operation."""
    preambles: list[Any] = attrs.field(factory=list)
    session_meta: dict[str, Callable[[str], Any]] = attrs.field(factory=dict)
    grants: dict[str, GrantSubject] = attrs.field(factory=dict)
    route: Any = None
    """A `RouteHandler` or an `IResource`."""
    services: list[Any] = attrs.field(factory=list)
    closers: list[Callable[[], Any]] = attrs.field(factory=list)
    listeners: dict[str, list[Callable[..., Any]]] = attrs.field(factory=dict)
    """By event, in the order of registration."""
    ports: dict[str, Port] = attrs.field(factory=dict)
    collections: dict[str, Any] = attrs.field(factory=dict)
    """The collections of records it opened, by name."""

    @property
    def fixed(self) -> Mapping[str, Any]:
        """What a host is built over and cannot be changed while it runs, by what it is."""
        held: dict[str, Any] = {f"the port {name}": port for name, port in self.ports.items()}
        held.update({f"the scheme {name}:": one for name, one in self.resource_providers.items()})
        return held
