"""What of the root configuration is neither this host's from its start nor a client's alone.

Providers' settings come and go with plugins, and some values the host sets itself. The protocol
has no action for a schema or for the root's `_meta`: those are moved as they are, and a client
reads them with its next snapshot; values are said, by the host's own `root/configChanged`.
"""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any

from twisted.logger import Logger

from ahpd.channels.envelope import Origin
from ahpd.channels.store import ChannelStore
from ahpd.interfaces import Owned
from ahpd.protocol import Action, State
from ahpd.protocol.uris import ROOT
from ahpd.root.host_values import HostValue, HostValues, Pushed
from ahpd.root.provider_pages import PAGES, Pages, pages_of

log = Logger()


class ContributedConfig:
    """Beside `own`, the schema (ConfigSchema) this host has whatever is contributed."""

    def __init__(self, store: ChannelStore, own: State) -> None:
        self._store = store
        self._own = own
        self._items: Mapping[str, Owned] = {}
        self._pages = Pages()
        self._host = HostValues()
        self._report: Callable[[str, str], None] = _logged
        self._set: set[str] = set()
        """The keys a client set: what it set stays, whoever declares the key."""

    @property
    def _values(self) -> Mapping[str, Any]:
        values: Mapping[str, Any] = self._store.state(ROOT)["config"]["values"]
        return values

    def providers(
        self, items: Mapping[str, Owned], report: Callable[[str, str], None] | None = None
    ) -> None:
        """See `RootService.contributed_configuration`."""
        self._items, self._report = dict(items), report or _logged
        self._declare(lambda: None)
        self._report = _logged

    def host_values(self, source: str, values: Mapping[str, HostValue], pushed: Pushed) -> None:
        """See `RootService.host_values`."""
        self._declare(lambda: self._host.replace(source, values, pushed))

    def set_meta(self, fields: Mapping[str, Any]) -> None:
        """See `RootService.set_meta`."""
        held: State = self._store.state(ROOT).get("_meta") or {}
        meta = {key: value for key, value in {**held, **fields}.items() if value is not None}
        if meta != held:
            self._store.amend(ROOT, {"_meta": meta or None})

    def taken(self, action: Action, origin: Origin) -> Action | Awaitable[Action]:
        """A client's `root/configChanged` as it is to be said. Raises `Refusal`."""
        taken = self._host.taken(action, self._values, origin)
        sent = action["config"].keys() - self._host.values().keys()
        self._set = set(sent) if action.get("replace") else self._set | sent
        return taken

    def applied(self) -> None:
        """The values moved: what is set by nobody any more is as it is declared."""
        values = self._values
        missing = {key: one for key, one in self._pages.defaults.items() if key not in values}
        if missing:
            self._say(missing)

    # -- what is declared -------------------------------------------------------------

    def _declare(self, change: Callable[[], None]) -> None:
        """Make a change, and have the schema, the pages and the values follow."""
        before = {*self._pages.defaults, *self._host.values()}
        change()
        reported = frozenset(self._pages.problems)
        own = self._own["properties"]
        self._pages = pages_of(self._items, own.keys() | self._host.schemas().keys())
        for problem in self._pages.problems:
            if problem not in reported:
                self._report(*problem)
        self._show_schema()
        self.set_meta({PAGES: list(self._pages.pages) or None})
        # Behind what is on its way: what a client just set is not to be undone.
        self._store.behind(lambda: self._hold(before))

    def _show_schema(self) -> None:
        held = self._store.state(ROOT)["config"]
        properties = {**self._own["properties"], **self._pages.properties, **self._host.schemas()}
        if properties != held["schema"]["properties"]:
            shown = {**self._own, "properties": properties}
            self._store.amend(ROOT, {"config": {**held, "schema": shown}})

    def _wanted(self) -> dict[str, Any]:
        """What is held of the keys declared here: a default gives way to what a client set."""
        values = self._values
        wanted = {
            key: values[key] if key in self._set and key in values else default
            for key, default in self._pages.defaults.items()
        }
        return {**wanted, **self._host.values()}

    def _hold(self, before: Iterable[str]) -> None:
        """Say what is held now of the keys declared here, and what is not any more of `before`."""
        values, wanted = self._values, self._wanted()
        moved = {
            key: value for key, value in wanted.items() if key not in values or values[key] != value
        }
        gone = set(before) - wanted.keys() - self._set
        lost = gone & values.keys()
        if lost:
            kept = {key: value for key, value in values.items() if key not in lost}
            self._say({**kept, **moved}, replace=True)
        elif moved:
            self._say(moved)

    def _say(self, values: Mapping[str, Any], *, replace: bool = False) -> None:
        action: Action = {"type": "root/configChanged", "config": dict(values)}
        self._store.dispatch(ROOT, {**action, "replace": True} if replace else action)


def _logged(plugin: str, line: str) -> None:
    log.warn("the plugin {plugin}: {line}", plugin=plugin, line=line)
