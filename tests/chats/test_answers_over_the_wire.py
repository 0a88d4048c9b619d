"""Several clients and one question: what each of them is told, over whole connections."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import BackgroundTask, TurnOver
from ahpd.protocol.uris import ROOT
from ahpd.testing.host import MemoryHost

SESSION = "ahp-session:/s1"


@pytest.fixture
def host():
    host = MemoryHost()
    yield host
    host.stop()


def joined(host, name, tools=()):
    """A client in the session, watching it and its chat; the session is made by the first."""
    client = host.connect(name, ROOT)
    if not host.store.is_open(SESSION):
        host.run(client.request("createSession", channel=SESSION))
    host.run(client.subscribe(SESSION))
    host.run(client.subscribe(client.state(SESSION)["defaultChat"]))
    entry = {"clientId": name, "tools": [{"name": tool} for tool in tools]}
    client.dispatch(SESSION, {"type": "session/activeClientSet", "activeClient": entry})
    host.settle()
    return client


def chat_of(client):
    return client.state(SESSION)["defaultChat"]


def start(host, client, text="hello"):
    client.dispatch(
        chat_of(client),
        {
            "type": "chat/turnStarted",
            "turnId": "t1",
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": {"text": text, "origin": {"kind": "user"}},
        },
    )
    host.settle()


def calls(client):
    state = client.plain_state(chat_of(client))
    turn = state.get("activeTurn") or state["turns"][-1]
    return [part["toolCall"] for part in turn["responseParts"] if part["kind"] == "toolCall"]


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_two_opposite_answers_at_once_leave_one_and_both_clients_know_which(host, order):
    answers = []

    async def script(turn):
        answers.append(await turn.confirmed(turn.ask("rm", "Remove it")))
        await turn.forever()

    host.agent.then(script)
    clients = {name: joined(host, name) for name in ("a", "b")}
    start(host, clients["a"])
    said = {
        "a": {"approved": True, "confirmed": "user-action"},
        "b": {"approved": False, "reason": "denied"},
    }
    sequences = {}
    for name in order:
        client = clients[name]
        action = {"type": "chat/toolCallConfirmed", "turnId": "t1", "toolCallId": "t1:1"}
        sequences[name] = client.dispatch(chat_of(client), action | said[name])
    host.settle()
    assert [answer.approved for answer in answers] == [order[0] == "a"]
    status = "running" if order[0] == "a" else "cancelled"
    for client in clients.values():
        assert [call["status"] for call in calls(client)] == [status]
        told = [e for e in client.envelopes(chat_of(client)) if e.type == "chat/toolCallConfirmed"]
        assert [envelope.origin["clientId"] for envelope in told] == list(order)
    assert "inputNeeded" not in clients["a"].state(SESSION)


def test_who_answers_from_the_session_alone_needs_no_chat(host):
    """An entry carries all an answer needs; its chat was never subscribed to."""
    answers = []

    async def script(turn):
        answers.append(await turn.answered(turn.question("Which?", "x", "y")))

    host.agent.then(script)
    asker = joined(host, "asker")
    start(host, asker)
    other = host.connect("other", ROOT)
    host.run(other.subscribe(SESSION))
    [entry] = other.plain_state(SESSION)["inputNeeded"]
    answer = {"state": "submitted", "value": {"kind": "selected", "value": "y"}}
    other.dispatch(
        entry["chat"],
        {
            "type": "chat/inputCompleted",
            "requestId": entry["request"]["id"],
            "response": "accept",
            "answers": {"q": answer},
        },
    )
    host.settle()
    assert answers[0].answers == {"q": answer}
    assert "inputNeeded" not in other.state(SESSION)


@pytest.mark.parametrize("how", ["says so", "is cut off"])
def test_a_client_that_leaves_in_a_call_fails_it_and_nobody_elses(host, how):
    results = []

    async def one(turn, client):
        call = turn.client_tool(client, f"open-{client}")
        results.append((client, (await turn.client_result(call))["success"]))

    async def script(turn):
        for client in ("leaver", "stayer"):
            waiting = Deferred.fromCoroutine(one(turn, client))
            waiting.addErrback(lambda failure: failure.trap(TurnOver))
        await turn.forever()

    host.agent.then(script)
    stayer, leaver = (
        joined(host, "stayer", ["open-stayer"]),
        joined(host, "leaver", ["open-leaver"]),
    )
    start(host, stayer)
    assert len(stayer.state(SESSION)["inputNeeded"]) == 2
    if how == "says so":
        gone = {"type": "session/activeClientRemoved", "clientId": "leaver"}
        leaver.dispatch(SESSION, gone)
        host.settle()
    else:
        host.cut(leaver)
        host.advance(29)
        assert results == []
        host.advance(1.5)
    assert results == [("leaver", False)]
    assert [call["status"] for call in calls(stayer)] == ["completed", "running"]
    [entry] = stayer.plain_state(SESSION)["inputNeeded"]
    assert entry["clientId"] == "stayer"


def test_background_work_is_stopped_over_the_wire(host):
    stopped = []

    async def stop():
        stopped.append(True)

    async def script(turn):
        task = BackgroundTask(
            id="shell:1",
            label="Building",
            started_at="2026-01-02T03:04:05.000Z",
            command="make",
            stop=stop,
        )
        turn.background(task)

    host.agent.then(script)
    client = joined(host, "a")
    start(host, client)
    [row] = client.plain_state(chat_of(client))["backgroundWork"]
    assert row["_meta"] == {"vscode.stopBackgroundWork": True}
    answer = client.request("vscode/stopBackgroundWork", chat=chat_of(client), id=row["id"])
    assert host.run(answer) == {"stopped": True}
    assert stopped == [True]
