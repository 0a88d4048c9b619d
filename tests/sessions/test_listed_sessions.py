"""Conversations a backend keeps and this host made no session of (AHP.txt, "Session URIs")."""

import pytest
from twisted.internet.defer import Deferred
from twisted.logger import formatEvent, globalLogPublisher

from ahpd.interfaces import AgentFailure, ConversationKept
from ahpd.protocol.errors import RpcError
from ahpd.protocol.uris import ROOT, default_chat
from ahpd.sessions.listed import AT_ONCE, MOST_PATIENCE
from ahpd.testing.agents import ConversationsAgent, Gate

L1 = "ahp-session:/conv-1"
LC = default_chat(L1)


def turn(identifier, text):
    return {
        "id": identifier,
        "startedAt": "2026-01-01T00:00:00.000Z",
        "duration": 5,
        "message": {"text": text, "origin": {"kind": "user"}},
        "responseParts": [{"kind": "markdown", "id": "p", "content": "answer"}],
        "state": "complete",
    }


@pytest.fixture
def agent():
    agent = ConversationsAgent()
    agent.keep(
        "conv-1",
        turn("t1", "one"),
        turn("t2", "two"),
        title="Found",
        points={"t1": "a", "t2": "b"},
        working_directories=["file:///w"],
    )
    return agent


@pytest.fixture
def host(agent, sessions_host):
    return sessions_host(agents={"scripted": agent})


def listed(host):
    host.clock.advance(2)
    host.listing({})
    return [row["resource"] for row in host.listing({})["items"]]


def read(host, channel):
    waiting = host.service.channels.ready(channel)
    if waiting is not None:
        host.wait(waiting)


def test_it_is_listed_and_announced(host):
    [row] = host.listing({})["items"]
    assert row["resource"] == L1
    assert (row["title"], row["provider"]) == ("Found", "scripted")
    assert row["workingDirectories"] == ["file:///w"]
    assert row["defaultChat"] == LC
    assert not host.store.is_open(L1)
    assert host.told("root/sessionAdded") == [{"channel": ROOT, "summary": row}]
    assert host.service.channels.resolve(L1) == L1
    assert host.service.channels.resolve(LC) == LC
    assert host.service.channels.resolve("scripted:/conv-1") == L1


def test_a_listing_answers_what_is_known_and_asks_behind_it(host, agent):
    host.listing({})
    agent.keep("conv-2", title="Later", modified_at="2026-02-01T00:00:00.000Z")
    assert len(host.listing({})["items"]) == 1
    assert listed(host) == ["ahp-session:/conv-2", L1]
    added = host.told("root/sessionAdded")[-1]
    assert added["summary"]["title"] == "Later"


def test_a_row_that_moved_is_said_and_one_that_went_too(host, agent):
    host.listing({})
    agent.keep("conv-1", title="Otherwise", modified_at="2026-03-01T00:00:00.000Z")
    listed(host)
    [changed] = host.told("root/sessionSummaryChanged")
    assert changed["session"] == L1
    assert changed["changes"] == {
        "title": "Otherwise",
        "modifiedAt": "2026-03-01T00:00:00.000Z",
    } | ({k: v for k, v in changed["changes"].items() if k == "workingDirectories"})
    del agent.listed["conv-1"]
    assert listed(host) == []
    assert host.told("root/sessionRemoved") == [{"channel": ROOT, "session": L1}]


def test_it_is_read_when_somebody_waits_for_it_and_is_a_session_then(host, agent):
    read(host, LC)
    assert [turn["id"] for turn in host.turns(LC)] == ["t1", "t2"]
    state = host.state(L1)
    assert (state["title"], state["lifecycle"]) == ("Found", "ready")
    facts = host.service.registry.world.facts(LC)
    assert facts == {"conversation": "conv-1", "points": {"t1": "a", "t2": "b"}}
    host.turn(LC, "three")
    assert agent.chats[0].start.resume.conversation == "conv-1"
    assert listed(host) == [L1]
    host.crash()
    assert listed(host) == [L1]
    assert [turn["message"]["text"] for turn in host.turns(LC)] == ["one", "two", "three"]
    assert agent.reads == ["conv-1"]


def test_an_action_on_it_waits_until_it_is_read(host, agent):
    agent.read_gate = Gate()
    origin = {"clientId": "client-1", "clientSeq": 1}
    action = {"type": "session/titleChanged", "title": "Mine"}
    handled = host.service.session_actions.handle(L1, action, origin)
    done = Deferred.fromCoroutine(handled)
    assert not done.called
    assert host.said(L1) == []
    agent.read_gate.open()
    assert done.called
    assert host.state(L1)["title"] == "Mine"
    assert host.kinds(L1)[0] == "session/titleChanged"


def test_two_who_wait_for_it_read_it_once(host, agent):
    agent.read_gate = Gate()
    waiting = [Deferred.fromCoroutine(host.service.channels.ready(uri)) for uri in (L1, LC)]
    agent.read_gate.open()
    assert all(done.called for done in waiting)
    assert agent.reads == ["conv-1"]
    assert host.store.is_open(LC)


def test_one_that_cannot_be_read_says_why_and_can_be_asked_again(host, agent):
    agent.read_failure = AgentFailure("the file is gone")
    with pytest.raises(RpcError, match="cannot be read: the file is gone"):
        read(host, L1)
    assert not host.store.is_open(L1)
    agent.read_failure = None
    read(host, L1)
    assert host.store.is_open(L1)


