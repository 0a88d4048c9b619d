"""Settings that plugins add to every session: merged into each agent's own schema.

A key an agent declares itself, and one of this host's, stays as it is. `enumDynamic` is what a
client reads as "ask me", so a key has it exactly where somebody answers. A session keeps the
values it was made with, whether or not what declared them is still there. Source: PLUGINS.txt,
"A contributed setting can be a question".
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from twisted.logger import Logger

from ahpd.interfaces import Owned, SessionConfigKey
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError, check
from ahpd.protocol.shapes.config import SessionConfigPropertySchema

log = Logger()

_DYNAMIC: Final = "enumDynamic"


class SessionKeys:
    """The keys that are contributed now. `own` are the keys of this host, which nobody redefines."""

    def __init__(self, own: Collection[str] = ()) -> None:
        self._own = own
        self._held: Mapping[str, Owned] = {}
        self._properties: Mapping[str, State] = {}

    @property
    def properties(self) -> Mapping[str, State]:
        """What each declares (schema: SessionConfigPropertySchema), by key."""
        return self._properties

    def contributed(
        self, items: Mapping[str, Owned], report: Callable[[str, str], None] | None = None
    ) -> None:
        """All there are from now on: `SessionConfigKey` by key. One that is none is left out, and
        `report` told of it: the plugin's id, and a line."""
        held: dict[str, Owned] = {}
        properties: dict[str, State] = {}
        for name, owned in items.items():
            before = self._held.get(name)
            if before is not None and before == owned:
                held[name], properties[name] = before, self._properties[name]
                continue
            problem = self._problem(name, owned.value)
            if problem is not None:
                line = f"the session setting {name} is left out: {problem}"
                (report or _logged)(owned.plugin, line)
                continue
            held[name], properties[name] = owned, _property(owned.value)
        self._held, self._properties = held, properties

    def _problem(self, name: str, key: SessionConfigKey) -> str | None:
        if name in self._own:
            return "this host declares it"
        try:
            check(key.schema, SessionConfigPropertySchema, at=name)
        except ShapeError as wrong:
            return str(wrong)
        return None

    def answered(self, own: Collection[str]) -> Mapping[str, Owned]:
        """Those a plugin answers as somebody types, by key, but for the agent's `own`."""
        return {
            name: owned
            for name, owned in self._held.items()
            if owned.value.completer is not None and name not in own
        }


def _property(key: SessionConfigKey) -> State:
    """What a client is shown of a key: asked for as somebody types where somebody answers."""
    shown = {name: value for name, value in key.schema.items() if name != _DYNAMIC}
    if key.completer is not None:
        shown[_DYNAMIC] = True
    return shown


def _logged(plugin: str, line: str) -> None:
    log.error("the plugin {plugin}: {line}", plugin=plugin, line=line)
