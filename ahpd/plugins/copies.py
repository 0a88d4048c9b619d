"""The host's own copy of what a plugin registers: what the plugin does to its values later moves
nothing here. Source: PLUGINS.txt, "Everything you are handed is read-only".
"""

from collections.abc import Mapping
from typing import Any

import attrs

from ahpd.interfaces import (
    Adapter,
    ChangesetOperations,
    HostTool,
    PluginError,
    ProviderConfiguration,
    TriggerType,
    TunnelKind,
)
from ahpd.protocol import json_values
from ahpd.protocol.check import ShapeError


def json_copy(value: Any, what: str) -> Any:
    """A copy of the JSON value `what`. Raises `PluginError` that says what in it is no JSON."""
    try:
        return json_values.json_copy(value, what)
    except ShapeError as error:
        raise PluginError(f"{error.path} is no JSON: found {error.found}") from None


def object_copy(value: Any, what: str) -> dict[str, Any]:
    """A copy of a JSON object. Raises `PluginError` for what is none."""
    if not isinstance(value, Mapping):
        raise PluginError(f"{what} is a JSON object, found {type(value).__name__}")
    copied: dict[str, Any] = json_copy(value, what)
    return copied


def tool_copy(tool: HostTool) -> HostTool:
    """The host's own of a tool."""
    return attrs.evolve(tool, definition=object_copy(tool.definition, f"the tool {tool.name}"))


def adapter_copy(adapter: Adapter) -> Adapter:
    """The host's own of an adapter."""
    at = f"the adapter {adapter.name}"
    return attrs.evolve(
        adapter,
        schema=object_copy(adapter.schema, f"{at}: its schema"),
        capabilities=tuple(
            attrs.evolve(one, input=json_copy(one.input, f"{at}: the input of {one.name}"))
            for one in adapter.capabilities
        ),
        icons=tuple(json_copy(list(adapter.icons), f"{at}: its icons")),
    )


def kind_copy(kind: TunnelKind) -> TunnelKind:
    """The host's own of a kind of tunnel."""
    at = f"the tunnel kind {kind.name}"
    return attrs.evolve(
        kind,
        schema=object_copy(kind.schema, f"{at}: its schema"),
        operations=tuple(
            attrs.evolve(one, input=json_copy(one.input, f"{at}: the input of {one.id}"))
            for one in kind.operations
        ),
    )


def trigger_copy(definition: TriggerType) -> TriggerType:
    """The host's own of a trigger type."""
    at = f"the trigger type {definition.type}"
    return attrs.evolve(
        definition,
        events=json_copy(list(definition.events), f"{at}: its events"),
        config_schema=json_copy(definition.config_schema, f"{at}: its config_schema"),
    )


def configuration_copy(registration: ProviderConfiguration) -> ProviderConfiguration:
    """The host's own of a provider's configuration."""
    at = f"the configuration of {registration.provider}"
    if not isinstance(registration.settings, list | tuple):
        raise PluginError(f"{at}: its settings are a list")
    return attrs.evolve(
        registration,
        properties=object_copy(registration.properties, f"{at}: its properties"),
        settings=json_copy(registration.settings, f"{at}: its settings"),
    )


def operations_copy(contribution: ChangesetOperations) -> ChangesetOperations:
    """The host's own of operations on changesets."""
    return attrs.evolve(contribution, handlers=dict(contribution.handlers))
