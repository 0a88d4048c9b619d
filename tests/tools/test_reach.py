"""A session's tools reach no session that it may not: it is to them as one nobody has."""

import pytest

from ahpd.tools.links import chat_id

S1, S2 = "ahp-session:/s1", "ahp-session:/s2"


@pytest.fixture
def host(tool_host):
    host = tool_host(reaches=lambda session, row: row["resource"] != S2)
    host.session()
    host.session(S2)
    return host


def names(host):
    chat = host.chat(S2)
    link = "agent-host-session://scripted/s2"
    return [S2, "scripted:/s2", link, f"{link}?chat={chat_id(chat)}", chat]


def test_it_is_not_listed(host, read):
    assert [row["session"] for row in read.told(host.call("list_sessions"))["sessions"]] == [S1]
    for name in names(host):
        assert read.told(host.call("list_sessions", session=name))["sessions"] == []


@pytest.mark.parametrize(
    ("tool", "field", "more"),
    [
        ("get_session_context", "session", {}),
        ("send_message", "session", {"message": "m"}),
        ("rename_chat", "chat", {"title": "T"}),
        ("rename_chat", "session", {"title": "T"}),
        ("create_chat", "session", {"prompt": "p"}),
        ("delete_session", "session", {}),
    ],
)
def test_it_is_neither_read_nor_touched_under_any_name(host, read, tool, field, more):
    before = host.state(S2), host.state(host.chat(S2))
    for name in names(host):
        words = read.failure(host.call(tool, **{field: name, **more}))
        assert "of a known session" in words, (name, words)
    assert (host.state(S2), host.state(host.chat(S2))) == before


def test_it_reaches_itself_and_others_all_the_same(host, read):
    turns = read.told(host.call("get_session_context", host.chat(S2), session=S1))["transcript"]
    assert turns[0]["user"] == f"first of {S1}"
    own = host.call("get_session_context", host.chat(S2), session=host.chat(S2))
    assert read.told(own)["session"] == S2


def test_nobody_is_woken_to_be_refused(tool_host, read):
    host = tool_host(
        reaches=lambda session, row: row["resource"] != S2,
        session_idle_seconds=5,
        agent_idle_seconds=1,
    )
    host.session()
    host.session(S2)
    chat = host.chat(S2)
    for channel in (S2, chat):
        host.probe.unsubscribe(channel)
    host.host.run(host.sessions.find_chat(chat).release())
    for _ in range(20):
        host.host.advance(5)
    entry = host.sessions.registry.named(S2)
    assert entry.session is None
    for name in (S2, chat):
        assert read.failure(host.call("get_session_context", session=name))
    assert entry.session is None
