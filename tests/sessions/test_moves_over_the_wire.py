"""Moves as clients ask for them and see them, over whole connections."""

import re

import pytest

from ahpd.interfaces import AgentAbilities
from ahpd.protocol import errors
from ahpd.protocol.errors import RpcError
from ahpd.protocol.uris import ROOT, default_chat, worker_chat
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost

S1, S2, C2 = "ahp-session:/s1", "ahp-session:/s2", "ahp-chat:/c2"
OLD = "scripted:/old"
EDITOR = {"name": "vscode-editor-window"}


@pytest.fixture
def agent():
    return ScriptedAgent(abilities=AgentAbilities(reopens=True, workers=True))


@pytest.fixture
def host(agent):
    host = MemoryHost(agents={"scripted": agent})
    yield host
    host.stop()


def create(host, client, session):
    host.run(client.request("createSession", channel=session, workingDirectories=["file:///a"]))
    host.run(client.subscribe(session))
    chat = client.state(session)["defaultChat"]
    host.run(client.subscribe(chat))
    turn(host, client, chat)
    return chat


def turn(host, client, chat, turn_id="t1"):
    client.dispatch(
        chat,
        {
            "type": "chat/turnStarted",
            "turnId": turn_id,
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": {"text": "hello", "origin": {"kind": "user"}},
        },
    )
    host.settle()


def add(host, client, session, chat):
    host.run(client.request("createChat", channel=session, chat=chat))
    host.run(client.subscribe(chat))
    turn(host, client, chat)


def switch_on(host, client):
    client.dispatch(ROOT, {"type": "root/configChanged", "config": {"chatMoves.enabled": True}})
    host.settle()


def move(host, client, chat, session=None, after=None):
    destination = {"kind": "newSession"}
    if session is not None:
        destination = {"kind": "session", "session": session}
        if after is not None:
            destination["after"] = after
    return host.run(client.request("moveChat", channel=chat, destination=destination))


def listed(client, session):
    return [row["resource"] for row in client.plain_state(session)["chats"]]


def test_a_window_turns_moves_on_and_everybody_sees_a_chat_move(host):
    ann, bob = (host.connect(name, ROOT) for name in ("ann", "bob"))
    first, second = create(host, ann, S1), create(host, bob, S2)
    add(host, ann, S1, C2)
    with pytest.raises(RpcError) as refusal:
        move(host, ann, C2, S2)
    assert refusal.value.code == errors.INVALID_PARAMS
    assert refusal.value.data == {"reason": "disabled"}
    assert not ann.plain_state(C2).get("movable")
    switch_on(host, bob)
    assert ann.plain_state(C2)["movable"] is True
    assert move(host, ann, C2, S2, after=second) == {"session": S2}
    assert listed(ann, S1) == [first]
    assert listed(bob, S2) == [second, C2]
    turn(host, ann, C2, "t2")
    assert [turn["state"] for turn in ann.plain_state(C2)["turns"]] == ["complete"] * 2
    made = move(host, ann, C2)["session"]
    assert listed(bob, S2) == [second]
    host.run(bob.subscribe(made))
    assert listed(bob, made) == [C2]
    assert ann.plain_state(C2)["movable"] is False
    late = host.connect("late", ROOT)
    rows = host.run(late.request("listSessions", channel=ROOT))["items"]
    assert {row["resource"] for row in rows} == {S1, S2, made}


def test_an_older_window_moves_no_chat_to_a_session_it_may_not_see(host):
    newer = host.connect("newer", ROOT)
    switch_on(host, newer)
    create(host, newer, S2)
    window = host.connect("window", ROOT, clientInfo=EDITOR, _meta={})
    create(host, window, OLD)
    shaped = worker_chat(OLD, "second")
    add(host, window, OLD, shaped)
    assert window.plain_state(shaped)["movable"] is True
    with pytest.raises(RpcError) as refusal:
        move(host, window, shaped, S2)
    assert refusal.value.code == errors.SESSION_NOT_FOUND
    assert move(host, newer, shaped, S2) == {"session": S2}
    assert listed(window, OLD) == [default_chat(OLD)]


