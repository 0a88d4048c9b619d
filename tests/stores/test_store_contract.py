"""Both stores keep the contract, and the checker notices a store that does not."""

import itertools

import attrs
import pytest
import pytest_twisted
from zope.interface import implementer

from ahpd.interfaces.stores import (
    DropSession,
    ISessionStore,
    PutChannel,
    PutTerminal,
    ShareTerminals,
)
from ahpd.stores.memory import MemorySessionStore
from ahpd.stores.sqlite import SqliteSessionStore
from ahpd.testing.store_contract import check_session_store


@pytest.fixture
def folders(tmp_path):
    return (tmp_path / str(number) for number in itertools.count())


@pytest_twisted.ensureDeferred
async def test_the_store_in_memory_keeps_the_contract():
    await check_session_store(MemorySessionStore, lambda store: store)


@pytest.mark.parametrize("sync", ["process", "power"])
@pytest_twisted.ensureDeferred
async def test_the_store_on_sqlite_keeps_the_contract(folders, sync):
    await check_session_store(
        lambda: SqliteSessionStore(next(folders), sync=sync),
        lambda store: SqliteSessionStore(store.path.parent, sync=sync),
    )


# -- stores that are wrong in one thing ----------------------------------------------------


class LosesOrder(MemorySessionStore):
    def sessions(self):
        return super().sessions()[::-1]


class KeepsEntries(MemorySessionStore):
    def apply(self, writes):
        super().apply(
            attrs.evolve(each, entries=self._entries(each))
            if isinstance(each, PutChannel)
            else each
            for each in writes
        )

    def _entries(self, put):
        held = self._channels.get(put.channel)
        return [*(held.entries if held else ()), *put.entries]


class NotAtomic(MemorySessionStore):
    def append(self, entries):
        for each in entries:
            super().append([each])


class NotAtomicWrites(MemorySessionStore):
    def apply(self, writes):
        for each in writes:
            super().apply([each])


class LeavesChannels(MemorySessionStore):
    def apply(self, writes):
        writes = list(writes)
        for each in writes:
            if isinstance(each, DropSession):
                self._of_session[each.id] = set()
        super().apply(writes)


class TakesUnknownChannels(MemorySessionStore):
    def append(self, entries):
        super().append(each for each in entries if each[0] in self._channels)


class AppendsTurns(MemorySessionStore):
    def _put(self, write):
        held = self._channels.get(write.channel)
        super()._put(attrs.evolve(write, keep_turns=len(held.turns) if held else 0))


class ForgetsTheMoved(MemorySessionStore):
    def session_of(self, channel):
        return next((k for k, names in self._of_session.items() if channel in names), None)

    def _put(self, write):
        old = self.session_of(write.channel)
        super()._put(write)
        if old is not None:
            self._of_session[old].add(write.channel)


class CutsBytes(MemorySessionStore):
    def append(self, entries):
        super().append((channel, entry.split(b"\0")[0]) for channel, entry in entries)


class IgnoresCase(MemorySessionStore):
    def read(self, session):
        known = {key.lower(): key for key in self._rows}
        return super().read(known.get(session.lower(), session))


class KeepsTerminals(MemorySessionStore):
    """What no chat names any more stays."""

    def terminal(self, uri):
        return super().terminal(uri) or self._last.get(uri)

    def apply(self, writes):
        writes = list(writes)
        super().apply(writes)
        self._last = getattr(self, "_last", {})
        self._last |= {e.terminal: e.state for e in writes if isinstance(e, PutTerminal)}


class ForgetsSharedTerminals(MemorySessionStore):
    def apply(self, writes):
        super().apply(each for each in writes if not isinstance(each, ShareTerminals))


class CopiesTerminals(MemorySessionStore):
    """A body of its own for each chat: the older one is read on."""

    def terminal(self, uri):
        return self._first.get(uri) if super().terminal(uri) is not None else None

    def apply(self, writes):
        writes = list(writes)
        super().apply(writes)
        self._first = getattr(self, "_first", {})
        for each in writes:
            if isinstance(each, PutTerminal):
                self._first.setdefault(each.terminal, each.state)


class LosesTerminalsOfTheMoved(MemorySessionStore):
    def _put(self, write):
        held = self._channels.get(write.channel)
        if held is not None and held.session != write.session:
            self._terminals.forget(write.channel)
        super()._put(write)


class TakesTerminalsOfNobody(MemorySessionStore):
    def _check_held(self, channels, turns):
        pass


class ReadsTerminalsAsChannels(MemorySessionStore):
    def unfolded(self):
        named = {s for s in self._rows if self.terminals(s)}
        return [*{*super().unfolded(), *named}]


class NeverDone(MemorySessionStore):
    def wants_compaction(self):
        return True


WRONG = [
    LosesOrder,
    KeepsEntries,
    NotAtomic,
    NotAtomicWrites,
    LeavesChannels,
    TakesUnknownChannels,
    AppendsTurns,
    ForgetsTheMoved,
    CutsBytes,
    IgnoresCase,
    KeepsTerminals,
    ForgetsSharedTerminals,
    CopiesTerminals,
    LosesTerminalsOfTheMoved,
    TakesTerminalsOfNobody,
    ReadsTerminalsAsChannels,
    NeverDone,
]


@pytest.mark.parametrize("wrong", WRONG)
@pytest_twisted.ensureDeferred
async def test_a_store_that_is_wrong_is_noticed(wrong):
    with pytest.raises(AssertionError):
        await check_session_store(wrong, lambda store: store)


@pytest_twisted.ensureDeferred
async def test_a_store_that_keeps_nothing_is_noticed():
    with pytest.raises(AssertionError, match="opened again"):
        await check_session_store(MemorySessionStore, lambda store: MemorySessionStore())


@pytest_twisted.ensureDeferred
async def test_what_is_no_store_is_noticed():
    @implementer(ISessionStore)
    class Nothing:
        pass

    with pytest.raises(Exception, match=r"open"):
        await check_session_store(Nothing)
