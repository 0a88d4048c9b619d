"""What a call does: all of it or nothing, with bytes and text that come back as they were."""

from collections.abc import Iterator
from typing import Final

from ahpd.interfaces.stores import (
    ChannelRecord,
    DropChannel,
    DropSession,
    ISessionStore,
    PutSession,
    Write,
)
from ahpd.testing.store_contract.judging import equal, fails
from ahpd.testing.store_samples import a_chat, a_row, everything, records

_BIG: Final = 3 * 1024 * 1024
_STRANGE: Final = "ahp-chat:/\N{SNOWMAN} \N{GRINNING FACE}/%2F?#'\";--\n\x00\N{ARABIC LETTER ALEF}"


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
    fails("a write for a session that was just dropped", lambda: store.apply(writes))
    equal(everything(store), before, "the store after a call that failed")
    fails("a write for no session", lambda: store.apply([*writes[:2], a_chat("no", "chat:/2")]))
    equal(everything(store), before, "the store after another call that failed")
    fails("turns that went", lambda: store.apply([*writes[:5], a_chat("a", "c", keep_turns=1)]))
    fails(
        "entries of which one has no channel",
        lambda: store.append([("chat:/1", b"x"), ("chat:/1", b"y"), ("chat:/none", b"z")]),
    )
    equal(everything(store), before, "the store after entries that failed")

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
    equal(everything(store), before, "the store after its writes could not be made")
    store.append([("chat:/1", b"second")])
    equal(records(store, "a")[0].entries, (b"first", b"second"), "entries after failures")
    store.apply(made(False))
    equal([row.id for row in store.sessions()], ["new", "a"], "sessions() after failures")
    equal(store.session_of("chat:/1"), "new", "a channel moved after failures")


def check_values(store: ISessionStore) -> None:
    """Bytes and text come back as they were, whatever they are and however long."""
    every = bytes(range(256))
    big = every * (_BIG // len(every))
    row = a_row(_STRANGE, uri=_STRANGE, provider=_STRANGE, summary=every)
    store.apply([PutSession(row=row)])
    store.apply([a_chat(_STRANGE, _STRANGE, kind=_STRANGE, head=big, turns=[big, b"", every])])
    store.append([(_STRANGE, every), (_STRANGE, b""), (_STRANGE, big)])
    equal(list(store.sessions()), [row], "a row of strange text")
    equal(
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
    equal(store.session_of(_STRANGE), _STRANGE, "session_of() of strange text")
    equal(list(store.unfolded()), [_STRANGE], "unfolded() of strange text")
    equal(records(store, _STRANGE.lower()), [], "read() of almost the same text")


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
    equal(record.head == long(12), True, "that a head in parts is the parts, joined")
    held = (long(9), b"short", b"", long(20))
    equal([*map(len, record.turns)], [*map(len, held)], "the lengths of turns in parts")
    equal(record.turns == held, True, "that turns in parts are the parts, joined")
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
        equal(everything(store) == before, True, "that nothing is written of a call that failed")
    store.apply([a_chat("a", "chat:/1", head=parts(1), keep_turns=1, turns=[parts(2), parts(6)])])
    other, record = records(store, "a")
    equal(record.head == long(1), True, "that a shorter head is read without the longer one")
    equal(record.turns == (long(9), long(2), long(6)), True, "that turns in parts are cut")
    equal((other.head, other.turns), (b"2", (b"other",)), "a chat beside one in parts")
    store.apply([DropChannel(channel="chat:/1")])
    store.apply([a_chat("a", "chat:/1", turns=[b"0"])])
    equal(records(store, "a")[1].turns, (b"0",), "a channel made anew where one was in parts")
