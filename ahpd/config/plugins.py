"""The `plugins:` list of a configuration file."""

from collections.abc import Mapping, Sequence
from typing import Any

import attrs


@attrs.frozen(kw_only=True)
class PluginEntry:
    """One plugin as the configuration names it."""

    source: str
    """A distribution, an entry point's name, a folder or a file."""
    options: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    """As they are written: references are not read."""
    enabled: bool = True
    grants: Sequence[str] = ()
    """What the plugin's own connection may do: `session:write`."""
    name: str | None = None
    """What a listing prints in place of the id."""
    manifest: Mapping[str, Any] | None = None
    """The manifest the entry itself carries: it has an `id` then."""
    place: str = ""
    """Where it stands, for words: `plugins[2]`, or `--plugin`."""
