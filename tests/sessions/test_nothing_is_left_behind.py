"""What is disposed of is gone from memory, and no timer waits for it."""

import gc
from collections import Counter

import pytest

from ahpd.chats.chat import Chat
from ahpd.chats.output import TurnOutput
from ahpd.chats.turn import Turn
from ahpd.protocol.uris import ROOT
from ahpd.sessions.catalogue import Entry
from ahpd.sessions.session import Session
from ahpd.testing.agents import ScriptedChat, never_ends
from ahpd.testing.host import MemoryHost

CYCLES = 60


@pytest.fixture
def host():
    host = MemoryHost(replay_bytes=1024)
    yield host
    host.stop()


def turn(client, chat, turn_id):
    client.dispatch(
        chat,
        {
            "type": "chat/turnStarted",
            "turnId": turn_id,
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": {"text": "hello", "origin": {"kind": "user"}},
        },
    )


def live(*classes):
    gc.collect()
    return Counter(type(thing).__name__ for thing in gc.get_objects() if type(thing) in classes)


def cycle(host, client, number):
    """A session with two chats, both watched, one of them in the middle of a turn; then none."""
    session, peer = f"ahp-session:/s{number}", f"ahp-chat:/p{number}"
    host.run(client.request("createSession", channel=session))
    host.run(client.request("createChat", channel=session, chat=peer))
    host.run(client.subscribe(session))
    chat = client.state(session)["defaultChat"]
    for channel in (chat, peer, f"{session}/annotations"):
        host.run(client.subscribe(channel, delivery={"maxLatencyMs": 50}))
    turn(client, chat, f"a{number}")
    host.settle()
    host.agent.then(never_ends)
    turn(client, peer, f"b{number}")
    host.settle()
    if number % 2:
        host.run(client.request("disposeChat", channel=peer))
    host.run(client.request("disposeSession", channel=session))


def test_disposed_sessions_are_gone_with_everything_of_theirs(host):
    upkeep = len(host.clock.getDelayedCalls())
    kinds = (Session, Chat, Turn, TurnOutput, Entry, ScriptedChat)
    before = live(*kinds)  # a test before this one may still be held by who ran it
    away = host.connect("away", ROOT)
    host.cut(away)
    client = host.connect("here", ROOT)
    for number in range(CYCLES):
        cycle(host, client, number)
    host.agent.chats.clear()
    host.agent.turns.clear()
    host.advance(100)
    assert live(*kinds) - before == {}
    assert len(host.clock.getDelayedCalls()) == upkeep
    store = host.store
    assert list(store._channels) == [ROOT]
    assert list(store._watchers.by_channel) == [ROOT]
    [peer] = host.host.peers.peers
    assert (peer.places, peer._windows) == ({}, {})
    assert host.host.peers._clients.find("away").owed == set()


def test_a_client_that_went_leaves_nothing_but_its_record(host):
    client = host.connect("here", ROOT)
    host.run(client.request("createSession", channel="ahp-session:/s"))
    host.run(client.subscribe("ahp-session:/s"))
    host.cut(client)
    assert host.host.peers.peers == ()
    assert host.store._watchers.by_channel == {}
    assert host.store._watchers._by_subscriber == {}
    assert host.host.peers._clients.find("here").watched == {ROOT, "ahp-session:/s"}
    host.connect("here")
    assert host.host.peers._clients.find("here").watched == set()
