"""The tunnels of a host: read back, kept, started with their kinds and stopped without.

What is done to one tunnel is done one after another. Nothing is started before the host
listens. Source: PLUGINS.txt, "A tunnel kind of your own", `x-ahpd-tunnels`.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.bounded import awhile
from ahpd.extensions.waiting import Background, Turns, together
from ahpd.interfaces import (
    IRecords,
    IRecordStore,
    Owned,
    RecordChange,
    RecordsClosed,
    RecordsFailure,
    Tunnel,
    TunnelKind,
    TunnelReport,
)
from ahpd.protocol import State
from ahpd.schemas import Misfit, secrets_in, texts_read
from ahpd.tunnels.asking import STOP_PATIENCE, Asking, Reporter
from ahpd.tunnels.live import Live, Started
from ahpd.tunnels.records import COLLECTION, OPTIONS, with_settings, wrong_record
from ahpd.tunnels.settings import Problem, Settings

log = Logger()

#: Seconds a kind that goes has to stop all it forwards.
LEAVE_PATIENCE: Final = STOP_PATIENCE + 2.0


class Tunnels:
    """Every tunnel by its id. `shown(live)` and `gone(id)` are told what the list shows now,
    `report(plugin, line)` of what of a plugin's was not taken."""

    def __init__(
        self,
        store: IRecordStore,
        settings: Settings,
        asking: Asking,
        background: Background,
        *,
        shown: Callable[[Live], None],
        gone: Callable[[str], None],
        report: Callable[[str, str], None],
    ) -> None:
        self._records: IRecords = store.collection(COLLECTION, OPTIONS)
        self._settings = settings
        self._asking = asking
        self._background = background
        self._shown = shown
        self._gone = gone
        self._report = report
        self._turns = Turns()
        self._reporters: dict[Live, Reporter] = {}
        self._unwatch: Callable[[], None] | None = None
        self.kinds: Mapping[str, Owned] = {}
        self.lives: dict[str, Live] = {}
        self.listens = False
        """Whether the host listens: before that nothing is started."""
        self.stopped = False

    # -- the beginning and the end ------------------------------------------------------

    async def load(self) -> None:
        """Read every record."""
        self._unwatch = self._records.watch(self._outside)
        try:
            records = await self._records.list()
        except RecordsClosed:
            return  # the host ended before they were read
        except RecordsFailure as failed:
            log.error("the tunnels cannot be read: {words}", words=str(failed))
            return
        for record in records:
            words = wrong_record(record)
            if words is not None:
                identifier = record.get("id", "?")
                log.error("the tunnel {id} is left out: {words}", id=identifier, words=words)
            elif record["id"] not in self.lives:
                self.shown(self.hold(record))

    async def stop(self) -> None:
        """Stop every one, and wait for that. None is started after."""
        self.stopped = True
        if self._unwatch is not None:
            self._unwatch()
        self._background.stop()
        await self._background.over()
        works = [
            self._background.spawn(f"stopping {live.id}", self.halt_quietly(live))
            for live in self.lives.values()
        ]
        await together(works)

    async def use(self, kinds: Mapping[str, Owned]) -> None:
        """These are the kinds from now on: stop what lost its own, start what has one.

        Returns when what lost its own is stopped, or had its time; what is started is started
        behind this. A kind that goes is not waited for with what it begins still.
        """
        before, self.kinds = self.kinds, dict(kinds)
        moved = {
            name
            for name in before.keys() | self.kinds.keys()
            if before.get(name) != self.kinds.get(name)
        }
        theirs = [live.id for live in self.lives.values() if live.kind in moved]
        for each in theirs:
            self._asking.interrupt(each)
        leaving = [
            self._background.spawn(f"stopping {each}", self._leave_kind(each)) for each in theirs
        ]
        for each in theirs:
            self._background.spawn(f"settling {each}", self._settle(each))
        left = Deferred.fromCoroutine(together(leaving))
        await awhile(left, LEAVE_PATIENCE, self._asking.clock)

    async def _leave_kind(self, identifier: str) -> None:
        """Stop a tunnel that a kind forwards which is not there any more."""
        async with self.turn(identifier):
            live = self.lives.get(identifier)
            started = None if live is None else live.started
            if live is None or started is None or started.owned == self.kinds.get(live.kind):
                return
            await self.halt_quietly(live)
            self.shown(live)

    async def settle_all(self) -> None:
        """Have each of them run or not, as its record and the kinds are now."""
        works = [
            self._background.spawn(f"settling {live.id}", self._settle(live.id))
            for live in tuple(self.lives.values())
        ]
        await together(works)

    async def _settle(self, identifier: str) -> None:
        async with self.turn(identifier):
            live = self.lives.get(identifier)
            if live is None:
                return
            owned = self.kinds.get(live.kind)
            started = live.started
            if started is None or started.owned != owned or not live.on:
                await self.halt_quietly(live)
                await self.begin_quietly(live)
            self.shown(live)

    # -- one tunnel, within its turn -------------------------------------------------------

    def turn(self, identifier: str) -> Any:
        """An asynchronous context in which nobody else works on a tunnel."""
        return self._turns.turn(identifier)

    def hold(self, record: State) -> Live:
        """Have a tunnel of this record; it is not shown yet."""
        live = Live(record)
        self.lives[live.id] = live
        self._known(live)
        return live

    def _known(self, live: Live) -> Owned | None:
        """The kind of a tunnel, which says of it what holds once the kind is gone, too."""
        owned = self.kinds.get(live.kind)
        if owned is not None:
            live.schema, live.offered_by = owned.value.schema, owned.plugin
        return owned

    def shown(self, live: Live) -> None:
        """What a tunnel's row says may be otherwise now."""
        if self.lives.get(live.id) is live:
            self._known(live)
            live.listed = True
            self._shown(live)

    async def put(self, live: Live, record: State) -> None:
        """Write a record in place of the one a tunnel has. Raises `Problem`."""
        try:
            await self._records.put(record)
        except RecordsFailure as failed:
            raise Problem(f"the tunnel was not kept: {failed}") from None
        live.record = record

    async def keep(self, live: Live, kind: TunnelKind, settings: Mapping[str, Any]) -> None:
        """Keep other settings of a tunnel; new secrets are plain in them. Raises `Problem`."""
        before = live.settings
        async with self._settings.kept(kind.schema, live.id, settings, before) as after:
            if after != before:
                await self.put(live, with_settings(live.record, after))
        await self.forget(live, before, after)

    async def forget(self, live: Live, before: Mapping[str, Any], after: Mapping[str, Any]) -> None:
        """Take out of the vault what is not named any more. Failing to is logged."""
        words = await self._settings.forget(live.id, before, after)
        if words is not None:
            log.error("{id} left a secret: {words}", id=live.id, words=words)

    async def drop(self, live: Live) -> None:
        """Forget a tunnel that does not run, and its secrets. Raises `Problem`."""
        try:
            await self._records.remove(live.id)
        except RecordsFailure as failed:
            raise Problem(f"the tunnel was not removed: {failed}") from None
        await self.forget(live, live.settings, {})
        self.let_go(live)

    def let_go(self, live: Live) -> None:
        """Have a tunnel no more."""
        self._close_reporter(live)
        if self.lives.get(live.id) is live:
            del self.lives[live.id]
            self._gone(live.id)

    async def handed(
        self, live: Live, kind: TunnelKind, settings: Mapping[str, Any] | None = None
    ) -> Tunnel:
        """A tunnel as its kind is handed it, with `settings` or its own. Raises `Problem`."""
        named = live.settings if settings is None else settings
        read = await self._settings.read(kind.schema, named)
        live.secrets.update(secrets_in(kind.schema, read), texts_read(named, read))
        record = live.record
        return Tunnel(
            id=live.id,
            kind=live.kind,
            plugin=live.plugin,
            purpose=record.get("purpose", "person"),
            enabled=live.on,
            owner=record.get("owner"),
            settings=read,
        )

    # -- started and stopped -----------------------------------------------------------------

    async def begin(self, live: Live) -> None:
        """Start a tunnel, where it is to run and its kind is there. Raises `Problem`."""
        owned = self._known(live)
        live.begins()
        if owned is None or not live.on or not self.listens or self.stopped:
            return
        kind: TunnelKind = owned.value
        try:
            tunnel = await self.handed(live, kind)
            if self.kinds.get(live.kind) != owned:
                raise Problem("its kind went meanwhile")
            await self._asking.create(kind, tunnel, self.reporter(live), live.secrets)
        except Problem as failed:
            self._close_reporter(live)
            live.failed(str(failed))
            raise
        live.is_started(Started(owned, tunnel))
        await self.save_reported(live)

    async def begin_quietly(self, live: Live) -> None:
        """See `begin`; what keeps a tunnel from running is shown on its row alone."""
        try:
            await self.begin(live)
        except Problem as failed:
            log.warn("the tunnel {id} does not run: {words}", id=live.id, words=str(failed))

    async def halt(self, live: Live) -> None:
        """Stop a tunnel that runs. It does not after; raises `Problem` where its kind failed."""
        started, live.started = live.started, None
        if started is None:
            self._close_reporter(live)
            live.stopped()
            return
        try:
            await self._asking.remove(started.kind, started.tunnel, live.secrets)
        except Problem as failed:
            live.failed(str(failed))
            raise
        else:
            live.stopped()
        finally:
            self._close_reporter(live)

    async def halt_quietly(self, live: Live) -> None:
        """See `halt`; a kind that fails to is logged, for a tunnel that goes or is begun again."""
        try:
            await self.halt(live)
        except Problem as failed:
            log.error("the tunnel {id} was not stopped: {words}", id=live.id, words=str(failed))

    # -- what kinds report ------------------------------------------------------------------

    def reporter(self, live: Live) -> Reporter:
        """What a kind reports of a tunnel with; the one it has, while that is open."""
        held = self._reporters.get(live)
        if held is None:
            held = self._reporters[live] = Reporter(live, self._reported)
        return held

    def _close_reporter(self, live: Live) -> None:
        held = self._reporters.pop(live, None)
        if held is not None:
            held.open = False

    def _reported(self, live: Live, report: TunnelReport) -> None:
        live.reported(report)
        if report.settings is not None:
            live.unsaved.append(dict(report.settings))
            # Whoever works on the tunnel now saves them; where nobody does, this.
            self._background.spawn(f"saving what {live.id} reported", self._save_later(live))
        if live.listed:
            self.shown(live)

    async def _save_later(self, live: Live) -> None:
        async with self.turn(live.id):
            await self.save_reported(live)
            if live.listed:
                self.shown(live)

    async def save_reported(self, live: Live) -> None:
        """Within its turn: keep the settings a kind reported. What does not fit is left out."""
        owned = self.kinds.get(live.kind)
        while live.unsaved:
            given = live.unsaved.pop(0)
            if owned is None or self.lives.get(live.id) is not live:
                continue
            kind: TunnelKind = owned.value
            live.secrets.update(secrets_in(kind.schema, given))
            try:
                whole = self._settings.check(
                    kind.schema, given, live.settings, "settings", connectors=False
                )
                await self.keep(live, kind, whole)
                if live.started is not None:
                    live.started.tunnel = await self.handed(live, kind)
            except (Misfit, Problem) as failed:
                words = f"what the tunnel {live.id} reported of its settings is not kept: {failed}"
                self._report(owned.plugin, words)

    # -- what people write --------------------------------------------------------------------

    def _outside(self, change: RecordChange) -> None:
        """A record moved; where it was not us, it is taken up as it is."""
        if not self.stopped:
            self._background.spawn(f"reading {change.id} again", self._read_again(change.id))

    async def _read_again(self, identifier: str) -> None:
        async with self.turn(identifier):
            record = await self._records.get(identifier)
            live = self.lives.get(identifier)
            if record is None:
                if live is not None:
                    await self.halt_quietly(live)
                    self.let_go(live)
                return
            words = wrong_record(record)
            if words is not None:
                log.error("what was written of {id} is left: {words}", id=identifier, words=words)
            if words is not None or (live is not None and live.record == record):
                return
            await self._taken_up(live, record)

    async def _taken_up(self, live: Live | None, record: State) -> None:
        """A person wrote a record: have its tunnel be that."""
        if live is None:
            live = self.hold(record)
        elif live.kind != record["kind"]:
            await self.halt_quietly(live)
            self.let_go(live)
            live = self.hold(record)
        else:
            await self.halt_quietly(live)
            live.record = record
        await self.begin_quietly(live)
        self.shown(live)
