"""The connectors of a host, as the rest of it uses them.

The composition root makes one, hands `methods` and the channels to the extensions, `tools` to
the tool registry and `contributed` to whoever folds the plugins.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred

from ahpd.connectors.adapters import adapter_row, check_adapter
from ahpd.connectors.changes import Changes
from ahpd.connectors.commands import Commands
from ahpd.connectors.ground import Ground
from ahpd.connectors.keeping import Connectors
from ahpd.connectors.live import Live
from ahpd.connectors.opening import Openings
from ahpd.connectors.rules import GRANTS, Rules
from ahpd.connectors.sign_in_code import CodeSignIns
from ahpd.connectors.sign_in_device import DeviceSignIns
from ahpd.connectors.sign_ins import SignIns
from ahpd.connectors.tools import ActionTools
from ahpd.extensions.operations import OperationsOf
from ahpd.extensions.owners import HOST
from ahpd.extensions.rows import Rows
from ahpd.extensions.waiting import Background
from ahpd.interfaces import (
    Caller,
    HostTool,
    IAccess,
    IRecordStore,
    Method,
    Operation,
    Owned,
    PluginError,
)
from ahpd.protocol import State

ADAPTERS: Final = "x-ahpd-adapters"
CONNECTORS: Final = "x-ahpd-connectors"
#: What a connector is called where an operation names its scope.
SCOPE: Final = "connector"


class ConnectorsService(Service):
    """Connectors while the host runs.

    `tools_moved` is called when `tools` answers others than before, `choices_moved` when a
    connector was added, renamed or removed. Both are set by whoever wires the host.
    """

    name = "connectors"

    def __init__(self, store: IRecordStore, access: IAccess, ground: Ground) -> None:
        self.tools_moved: Callable[[], None] = lambda: None
        self.choices_moved: Callable[[], None] = lambda: None
        self._ground = ground
        self._rules = rules = Rules(access)
        self._background = Background()
        self.adapters = Rows(
            ADAPTERS,
            title="Adapters",
            description="The kinds of connector that can be made here.",
            grant=GRANTS.list,
            key="name",
            own="none",
        )
        self.connectors = Rows(
            CONNECTORS,
            title="Connectors",
            description="The connectors a reader may use.",
            grant=GRANTS.list,
            readable=rules.reads,
            authorize=lambda uri, caller: rules.reads_all(caller.reader),
        )
        self._kept = kept = Connectors(
            ground,
            store,
            self._background,
            Openings(ground, self._background, self._view_data),
            shown=lambda live: self.connectors.put(live.row()),
            gone=self.connectors.remove,
            listed=self._listed,
        )
        self._changes = changes = Changes(kept, rules, ground)
        self._held = SignIns(ground.clock)
        self._tools = ActionTools(kept, rules, ground)
        self._commands = Commands(
            kept,
            changes,
            rules,
            ground,
            self._held,
            CodeSignIns(changes, self._held, ground),
            DeviceSignIns(changes, self._held, ground, self._background),
            self._row,
            self.loaded,
        )
        self._waiting: list[Deferred[None]] = []
        self._is_loaded = False

    # -- the beginning and the end ------------------------------------------------------

    def startService(self) -> None:
        """Read what is kept; commands wait for that."""
        super().startService()  # type: ignore[no-untyped-call]
        self._background.spawn("reading the connectors", self._load())

    async def _load(self) -> None:
        try:
            await self._kept.load()
        finally:
            self._is_loaded = True
            waiting, self._waiting = self._waiting, []
            for one in waiting:
                one.callback(None)

    async def loaded(self) -> None:
        """Returns once every record was read; what can be opened is opened behind that."""
        if not self._is_loaded:
            waiting: Deferred[None] = Deferred(self._waiting.remove)
            self._waiting.append(waiting)
            await waiting

    def stopService(self) -> "Deferred[None]":
        """Close every connector. Fires when their adapters let go of them."""
        super().stopService()  # type: ignore[no-untyped-call]
        self._held.stop()
        stopping = Deferred.fromCoroutine(self._kept.stop())
        self._background.stop()
        return stopping

    # -- what plugins contribute -----------------------------------------------------------

    async def contributed(self, items: Mapping[str, Owned]) -> None:
        """The adapters of every plugin, by name, in place of those before.

        Returns when the connectors of those that are gone are closed; of those that came they are
        opened behind this. A bad one is reported and left out.
        """
        adapters: dict[str, Owned] = {}
        for name, owned in items.items():
            try:
                check_adapter(owned.value)
                self._list_adapter(owned)
                adapters[name] = owned
            except (PluginError, ValueError, TypeError) as wrong:
                self._ground.report(owned.plugin, f"the adapter {name} is left out: {wrong}")
        for row in self.adapters.rows:
            if row["name"] not in adapters:
                self.adapters.remove(row["name"])
        self._held.use(adapters)
        if self._tools.use(adapters):
            self.tools_moved()
        await self._kept.use(adapters)

    def icons_moved(self) -> None:
        """Icons of adapters are known that were not."""
        for owned in self._kept.adapters.values():
            self._list_adapter(owned)

    def _list_adapter(self, owned: Owned) -> None:
        icons = self._ground.icons(owned.plugin, owned.value.name)
        self.adapters.put(adapter_row(owned, icons))

    # -- what is served -------------------------------------------------------------------

    def tools(self) -> Mapping[str, HostTool]:
        """The actions of the adapters there are, by the names of the tools."""
        return self._tools.tools

    def methods(self) -> Mapping[str, Method]:
        """The commands, by name."""
        return self._commands.methods()

    def operations(self) -> OperationsOf:
        """The operations of `x-ahpd-connectors://`, for `Invocations.register`."""
        return OperationsOf(
            list=lambda: _OPERATIONS,
            offered=_offered,
            rows=self.connectors,
            scope=SCOPE,
            invoke=self._invoke,
        )

    def choices(self) -> Sequence[State]:
        """The connectors a field may name: `{id, adapter, owner, title?}`, for `Choices`."""
        fields = ("id", "adapter", "owner", "title")
        return [
            {name: live.record[name] for name in fields if name in live.record}
            for live in self._kept.lives.values()
        ]

    def refused(self, adapter: str, identifier: object, owner: str) -> str | None:
        """Why a record of `owner` may not name this connector of an adapter; None where it may.

        It may name the host's and its own owner's, in whatever state they are.
        """
        live = self._kept.lives.get(identifier) if isinstance(identifier, str) else None
        there = live is not None and live.record["adapter"] == adapter
        if live is None or not there or live.owner not in (HOST, owner):
            # One that is somebody else's is not told apart: nobody learns of it by guessing.
            return f"names no connector of {adapter} that is its owner's or the host's"
        return None

    # -- inside -------------------------------------------------------------------------

    def _row(self, live: Live, caller: Caller) -> State:
        row = self.connectors.get(live.id)
        return self.connectors.shown(live.row() if row is None else row, caller)

    def _listed(self) -> None:
        self.choices_moved()

    def _view_data(self, live: Live, surface: str, path: str, value: Any) -> None:
        if not self._kept.shows_itself(live):
            return  # the row that is sent in a moment has it
        said: State = {"surface": surface, "path": path, "value": value}
        self.connectors.say("viewData", said, live.id, live.row())

    async def _invoke(
        self, operation: Operation, target: str | None, value: Any, caller: Caller
    ) -> State | None:
        assert target is not None, "every operation of a connector is on one"
        await self.loaded()
        if operation.id == "remove":
            await self._changes.remove(target, caller)
            return None
        live = await self._changes.switch(target, caller, on=operation.id == "enable")
        return self._row(live, caller)


_OPERATIONS: Final = (
    Operation(id="enable", label="Enable", scopes=(SCOPE,), grant=GRANTS.put),
    Operation(id="disable", label="Disable", scopes=(SCOPE,), grant=GRANTS.put),
    Operation(
        id="remove",
        label="Remove",
        scopes=(SCOPE,),
        grant=GRANTS.remove,
        confirmation="Remove this connector, and the secrets that are kept with it?",
    ),
)


def _offered(row: State) -> Sequence[str]:
    return ("enable" if row.get("enabled") is False else "disable", "remove")
