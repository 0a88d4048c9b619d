"""The contract of a session store, checked: every sentence of `ISessionStore`.

`check_session_store` works on fresh stores alone and raises `AssertionError` in words for
the first thing that is not as the port says.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from zope.interface.verify import verifyObject

from ahpd.interfaces.stores import (
    ChannelRecord,
    DropChannel,
    DropSession,
    ISessionStore,
    PutChannel,
    PutSession,
    StoreFailure,
    Write,
)
from ahpd.testing.store_samples import a_chat, a_row, everything, records

#: Makes a store that holds nothing and was not opened.
Make = Callable[[], ISessionStore]
#: A store, not opened, over what the given closed one kept.
Reopen = Callable[[ISessionStore], ISessionStore]

_BIG: Final = 3 * 1024 * 1024
_STRANGE: Final = "ahp-chat:/\N{SNOWMAN} \N{GRINNING FACE}/%2F?#'\";--\n\x00\N{ARABIC LETTER ALEF}"


async def check_session_store(make: Make, reopen: Reopen | None = None) -> None:
    """Raise `AssertionError` where the stores `make` makes break the contract.

    `reopen` is left out for a store that keeps nothing once it is closed.
    """
    for check in (
        check_sessions,
        check_channels,
        check_entries,
        check_turns,
        check_moves,
        check_drops,
        check_atomicity,
        check_values,
        check_parts,
    ):
        store = _opened(make)
        check(store)
        store.close()
        store.close()
    await check_compaction(make)
    if reopen is not None:
        await check_reopening(make, reopen)


def _opened(make: Make) -> ISessionStore:
    store = make()
    verifyObject(ISessionStore, store)
    store.open()
    _equal(list(store.sessions()), [], "a new store's sessions")
    return store


def _equal(found: object, expected: object, what: str) -> None:
    if found != expected:
        raise AssertionError(f"{what}: found {_short(found)}, expected {_short(expected)}")


def _short(value: object) -> str:
    words = repr(value)
    return words if len(words) <= 500 else f"{words[:500]}... ({len(words)} characters)"


def _fails(what: str, act: Callable[[], None]) -> None:
    try:
        act()
    except StoreFailure as failure:
        if not str(failure):
            raise AssertionError(f"{what}: the failure has no words") from None
    else:
        raise AssertionError(f"{what}: it did not fail")


def check_sessions(store: ISessionStore) -> None:
    """Rows come back as they were written last, in the order of their ordinals."""
    third, first, second = a_row("c", 3), a_row("a", 1), a_row("b", 2)
    store.apply([PutSession(row=third), PutSession(row=first)])
    store.apply([PutSession(row=second)])
    _equal(list(store.sessions()), [first, second, third], "sessions()")
    changed = a_row(
        "a",
        9,
        uri="copilot:/a",
        provider="other",
        created_at="2027",
        modified_at="2028",
        announced=False,
        summary=b"{}",
    )
    store.apply([a_chat("a", "chat:/a")])
    store.apply([PutSession(row=changed)])
    _equal(list(store.sessions()), [second, third, changed], "sessions() after a row was rewritten")
    _equal(store.session_of("chat:/a"), "a", "session_of() after the session's row was rewritten")
    store.apply([])
    _equal(len(store.sessions()), 3, "the number of sessions after nothing was applied")


def check_channels(store: ISessionStore) -> None:
    """Channels are read in the order they were first written, and belong to one session."""
    store.apply([PutSession(row=a_row("a")), PutSession(row=a_row("b", 2))])
    _equal(records(store, "a"), [], "read() of a session without channels")
    _equal(records(store, "no such"), [], "read() of no session")
    _equal(store.session_of("chat:/2"), None, "session_of() of no channel")
    session = PutChannel(session="a", channel="ahp-session:/a", kind="session", head=b'{"n":1}')
    store.apply([session, a_chat("a", "chat:/2"), a_chat("b", "chat:/b")])
    store.apply([a_chat("a", "chat:/1"), a_chat("a", "chat:/0", kind="annotations")])
    store.apply([a_chat("a", "chat:/2", head=b'{"n":2}')])
    _equal(
        [(each.channel, each.kind, each.head) for each in records(store, "a")],
        [
            ("ahp-session:/a", "session", b'{"n":1}'),
            ("chat:/2", "chat", b'{"n":2}'),
            ("chat:/1", "chat", b"{}"),
            ("chat:/0", "annotations", b"{}"),
        ],
        "read()",
    )
    _equal([each.channel for each in store.read("b")], ["chat:/b"], "read() of another session")
    _equal(store.session_of("chat:/0"), "a", "session_of()")
    store.apply([DropChannel(channel="chat:/2")])
    store.apply([a_chat("a", "chat:/2")])
    _equal(
        [each.channel for each in store.read("a")],
        ["ahp-session:/a", "chat:/1", "chat:/0", "chat:/2"],
        "read() after a channel was dropped and written anew",
    )


def check_entries(store: ISessionStore) -> None:
    """Entries keep their order, in one call and over many, and go when a head is written."""
    store.apply([PutSession(row=a_row("a")), PutSession(row=a_row("b", 2))])
    store.apply([a_chat("a", "chat:/1"), a_chat("a", "chat:/2"), a_chat("b", "chat:/3")])
    _equal(list(store.unfolded()), [], "unfolded() of what has no entries")
    store.append([("chat:/1", b"1"), ("chat:/2", b"2"), ("chat:/1", b"3")])
    store.append([])
    for number in range(4, 30):
        store.append([("chat:/1", b"%d" % number)])
    store.append((channel, b"last") for channel in ("chat:/2", "chat:/1"))
    first, second = records(store, "a")
    numbers = (b"1", *(b"%d" % number for number in range(3, 30)), b"last")
    _equal(first.entries, numbers, "the entries of a channel")
    _equal(second.entries, (b"2", b"last"), "the entries of another channel")
    _equal(list(store.unfolded()), ["a"], "unfolded()")
    store.append([("chat:/3", b"x")])
    _equal(sorted(store.unfolded()), ["a", "b"], "unfolded() of two sessions")
    store.apply([a_chat("a", "chat:/1", head=b'{"folded":1}')])
    store.append([("chat:/1", b"after"), ("chat:/1", b"that")])
    first, second = records(store, "a")
    _equal(first.entries, (b"after", b"that"), "the entries after a head was written")
    _equal(second.entries, (b"2", b"last"), "another channel's entries after a head was written")
    store.apply([a_chat("a", "chat:/1", entries=[b"new", b"ones"])])
    store.append([("chat:/1", b"more")])
    first, second = records(store, "a")
    _equal(first.entries, (b"new", b"ones", b"more"), "entries that were written with a head")
    store.apply([a_chat("a", "chat:/1"), a_chat("a", "chat:/2")])
    _equal(list(store.unfolded()), ["b"], "unfolded() after one session was folded")
    _fails("an entry of no channel", lambda: store.append([("chat:/9", b"x")]))


def check_turns(store: ISessionStore) -> None:
    """Turns are kept, cut and added to as `keep_turns` and `turns` say."""

    def turns() -> Sequence[bytes]:
        return records(store, "a")[0].turns

    store.apply([PutSession(row=a_row("a")), a_chat("a", "chat:/1", turns=[b"0", b"1"])])
    store.apply([a_chat("a", "chat:/2", turns=[b"other"])])
    _equal(turns(), (b"0", b"1"), "turns")
    store.apply([a_chat("a", "chat:/1", keep_turns=2, turns=[b"2", b"3"])])
    _equal(turns(), (b"0", b"1", b"2", b"3"), "turns after some were added")
    store.apply([a_chat("a", "chat:/1", keep_turns=4)])
    _equal(turns(), (b"0", b"1", b"2", b"3"), "turns that were all kept")
    store.apply([a_chat("a", "chat:/1", keep_turns=1, turns=[b"x"])])
    _equal(turns(), (b"0", b"x"), "turns after some were cut and one was added")
    store.apply([a_chat("a", "chat:/1", keep_turns=1)])
    _equal(turns(), (b"0",), "turns after one was cut")
    many = [b"%d" % number for number in range(1500)]
    store.apply([a_chat("a", "chat:/1", turns=many)])
    _equal(turns(), tuple(many), "many turns in place of all that were held")
    store.apply([a_chat("a", "chat:/1")])
    _equal(turns(), (), "turns of which none was kept")
    _equal(records(store, "a")[1].turns, (b"other",), "another chat's turns")
    _fails(
        "keeping more turns than there are",
        lambda: store.apply([a_chat("a", "chat:/2", keep_turns=2)]),
    )
    _fails(
        "keeping turns of a new channel",
        lambda: store.apply([a_chat("a", "chat:/new", keep_turns=1)]),
    )
    _equal(store.session_of("chat:/new"), None, "a channel whose write failed")


def check_moves(store: ISessionStore) -> None:
    """A channel written for another session is that one's, with its turns and its age."""
    store.apply([PutSession(row=a_row("a")), PutSession(row=a_row("b", 2))])
    store.apply([a_chat("a", "chat:/1", turns=[b"0", b"1"]), a_chat("b", "chat:/2")])
    store.append([("chat:/1", b"x")])
    store.apply([a_chat("b", "chat:/1", keep_turns=2, turns=[b"2"], head=b'{"moved":1}')])
    _equal(records(store, "a"), [], "the session a channel was moved out of")
    _equal(store.session_of("chat:/1"), "b", "session_of() of a channel that was moved")
    _equal([each.channel for each in store.read("b")], ["chat:/1", "chat:/2"], "a moved channel")
    moved = records(store, "b")[0]
    _equal(
        (moved.head, moved.turns, moved.entries),
        (b'{"moved":1}', (b"0", b"1", b"2"), ()),
        "what a moved channel holds",
    )
    store.apply([DropSession(id="a")])
    _equal(len(records(store, "b")[0].turns), 3, "a moved channel after its old session is gone")
    store.append([("chat:/1", b"y")])
    _equal(list(store.unfolded()), ["b"], "unfolded() of a moved channel")


