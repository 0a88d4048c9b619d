"""Sessions and their channels: heads, turns and entries, each where it belongs."""

from collections.abc import Sequence

from ahpd.interfaces.stores import DropChannel, DropSession, ISessionStore, PutChannel, PutSession
from ahpd.testing.store_contract.judging import equal, fails
from ahpd.testing.store_samples import a_chat, a_row, records


def check_sessions(store: ISessionStore) -> None:
    """Rows come back as they were written last, in the order of their ordinals."""
    third, first, second = a_row("c", 3), a_row("a", 1), a_row("b", 2)
    store.apply([PutSession(row=third), PutSession(row=first)])
    store.apply([PutSession(row=second)])
    equal(list(store.sessions()), [first, second, third], "sessions()")
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
    equal(list(store.sessions()), [second, third, changed], "sessions() after a row was rewritten")
    equal(store.session_of("chat:/a"), "a", "session_of() after the session's row was rewritten")
    store.apply([])
    equal(len(store.sessions()), 3, "the number of sessions after nothing was applied")


def check_channels(store: ISessionStore) -> None:
    """Channels are read in the order they were first written, and belong to one session."""
    store.apply([PutSession(row=a_row("a")), PutSession(row=a_row("b", 2))])
    equal(records(store, "a"), [], "read() of a session without channels")
    equal(records(store, "no such"), [], "read() of no session")
    equal(store.session_of("chat:/2"), None, "session_of() of no channel")
    session = PutChannel(session="a", channel="ahp-session:/a", kind="session", head=b'{"n":1}')
    store.apply([session, a_chat("a", "chat:/2"), a_chat("b", "chat:/b")])
    store.apply([a_chat("a", "chat:/1"), a_chat("a", "chat:/0", kind="annotations")])
    store.apply([a_chat("a", "chat:/2", head=b'{"n":2}')])
    equal(
        [(each.channel, each.kind, each.head) for each in records(store, "a")],
        [
            ("ahp-session:/a", "session", b'{"n":1}'),
            ("chat:/2", "chat", b'{"n":2}'),
            ("chat:/1", "chat", b"{}"),
            ("chat:/0", "annotations", b"{}"),
        ],
        "read()",
    )
    equal([each.channel for each in store.read("b")], ["chat:/b"], "read() of another session")
    equal(store.session_of("chat:/0"), "a", "session_of()")
    store.apply([DropChannel(channel="chat:/2")])
    store.apply([a_chat("a", "chat:/2")])
    equal(
        [each.channel for each in store.read("a")],
        ["ahp-session:/a", "chat:/1", "chat:/0", "chat:/2"],
        "read() after a channel was dropped and written anew",
    )


def check_entries(store: ISessionStore) -> None:
    """Entries keep their order, in one call and over many, and go when a head is written."""
    store.apply([PutSession(row=a_row("a")), PutSession(row=a_row("b", 2))])
    store.apply([a_chat("a", "chat:/1"), a_chat("a", "chat:/2"), a_chat("b", "chat:/3")])
    equal(list(store.unfolded()), [], "unfolded() of what has no entries")
    store.append([("chat:/1", b"1"), ("chat:/2", b"2"), ("chat:/1", b"3")])
    store.append([])
    for number in range(4, 30):
        store.append([("chat:/1", b"%d" % number)])
    store.append((channel, b"last") for channel in ("chat:/2", "chat:/1"))
    first, second = records(store, "a")
    numbers = (b"1", *(b"%d" % number for number in range(3, 30)), b"last")
    equal(first.entries, numbers, "the entries of a channel")
    equal(second.entries, (b"2", b"last"), "the entries of another channel")
    equal(list(store.unfolded()), ["a"], "unfolded()")
    store.append([("chat:/3", b"x")])
    equal(sorted(store.unfolded()), ["a", "b"], "unfolded() of two sessions")
    store.apply([a_chat("a", "chat:/1", head=b'{"folded":1}')])
    store.append([("chat:/1", b"after"), ("chat:/1", b"that")])
    first, second = records(store, "a")
    equal(first.entries, (b"after", b"that"), "the entries after a head was written")
    equal(second.entries, (b"2", b"last"), "another channel's entries after a head was written")
    store.apply([a_chat("a", "chat:/1", entries=[b"new", b"ones"])])
    store.append([("chat:/1", b"more")])
    first, second = records(store, "a")
    equal(first.entries, (b"new", b"ones", b"more"), "entries that were written with a head")
    store.apply([a_chat("a", "chat:/1"), a_chat("a", "chat:/2")])
    equal(list(store.unfolded()), ["b"], "unfolded() after one session was folded")
    fails("an entry of no channel", lambda: store.append([("chat:/9", b"x")]))


