"""The connectors of a host: read back, kept, opened with their adapters and closed without.

What is done to one connector is done one after another. A check is no part of that: its adapter
may send what it refreshed meanwhile.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger

from ahpd.bounded import awhile
from ahpd.connectors.checks import check
from ahpd.connectors.ground import Ground
from ahpd.connectors.live import DISABLED, UNAVAILABLE, Live
from ahpd.connectors.opening import CLOSE_PATIENCE, Openings
from ahpd.connectors.records import COLLECTION, OPTIONS, SUBJECT, wrong_record
from ahpd.extensions.waiting import Background, Turns, together
from ahpd.interfaces import (
    IRecords,
    IRecordStore,
    Owned,
    RecordChange,
    RecordsClosed,
    RecordsFailure,
    SecretFailure,
)
from ahpd.protocol import State
from ahpd.protocol.errors import internal_error
from ahpd.schemas.vaulted import prefix

log = Logger()

#: Seconds an adapter that goes has to let go of all it opened.
LEAVE_PATIENCE: Final = CLOSE_PATIENCE + 2.0
#: What a change of the list is: a connector came, went, or is called otherwise.
Listed = Callable[[], None]


class Connectors:
    """Every connector by its id. `shown(live)` and `gone(id)` are told what the list shows now;
    `listed` is called when which there are, or what one is called, is otherwise."""

    def __init__(
        self,
        ground: Ground,
        store: IRecordStore,
        background: Background,
        openings: Openings,
        *,
        shown: Callable[[Live], None],
        gone: Callable[[str], None],
        listed: Listed,
    ) -> None:
        self._ground = ground
        self._records: IRecords = store.collection(COLLECTION, OPTIONS)
        self._background = background
        self._openings = openings
        self._shown = shown
        self._gone = gone
        self._listed = listed
        self._turns = Turns()
        self._muted: set[str] = set()
        self._unwatch: Callable[[], None] | None = None
        self._stopped = False
        self._opening: dict[str, Deferred[None]] = {}
        """Those that their adapters are opening now, by their ids."""
        self.adapters: Mapping[str, Owned] = {}
        self.lives: dict[str, Live] = {}

    # -- the beginning and the end ------------------------------------------------------

    async def load(self) -> None:
        """Read every record; what can be opened is opened behind this."""
        self._unwatch = self._records.watch(self._outside)
        try:
            records = await self._records.list()
        except RecordsClosed:
            return  # the host ended before they were read
        except RecordsFailure as failed:
            log.error("the connectors cannot be read: {words}", words=str(failed))
            return
        for record in records:
            words = wrong_record(record)
            if words is not None:
                log.error("the connector {id} is left out: {words}", id=_id(record), words=words)
            elif record["id"] not in self.lives:
                self._hold(record)
                self._settle_behind(record["id"])

    async def stop(self) -> None:
        """Close every one, and wait for that. None is opened after."""
        self._stopped = True
        if self._unwatch is not None:
            self._unwatch()
        closing = [
            Deferred.fromCoroutine(self._openings.close(live)) for live in self.lives.values()
        ]
        await together(closing)

    async def use(self, adapters: Mapping[str, Owned]) -> None:
        """These are the adapters from now on: close what lost its own, open what has one.

        Returns when what lost its own is closed, or had its time; what is opened is opened behind
        this. An adapter that goes is not waited for with what it opens still.
        """
        before, self.adapters = self.adapters, dict(adapters)
        moved = {
            name
            for name in before.keys() | self.adapters.keys()
            if before.get(name) != self.adapters.get(name)
        }
        theirs = [live.id for live in self.lives.values() if live.record["adapter"] in moved]
        for opening in [self._opening[each] for each in theirs if each in self._opening]:
            opening.cancel()
        leaving = [
            self._background.spawn(f"closing {each}", self._leave_adapter(each)) for each in theirs
        ]
        for each in theirs:
            self._settle_behind(each)
        left = Deferred.fromCoroutine(together(leaving))
        await awhile(left, LEAVE_PATIENCE, self._ground.clock)

    async def _leave_adapter(self, identifier: str) -> None:
        """Close a connector that an adapter opened which is not there any more."""
        async with self.turn(identifier):
            live = self.lives.get(identifier)
            if live is None or live.opened is None or live.opened.owned == self._adapter_of(live):
                return
            with self.quiet(identifier), live.settling():
                await self._openings.close(live)
                live.without(UNAVAILABLE)

    def _adapter_of(self, live: Live) -> Owned | None:
        return self.adapters.get(live.record["adapter"])

    def _settle_behind(self, identifier: str) -> None:
        self._background.spawn(f"opening {identifier}", self.settle(identifier))

    # -- one connector ----------------------------------------------------------------

    def turn(self, identifier: str) -> Any:
        """An asynchronous context in which nobody else works on a connector."""
        return self._turns.turn(identifier)

    async def settled(self, identifier: object) -> None:
        """Returns once a connector is not being opened any more."""
        if isinstance(identifier, str) and identifier in self._opening:
            async with self.turn(identifier):
                pass

    async def settle(self, identifier: str) -> None:
        """Have a connector open or not, as its record and the adapters are now."""
        async with self.turn(identifier):
            live = self.lives.get(identifier)
            if live is not None:
                with self.quiet(identifier):
                    await self.reopened(live, again=False)
        self._background.spawn(f"checking {identifier}", self.checked_one(identifier))

    @contextmanager
    def quiet(self, identifier: str) -> Iterator[None]:
        """Within its turn: what moves of a connector within is shown as one, at the end."""
        self._muted.add(identifier)
        try:
            yield
        finally:
            self._muted.discard(identifier)
            live = self.lives.get(identifier)
            if live is not None:
                live.moved()

    async def reopened(self, live: Live, *, again: bool = True) -> None:
        """Within its turn: close it and open it as it is now. Without `again`, what its adapter
        has opened already is left as it is."""
        owned = self._adapter_of(live)
        if owned is not None:
            live.schema = owned.value.schema
        opened = live.opened
        if opened is not None and not again and live.on and opened.owned == owned:
            return
        with live.settling():
            await self._openings.close(live)
            if self._stopped:
                return
            if not live.on:
                live.without(DISABLED)
            elif owned is None:
                live.without(UNAVAILABLE)
            else:
                await self._open(live, owned)

    async def _open(self, live: Live, owned: Owned) -> None:
        opening = self._opening[live.id] = Deferred.fromCoroutine(self._openings.open(live, owned))
        try:
            await opening
        finally:
            del self._opening[live.id]
        if self._stopped:
            await self._openings.close(live)
        elif owned != self._adapter_of(live):  # its adapter went while it opened it
            await self._openings.close(live)
            live.without(UNAVAILABLE)

    async def checked(self, live: Live) -> None:
        """Ask the service whether an open connector works, and show what it says."""
        opened = live.opened
        if opened is None:
            return
        answer = await check(opened, self._ground.clock)
        if answer is not None and live.opened is opened:
            live.checked(answer)

    async def checked_one(self, identifier: str) -> None:
        """See `checked`; a connector that is not there is none to check."""
        live = self.lives.get(identifier)
        if live is not None:
            await self.checked(live)

    async def keep(self, record: State) -> Live:
        """Within its turn: write a record, and hold it in place of the one its id had.

        Raises `RpcError` -32603 where it could not be written. It is not opened anew.
        """
        try:
            await self._records.put(record)
        except RecordsFailure as failed:
            words = f"The connector {record['id']} was not kept: {failed}"
            raise internal_error(words) from None
        live = self.lives.get(record["id"])
        if live is None:
            return self._hold(record)
        renamed = _listed_as(live.record) != _listed_as(record)
        live.takes(record)
        live.moved()
        if renamed:
            self._listed()
        return live

    async def drop(self, live: Live) -> None:
        """Within its turn: close a connector, and forget it and its secrets.

        Raises `RpcError` -32603 where its record could not be taken out; it is kept then.
        """
        try:
            await self._records.remove(live.id)
        except RecordsFailure as failed:
            raise internal_error(f"The connector {live.id} was not removed: {failed}") from None
        with live.settling():
            await self._openings.close(live)
            await self.forget(live.owner, live.id, live.record["config"], {})
            self._let_go(live)

    async def forget(
        self, owner: str, identifier: str, before: Mapping[str, Any], after: Mapping[str, Any]
    ) -> None:
        """Take the secrets out of the vault that a connector of `owner` had by the config
        `before` and has not by `after`. Failing to is logged."""
        under = prefix(owner, SUBJECT, identifier)
        try:
            await self._ground.vaulted.forget_unnamed(before, after, under=under)
        except SecretFailure as failed:
            log.error("{id} left a secret: {words}", id=identifier, words=str(failed))

    # -- which there are ------------------------------------------------------------------

    def _hold(self, record: State) -> Live:
        live = Live(record, self._ground.now, self._live_moved)
        self.lives[live.id] = live
        if not live.on:
            live.state = DISABLED
        owned = self._adapter_of(live)
        live.schema = None if owned is None else owned.value.schema
        live.moved()
        self._listed()
        return live

    def _let_go(self, live: Live) -> None:
        if self.lives.get(live.id) is live:
            del self.lives[live.id]
            self._gone(live.id)
            self._listed()

    def shows_itself(self, live: Live) -> bool:
        """Whether what moves of a connector now is shown at once."""
        held = self.lives.get(live.id) is live
        return held and not live.is_settling and live.id not in self._muted

    def _live_moved(self, live: Live) -> None:
        if self.lives.get(live.id) is live and live.id not in self._muted:
            self._shown(live)

    def _outside(self, change: RecordChange) -> None:
        """A record moved; where it was not us, it is taken up as it is."""
        if not self._stopped:
            self._background.spawn(f"reading {change.id} again", self._read_again(change.id))

    async def _read_again(self, identifier: str) -> None:
        async with self.turn(identifier):
            record = await self._records.get(identifier)
            live = self.lives.get(identifier)
            if record is None:
                if live is not None:
                    with live.settling():
                        await self._openings.close(live)
                        self._let_go(live)
                return
            words = wrong_record(record)
            if words is not None:
                log.error("what was written of {id} is left: {words}", id=identifier, words=words)
            if words is not None or (live is not None and live.record == record):
                return
            with self.quiet(identifier):
                if live is None:
                    live = self._hold(record)
                else:
                    live.takes(record)
                    self._listed()
                await self.reopened(live)
        await self.checked(live)


def _id(record: Any) -> Sequence[Any] | str:
    return record.get("id", "?") if isinstance(record, Mapping) else "?"


def _listed_as(record: State) -> tuple[Any, ...]:
    return record["adapter"], record["owner"], record.get("title")