def check_drops(store: ISessionStore) -> None:
    """What is dropped is gone with all that hung on it, and nothing comes back with its name."""
    store.apply([PutSession(row=a_row("a")), PutSession(row=a_row("b", 2))])
    store.apply(
        [
            a_chat("a", "chat:/1", turns=[b"0"]),
            a_chat("a", "chat:/2", turns=[b"1"]),
            a_chat("b", "chat:/3", turns=[b"2"]),
        ]
    )
    store.append([(f"chat:/{number}", b"e%d" % number) for number in (1, 2, 3)])
    other = records(store, "b")
    store.apply([DropChannel(channel="chat:/1")])
    _equal([each.channel for each in store.read("a")], ["chat:/2"], "read() after a DropChannel")
    _fails("an entry of a dropped channel", lambda: store.append([("chat:/1", b"x")]))
    store.apply([DropSession(id="a")])
    _equal([row.id for row in store.sessions()], ["b"], "sessions() after a DropSession")
    _equal(store.session_of("chat:/2"), None, "session_of() after a DropSession")
    _equal(list(store.unfolded()), ["b"], "unfolded() after a DropSession")
    _fails("an entry of a dropped session", lambda: store.append([("chat:/2", b"x")]))
    store.apply([DropChannel(channel="chat:/none"), DropSession(id="none"), DropSession(id="a")])
    _equal(records(store, "b"), other, "another session")
    store.apply([PutSession(row=a_row("a")), a_chat("a", "chat:/2"), a_chat("a", "chat:/1")])
    for record in records(store, "a"):
        _equal((record.turns, record.entries), ((), ()), "a channel made anew")
    store.apply([DropSession(id="a"), PutSession(row=a_row("a", 7)), a_chat("a", "chat:/5")])
    _equal([each.channel for each in store.read("a")], ["chat:/5"], "a session made anew at once")


