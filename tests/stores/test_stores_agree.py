"""Whatever is written: the store on SQLite and the one in memory do and hold the same."""

from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, settings
from hypothesis import strategies as st

from ahpd.interfaces.stores import (
    DropChannel,
    DropSession,
    PutSession,
    ShareTerminals,
    StoreFailure,
)
from ahpd.stores.memory import MemorySessionStore
from ahpd.stores.schema import SLICE
from ahpd.stores.sqlite import SqliteSessionStore
from ahpd.testing.store_samples import a_chat, a_row, a_terminal, everything, named

SESSIONS = st.sampled_from(["a", "b", "c"])
CHATS = st.sampled_from(["1", "2", "3", "4"])
TERMINALS = st.sampled_from(["t", "u", "v"])
BODIES = st.sampled_from([b"", b"x", b"y" * SLICE, b"z" * (2 * SLICE + 1)])

WRITES = st.one_of(
    st.builds(lambda session: PutSession(row=a_row(session, ord(session))), SESSIONS),
    st.builds(
        lambda session, chat, keep, turns: a_chat(session, chat, keep_turns=keep, turns=turns),
        SESSIONS,
        CHATS,
        st.sampled_from([0, 0, 0, 1]),
        st.lists(BODIES, max_size=2),
    ),
    st.builds(lambda chat: DropChannel(channel=chat), CHATS),
    st.builds(a_terminal, CHATS, TERMINALS, BODIES),
    st.builds(a_terminal, CHATS, TERMINALS, BODIES),
    st.builds(lambda one, other: ShareTerminals(source=one, chat=other), CHATS, CHATS),
    st.builds(lambda session: DropSession(id=session), SESSIONS),
)

#: What nearly every example needs, so that most writes have something to be of.
BEGINNING = [
    *(PutSession(row=a_row(session, ord(session))) for session in "ab"),
    *(a_chat(session, chat) for session, chat in ("a1", "a2", "b3")),
]


def held(store):
    """All there is of a store, terminals too."""
    return (
        everything(store),
        {row.id: named(store, row.id) for row in store.sessions()},
        {terminal: store.terminal(terminal) for terminal in "tuv"},
    )


def said(store, writes):
    """Whether the store took the writes."""
    try:
        store.apply(writes)
    except StoreFailure:
        return False
    return True


@settings(max_examples=60, deadline=None)
@given(st.lists(st.lists(WRITES, min_size=1, max_size=6), max_size=12))
def test_both_stores_do_the_same_with_any_writes(calls):
    with TemporaryDirectory() as folder:
        stores = MemorySessionStore(), SqliteSessionStore(Path(folder), sync="process")
        for store in stores:
            store.open()
            store.apply(BEGINNING)
        try:
            for writes in calls:
                one, other = (said(store, writes) for store in stores)
                assert one == other, writes
                assert held(stores[0]) == held(stores[1]), writes
            # And of no terminal more is left than chats name.
            connection = stores[1]._connection
            named_now = {uri for names in held(stores[0])[1].values() for _, uri in names}
            assert named_now == {uri for (uri,) in connection.execute("SELECT uri FROM terminal")}
            keys = "SELECT DISTINCT place >> 32 FROM terminal_part"
            assert len(connection.execute(keys).fetchall()) == len(named_now)
        finally:
            for store in stores:
                store.close()
