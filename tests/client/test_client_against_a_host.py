"""The client and the probe against a real host, over the in-memory pair."""

import pytest

from ahpd.client import ActionRefused, RpcError
from ahpd.protocol.uris import ROOT
from ahpd.testing.agents import Gate, ScriptedAgent, waits_at
from ahpd.testing.host import MemoryHost

SESSION = "ahp-session:/one"
PROVIDER = ScriptedAgent().provider


@pytest.fixture
def gate():
    return Gate()


@pytest.fixture
def host(gate):
    host = MemoryHost()
    host.agent.always = waits_at(gate, "one ", "two ", "three")
    yield host
    host.stop()


@pytest.fixture
def chatting(host):
    """A client watching a session and its chat; the chat's URI beside it."""
    client = host.connect("ann", ROOT)
    host.run(client.request("createSession", channel=SESSION, provider=PROVIDER))
    state = host.run(client.subscribe(SESSION))
    chat = state["chats"][0]["resource"]
    host.run(client.subscribe(chat))
    return client, chat


def turn(turn_id="t"):
    return {
        "type": "chat/turnStarted",
        "turnId": turn_id,
        "startedAt": "2026-01-01T00:00:00.000Z",
        "message": {"text": "go", "origin": {"kind": "user"}},
    }


def test_a_dropped_client_is_replayed_the_rest_of_its_turn(host, chatting, gate):
    client, chat = chatting
    echo = host.run(client.perform(chat, turn()))
    assert echo.origin == {"clientId": "ann", "clientSeq": 1}
    assert client.state(chat)["activeTurn"]["id"] == "t"
    host.cut(client)
    seen = client.last_seen_seq
    gate.open()
    host.advance(1)
    host.attach(client)
    back = host.run(client.reconnect())
    assert back.type == "replay"
    assert all(envelope.seq > seen for envelope in back.actions)
    (finished,) = client.plain_state(chat)["turns"]
    assert finished["responseParts"][0]["content"] == "one two three"
    late = host.connect("late", ROOT)
    host.run(client.assert_late_subscriber_agrees(late))
    assert client.restarts == []


def test_what_was_missed_past_the_buffer_comes_as_snapshots(host, chatting, gate):
    client, chat = chatting
    other = host.connect("bob", ROOT)
    host.run(other.subscribe(SESSION))
    host.cut(client)
    for number in range(1100):
        other.dispatch(SESSION, {"type": "session/titleChanged", "title": f"title {number}"})
    host.settle()
    host.attach(client)
    back = host.run(client.reconnect())
    assert back.type == "snapshot"
    assert sorted(client.subscriptions) == sorted([ROOT, SESSION, chat])
    assert client.state(SESSION)["title"] == "title 1099"
    host.run(client.perform(SESSION, {"type": "session/titleChanged", "title": "after"}))
    assert client.state(SESSION)["title"] == "after"


def test_a_refused_action_and_a_refused_request_are_raised(host, chatting):
    client, chat = chatting
    with pytest.raises(ActionRefused, match="Server-only action: chat/usage"):
        host.run(client.perform(chat, {"type": "chat/usage", "turnId": "t", "usage": {}}))
    with pytest.raises(RpcError) as refused:
        host.run(client.subscribe("ahp-session:/nobody"))
    assert refused.value.code == -32001
    assert "ahp-session:/nobody" not in client.subscriptions


def test_a_client_the_host_does_not_know_begins_anew(host):
    client = host.client("stranger")
    host.attach(client)
    with pytest.raises(RpcError) as refused:
        host.run(client.reconnect())
    assert refused.value.code == -32008
    host.run(client.initialize(subscriptions=[ROOT]))
    assert client.state(ROOT)["agents"][0]["provider"] == PROVIDER


def test_merged_deltas_make_the_same_state(host, chatting, gate):
    client, chat = chatting
    slow = host.connect("slow", ROOT)
    host.run(slow.subscribe(chat, delivery={"maxLatencyMs": 500}))
    host.run(client.perform(chat, turn()))
    gate.open()
    host.advance(1)
    deltas = [
        len([e for e in who.envelopes(chat) if e.type == "chat/delta"]) for who in (client, slow)
    ]
    assert deltas == [3, 1]
    slow.assert_converged(client, chat)
