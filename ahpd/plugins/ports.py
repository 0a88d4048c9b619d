"""The ports a plugin may supply: a closed set, each a singleton of the host.

Source: PLUGINS.txt, "What you can register" (the rows whose operation is `set`).
"""

from collections.abc import Mapping
from typing import Any, Final

import attrs
from zope.interface import Interface
from zope.interface.exceptions import Invalid
from zope.interface.verify import verifyObject

from ahpd.interfaces import (
    IAutomationStore,
    IChangeSource,
    IComputers,
    IContainers,
    IDiagnostics,
    IDirectoryFacts,
    IPolicies,
    IPullRequests,
    IRecordStore,
    IResourceProvider,
    ISessionStore,
    ITerminals,
    IUsageStore,
    IVault,
    IWorktrees,
    PluginError,
)


@attrs.frozen
class PortSpec:
    """One port: what it must provide, and whether this host has one unasked."""

    interface: Any
    """A zope interface; None for a port that is one function."""
    held: bool = False
    """Whether the host has one of its own, so that supplying it means to take it over."""


PORTS: Final[Mapping[str, PortSpec]] = {
    "resources": PortSpec(IResourceProvider, held=True),
    "terminals": PortSpec(ITerminals, held=True),
    "sessions": PortSpec(ISessionStore, held=True),
    "vault": PortSpec(IVault, held=True),
    "records": PortSpec(IRecordStore, held=True),
    "commandParser": PortSpec(None),
    "bindings": PortSpec(None),
    "changes": PortSpec(IChangeSource),
    "directories": PortSpec(IDirectoryFacts),
    "worktrees": PortSpec(IWorktrees),
    "github": PortSpec(IPullRequests),
    "automations": PortSpec(IAutomationStore),
    "diagnostics": PortSpec(IDiagnostics),
    "computers": PortSpec(IComputers),
    "containers": PortSpec(IContainers),
    "usage": PortSpec(IUsageStore),
    "policies": PortSpec(IPolicies),
}


def check_port(name: str, value: Any) -> None:
    """Raises `PluginError` for what cannot stand in the port `name`."""
    wanted: type[Interface] | None = PORTS[name].interface
    if wanted is None:
        if not callable(value):
            raise PluginError(f"the port {name} takes a function, found {type(value).__name__}")
        return
    try:
        verifyObject(wanted, value)
    except Invalid as error:
        words = " ".join(str(error).split())
        raise PluginError(f"the port {name} takes an {wanted.__name__}: {words}") from None
