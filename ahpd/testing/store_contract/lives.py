"""What stays of a store: after a compaction, and after it was closed and opened again."""

from ahpd.interfaces.stores import DropChannel, DropSession, PutSession, ShareTerminals
from ahpd.testing.store_contract.judging import Make, Reopen, equal, opened
from ahpd.testing.store_samples import a_chat, a_row, a_terminal, everything, named, records


async def check_compaction(make: Make) -> None:
    """Compaction changes nothing that is read, is no longer wanted after it, and may be
    asked for again."""
    store = opened(make)
    for number in range(20):
        session = f"s{number}"
        store.apply(
            [
                PutSession(row=a_row(session, number)),
                a_chat(session, f"chat:/{number}", turns=[b"t" * 50_000] * 5),
            ]
        )
        store.append([(f"chat:/{number}", b"e" * 50_000)] * 5)
    store.apply([DropSession(id=f"s{number}") for number in range(0, 20, 2)])
    before = everything(store)
    await store.compact()
    equal(store.wants_compaction(), False, "wants_compaction() after compact()")
    equal(everything(store), before, "the store after compact()")
    store.append([("chat:/1", b"after")])
    await store.compact()
    equal(records(store, "s1")[0].entries[-1], b"after", "an entry written after compact()")
    store.close()


async def check_reopening(make: Make, reopen: Reopen) -> None:
    """What was written is there after the store was closed and opened again."""
    store = opened(make)
    store.apply([PutSession(row=a_row("a")), a_chat("a", "chat:/1", turns=[b"0", b"1"])])
    store.append([("chat:/1", b"x")])
    store.apply([a_terminal("chat:/1", "t:/1", b"printed")])
    before = everything(store)
    store.close()
    store = reopen(store)
    store.open()
    equal(everything(store), before, "the store after it was opened again")
    equal(list(store.unfolded()), ["a"], "unfolded() after it was opened again")
    equal(store.terminal("t:/1"), b"printed", "a terminal after the store was opened again")
    store.append([("chat:/1", b"y")])
    store.apply([ShareTerminals(source="chat:/1", chat="chat:/1")])
    store.apply([a_chat("a", "chat:/2", turns=[b"z"])])
    await store.compact()
    before = everything(store)
    equal(records(store, "a")[0].entries, (b"x", b"y"), "entries of two lives")
    store.close()
    store = reopen(store)
    store.open()
    equal(everything(store), before, "the store in its third life")
    equal(named(store, "a"), {("chat:/1", "t:/1")}, "terminals() in the store's third life")
    store.apply([DropChannel(channel="chat:/1")])
    equal(store.terminal("t:/1"), None, "a terminal of an earlier life after its chat is gone")
    store.close()