def check_atomicity(store: ISessionStore) -> None:
    """A call that fails has done nothing at all, and the store goes on."""
    store.apply([PutSession(row=a_row("a")), a_chat("a", "chat:/1", turns=[b"0", b"1"])])
    store.append([("chat:/1", b"first")])
    before = everything(store)
    writes: list[Write] = [
        PutSession(row=a_row("a", 5, summary=b"changed")),
        PutSession(row=a_row("new")),
        a_chat("new", "chat:/new", turns=[b"x"]),
        a_chat("new", "chat:/1", keep_turns=1, turns=[b"y"]),
        DropChannel(channel="chat:/1"),
        DropSession(id="a"),
        a_chat("a", "chat:/late"),
    ]
    _fails("a write for a session that was just dropped", lambda: store.apply(writes))
    _equal(everything(store), before, "the store after a call that failed")
    _fails("a write for no session", lambda: store.apply([*writes[:2], a_chat("no", "chat:/2")]))
    _equal(everything(store), before, "the store after another call that failed")
    _fails("turns that went", lambda: store.apply([*writes[:5], a_chat("a", "c", keep_turns=1)]))
    _fails(
        "entries of which one has no channel",
        lambda: store.append([("chat:/1", b"x"), ("chat:/1", b"y"), ("chat:/none", b"z")]),
    )
    _equal(everything(store), before, "the store after entries that failed")

    def made(fails: bool) -> Iterator[Write]:
        yield from writes[:4]
        if fails:
            raise LookupError("no more")

    try:
        store.apply(made(True))
    except LookupError:
        pass
    else:
        raise AssertionError("what making the writes raised did not come through")
    _equal(everything(store), before, "the store after its writes could not be made")
    store.append([("chat:/1", b"second")])
    _equal(records(store, "a")[0].entries, (b"first", b"second"), "entries after failures")
    store.apply(made(False))
    _equal([row.id for row in store.sessions()], ["new", "a"], "sessions() after failures")
    _equal(store.session_of("chat:/1"), "new", "a channel moved after failures")


