"""The tools of a session's clients, and their calls once a client is gone."""

import pytest

from ahpd.sessions.client_tools import tools_of
from ahpd.testing.agents import Gate

SESSION = "ahp-session:/s1"
SECOND = "ahp-chat:/c2"
OPEN = {"name": "openFile", "description": "Opens a file"}
SAVE = {"name": "save"}


@pytest.fixture
def host(sessions_host):
    host = sessions_host()
    host.session(activeClient={"clientId": "client-1", "tools": [OPEN]})
    join(host, "client-2", SAVE)
    return host


@pytest.fixture
def chat(host):
    return host.chat()


def join(host, client, *tools):
    entry = {"clientId": client, "tools": list(tools)}
    host.dispatch(SESSION, "session/activeClientSet", client=client, activeClient=entry)


def leave(host, client):
    host.dispatch(SESSION, "session/activeClientRemoved", client=client, clientId=client)


def calls(host, chat):
    state = host.state(chat)
    turn = state.get("activeTurn") or state["turns"][-1]
    return [part["toolCall"] for part in turn["responseParts"]]


def test_every_tool_names_the_client_that_provides_it():
    state = {
        "activeClients": [
            {"clientId": "a", "tools": [OPEN, SAVE]},
            {"clientId": "b"},
            {"tools": [SAVE]},
            {"clientId": "c", "tools": [OPEN]},
        ]
    }
    assert tools_of(state) == (
        {**OPEN, "clientId": "a"},
        {**SAVE, "clientId": "a"},
        {**OPEN, "clientId": "c"},
    )
    assert tools_of({}) == ()


def test_a_backend_is_told_the_tools_at_its_start_and_those_of_now_at_each_turn(host, chat):
    host.turn(chat)
    join(host, "client-2")
    host.turn(chat)
    mine, theirs = {**OPEN, "clientId": "client-1"}, {**SAVE, "clientId": "client-2"}
    assert tuple(host.agent.chats[0].start.client_tools) == (mine, theirs)
    assert [tuple(turn.client_tools) for turn in host.agent.turns] == [(mine, theirs), (mine,)]


def test_a_client_that_leaves_fails_its_calls_and_nobody_elses(host, chat):
    results = {}

    def runs(client, name):
        async def script(turn):
            call = turn.client_tool(client, name)
            results[client, turn.request.turn_id] = await turn.client_result(call)

        return script

    host.service.create_chat({"channel": SESSION, "chat": SECOND})
    host.agent.then(runs("client-1", "openFile"), runs("client-1", "openFile"))
    first, second = host.turn(chat), host.turn(SECOND)
    third = "ahp-chat:/c3"
    host.service.create_chat({"channel": SESSION, "chat": third})
    host.agent.then(runs("client-2", "save"))
    host.turn(third)
    host.forget()
    leave(host, "client-1")
    assert set(results) == {("client-1", first), ("client-1", second)}
    for result in results.values():
        assert result["success"] is False
        assert result["error"]["message"] == (
            "openFile could not run: the client that provides it has left."
        )
    for uri in (chat, SECOND):
        [call] = calls(host, uri)
        assert (call["status"], call["success"]) == ("completed", False)
        assert host.turns(uri)[0]["state"] == "complete"
    assert [call["status"] for call in calls(host, third)] == ["running"]
    failed = [a for a in host.said() if a["type"] == "chat/toolCallComplete"]
    assert len(failed) == 2
    kinds = host.kinds()
    assert kinds.index("session/activeClientRemoved") < kinds.index("chat/toolCallComplete")
    assert [entry["clientId"] for entry in host.state(SESSION)["inputNeeded"]] == ["client-2"]
    leave(host, "client-2")
    assert "inputNeeded" not in host.state(SESSION)


def test_only_what_is_out_with_it_fails(host, chat):
    async def script(turn):
        turn.running("grep")
        done = turn.client_tool("client-1", "openFile")
        await turn.client_result(done)
        turn.client_tool("client-1", "openFile", confirmed=None)
        turn.ask("rm", "Remove it")
        await turn.forever()

    host.agent.then(script)
    turn = host.turn(chat)
    result = {"success": True, "pastTenseMessage": "Opened"}
    host.dispatch(chat, "chat/toolCallComplete", turnId=turn, toolCallId="turn-1:2", result=result)
    leave(host, "client-1")
    assert [(call["status"], call.get("success")) for call in calls(host, chat)] == [
        ("running", None),
        ("completed", True),
        ("completed", False),
        ("pending-confirmation", None),
    ]


def test_a_result_that_waits_to_be_let_through_is_kept(host, chat):
    results = []

    async def script(turn):
        results.append(await turn.client_result(turn.client_tool("client-1", "openFile")))

    host.agent.then(script)
    turn = host.turn(chat)
    result = {"success": True, "pastTenseMessage": "Opened"}
    named = {"turnId": turn, "toolCallId": "turn-1:1"}
    host.dispatch(
        chat, "chat/toolCallComplete", **named, result=result, requiresResultConfirmation=True
    )
    leave(host, "client-1")
    host.dispatch(chat, "chat/toolCallResultConfirmed", client="client-2", **named, approved=True)
    assert results == [result]


def test_a_call_handed_to_a_client_that_is_gone_fails_at_once(host, chat):
    gate, results = Gate(), []

    async def script(turn):
        call = turn.begin("openFile", contributor={"kind": "client", "clientId": "client-1"})
        await gate.passed()
        turn.ready(call, "Opening", confirmed="not-needed")
        results.append(await turn.client_result(call))

    host.agent.then(script)
    host.turn(chat)
    leave(host, "client-1")
    host.forget()
    gate.open()
    assert [result["success"] for result in results] == [False]
    assert host.turns(chat)[0]["state"] == "complete"
    assert not any(kind.startswith("session/inputNeeded") for kind in host.kinds(SESSION))


def test_a_tool_that_is_no_longer_offered_leaves_its_call(host, chat):
    async def script(turn):
        await turn.client_result(turn.client_tool("client-1", "openFile"))

    host.agent.then(script)
    turn = host.turn(chat)
    join(host, "client-1", SAVE)
    assert [call["status"] for call in calls(host, chat)] == ["running"]
    result = {"success": True, "pastTenseMessage": "Opened"}
    host.dispatch(chat, "chat/toolCallComplete", turnId=turn, toolCallId="turn-1:1", result=result)
    assert host.turns(chat)[0]["state"] == "complete"


def test_a_removal_of_nobody_touches_nothing(host, chat):
    async def script(turn):
        await turn.client_result(turn.client_tool("client-1", "openFile"))

    host.agent.then(script)
    turn = host.turn(chat)
    leave(host, "somebody")
    assert [call["status"] for call in calls(host, chat)] == ["running"]
    host.stop(chat, turn)
