"""What is kept of terminals goes with the sessions whose chats name them."""

import json

import pytest

from ahpd.interfaces.stores import DropSession, PutSession, ShareTerminals
from ahpd.stores.transfer import TransferError
from ahpd.testing.store_samples import a_chat, a_row, a_terminal, everything, named


def fill(host):
    """Chats `1` and `2` of session a and `3` of b; `1` and `3` name the same terminal."""
    host.store.apply([PutSession(row=a_row("a")), PutSession(row=a_row("b", 2))])
    host.store.apply([a_chat("a", "chat:/1"), a_chat("a", "chat:/2"), a_chat("b", "chat:/3")])
    host.store.apply([a_terminal("chat:/1", "t:/1"), a_terminal("chat:/2", "t:/2")])
    host.store.apply([ShareTerminals(source="chat:/1", chat="chat:/3")])
    host.store.apply([ShareTerminals(source="chat:/1", chat="chat:/2")])


def lines_of(data):
    return [json.loads(line) for line in data.splitlines()]


def joined(lines):
    return b"".join(json.dumps(line).encode() + b"\n" for line in lines)


def printed(host, terminal):
    state = host.store.terminal(terminal)
    return None if state is None else json.loads(state)


def test_terminals_are_exported_and_imported_with_their_chats(hosts):
    first, second = hosts(), hosts()
    fill(first)
    data = first.export()
    assert second.take(data).sessions == 2
    for session in ("a", "b"):
        assert named(second.store, session) == named(first.store, session)
    for terminal in ("t:/1", "t:/2"):
        assert printed(second, terminal) == printed(first, terminal) is not None
    assert lines_of(second.export())[1:] == lines_of(data)[1:]
    # And they go as they would have at the first host's.
    second.store.apply([DropSession(id="a")])
    assert printed(second, "t:/2") is None
    assert printed(second, "t:/1") is not None
    second.store.apply([DropSession(id="b")])
    assert printed(second, "t:/1") is None


def test_a_terminal_stands_once_in_the_lines_of_each_session(hosts):
    host = hosts()
    fill(host)
    lines = [line for line in lines_of(host.export()) if line["record"] == "terminal"]
    assert [(line["session"], line["terminal"], line["chats"]) for line in lines] == [
        ("a", "t:/1", ["chat:/1", "chat:/2"]),
        ("a", "t:/2", ["chat:/2"]),
        ("b", "t:/1", ["chat:/3"]),
    ]
    assert set(lines[0]) == {"record", "session", "chats", "terminal", "state"}
    assert lines[0]["state"]["content"] == [{"type": "unclassified", "value": "t:/1"}]


def test_a_session_that_is_taken_alone_brings_its_terminals(hosts):
    first, second = hosts(), hosts()
    fill(first)
    second.take(first.export("b"))
    assert named(second.store, "b") == {("chat:/3", "t:/1")}
    assert printed(second, "t:/1") == printed(first, "t:/1")
    assert printed(second, "t:/2") is None


def test_an_export_from_before_there_were_terminals_is_read(hosts):
    first, second = hosts(), hosts()
    fill(first)
    lines = [line for line in lines_of(first.export()) if line["record"] != "terminal"]
    lines[0]["version"] = 1
    assert second.take(joined(lines)).sessions == 2
    assert [row.id for row in second.store.sessions()] == ["a", "b"]
    assert printed(second, "t:/1") is None


def test_what_is_held_of_a_terminal_is_not_overwritten(hosts):
    first, second = hosts(), hosts()
    fill(first)
    second.store.apply([PutSession(row=a_row("a")), a_chat("a", "chat:/1")])
    second.store.apply([a_terminal("chat:/1", "t:/1", b'{"mine":1}')])
    done = second.take(first.export(), skip_existing=True)
    assert (done.sessions, done.skipped) == (1, 1)
    assert printed(second, "t:/1") == {"mine": 1}
    assert named(second.store, "b") == {("chat:/3", "t:/1")}
    assert named(second.store, "a") == {("chat:/1", "t:/1")}
    assert printed(second, "t:/2") is None  # of a session that was skipped


def changed(**fields):
    def change(line):
        return {key: value for key, value in (line | fields).items() if value != "gone"}

    return change


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (changed(terminal=1), r"terminal is no text"),
        (changed(terminal="gone"), r"terminal is missing"),
        (changed(session="c"), r"the session c is not there before it"),
        (changed(chats="gone"), r"chats is no list"),
        (changed(chats=[]), r"chats is no list"),
        (changed(chats=["chat:/3"]), r"the chat 'chat:/3' of the terminal t:/1 is not there"),
        (changed(chats=[["chat:/1"]]), r"the chat \['chat:/1'\] of the terminal t:/1 is not"),
        (changed(state="gone"), r"state: expected an object"),
        (changed(state=[]), r"state: expected an object"),
        (changed(state={"title": "x"}), r"state\.content: expected"),
    ],
)
def test_what_is_no_terminal_is_refused_by_its_line_and_nothing_is_imported(hosts, change, words):
    first, second = hosts(), hosts()
    fill(first)
    lines = lines_of(first.export())
    at = next(n for n, line in enumerate(lines) if line["record"] == "terminal")
    lines[at] = change(lines[at])
    with pytest.raises(TransferError, match=rf"line {at + 1}: {words}"):
        second.take(joined(lines))
    assert everything(second.store) == []
    assert printed(second, "t:/1") is None


def test_a_terminal_before_a_file_that_is_not_whole_is_refused(hosts):
    first, second = hosts(), hosts()
    fill(first)
    first.attach("a", "one/x", bytes(range(256)) * 500)
    lines = lines_of(first.export())
    at = next(n for n, line in enumerate(lines) if line["record"] == "file")
    lines[at - 1], lines[at] = lines[at], lines[at - 1]
    with pytest.raises(TransferError, match="the file before it is not whole"):
        second.take(joined(lines))
    assert everything(second.store) == []


def test_what_is_no_json_of_a_terminal_stops_the_export_with_words(hosts):
    host = hosts()
    host.store.apply([PutSession(row=a_row("a")), a_chat("a", "c"), a_terminal("c", "t", b"\xff")])
    with pytest.raises(TransferError, match="the state of t is no JSON"):
        host.export()
