"""The contract of a record store, checked: every sentence of `IRecords` and `IRecordStore`.

`check_record_store` works on fresh, open stores alone and raises `AssertionError` in words for
the first thing that is not as the ports say. It awaits nothing but the store's own calls.
"""

import math
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

from twisted.logger import ILogObserver, globalLogPublisher
from zope.interface import provider
from zope.interface.exceptions import Invalid
from zope.interface.verify import verifyObject

from ahpd.interfaces import (
    IRecords,
    IRecordStore,
    RecordChange,
    RecordOptions,
    RecordsFailure,
)

__all__ = ["check_record_store"]

#: Makes a store with nothing in it, ready for calls.
Make = Callable[[], IRecordStore]

_PLAIN: Final = RecordOptions()
_BODY: Final = RecordOptions(body="instructions")

#: Texts that a file's format may take for something else.
TEXTS: Final = (
    "yes", "no", "on", "null", "~", "true", "1", "1e3", "0x1F", "1_000", "12:30", "2024-05-01", ".inf", "-", "---", "...", "=", "<<",
    "", " ", "\n", "\n\n", "a\n", "a\n\n", "\na", " a", "a ", "\ta", " a\nb", "a\n b\n", "---\n",
    "---\nid: other\n---\n", "a\n---\nb", "a\r\nb\r\n", "\r", "\r\n", "a\x85b\u2028c", "\ufeffa",
    "\0", "\x1b[0m", "é日本\U0001f600", "a: b # c", "\"'", "\\n", "x" * 3000, "{[", "&a *b !c",
)  # fmt: skip

_VALUES: Final[Sequence[Any]] = (
    None, True, False, 0, 1, -1, 2**53, 10**30, 0.5, -0.0, 1e20, 1e-7, [], {}, [[]], [{}, {"a": []}],
    {"a": {"b": [1, "1", None, {"c": ""}]}}, {"": ""}, {"a b": 1, "1": 2, "yes": 3, "- x": 4},
)  # fmt: skip

#: Ids that are none, whatever else a store takes.
_NO_IDS: Final[Sequence[Any]] = (
    "", " ", "A", "a b", "a.b", "a/b", "../a", "..", "1a", "-a", "a_b", "é", "a\n", "a\0", "a" * 41,
    None, 1, True, ["a"],
)  # fmt: skip


async def check_record_store(make: Make) -> None:
    """Raise `AssertionError` where the stores `make` makes break the contract."""
    for check in (
        _check_names,
        _check_calls,
        _check_order,
        _check_copies,
        _check_values,
        _check_bodies,
        _check_find,
        _check_refusals,
        _check_watching,
        _check_watchers_that_fail,
        _check_collections_apart,
    ):
        store = make()
        _provides(IRecordStore, store)
        await check(store)


async def _check_names(store: IRecordStore) -> None:
    """A collection's name is a slug; it may be opened again, and not in another way."""
    for name in ("", "A", "a b", "a/b", "..", "1a", "-a", "a" * 41):
        await _refused(lambda name=name: store.collection(name, _PLAIN), f"the name {name!r}")  # type: ignore[misc]
    first = store.collection("a", _PLAIN)
    _provides(IRecords, first)
    await first.put({"id": "one"})
    # A plugin that is loaded again opens its own once more.
    again = await store.collection("a", _PLAIN).get("one")
    _same(again, {"id": "one"}, "a record of a collection that was opened again")
    _provides(IRecords, store.collection("a1-" + "b" * 37, _BODY))
    await _refused(lambda: store.collection("a", _BODY), "a collection kept in two ways")


async def _check_calls(store: IRecordStore) -> None:
    notes = store.collection("notes", _PLAIN)
    _same(await notes.get("one"), None, "get() where there is no record")
    _same(await notes.list(), [], "list() of a collection with nothing in it")
    _same(await notes.remove("one"), False, "remove() where there is no record")
    await notes.put({"id": "one", "text": "first", "more": 1})
    _same(await notes.get("one"), {"id": "one", "text": "first", "more": 1}, "what was put")
    await notes.put({"id": "one", "text": "second"})
    _same(await notes.get("one"), {"id": "one", "text": "second"}, "what was put in its place")
    _same(await notes.remove("one"), True, "remove() of a record")
    _same(await notes.get("one"), None, "get() of what was removed")
    _same(await notes.remove("one"), False, "remove() a second time")
    longest = "a" * 40
    await notes.put({"id": longest})
    _same(await notes.get(longest), {"id": longest}, "a record with an id of 40")
    for name in ("../notes", "notes/one", "", "..", "a" * 41):
        _same(await notes.get(name), None, f"get({name!r})")
        _same(await notes.remove(name), False, f"remove({name!r})")


