"""The tunnels of a host, as the rest of it uses them.

The composition root makes one, serves its channel and registers its operations, hands it the
kinds of every plugin, and tells it once the host listens.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from copy import deepcopy
from inspect import isawaitable
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

from ahpd.calling import called
from ahpd.extensions.dropped import Report, logged
from ahpd.extensions.operations import INPUT, OperationsOf
from ahpd.extensions.rows import Rows
from ahpd.extensions.waiting import Background, together
from ahpd.interfaces import (
    Caller,
    IRecordStore,
    Operation,
    Owned,
    PluginError,
    TunnelKind,
    TunnelOperation,
)
from ahpd.protocol import State
from ahpd.protocol.errors import internal_error
from ahpd.schemas import Misfit, Vaulted, check_value
from ahpd.tunnels.asking import Asking
from ahpd.tunnels.changes import Changes
from ahpd.tunnels.keeping import Tunnels
from ahpd.tunnels.kinds import (
    CREATE,
    DISABLE,
    ENABLE,
    REMOVE,
    SCOPE,
    UPDATE,
    check_kind,
    operation_id,
    operations_of,
    removal_of,
)
from ahpd.tunnels.live import Live
from ahpd.tunnels.settings import Problem, Settings

log = Logger()

TUNNELS: Final = "x-ahpd-tunnels"
READ: Final = "tunnel:read"


def as_it_is(schema: State) -> State:
    """A schema without the choices of its fields."""
    return schema


class TunnelsService(Service):
    """Tunnels while the host runs.

    `stamped` puts the host's connectors into a schema as choices, and `connectors` are the rows
    of those there are. `operations_moved` is called when the operations are others than before,
    and is set by whoever wires the host.
    """

    name = "tunnels"

    def __init__(
        self,
        store: IRecordStore,
        vaulted: Vaulted,
        clock: IReactorTime,
        ids: Callable[[], str],
        *,
        stamped: Callable[[State], State] = as_it_is,
        connectors: Callable[[], Sequence[State]] = tuple,
        report: Report = logged,
    ) -> None:
        self.operations_moved: Callable[[], None] = lambda: None
        self._stamped = stamped
        self._report = report
        self._background = Background()
        self._settings = Settings(vaulted, connectors)
        asking = Asking(clock, self._background)
        self.tunnels = Rows(
            TUNNELS,
            title="Tunnels",
            description="What makes a port of this host reachable from elsewhere.",
            grant=READ,
            own="none",
        )
        self._kept = Tunnels(
            store,
            self._settings,
            asking,
            self._background,
            shown=self._shown,
            gone=self._gone,
            report=report,
        )
        self._changes = Changes(self._kept, self._settings, asking, ids)
        self._listed: Sequence[Operation] = ()
        self._orphans: frozenset[str] = frozenset()
        self._loading: Deferred[Any] = Deferred()
        self._port: int | None = None

    # -- the beginning and the end ------------------------------------------------------

    def startService(self) -> None:
        """Read what is kept; nothing is started before the host listens."""
        super().startService()  # type: ignore[no-untyped-call]
        loading = self._background.spawn("reading the tunnels", self._kept.load())
        loading.chainDeferred(self._loading)

    def listening(self, port: int | None) -> "Deferred[None]":
        """The host listens on `port`; None is a host that listens nowhere.

        Each kind's own tunnel of the host is made, and every tunnel that is on is started. Fires
        when all of that is done, which nobody has to wait for.
        """
        return self._background.spawn("starting the tunnels", self._listening(port))

    async def _listening(self, port: int | None) -> None:
        await self._loading
        self._port, self._kept.listens = port, True
        settling = self._background.spawn("starting each tunnel", self._kept.settle_all())
        await self._system(tuple(self._kept.kinds))
        await settling

    async def _system(self, kinds: Collection[str]) -> None:
        if self._port is None:
            return
        port = self._port
        works = [
            self._background.spawn(
                f"making the host's own {name}", self._changes.system(name, port)
            )
            for name in kinds
        ]
        await together(works)

    def stopService(self) -> "Deferred[None]":
        """Stop every tunnel. Fires when their kinds let go of them."""
        super().stopService()  # type: ignore[no-untyped-call]
        return Deferred.fromCoroutine(self._kept.stop())

    # -- what is contributed ---------------------------------------------------------------

    async def contributed(self, items: Mapping[str, Owned]) -> None:
        """The kinds of every plugin, by name, in place of those before.

        Returns when the tunnels of those that are gone are stopped; of those that came they are
        started behind this. A bad one is reported and left out.
        """
        kinds: dict[str, Owned] = {}
        for name, owned in items.items():
            try:
                check_kind(owned.value)
                kinds[name] = owned
            except (PluginError, ValueError, TypeError, AttributeError) as wrong:
                self._report(owned.plugin, f"the tunnel kind {name} is left out: {wrong}")
        came = [name for name, owned in kinds.items() if self._kept.kinds.get(name) != owned]
        working = self._background.spawn("taking the tunnel kinds", self._kept.use(kinds))
        self._relist()
        await working
        if self._kept.listens:
            self._background.spawn("making the host's own tunnels", self._system(came))

    def connectors_changed(self) -> None:
        """A connector was added, renamed or removed: the choices of fields may be others."""
        self._relist()

    # -- the list ------------------------------------------------------------------------

    def _shown(self, live: Live) -> None:
        self.tunnels.put(live.row())
        self._relist_orphans()

    def _gone(self, identifier: str) -> None:
        self.tunnels.remove(identifier)
        self._relist_orphans()

    def _orphaned(self) -> frozenset[str]:
        """The kinds that tunnels are of and nobody offers."""
        kinds = {live.kind for live in self._kept.lives.values() if live.listed}
        return frozenset(kinds - self._kept.kinds.keys())

    def _relist_orphans(self) -> None:
        if self._orphaned() != self._orphans:
            self._relist()

    def _relist(self) -> None:
        """Make the list of operations anew."""
        self._orphans = self._orphaned()
        listed: list[Operation] = []
        for owned in self._kept.kinds.values():
            kind: TunnelKind = owned.value
            listed += operations_of(kind, self._stamped(dict(kind.schema)))
        listed += [removal_of(name) for name in sorted(self._orphans)]
        self._listed = tuple(listed)
        self.operations_moved()

    # -- operations ----------------------------------------------------------------------

    def operations(self) -> OperationsOf:
        """The operations of `x-ahpd-tunnels://`, for `Invocations.register`."""
        return OperationsOf(
            list=lambda: self._listed,
            offered=self._offered,
            rows=self.tunnels,
            scope=SCOPE,
            invoke=self._invoke,
            check=self._check,
        )

    def _offered(self, row: State) -> Sequence[str]:
        name = row["kind"]
        owned = self._kept.kinds.get(name)
        if owned is None:
            return (operation_id(name, REMOVE),)
        switch = ENABLE if row["enabled"] is False else DISABLE
        kind: TunnelKind = owned.value
        theirs = [one.id for one in kind.operations if _offers(kind, one, row)]
        return [operation_id(name, verb) for verb in (UPDATE, REMOVE, switch, *theirs)]

    def _check(self, operation: Operation, target: str | None, given: Any) -> None:
        """Hold an input to its operation: settings as they are once it is laid over them."""
        owned = self._kept.kinds.get(operation.kind)
        verb = _verb(operation)
        if owned is None or verb not in (CREATE, UPDATE):
            check_value(operation.input or {}, given, INPUT)
            return
        if not isinstance(given, Mapping):
            raise Misfit(f"{INPUT} must be an object")
        live = None if target is None else self._kept.lives.get(target)
        held = None if live is None else live.settings
        self._settings.check(owned.value.schema, given, held, INPUT, connectors=True)

    async def _invoke(
        self, operation: Operation, target: str | None, value: Any, caller: Caller
    ) -> State | None:
        what = f"{operation.id} of {target}" if target else operation.id
        live = await self._background.finished(what, self._run(operation, target, value))
        return None if live is None else self.tunnels.get(live.id)

    async def _run(self, operation: Operation, target: str | None, value: Any) -> Live | None:
        """Do what is asked; the tunnel it left."""
        if self._kept.stopped:
            raise internal_error("the host is stopping")
        verb = _verb(operation)
        try:
            if target is None:
                return await self._changes.create(operation.kind, value, INPUT)
            if verb == UPDATE:
                return await self._changes.update(target, value, INPUT)
            if verb in (ENABLE, DISABLE):
                return await self._changes.switch(target, on=verb == ENABLE)
            if verb != REMOVE:
                return await self._changes.invoke(target, verb, value)
            await self._changes.remove(target)
        except Problem as problem:
            raise internal_error(str(problem)) from None
        return None


def _verb(operation: Operation) -> str:
    return operation.id.removeprefix(f"{operation.kind}/")


def _offers(kind: TunnelKind, operation: TunnelOperation, row: State) -> bool:
    """Whether a tunnel offers an operation of its kind, as that says of the row."""
    if operation.offered is None:
        return True
    try:
        answer: Any = called(operation.offered, deepcopy(row))
        if isawaitable(answer):
            close = getattr(answer, "close", lambda: None)
            close()
            raise TypeError("offered answers at once")
        return bool(answer)
    except Exception as failed:
        log.error(
            "whether {kind}/{operation} is offered is not known: {why}",
            kind=kind.name,
            operation=operation.id,
            why=type(failed).__name__,
        )
        return False