def test_an_agent_that_cannot_list_is_logged_once_and_troubles_nobody(agent, sessions_host):
    agent.list_failure = AgentFailure("no")
    host = sessions_host(agents={"scripted": agent})
    assert listed(host) == []
    agent.list_failure = None
    assert listed(host) == [L1]


def test_the_conversations_of_this_hosts_own_chats_are_no_sessions_of_their_own(host, agent):
    agent.keeps_as = lambda start: "mine-1"
    agent.keep("mine-1", title="Mine")
    host.session()
    host.turn(host.chat())
    assert host.service.find_chat(host.chat()).kept.conversation == "mine-1"
    assert listed(host) == ["ahp-session:/s1", L1]
    host.crash()
    assert listed(host) == ["ahp-session:/s1", L1]


def test_a_session_that_is_deleted_has_its_conversation_deleted(host, agent):
    agent.keeps_as = lambda start: "mine-1"
    agent.keep("mine-1")
    host.session()
    host.turn(host.chat())
    host.wait(host.service.dispose("ahp-session:/s1"))
    assert agent.deleted == ["mine-1"]
    assert listed(host) == [L1]
    host.crash()
    assert listed(host) == [L1]


def test_a_conversation_that_could_not_be_deleted_stays_hidden(host, agent):
    agent.keeps_as = lambda start: "mine-1"
    agent.keep("mine-1")
    host.session()
    host.turn(host.chat())
    agent.delete_failure = AgentFailure("busy")
    host.wait(host.service.dispose("ahp-session:/s1"))
    assert listed(host) == [L1]
    host.crash()
    assert listed(host) == [L1]


def test_a_backend_that_deletes_none_is_said_once_and_what_it_keeps_stays_hidden(host, agent):
    names = iter(["mine-1", "mine-2"])
    agent.keeps_as = lambda start: next(names)
    agent.delete_failure = ConversationKept("it has no way to")
    said = []

    def note(event):
        said.append((event["log_level"].name, formatEvent(event)))

    globalLogPublisher.addObserver(note)
    try:
        for uri in ("ahp-session:/s1", "ahp-session:/s2"):
            host.session(channel=uri)
            host.turn(host.store.state(uri)["defaultChat"])
            host.wait(host.service.dispose(uri))
    finally:
        globalLogPublisher.removeObserver(note)
    assert [one for one in said if "copies" in one[1]] == [
        ("info", "agent scripted keeps its copies of deleted sessions")
    ]
    assert [one for one in said if one[0] in ("error", "critical")] == []
    assert listed(host) == [L1]


def test_so_many_backends_are_asked_at_a_time_and_one_that_hangs_gives_its_place_up(sessions_host):
    asked = []

    class Asked(ConversationsAgent):
        async def list_conversations(self):
            asked.append(self.provider)
            return await super().list_conversations()

    agents = [Asked(f"a{number}") for number in range(AT_ONCE + 2)]
    for agent in agents:
        agent.list_gate = Gate()
    host = sessions_host(agents={agent.provider: agent for agent in agents})
    host.clock.advance(0)
    assert asked == [f"a{number}" for number in range(AT_ONCE)]
    agents[1].list_gate.open()
    host.clock.advance(0)
    assert asked[AT_ONCE:] == [f"a{AT_ONCE}"]
    host.clock.advance(MOST_PATIENCE)
    host.clock.advance(0)
    assert asked[AT_ONCE + 1 :] == [f"a{AT_ONCE + 1}"]
    for agent in agents:
        agent.list_gate.open()
    host.clock.advance(0)


def test_a_row_that_was_only_listed_is_deleted_without_being_read(host, agent):
    host.wait(host.service.dispose(L1))
    assert (agent.deleted, agent.reads) == (["conv-1"], [])
    assert host.told("root/sessionRemoved") == [{"channel": ROOT, "session": L1}]
    assert listed(host) == []


def test_a_closed_chats_conversation_stays_hidden(host, agent):
    agent.keeps_as = lambda start: "peer-1" if start.chat == "ahp-chat:/c2" else "mine-1"
    agent.keep("peer-1")
    host.session()
    host.service.create_chat({"channel": "ahp-session:/s1", "chat": "ahp-chat:/c2"})
    host.turn("ahp-chat:/c2")
    host.wait(host.service.dispose_chat("ahp-chat:/c2"))
    assert listed(host) == ["ahp-session:/s1", L1]
    host.crash()
    assert listed(host) == ["ahp-session:/s1", L1]
    host.wait(host.service.dispose("ahp-session:/s1"))
    assert sorted(agent.deleted) == ["peer-1"]


def test_creating_what_is_listed_keeps_what_is_there(host, agent):
    host.listing({})
    host.service.create({"channel": L1}, "client-1")
    with pytest.raises(RpcError, match="already exists"):
        host.service.create({"channel": "scripted:/conv-1"}, "client-1")
    assert len(host.listing({})["items"]) == 1


def test_a_listing_that_comes_late_does_not_hold_up_the_start(agent, sessions_host):
    agent.list_gate = Gate()
    host = sessions_host(agents={"scripted": agent})
    assert host.listing({})["items"] == []
    agent.list_gate.open()
    assert len(host.told("root/sessionAdded")) == 1
    assert listed(host) == [L1]


def test_it_began_when_its_backend_says(host, agent):
    [row] = host.listing({})["items"]
    read(host, L1)
    host.turn(LC, "three")
    host.crash()
    [again] = host.listing({})["items"]
    assert again["createdAt"] == row["createdAt"] == "2026-01-01T00:00:00.000Z"
    assert again["modifiedAt"] == host.now()