def test_a_session_whose_first_chat_is_derived_takes_chats_that_name_it_alone(host, agent):
    async def spawns(turn):
        call = turn.running("task")
        worker = turn.worker(call, "go")
        worker.done()
        workers.append((call, worker.chat))

    workers = []
    window = host.connect("window", ROOT, clientInfo=EDITOR, _meta={})
    first = create(host, window, OLD)
    assert first == default_chat(OLD)
    for chat, words in (
        (C2, "Opaque chat URI is not allowed in a session with a shaped default chat: " + C2),
        (worker_chat("scripted:/another", "c"), "names a chat of another session"),
        (default_chat("scripted:/another"), "is the derived name of a session's default chat"),
    ):
        with pytest.raises(RpcError, match=re.escape(words)) as refusal:
            add(host, window, OLD, chat)
        assert refusal.value.code == errors.INVALID_PARAMS
    agent.then(spawns)
    turn(host, window, first, "t2")
    [(call, worker)] = workers
    assert worker == worker_chat(OLD, call)
    assert listed(window, OLD) == [first, worker]


def enter(host, client, session):
    entry = {"clientId": client.client_id, "tools": []}
    client.dispatch(session, {"type": "session/activeClientSet", "activeClient": entry})
    host.settle()


def here(host, session):
    return [entry["clientId"] for entry in host.store.state(session)["activeClients"]]


@pytest.fixture
def moving(host):
    """A client that moves chats, and the sessions S1, of which C2 is a chat, and S2."""
    mover = host.connect("mover", ROOT)
    switch_on(host, mover)
    create(host, mover, S1)
    create(host, mover, S2)
    add(host, mover, S1, C2)
    return mover


@pytest.mark.parametrize("destination", [S2, None])
def test_who_watched_the_moved_chat_alone_is_not_in_the_session_it_left(host, moving, destination):
    watchers = [host.connect(name) for name in ("ann", "bob", "cid")]
    for client in watchers:
        host.run(client.subscribe(C2))
        enter(host, client, S1)
    host.run(watchers[1].subscribe(S1))
    assert here(host, S1) == ["ann", "bob", "cid"]
    move(host, moving, C2, destination)
    assert here(host, S1) == ["bob"]


def test_a_move_puts_nobody_out_of_the_session_the_chat_came_to(host, moving):
    ann = host.connect("ann")
    host.run(ann.subscribe(C2))
    host.run(ann.subscribe(S2))
    enter(host, ann, S1)
    enter(host, ann, S2)
    move(host, moving, C2, S2)
    assert (here(host, S1), here(host, S2)) == ([], ["ann"])
    ann.unsubscribe(S2)
    host.settle()
    assert here(host, S2) == ["ann"], "the chat it watches is one of this session now"
    move(host, moving, C2, S1)
    assert here(host, S2) == [], "and now it is not"
    ann.unsubscribe(C2)
    host.settle()
    assert here(host, S2) == []


def test_a_moved_chat_counts_where_it_is_when_a_client_comes_back(host, moving):
    ann = host.connect("ann")
    host.run(ann.subscribe(C2))
    enter(host, ann, S1)
    enter(host, ann, S2)
    host.cut(ann)
    move(host, moving, C2, S2)
    assert here(host, S1) == ["ann"], "it has its time to come back"
    host.attach(ann)
    host.run(ann.reconnect())
    assert (here(host, S1), here(host, S2)) == ([], ["ann"])


def test_who_watched_a_moved_worker_alone_left_with_it(host, agent, moving):
    async def spawns(turn):
        call = turn.running("task")
        worker = turn.worker(call, "go")
        worker.done()
        workers.append(worker.chat)
        turn.complete(call)

    workers = []
    agent.then(spawns)
    turn(host, moving, C2, "t2")
    ann = host.connect("ann")
    host.run(ann.subscribe(workers[0]))
    enter(host, ann, S1)
    move(host, moving, C2, S2)
    assert here(host, S1) == []
