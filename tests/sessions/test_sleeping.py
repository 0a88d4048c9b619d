"""Sessions nothing happens in are let go of, and are as they were when they are woken."""

import pytest

from ahpd.interfaces import AgentAbilities
from ahpd.protocol.uris import ROOT
from ahpd.testing import agents as scripts
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost

S1, C2 = "ahp-session:/s1", "ahp-chat:/c2"
MARKS = S1 + "/annotations"
#: Longer than a session is left alone, and than an idle agent is kept open before that.
LONG = 2000


@pytest.fixture
def host(sessions_host):
    agent = ScriptedAgent(abilities=AgentAbilities(reopens=True))
    host = sessions_host(agents={"scripted": agent}, sleep_after=300)
    host.agent = agent
    return host


@pytest.fixture
def chat(host):
    host.session()
    host.turn(host.chat(), "hello")
    return host.chat()


def awake(host):
    return [session.uri for session in host.service.registry.catalogue.sessions()]


def test_a_session_nobody_needs_goes_to_sleep_and_comes_back_as_it_was(host, chat):
    host.dispatch(chat, "chat/draftChanged", draft={"text": "d", "origin": {"kind": "user"}})
    session, state, row = host.state(S1), host.state(chat), host.listing({})["items"]
    host.pass_time(LONG)
    assert awake(host) == []
    assert host.service.registry.chats() == ()
    assert not host.store.is_open(chat)
    assert host.listing({})["items"] == row
    assert host.told("root/sessionRemoved") == []
    assert host.service.find_chat(chat) is not None
    assert host.state(S1) == session
    assert host.state(chat) == state
    host.turn(chat, "again")
    assert [turn["message"]["text"] for turn in host.turns(chat)] == ["hello", "again"]
    assert len(host.listing({})["items"]) == 1


def test_it_goes_on_with_the_conversation_it_had(host, chat):
    host.agent.keeps_as = lambda start: "conv-1"
    host.turn(chat, "second")
    host.pass_time(LONG)
    assert awake(host) == []
    host.turn(chat, "third")
    assert host.agent.chats[-1].start.resume.conversation == "conv-1"


@pytest.mark.parametrize("channel", ["session", "chat", "marks"])
def test_whoever_watches_keeps_it_awake(host, chat, channel):
    uri = {"session": S1, "chat": chat, "marks": MARKS}[channel]
    watcher = type(host.store.watcher)()
    host.store.subscribe(uri, watcher)
    host.pass_time(LONG)
    assert awake(host) == [S1]
    host.store.unsubscribe(uri, watcher)
    host.pass_time(LONG)
    assert awake(host) == []


def test_an_active_client_keeps_it_awake(host, chat):
    host.dispatch(S1, "session/activeClientSet", activeClient={"clientId": "c"})
    host.pass_time(LONG)
    assert awake(host) == [S1]
    host.dispatch(S1, "session/activeClientRemoved", clientId="c")
    host.pass_time(LONG)
    assert awake(host) == []


def test_a_turn_that_runs_keeps_it_awake(host, chat):
    host.agent.then(scripts.never_ends)
    turn = host.turn(chat)
    host.pass_time(LONG)
    assert awake(host) == [S1]
    host.stop(chat, turn)
    host.pass_time(LONG)
    assert awake(host) == []


def test_an_open_agent_that_cannot_be_opened_again_keeps_it_awake(sessions_host):
    host = sessions_host(sleep_after=300)
    host.session()
    host.turn(host.chat())
    host.pass_time(LONG)
    assert awake(host) == [S1]


def test_a_session_that_was_just_made_is_left_alone_for_its_time_too(host):
    host.clock.advance(100_000)
    host.session()
    host.pass_time(100)
    assert awake(host) == [S1]
    host.pass_time(250)
    assert awake(host) == []


def test_zero_puts_none_to_sleep(sessions_host):
    host = sessions_host(sleep_after=0)
    host.session()
    host.pass_time(LONG)
    assert awake(host) == [S1]


def test_what_was_just_used_stays(host, chat):
    host.pass_time(LONG)
    host.service.find(S1)
    host.pass_time(100)
    assert awake(host) == [S1]
    host.pass_time(LONG)
    assert awake(host) == []


def test_a_flag_set_in_its_sleep_is_told_at_once(host, chat):
    host.pass_time(LONG)
    host.forget()
    host.dispatch(S1, "session/isReadChanged", isRead=True)
    host.clock.advance(0)
    [told] = host.told("root/sessionSummaryChanged")
    assert told["session"] == S1
    assert told["changes"]["status"] == host.listing({})["items"][0]["status"]


