"""What all plugins contributed, as one: which stand, whose they are, what was left out.

The first that registers a name has it. A later one loses that name alone and keeps the rest of
what it contributed, and its line says whose the name is; two agents with one provider are the
one collision nobody can pass over. Source: PLUGINS.txt, "What you can register", "Reserved
names", "What happens when a plugin fails".
"""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import attrs

from ahpd.interfaces import Owned, PluginError

if TYPE_CHECKING:
    from ahpd.plugins.contribution import Contribution, GrantSubject


class TwoAgents(PluginError):
    """Two agents with one provider: whoever names it could be answered by the wrong one."""

    def __init__(self, words: str, plugins: tuple[str, str]) -> None:
        super().__init__(words)
        self.plugins = plugins
        """The two plugins, the one that came first first."""


@attrs.frozen
class Problem:
    """Something of a plugin's that was left out."""

    plugin: str
    line: str


@attrs.frozen(kw_only=True)
class Fold:
    """The contributions of every plugin, by kind and name; order is the order of loading."""

    agents: Mapping[str, Owned] = attrs.field(factory=dict)
    engines: Mapping[str, Owned] = attrs.field(factory=dict)
    tools: Mapping[str, Owned] = attrs.field(factory=dict)
    session_config: Mapping[str, Owned] = attrs.field(factory=dict)
    provider_configurations: Mapping[str, Owned] = attrs.field(factory=dict)
    resource_providers: Mapping[str, Owned] = attrs.field(factory=dict)
    channels: Mapping[str, Owned] = attrs.field(factory=dict)
    methods: Mapping[str, Owned] = attrs.field(factory=dict)
    adapters: Mapping[str, Owned] = attrs.field(factory=dict)
    tunnel_kinds: Mapping[str, Owned] = attrs.field(factory=dict)
    trigger_types: Mapping[str, Owned] = attrs.field(factory=dict)
    changeset_operations: Mapping[str, Owned] = attrs.field(factory=dict)
    session_meta: Mapping[str, Owned] = attrs.field(factory=dict)
    grants: Mapping[str, Owned] = attrs.field(factory=dict)
    routes: Mapping[str, Owned] = attrs.field(factory=dict)
    """By the plugin's id."""
    preambles: Sequence[Owned] = ()
    ports: Mapping[str, Owned] = attrs.field(factory=dict)
    problems: Sequence[Problem] = ()

    def port(self, name: str) -> Any:
        """What a plugin supplied for a port; None for nothing."""
        held = self.ports.get(name)
        return None if held is None else held.value


#: The fields that are merged by name, and what one of them is called in words.
_BY_NAME: Mapping[str, str] = {
    "engines": "the engine",
    "tools": "the tool",
    "session_config": "the session setting",
    "provider_configurations": "the configuration of the provider",
    "resource_providers": "the scheme",
    "channels": "the channel",
    "methods": "the method",
    "adapters": "the adapter",
    "tunnel_kinds": "the tunnel kind",
    "trigger_types": "the trigger type",
    "changeset_operations": "the changeset operation",
    "session_meta": "the session's _meta key",
}


class _Folding:
    def __init__(self, own: Mapping[str, str]) -> None:
        self.own = own
        self.problems: list[Problem] = []
        self.held: dict[str, dict[str, Owned]] = {kind: {} for kind in (*_BY_NAME, "agents")}
        self.grants: dict[str, list[tuple[str, GrantSubject]]] = {}
        self.routes: dict[str, Owned] = {}
        self.preambles: list[Owned] = []
        self.ports: dict[str, Owned] = {}

    def add(self, one: "Contribution") -> None:
        for provider, agent in one.agents.items():
            self._agent(one.plugin, provider, agent)
        for kind, words in _BY_NAME.items():
            for name, value in getattr(one, kind).items():
                if kind == "resource_providers":
                    whose = self._whose(name, "agents", "agent")
                    if whose is not None:
                        self._left_out(one.plugin, f"the scheme {name}", whose)
                        continue
                first = self.held[kind].setdefault(name, Owned(one.plugin, value))
                if first.plugin != one.plugin:
                    whose = f"registered by the plugin {first.plugin}"
                    self._left_out(one.plugin, f"{words} {name}", whose)
        for subject, grant in one.grants.items():
            self.grants.setdefault(subject, []).append((one.plugin, grant))
        if one.route is not None:
            self.routes[one.plugin] = Owned(one.plugin, one.route)
        self.preambles += [Owned(one.plugin, preamble) for preamble in one.preambles]
        for name, port in one.ports.items():
            self._port(one.plugin, name, port.value, port.replace)

    def _agent(self, plugin: str, provider: str, agent: Any) -> None:
        first = self.held["agents"].get(provider)
        if first is not None:
            raise TwoAgents(
                f"the plugins {first.plugin} and {plugin} both register the agent {provider}: "
                "turn one of them off",
                (first.plugin, plugin),
            )
        whose = self._whose(provider, "resource_providers", "scheme")
        if whose is not None:
            self._left_out(plugin, f"the agent {provider}", whose)
            return
        self.held["agents"][provider] = Owned(plugin, agent)

    def _port(self, plugin: str, name: str, value: Any, replace: bool) -> None:
        from ahpd.plugins.ports import PORTS  # noqa: PLC0415 - most plugins supply none

        held = self.ports.get(name)
        if (held is not None or PORTS[name].held) and not replace:
            whose = "this host" if held is None else f"the plugin {held.plugin}"
            self.problems.append(
                Problem(
                    plugin,
                    f"the port {name} is left as it was: {whose} has one, and it is taken over "
                    "with replace=True alone",
                )
            )
            return
        self.ports[name] = Owned(plugin, value)

    def _whose(self, name: str, kind: str, words: str) -> str | None:
        """Who has a name that an agent and a scheme cannot share; None where nobody has."""
        if name in self.own:
            return self.own[name]
        held = self.held[kind].get(name)
        return None if held is None else f"the name of the {words} of the plugin {held.plugin}"

    def _left_out(self, plugin: str, what: str, whose: str) -> None:
        self.problems.append(Problem(plugin, f"{what} is left out: it is {whose}"))


def fold(
    contributions: Iterable["Contribution"], own: Mapping[str, str] = MappingProxyType({})
) -> Fold:
    """The fold of `contributions` in their order. Raises `TwoAgents`.

    `own` are names of agents that this host has without any plugin, each with what it is in
    words. They stand: a plugin's agent or scheme of such a name is left out, and the start is not
    refused, for nobody who names the agent is answered by another one than the configuration says.
    """
    folding = _Folding(own)
    for one in contributions:
        folding.add(one)
    return Fold(
        **folding.held,
        grants={subject: _shared(held) for subject, held in folding.grants.items()},
        routes=folding.routes,
        preambles=tuple(folding.preambles),
        ports=folding.ports,
        problems=tuple(folding.problems),
    )


def _shared(held: Sequence[tuple[str, "GrantSubject"]]) -> Owned:
    """A subject more than one plugin names: the first one's words, everybody's operations."""
    plugin, first = held[0]
    operations = dict.fromkeys(name for _, one in held for name in one.operations)
    return Owned(plugin, attrs.evolve(first, operations=tuple(operations)))
