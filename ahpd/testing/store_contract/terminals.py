"""What is kept of terminals: once each, for as long as a chat that is held names it."""

from functools import partial
from typing import Final

from ahpd.interfaces.stores import (
    DropChannel,
    DropSession,
    ISessionStore,
    PutSession,
    ShareTerminals,
    Write,
)
from ahpd.testing.store_contract.judging import equal, fails
from ahpd.testing.store_samples import a_chat, a_row, a_terminal, everything, named, records

_BIG: Final = bytes(range(256)) * 12_000
_STRANGE: Final = "ahp-terminal:/\N{SNOWMAN} \x00%2F'\";--"


def _begun(store: ISessionStore) -> None:
    """Two sessions; the first has chats 1 and 2, the other has 3."""
    store.apply([PutSession(row=a_row("a")), PutSession(row=a_row("b", 2))])
    store.apply([a_chat("a", "chat:/1"), a_chat("a", "chat:/2"), a_chat("b", "chat:/3")])


def check_terminals(store: ISessionStore) -> None:
    """What was put comes back, is replaced, and goes with the chat that named it."""
    _begun(store)
    equal(store.terminal("t:/1"), None, "terminal() of one nothing is kept of")
    equal(list(store.terminals("a")), [], "terminals() of a session that names none")
    equal(list(store.terminals("no such")), [], "terminals() of no session")
    before = everything(store)
    store.apply([a_terminal("chat:/1", "t:/1", b"one"), a_terminal("chat:/1", "t:/2", _BIG)])
    store.apply([a_terminal("chat:/3", _STRANGE, b""), a_terminal("chat:/3", "t:/3", _BIG[1:])])
    equal(store.terminal("t:/1"), b"one", "terminal()")
    equal(store.terminal("t:/2") == _BIG, True, "that a long terminal comes back as it was")
    equal(store.terminal("t:/3") == _BIG[1:], True, "that another long one does")
    equal(store.terminal(_STRANGE), b"", "terminal() of strange text, empty")
    equal(store.terminal("T:/1"), None, "terminal() of almost the same text")
    equal(everything(store), before, "what is read of sessions beside their terminals")
    equal(list(store.unfolded()), [], "unfolded() of what has no entries but terminals")
    store.apply([a_terminal("chat:/1", "t:/2", b"short"), a_terminal("chat:/1", "t:/1", _BIG)])
    equal(store.terminal("t:/2"), b"short", "a long terminal that was replaced by a short one")
    equal(store.terminal("t:/1") == _BIG, True, "that a short one was replaced by a long one")
    # A chat goes on naming them, whatever is written of it.
    store.apply([a_chat("a", "chat:/1", turns=[b"0"], entries=[b"x"])])
    store.append([("chat:/1", b"y")])
    equal(named(store, "a"), {("chat:/1", "t:/1"), ("chat:/1", "t:/2")}, "terminals()")
    equal(records(store, "a")[0].entries, (b"x", b"y"), "the entries of a chat with terminals")
    store.apply([DropChannel(channel="chat:/2"), DropChannel(channel="chat:/1")])
    equal(store.terminal("t:/1"), None, "terminal() after its chat was dropped")
    store.apply([a_chat("a", "chat:/1")])
    equal(named(store, "a"), set(), "terminals() of a chat made anew")
    store.apply([DropSession(id="a")])
    equal(store.terminal("t:/3") == _BIG[1:], True, "that another session's terminal is there")
    store.apply([DropSession(id="b")])
    equal(store.terminal("t:/3"), None, "terminal() after its session was dropped")
    equal(store.terminal(_STRANGE), None, "terminal() of another of that session")