def test_a_stop_on_a_chat_that_is_asleep_is_said_and_wakes_nobody(host, chat):
    host.pass_time(LONG)
    host.forget()
    watcher = type(host.store.watcher)()
    host.store.subscribe(chat, watcher)
    assert host.stop(chat, "t") is None
    assert [envelope["action"]["type"] for envelope in watcher.said] == ["chat/turnCancelled"]
    assert awake(host) == []


def test_a_disposed_session_is_gone_in_its_sleep(host, chat):
    host.service.create_chat({"channel": S1, "chat": C2})
    host.pass_time(LONG)
    host.wait(host.service.dispose(S1))
    assert host.told("root/sessionRemoved") == [{"channel": ROOT, "session": S1}]
    assert host.service.find_chat(C2) is None
    assert list(host.kept.sessions()) == []


def test_marks_sleep_with_their_session(host, chat):
    host.service.channels.ready(MARKS)
    mark = {"id": "m1", "turnId": "t", "resource": "file:///a", "resolved": False, "entries": []}
    host.service.annotation_actions.handle(
        MARKS, {"type": "annotations/set", "annotation": mark}, {"clientId": "c", "clientSeq": 1}
    )
    row = host.listing({})["items"]
    host.pass_time(LONG)
    assert not host.store.is_open(MARKS)
    assert host.listing({})["items"] == row
    assert host.state(MARKS)["annotations"][0]["id"] == "m1"


def test_asleep_by_the_hundred_each_is_its_own(host):
    for number in range(60):
        uri = host.session(f"ahp-session:/n{number}")
        host.turn(host.chat(uri), f"say {number}")
    host.pass_time(LONG)
    assert awake(host) == []
    for number in range(60):
        chat = host.service.find(f"ahp-session:/n{number}").default_chat
        assert host.turns(chat)[0]["message"]["text"] == f"say {number}"


def test_a_client_that_was_away_is_replayed_onto_what_it_holds():
    agent = ScriptedAgent(abilities=AgentAbilities(reopens=True))
    host = MemoryHost({"scripted": agent})
    try:
        one, two = host.connect("one", ROOT), host.connect("two", ROOT)
        host.run(one.request("createSession", channel=S1))
        host.run(one.subscribe(S1))
        chat = one.state(S1)["defaultChat"]
        host.run(one.subscribe(chat))
        start(host, one, chat, "t1")
        host.cut(one)
        for _ in range(20):
            host.advance(100)
        assert not host.store.is_open(S1)
        host.attach(one)
        back = host.run(one.reconnect())
        assert back.type == "replay"
        assert host.store.is_open(chat)
        host.run(two.subscribe(chat))
        start(host, two, chat, "t2")
        assert [turn["id"] for turn in one.state(chat)["turns"]] == ["t1", "t2"]
    finally:
        host.stop()


def start(host, client, chat, turn_id):
    message = {"text": "hello", "origin": {"kind": "user"}}
    client.dispatch(
        chat,
        {
            "type": "chat/turnStarted",
            "turnId": turn_id,
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": message,
        },
    )
    host.settle()


def used_once(**settings):
    """A host of these settings whose one session was used and left, and its agent's chat."""
    agent = ScriptedAgent(abilities=AgentAbilities(reopens=True))
    host = MemoryHost(agents={"scripted": agent}, **settings)
    client = host.connect("a")
    host.run(client.request("createSession", channel=S1))
    host.run(client.subscribe(S1))
    chat = client.state(S1)["defaultChat"]
    host.run(client.subscribe(chat))
    message = {"text": "hello", "origin": {"kind": "user"}}
    start = {"type": "chat/turnStarted", "turnId": "t1", "message": message}
    client.dispatch(chat, {**start, "startedAt": "2026-01-02T03:04:05.000Z"})
    host.settle()
    host.cut(client)
    return host, agent.chats[0]


def test_settings_say_how_long_an_agent_is_kept():
    host, backend = used_once(agent_idle_seconds=60)
    host.advance(59)
    assert not backend.closed
    host.advance(1)
    assert backend.closed
    host.stop()


def test_settings_say_how_long_a_session_is_kept():
    host, _ = used_once(agent_idle_seconds=1, session_idle_seconds=1000)
    host.advance(999)
    assert host.store.is_open(S1)
    host.advance(250)  # it is looked at five times in that time
    assert not host.store.is_open(S1)
    host.stop()


@pytest.mark.parametrize("kept", ["agent_idle_seconds", "session_idle_seconds"])
def test_settings_of_zero_keep_them(kept):
    host, backend = used_once(**{"agent_idle_seconds": 30, "session_idle_seconds": 30, kept: 0})
    host.advance(1_000_000)
    assert host.store.is_open(S1)
    assert backend.closed is (kept == "session_idle_seconds")
    host.stop()
