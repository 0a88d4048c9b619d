"""What a plugin says of itself before it runs, and what that lets it register.

Source: PLUGINS.txt, "The manifest", "The contracts".
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

import attrs

from ahpd.interfaces.plugins import PluginError

#: By kind of registration, whether it has a name.
CONTRACTS: Final[Mapping[str, bool]] = MappingProxyType(
    {
        "agents": True,
        "engines": True,
        "tunnelKinds": True,
        "tools": True,
        "sessionConfigs": True,
        "providerConfigurations": True,
        "changesetOperations": True,
        "resourceProviders": True,
        "channels": True,
        "methods": True,
        "adapters": True,
        "triggerTypes": True,
        "sessionMeta": True,
        "grants": True,
        "ports": True,
        "routes": False,
        "chatPreambles": False,
        "services": False,
        "closers": False,
    }
)


@attrs.frozen(kw_only=True)
class Link:
    """Where a person reads more."""

    title: str
    url: str


@attrs.frozen(kw_only=True)
class Manifest:
    """A manifest, checked. What a file does not say is empty or None."""

    id: str
    place: str
    """The file it was read from, or the entry that carries it (`plugins[2]`), for words."""
    title: str | None = None
    """What a listing and clients print."""
    version: str | None = None
    """A distribution's own."""
    description: str = ""
    categories: Sequence[str] = ()
    links: Sequence[Link] = ()
    contracts: Mapping[str, Sequence[str]] | None = None
    """By kind, the names a registration may use; None where nothing is declared."""
    icons: Sequence[Mapping[str, Any]] = ()
    """Schema: Icon; `src` may be a file's path, or `mark:<name>`."""
    options_schema: Mapping[str, Any] | None = None
    """The JSON Schema of the options; None where they are not checked."""
    requires: str | None = None
    """The requirement on this program: `ahpd>=0.1,<0.2`."""
    texts: str | None = None
    """The folder of its catalogs, relative to the plugin's (key `i18n`)."""
    main: str | None = None
    """The module of a standalone plugin, relative to the manifest's folder."""
    dependencies: Sequence[str] = ()
    """Requirements a standalone plugin has beside this program."""


def held_to_contracts(manifest: Manifest, kind: str, name: str | None = None) -> None:
    """Raise `PluginError` for a registration that the manifest's contracts do not list.

    `kind` is a key of `CONTRACTS`; what is registered without a name has None. A manifest
    without contracts lists everything.
    """
    if manifest.contracts is None:
        return
    listed = manifest.contracts.get(kind, ())
    if not CONTRACTS[kind] or name is None:
        if not listed:
            raise PluginError(f"{kind} needs the registration to be one entry in contracts.{kind}")
    elif not any(_covers(entry, name) for entry in listed):
        named = ", ".join(listed)
        raise PluginError(
            f"{kind} needs {name} to be a name in contracts.{kind}"
            + (f", which lists {named}" if named else "")
        )


def _covers(entry: str, name: str) -> bool:
    """Whether an entry names `name`: exactly, or by what its `*` at the end leaves open."""
    return name.startswith(entry[:-1]) if entry.endswith("*") else name == entry