def check_values(store: ISessionStore) -> None:
    """Bytes and text come back as they were, whatever they are and however long."""
    every = bytes(range(256))
    big = every * (_BIG // len(every))
    row = a_row(_STRANGE, uri=_STRANGE, provider=_STRANGE, summary=every)
    store.apply([PutSession(row=row)])
    store.apply([a_chat(_STRANGE, _STRANGE, kind=_STRANGE, head=big, turns=[big, b"", every])])
    store.append([(_STRANGE, every), (_STRANGE, b""), (_STRANGE, big)])
    _equal(list(store.sessions()), [row], "a row of strange text")
    _equal(
        records(store, _STRANGE),
        [
            ChannelRecord(
                channel=_STRANGE,
                kind=_STRANGE,
                head=big,
                turns=(big, b"", every),
                entries=(every, b"", big),
            )
        ],
        "a channel of strange text and long bytes",
    )
    _equal(store.session_of(_STRANGE), _STRANGE, "session_of() of strange text")
    _equal(list(store.unfolded()), [_STRANGE], "unfolded() of strange text")
    _equal(records(store, _STRANGE.lower()), [], "read() of almost the same text")


def check_parts(store: ISessionStore) -> None:
    """What is written in parts is read as one, is cut and goes like any other."""
    every = bytes(range(256)) * 256
    store.apply([PutSession(row=a_row("a")), a_chat("a", "chat:/2", head=b"2", turns=[b"other"])])

    def parts(count: int, fails: bool = False) -> Iterator[bytes]:
        for number in range(count):
            yield b"%d" % number
            yield every
        if fails:
            raise LookupError("no more")

    def long(count: int) -> bytes:
        return b"".join(parts(count))

    turns = [parts(9), b"short", parts(0), parts(20)]
    store.apply([a_chat("a", "chat:/1", head=parts(12), turns=turns)])
    _other, record = records(store, "a")
    _equal(record.head == long(12), True, "that a head in parts is the parts, joined")
    held = (long(9), b"short", b"", long(20))
    _equal([*map(len, record.turns)], [*map(len, held)], "the lengths of turns in parts")
    _equal(record.turns == held, True, "that turns in parts are the parts, joined")
    before = everything(store)
    for broken in (
        a_chat("a", "chat:/1", head=parts(9, True)),
        a_chat("a", "chat:/1", keep_turns=1, turns=[b"x", parts(9, True)]),
    ):
        try:
            store.apply([a_chat("a", "chat:/2", head=parts(7)), broken])
        except LookupError:
            pass
        else:
            raise AssertionError("what making the parts raised did not come through")
        _equal(everything(store) == before, True, "that nothing is written of a call that failed")
    store.apply([a_chat("a", "chat:/1", head=parts(1), keep_turns=1, turns=[parts(2), parts(6)])])
    other, record = records(store, "a")
    _equal(record.head == long(1), True, "that a shorter head is read without the longer one")
    _equal(record.turns == (long(9), long(2), long(6)), True, "that turns in parts are cut")
    _equal((other.head, other.turns), (b"2", (b"other",)), "a chat beside one in parts")
    store.apply([DropChannel(channel="chat:/1")])
    store.apply([a_chat("a", "chat:/1", turns=[b"0"])])
    _equal(records(store, "a")[1].turns, (b"0",), "a channel made anew where one was in parts")


async def check_compaction(make: Make) -> None:
    """Compaction changes nothing that is read, is no longer wanted after it, and may be
    asked for again."""
    store = _opened(make)
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
    _equal(store.wants_compaction(), False, "wants_compaction() after compact()")
    _equal(everything(store), before, "the store after compact()")
    store.append([("chat:/1", b"after")])
    await store.compact()
    _equal(records(store, "s1")[0].entries[-1], b"after", "an entry written after compact()")
    store.close()


async def check_reopening(make: Make, reopen: Reopen) -> None:
    """What was written is there after the store was closed and opened again."""
    store = _opened(make)
    store.apply([PutSession(row=a_row("a")), a_chat("a", "chat:/1", turns=[b"0", b"1"])])
    store.append([("chat:/1", b"x")])
    before = everything(store)
    store.close()
    store = reopen(store)
    store.open()
    _equal(everything(store), before, "the store after it was opened again")
    _equal(list(store.unfolded()), ["a"], "unfolded() after it was opened again")
    store.append([("chat:/1", b"y")])
    store.apply([a_chat("a", "chat:/2", turns=[b"z"])])
    await store.compact()
    before = everything(store)
    _equal(records(store, "a")[0].entries, (b"x", b"y"), "entries of two lives")
    store.close()
    store = reopen(store)
    store.open()
    _equal(everything(store), before, "the store in its third life")
    store.close()