def check_turns(store: ISessionStore) -> None:
    """Turns are kept, cut and added to as `keep_turns` and `turns` say."""

    def turns() -> Sequence[bytes]:
        return records(store, "a")[0].turns

    store.apply([PutSession(row=a_row("a")), a_chat("a", "chat:/1", turns=[b"0", b"1"])])
    store.apply([a_chat("a", "chat:/2", turns=[b"other"])])
    equal(turns(), (b"0", b"1"), "turns")
    store.apply([a_chat("a", "chat:/1", keep_turns=2, turns=[b"2", b"3"])])
    equal(turns(), (b"0", b"1", b"2", b"3"), "turns after some were added")
    store.apply([a_chat("a", "chat:/1", keep_turns=4)])
    equal(turns(), (b"0", b"1", b"2", b"3"), "turns that were all kept")
    store.apply([a_chat("a", "chat:/1", keep_turns=1, turns=[b"x"])])
    equal(turns(), (b"0", b"x"), "turns after some were cut and one was added")
    store.apply([a_chat("a", "chat:/1", keep_turns=1)])
    equal(turns(), (b"0",), "turns after one was cut")
    many = [b"%d" % number for number in range(1500)]
    store.apply([a_chat("a", "chat:/1", turns=many)])
    equal(turns(), tuple(many), "many turns in place of all that were held")
    store.apply([a_chat("a", "chat:/1")])
    equal(turns(), (), "turns of which none was kept")
    equal(records(store, "a")[1].turns, (b"other",), "another chat's turns")
    fails(
        "keeping more turns than there are",
        lambda: store.apply([a_chat("a", "chat:/2", keep_turns=2)]),
    )
    fails(
        "keeping turns of a new channel",
        lambda: store.apply([a_chat("a", "chat:/new", keep_turns=1)]),
    )
    equal(store.session_of("chat:/new"), None, "a channel whose write failed")


def check_moves(store: ISessionStore) -> None:
    """A channel written for another session is that one's, with its turns and its age."""
    store.apply([PutSession(row=a_row("a")), PutSession(row=a_row("b", 2))])
    store.apply([a_chat("a", "chat:/1", turns=[b"0", b"1"]), a_chat("b", "chat:/2")])
    store.append([("chat:/1", b"x")])
    store.apply([a_chat("b", "chat:/1", keep_turns=2, turns=[b"2"], head=b'{"moved":1}')])
    equal(records(store, "a"), [], "the session a channel was moved out of")
    equal(store.session_of("chat:/1"), "b", "session_of() of a channel that was moved")
    equal([each.channel for each in store.read("b")], ["chat:/1", "chat:/2"], "a moved channel")
    moved = records(store, "b")[0]
    equal(
        (moved.head, moved.turns, moved.entries),
        (b'{"moved":1}', (b"0", b"1", b"2"), ()),
        "what a moved channel holds",
    )
    store.apply([DropSession(id="a")])
    equal(len(records(store, "b")[0].turns), 3, "a moved channel after its old session is gone")
    store.append([("chat:/1", b"y")])
    equal(list(store.unfolded()), ["b"], "unfolded() of a moved channel")


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
    equal([each.channel for each in store.read("a")], ["chat:/2"], "read() after a DropChannel")
    fails("an entry of a dropped channel", lambda: store.append([("chat:/1", b"x")]))
    store.apply([DropSession(id="a")])
    equal([row.id for row in store.sessions()], ["b"], "sessions() after a DropSession")
    equal(store.session_of("chat:/2"), None, "session_of() after a DropSession")
    equal(list(store.unfolded()), ["b"], "unfolded() after a DropSession")
    fails("an entry of a dropped session", lambda: store.append([("chat:/2", b"x")]))
    store.apply([DropChannel(channel="chat:/none"), DropSession(id="none"), DropSession(id="a")])
    equal(records(store, "b"), other, "another session")
    store.apply([PutSession(row=a_row("a")), a_chat("a", "chat:/2"), a_chat("a", "chat:/1")])
    for record in records(store, "a"):
        equal((record.turns, record.entries), ((), ()), "a channel made anew")
    store.apply([DropSession(id="a"), PutSession(row=a_row("a", 7)), a_chat("a", "chat:/5")])
    equal([each.channel for each in store.read("a")], ["chat:/5"], "a session made anew at once")