async def _check_order(store: IRecordStore) -> None:
    notes = store.collection("notes", _PLAIN)
    for name in ("b", "a-1", "c", "a", "a1"):
        await notes.put({"id": name})
    listed = [record["id"] for record in await notes.list()]
    _same(listed, ["a", "a-1", "a1", "b", "c"], "the order of list()")
    found = [record["id"] for record in await notes.find({})]
    _same(found, listed, "find() with nothing to match")


async def _check_copies(store: IRecordStore) -> None:
    """What is put and what is read are the caller's own."""
    notes = store.collection("notes", _PLAIN)
    given: dict[str, Any] = {"id": "one", "tags": ["a"], "deep": {"x": [1]}}
    await notes.put(given)
    given["tags"].append("b")
    given["deep"]["x"].append(2)
    kept = {"id": "one", "tags": ["a"], "deep": {"x": [1]}}
    for read in ((await notes.get("one")), (await notes.list())[0], (await notes.find({}))[0]):
        assert read is not None
        _same(read, kept, "a record whose put value was changed later")
        read["tags"].append("c")
        read["deep"]["x"].clear()
    _same(await notes.get("one"), kept, "a record whose copy was changed")


async def _check_values(store: IRecordStore) -> None:
    notes = store.collection("notes", _PLAIN)
    for value in (*_VALUES, list(TEXTS), {text: text for text in TEXTS}):
        await notes.put({"id": "one", "value": value})
        _same(await notes.get("one"), {"id": "one", "value": value}, "a record as it was put")


async def _check_bodies(store: IRecordStore) -> None:
    bots = store.collection("bots", _BODY)
    for text in TEXTS:
        await bots.put({"id": "one", "instructions": text, "name": "x"})
        read = await bots.get("one")
        _same(read, {"id": "one", "name": "x", "instructions": text}, "a body as it was put")
    await bots.put({"id": "one"})
    _same(await bots.get("one"), {"id": "one", "instructions": ""}, "a record without a body")
    no_texts: list[Any] = [None, 1, ["a"], {}]
    for body in no_texts:
        put = {"id": "one", "instructions": body}
        await _refused(lambda put=put: bots.put(put), f"the body {body!r}")  # type: ignore[misc]


async def _check_find(store: IRecordStore) -> None:
    notes = store.collection("notes", _PLAIN)
    await notes.put(
        {"id": "a", "owner": "user:x", "on": True, "none": None, "tags": ["t", {"n": 1}]}
    )
    await notes.put({"id": "b", "owner": "user:x", "on": 1})
    await notes.put({"id": "c", "owner": "user:y", "on": False, "deep": {"owner": "user:x"}})
    for match, ids in (
        ({"owner": "user:x"}, ["a", "b"]),
        ({"owner": "user:x", "on": True}, ["a"]),
        ({"on": 1}, ["b"]),
        ({"on": 1.0}, ["b"]),
        ({"on": 0}, []),
        ({"none": None}, ["a"]),
        ({"tags": ["t", {"n": 1}]}, ["a"]),
        ({"tags": ["t"]}, []),
        ({"id": "c"}, ["c"]),
        ({"missing": "x"}, []),
    ):
        found = [record["id"] for record in await notes.find(match)]
        _same(found, ids, f"find({match!r})")


async def _check_refusals(store: IRecordStore) -> None:
    """What cannot be kept is refused, and what was there stays."""
    notes = store.collection("notes", _PLAIN)
    await notes.put({"id": "one", "text": "kept"})
    told: list[RecordChange] = []
    stop = notes.watch(told.append)
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    wrong: list[Any] = [{}, {"text": "no id"}, None, "one", ["one"]]
    wrong += [{"id": name} for name in _NO_IDS]
    no_json: list[Any] = [math.nan, math.inf, b"x", (1,), {1}, object(), {1: 2}, "\ud800", cyclic]
    wrong += [{"id": "one", "value": value} for value in no_json]
    for record in wrong:
        await _refused(lambda record=record: notes.put(record), f"put({record!r})")  # type: ignore[misc]
    _same(await notes.list(), [{"id": "one", "text": "kept"}], "what was there before refusals")
    _same(told, [], "what was told of refusals")
    stop()


