"""A client that watches a session alone learns what waits in its chats, and answers it.

session-channel.txt, "Aggregated input requests"; AHP.txt, "Being asked".
"""

import pytest

from ahpd.protocol.status import ACTIVITY_MASK, INPUT_NEEDED
from ahpd.testing.host import MemoryHost

S1, C2 = "ahp-session:/s1", "ahp-chat:/c2"


@pytest.fixture
def host():
    host = MemoryHost()
    yield host
    host.stop()


@pytest.fixture
def watcher(host):
    """A client of the session, which watches none of its chats; it offers a tool."""
    probe = host.connect("watcher")
    entry = {"clientId": "watcher", "tools": [{"name": "openFile"}]}
    host.run(probe.request("createSession", channel=S1, activeClient=entry))
    host.run(probe.request("createChat", channel=S1, chat=C2))
    host.run(probe.subscribe(S1))
    return probe


def run(host, watcher, script):
    """Run it in the chat that is not the session's default one; what is listed then."""
    host.agent.then(script)
    starter = host.connect("starter")
    starter.dispatch(
        C2,
        {
            "type": "chat/turnStarted",
            "turnId": "t1",
            "startedAt": "2026-01-02T03:04:05.000Z",
            "message": {"text": "hello", "origin": {"kind": "user"}},
        },
    )
    host.settle()
    [entry] = watcher.plain_state(S1)["inputNeeded"]
    assert entry["chat"] == C2
    if entry["kind"] != "toolClientExecution":  # what a client's program does asks nobody
        assert watcher.state(S1)["status"] & ACTIVITY_MASK == INPUT_NEEDED
        [row] = host.run(watcher.request("listSessions"))["items"]
        assert row["status"] & ACTIVITY_MASK == INPUT_NEEDED, "one chat that waits is enough"
    late = host.connect("late")
    assert host.run(late.request("subscribe", channel=S1))["snapshot"]["state"]["inputNeeded"] == [
        entry
    ]
    return entry


def over(host, watcher):
    host.settle()
    assert not watcher.plain_state(S1).get("inputNeeded")
    assert watcher.state(S1)["status"] & ACTIVITY_MASK != INPUT_NEEDED
    [turn] = host.store.state(C2)["turns"]
    assert turn["state"] == "complete"
    assert C2 not in watcher.subscriptions


def test_a_question_is_answered_on_its_chat(host, watcher):
    answers = []

    async def asks(turn):
        answers.append(await turn.answered(turn.question("Which?", "a", "b")))

    entry = run(host, watcher, asks)
    assert entry["kind"] == "chatInput"
    watcher.dispatch(
        entry["chat"],
        {"type": "chat/inputCompleted", "requestId": entry["request"]["id"], "response": "decline"},
    )
    over(host, watcher)
    assert [answer.response for answer in answers] == ["decline"]


def test_a_call_is_allowed_on_its_chat(host, watcher):
    answers = []

    async def asks(turn):
        call = turn.ask("rm", "Remove it")
        answers.append(await turn.confirmed(call))
        turn.complete(call, "Removed it")

    entry = run(host, watcher, asks)
    assert entry["kind"] == "toolConfirmation"
    watcher.dispatch(
        entry["chat"],
        {
            "type": "chat/toolCallConfirmed",
            "turnId": entry["turnId"],
            "toolCallId": entry["toolCall"]["toolCallId"],
            "approved": True,
            "confirmed": "user-action",
        },
    )
    over(host, watcher)
    assert [answer.approved for answer in answers] == [True]


def test_a_clients_tool_is_run_by_a_client_that_watches_the_session_alone(host, watcher):
    results = []

    async def asks(turn):
        results.append(await turn.client_result(turn.client_tool("watcher", "openFile")))

    entry = run(host, watcher, asks)
    assert (entry["kind"], entry["clientId"]) == ("toolClientExecution", "watcher")
    watcher.dispatch(
        entry["chat"],
        {
            "type": "chat/toolCallComplete",
            "turnId": entry["turnId"],
            "toolCallId": entry["toolCall"]["toolCallId"],
            "result": {"success": True, "pastTenseMessage": "Opened it"},
        },
    )
    over(host, watcher)
    assert [result["success"] for result in results] == [True]
