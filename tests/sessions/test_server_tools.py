"""The host's own tools on every session, and what a backend says the session is doing.

Source: AHP.txt, `session/serverToolsChanged` and `session/activityChanged`.
"""

import pytest

S1, S2 = "ahp-session:/s1", "ahp-session:/s2"
SAY = "session/serverToolsChanged"
DOING = "session/activityChanged"


def tool(name):
    return {"name": name, "inputSchema": {"type": "object"}}


@pytest.fixture
def host(sessions_host):
    return sessions_host()


def of_type(host, kind, session=S1):
    return [action for action in host.said(session) if action["type"] == kind]


def test_a_new_session_begins_with_them_and_hands_them_to_its_backend(host):
    host.session(S1)
    assert "serverTools" not in host.state(S1)
    host.service.set_server_tools([tool("a"), tool("b")])
    host.session(S2)
    assert host.state(S2)["serverTools"] == [tool("a"), tool("b")]
    assert host.said(S2) == []
    host.turn(host.chat(S2))
    assert list(host.agent.chats[0].start.server_tools) == [tool("a"), tool("b")]


def test_a_new_set_is_said_whole_where_it_moved(host):
    host.session(S1)
    host.service.set_server_tools([])
    assert of_type(host, SAY) == []
    for _ in range(2):
        host.service.set_server_tools([tool("a")])
    host.service.set_server_tools([tool("b")])
    assert of_type(host, SAY) == [
        {"type": SAY, "tools": [tool("a")]},
        {"type": SAY, "tools": [tool("b")]},
    ]
    host.service.set_server_tools([])
    assert host.state(S1)["serverTools"] == []


def test_an_open_conversation_has_them_from_its_next_turn(host):
    host.session(S1)
    host.turn(host.chat())
    host.service.set_server_tools([tool("a")])
    assert not host.agent.chats[0].closed
    host.turn(host.chat())
    assert host.agent.chats[0].closed
    assert list(host.agent.chats[1].start.server_tools) == [tool("a")]


def test_a_set_that_moves_nothing_begins_no_conversation_again(host):
    host.service.set_server_tools([tool("a")])
    host.session(S1)
    host.turn(host.chat())
    host.service.set_server_tools([tool("a")])
    host.turn(host.chat())
    assert len(host.agent.chats) == 1


# -- what a session is doing ------------------------------------------------------------------


def test_a_backend_says_what_its_session_is_doing(host):
    host.session()
    host.turn(host.chat())
    chat = host.agent.chats[0]
    for words in ("Indexing", "Indexing", None, None):
        chat.start.host.activity(words)
    assert of_type(host, DOING) == [{"type": DOING, "activity": "Indexing"}, {"type": DOING}]
    assert "activity" not in host.state(S1)


def test_it_shows_in_the_catalogue_until_a_chat_s_own_activity_takes_its_place(host):
    host.session()
    chat = host.chat()
    host.turn(chat)
    host.agent.chats[0].start.host.activity("Indexing")
    assert host.listing({})["items"][0]["activity"] == "Indexing"
    host.store.dispatch(chat, {"type": "chat/activityChanged", "activity": "Waiting"})
    assert host.state(S1)["activity"] == "Waiting"
    host.store.dispatch(chat, {"type": "chat/activityChanged"})
    assert host.state(S1)["activity"] == "Indexing"