async def _check_watching(store: IRecordStore) -> None:
    notes = store.collection("notes", _PLAIN)
    await notes.put({"id": "before"})
    told: list[RecordChange] = []
    stop = notes.watch(told.append)
    twice: list[RecordChange] = []
    stop_twice = [notes.watch(twice.append), notes.watch(twice.append)]
    await notes.put({"id": "one", "n": 1})
    await notes.put({"id": "one", "n": 2})
    await notes.list()
    await notes.put({"id": "one", "n": 2})
    await notes.remove("two")
    await notes.remove("one")
    await notes.put({"id": "one", "n": 2})
    types = [(change.id, change.type) for change in told]
    expected = [("one", "added"), ("one", "updated"), ("one", "deleted"), ("one", "added")]
    _same(types, expected, "what a watcher was told")
    _same(len(twice), 2 * len(expected), "how often one that watches twice was told")
    stop()
    stop()
    stop_twice[0]()
    await notes.remove("one")
    _same(len(told), len(expected), "how often one was told that had stopped")
    _same(
        len(twice), 2 * len(expected) + 1, "how often one was told that had stopped once of twice"
    )
    stop_twice[1]()


async def _check_watchers_that_fail(store: IRecordStore) -> None:
    """One that raises costs nobody else, and the call succeeds."""
    notes = store.collection("notes", _PLAIN)
    told: list[RecordChange] = []

    def fails(change: RecordChange) -> None:
        raise RuntimeError("a watcher that fails, for the contract")

    stops = [notes.watch(fails), notes.watch(told.append)]
    failures: list[Any] = []

    @provider(ILogObserver)
    def note(event: Any) -> None:
        if "log_failure" in event:
            failures.append(event)

    globalLogPublisher.addObserver(note)
    try:
        await notes.put({"id": "one"})
    finally:
        globalLogPublisher.removeObserver(note)
        for stop in stops:
            stop()
    _same(await notes.get("one"), {"id": "one"}, "a record whose watcher failed")
    _same(told, [RecordChange(id="one", type="added")], "what the others were told")
    _same(len(failures), 1, "how often a watcher's failure was logged")


async def _check_collections_apart(store: IRecordStore) -> None:
    one, other = store.collection("one", _PLAIN), store.collection("other", _BODY)
    own = store.collection("own", RecordOptions(as_json=True))
    told: list[RecordChange] = []
    stop = other.watch(told.append)
    await one.put({"id": "x", "in": "one"})
    _same(await other.get("x"), None, "a record of another collection")
    _same(told, [], "what the watcher of another collection was told")
    stop()
    # The host's own records may have the longer ids agents have.
    for name in ("1-agent_2", "a" * 64):
        await own.put({"id": name, "text": "a\n"})
        _same(await own.get(name), {"id": name, "text": "a\n"}, "a record of the host's own")
    await _refused(lambda: own.put({"id": "a" * 65}), "an id of 65")


async def _refused(call: Callable[[], Any], what: str) -> None:
    try:
        result = call()
        if isinstance(result, Awaitable):
            await result
    except RecordsFailure as failure:
        if not str(failure):
            raise AssertionError(f"{what} was refused without words") from None
        return
    raise AssertionError(f"{what} was not refused")


def _same(found: Any, expected: Any, what: str) -> None:
    # By what is shown, because `1 == True` here and nowhere else.
    if not isinstance(found, str) and isinstance(expected, list):
        found = list(found)
    if found != expected or _shown(found) != _shown(expected):
        raise AssertionError(f"{what}: {found!r}, expected {expected!r}")


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{{', '.join(f'{key!r}: {_shown(value[key])}' for key in sorted(value))}}}"
    if isinstance(value, list):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)


def _provides(interface: Any, value: Any) -> None:
    try:
        verifyObject(interface, value)
    except Invalid as error:
        raise AssertionError(str(error)) from None