def check_shared_terminals(store: ISessionStore) -> None:
    """One that several chats name goes with the last of them, wherever that is by then."""
    _begun(store)
    store.apply([a_terminal("chat:/1", "t:/1", b"one"), a_terminal("chat:/1", "t:/2", b"two")])
    store.apply([a_terminal("chat:/2", "t:/2", b"TWO"), a_terminal("chat:/2", "t:/3", b"three")])
    equal(store.terminal("t:/2"), b"TWO", "a terminal that a second chat replaced")
    store.apply([ShareTerminals(source="chat:/1", chat="chat:/3")])
    store.apply([ShareTerminals(source="chat:/1", chat="chat:/3")])
    store.apply([ShareTerminals(source="chat:/3", chat="chat:/3")])
    shared = {("chat:/3", "t:/1"), ("chat:/3", "t:/2")}
    equal(named(store, "b"), shared, "terminals() of a chat that shares another's")
    # What the source names later is its own.
    store.apply([a_terminal("chat:/1", "t:/4", b"four")])
    equal(named(store, "b"), shared, "what is shared after the source names another one")
    store.apply([DropChannel(channel="chat:/1")])
    equal(store.terminal("t:/1"), b"one", "a shared terminal after its first chat is gone")
    equal(store.terminal("t:/4"), None, "what was not shared after its chat is gone")
    # A chat that moves goes on naming what it did.
    store.apply([a_chat("b", "chat:/2")])
    moved = {("chat:/2", "t:/2"), ("chat:/2", "t:/3")}
    equal(named(store, "b"), shared | moved, "terminals() of the session a chat was moved to")
    equal(named(store, "a"), set(), "terminals() of the session a chat was moved out of")
    store.apply([DropSession(id="a")])
    equal(store.terminal("t:/3"), b"three", "a moved chat's terminal after its old session is gone")
    store.apply([DropChannel(channel="chat:/3"), DropChannel(channel="chat:/3")])
    equal(store.terminal("t:/1"), None, "a terminal after the last of two chats is gone")
    equal(store.terminal("t:/2"), b"TWO", "a terminal that one of three chats names still")
    store.apply([a_chat("b", "chat:/5"), ShareTerminals(source="chat:/2", chat="chat:/5")])
    store.apply([DropSession(id="b")])
    equal((store.terminal("t:/2"), store.terminal("t:/3")), (None, None), "terminals of no chat")


def check_terminals_of_failed_calls(store: ISessionStore) -> None:
    """A terminal of a chat that is not held, then, fails the whole call."""
    _begun(store)
    store.apply([a_terminal("chat:/1", "t:/1", b"one")])
    writes: list[Write] = [
        a_terminal("chat:/1", "t:/1", b"changed"),
        a_terminal("chat:/2", "t:/2", _BIG),
        ShareTerminals(source="chat:/1", chat="chat:/3"),
        DropChannel(channel="chat:/1"),
    ]
    before = everything(store)
    calls: tuple[tuple[list[Write], str], ...] = (
        ([a_terminal("chat:/9", "t:/2", b"x")], "a terminal of no chat"),
        ([a_terminal("chat:/1", "t:/2", b"x")], "a terminal of a chat that was just dropped"),
        ([ShareTerminals(source="chat:/1", chat="chat:/2")], "sharing what a dropped chat named"),
        ([ShareTerminals(source="chat:/2", chat="chat:/9")], "sharing with no chat"),
        ([DropSession(id="b"), a_terminal("chat:/3", "t:/2", b"x")], "one of a dropped session"),
    )
    for refused, what in calls:
        fails(what, partial(store.apply, [*writes, *refused]))
        equal(store.terminal("t:/1"), b"one", f"a terminal after {what} failed")
        equal(store.terminal("t:/2"), None, f"a new terminal after {what} failed")
        equal(named(store, "a"), {("chat:/1", "t:/1")}, f"terminals() after {what} failed")
        equal(named(store, "b"), set(), f"terminals() of another session after {what} failed")
        equal(everything(store), before, f"the store after {what} failed")
    store.apply(writes)
    equal(named(store, "b"), {("chat:/3", "t:/1")}, "terminals() after failures")
    equal(store.terminal("t:/1"), b"changed", "terminal() after failures")
    # Within one call a chat may be made, name one, be shared and go.
    made: list[Write] = [a_chat("a", "chat:/7"), a_terminal("chat:/7", "t:/7", b"7")]
    made += [a_chat("b", "chat:/8"), ShareTerminals(source="chat:/7", chat="chat:/8")]
    store.apply([*made, DropChannel(channel="chat:/7")])
    equal(store.terminal("t:/7"), b"7", "a terminal whose first chat came and went in one call")
