"""Both record stores keep the one contract, and the contract finds a store that does not."""

import itertools
import json

import pytest
import pytest_twisted
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.interfaces import IRecords, IRecordStore, RecordChange
from ahpd.record_store import FileRecordStore, MemoryRecordStore
from ahpd.testing.records_contract import check_record_store
from ahpd.threads import in_thread


@pytest.mark.logs_failures
@pytest_twisted.ensureDeferred
async def test_the_store_in_memory_keeps_the_contract():
    await check_record_store(MemoryRecordStore)


@pytest.mark.logs_failures
@pytest_twisted.ensureDeferred
async def test_the_store_of_files_keeps_the_contract(tmp_path):
    clock, numbers, lines, made = Clock(), itertools.count(), [], []

    def make():
        store = FileRecordStore(
            tmp_path / str(next(numbers)), in_thread(clock), clock, lines.append
        )
        store.open()
        made.append(store)
        return store

    await check_record_store(make)
    assert lines == []
    for store in made:
        await store.close()
    assert clock.getDelayedCalls() == []


@pytest.mark.logs_failures
@pytest_twisted.ensureDeferred
async def test_the_store_of_files_keeps_the_contract_in_threads(tmp_path):
    from twisted.internet import reactor

    numbers, lines, made = itertools.count(), [], []

    def make():
        store = FileRecordStore(
            tmp_path / str(next(numbers)), in_thread(reactor), reactor, lines.append
        )
        store.open()
        made.append(store)
        return store

    await check_record_store(make)
    for store in made:
        await store.close()
    assert lines == []


@implementer(IRecords)
class Careless:
    """A collection with one fault of its own, over one without."""

    def __init__(self, inner, fault):
        self.inner = inner
        self.fault = fault
        self.watching = []

    async def get(self, identifier):
        return await self.inner.get(identifier)

    async def list(self):
        found = await self.inner.list()
        return found[::-1] if self.fault == "lists backwards" else found

    async def find(self, match):
        if self.fault == "finds loosely":
            return [r for r in await self.inner.list() if match.items() <= _hashed(r).items()]
        return await self.inner.find(match)

    async def put(self, record):
        if self.fault == "takes what is no JSON":
            record = json.loads(json.dumps(record, default=str))
        await self.inner.put(record)
        if self.fault == "tells twice":
            for changed in self.watching:
                changed(RecordChange(id=record["id"], type="updated"))

    async def remove(self, identifier):
        removed = await self.inner.remove(identifier)
        return True if self.fault == "removes what is not there" else removed

    def watch(self, changed):
        self.watching.append(changed)
        stop = self.inner.watch(changed)
        return (lambda: None) if self.fault == "never stops" else stop


def _hashed(record):
    return {k: v if not isinstance(v, list | dict) else repr(v) for k, v in record.items()}


@implementer(IRecordStore)
class CarelessStore:
    def __init__(self, fault):
        self.inner = MemoryRecordStore()
        self.fault = fault

    def collection(self, name, options):
        if self.fault == "takes any name" and not name.isalpha():
            name = "any"
        return Careless(self.inner.collection(name, options), self.fault)


@pytest.mark.logs_failures
@pytest.mark.parametrize(
    "fault",
    [
        "lists backwards",
        "finds loosely",
        "takes what is no JSON",
        "tells twice",
        "removes what is not there",
        "never stops",
        "takes any name",
    ],
)
@pytest_twisted.ensureDeferred
async def test_the_contract_finds(fault):
    with pytest.raises(AssertionError):
        await check_record_store(lambda: CarelessStore(fault))
