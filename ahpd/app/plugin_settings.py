"""`plugins.<id>` in the root's configuration: the options of each plugin, as clients may read them.

A credential is answered `<set>`, and one that is sent back so stays. What a client pushes for one
is written to the configuration file and applied. Source: PLUGINS.txt, "Marking a credential",
`x-ahpd-plugins`.
"""

from collections.abc import Callable, Mapping
from typing import Any

from ahpd.app.plugin_side import PluginSide
from ahpd.interfaces import Refusal, RpcError
from ahpd.plugins.ids import is_id
from ahpd.plugins.named import Named
from ahpd.protocol import State
from ahpd.root.host_values import PLUGINS, HostValue
from ahpd.root.service import RootService
from ahpd.schemas import form_of, hidden

_SOURCE = "plugins"
_PREFIX = PLUGINS


GRANT = "plugin:options"


class PluginSettings:
    """Says the keys of every plugin that is configured, each time they moved.

    `may(client, grant)` says whether a client, by its id, holds a grant: a push writes what
    `x-ahpd/plugins/options` writes, and takes what that takes.
    """

    def __init__(
        self, side: PluginSide, root: RootService, may: Callable[[str, str], bool]
    ) -> None:
        self._side = side
        self._root = root
        self._may = may
        #: Writes what a client pushed for one plugin; there on a host with a configuration file.
        self.pushed: Callable[[str, Mapping[str, Any]], Any] | None = None

    def say(self) -> None:
        """Say the values there are now."""
        values = {
            f"{_PREFIX}{plugin}": _value(one)
            for plugin, one in self._named.items()
            if is_id(plugin)  # what has no id that can be read has no key either
        }
        self._root.host_values(_SOURCE, values, self._taken)

    @property
    def _named(self) -> Mapping[str, Named]:
        return self._side.loader.named

    def _taken(self, key: str, value: Any, origin: Any) -> Any:
        """A client sent `value` for a key."""
        if not self._may(origin["clientId"], GRANT):
            raise Refusal(f"config.{key}: this needs {GRANT}")
        if self.pushed is None:
            raise Refusal(f"config.{key}: this host has no configuration file to write it to")
        if not isinstance(value, Mapping):
            raise Refusal(f"config.{key}: expected the options of the plugin, by name")
        return self._written(key, value)

    async def _written(self, key: str, value: Mapping[str, Any]) -> Any:
        assert self.pushed is not None, "asked for just now"
        plugin = key.removeprefix(_PREFIX)
        try:
            await self.pushed(plugin, value)
        except RpcError as error:
            raise Refusal(f"config.{key}: {error.message.removeprefix('params.id: ')}") from None
        named = self._named.get(plugin)
        return {} if named is None else _value(named).value


def _value(named: Named) -> HostValue:
    found = named.known
    schema = None if found is None else found.manifest.options_schema
    title = named.plugin if found is None else found.title
    declared: State | None = None if schema is None else form_of(schema, title)
    if declared is None or declared["type"] != "object":
        declared = {"type": "object", "title": title}
    return HostValue(schema=declared, value=hidden(schema, dict(named.entry.options)))
