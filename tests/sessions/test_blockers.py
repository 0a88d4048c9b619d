"""`inputNeeded`: the session's mirror of what its chats wait for (AHP.txt, "Being asked")."""

import pytest

from ahpd.protocol.status import IN_PROGRESS, INPUT_NEEDED
from ahpd.sessions.blockers import Blockers
from ahpd.testing.agents import Gate

SESSION = "ahp-session:/s1"
SECOND = "ahp-chat:/c2"
MIRROR = ("session/inputNeededSet", "session/inputNeededRemoved")


@pytest.fixture
def host(sessions_host):
    host = sessions_host()
    host.session(activeClient={"clientId": "client-1", "tools": [{"name": "openFile"}]})
    return host


@pytest.fixture
def chat(host):
    return host.chat()


def needed(host):
    return host.state(SESSION).get("inputNeeded", [])


def waits(host):
    return bool(host.state(SESSION)["status"] & INPUT_NEEDED & ~IN_PROGRESS)


def mirrored(host):
    """What was said of the mirror: (set or removed, id)."""
    return [
        (
            action["type"].removeprefix("session/inputNeeded"),
            action.get("id") or action["request"]["id"],
        )
        for action in host.said(SESSION)
        if action["type"] in MIRROR
    ]


def confirm(host, chat, turn, call, approved=True):
    fields = {"confirmed": "user-action"} if approved else {"reason": "denied"}
    host.dispatch(
        chat, "chat/toolCallConfirmed", turnId=turn, toolCallId=call, approved=approved, **fields
    )


async def needs_everything(turn):
    """One of each kind."""
    turn.question("Which?")
    turn.ask("rm", "Remove it")
    turn.client_tool("client-1", "openFile")
    call = turn.begin("query", contributor={"kind": "mcp", "customizationId": "db"})
    turn.ready(call, "Asking", confirmed="not-needed")
    auth = {"reason": "required", "resource": {"resource": "https://db.example"}}
    turn.say("chat/toolCallAuthRequired", toolCallId=call, auth=auth)
    await turn.forever()


def test_each_kind_is_listed_under_its_id_with_what_the_chat_holds(host, chat):
    host.agent.then(needs_everything)
    turn = host.turn(chat)
    parts = host.state(chat)["activeTurn"]["responseParts"]
    assert needed(host) == [
        {
            "id": f"chatInput:{chat}:turn-1:1",
            "chat": chat,
            "kind": "chatInput",
            "request": parts[0]["request"],
        },
        {
            "id": f"toolConfirmation:{chat}:{turn}:turn-1:2",
            "chat": chat,
            "kind": "toolConfirmation",
            "turnId": turn,
            "toolCall": parts[1]["toolCall"],
        },
        {
            "id": f"toolClientExecution:{chat}:{turn}:turn-1:3",
            "chat": chat,
            "kind": "toolClientExecution",
            "turnId": turn,
            "toolCall": parts[2]["toolCall"],
            "clientId": "client-1",
        },
        {
            "id": f"toolAuthentication:{chat}:{turn}:turn-1:4",
            "chat": chat,
            "kind": "toolAuthentication",
            "turnId": turn,
            "toolCall": parts[3]["toolCall"],
        },
    ]
    assert waits(host)


def test_all_entries_of_a_turn_go_with_it_behind_its_end(host, chat):
    host.agent.then(needs_everything)
    turn = host.turn(chat)
    host.forget()
    host.stop(chat, turn)
    assert needed(host) == []
    assert not waits(host)
    assert [kind for kind, _ in mirrored(host)] == ["Removed"] * 4
    kinds = host.kinds()
    assert kinds.index("chat/turnCancelled") < kinds.index("session/inputNeededRemoved")


def test_an_entry_is_said_behind_the_action_that_raised_it_and_once(host, chat):
    async def script(turn):
        call = turn.ask("rm", "Remove it")
        turn.markdown("while you think")
        turn.say("chat/usage", usage={"inputTokens": 1})
        turn.say("chat/toolCallReady", toolCallId=call, invocationMessage="Remove a")
        await turn.forever()

    host.agent.then(script)
    turn = host.turn(chat)
    identifier = f"toolConfirmation:{chat}:{turn}:turn-1:1"
    assert mirrored(host) == [("Set", identifier), ("Set", identifier)]
    assert needed(host)[0]["toolCall"]["invocationMessage"] == "Remove a"
    kinds = host.kinds()
    assert kinds.index("chat/toolCallReady") < kinds.index("session/inputNeededSet")


def test_an_answer_takes_its_entry_down_before_the_backend_goes_on(host, chat):
    async def script(turn):
        call = turn.ask("rm", "Remove it")
        await turn.confirmed(call)
        turn.complete(call, "gone")

    host.agent.then(script)
    turn = host.turn(chat)
    host.forget()
    confirm(host, chat, turn, "turn-1:1")
    kinds = [kind for kind in host.kinds() if kind in MIRROR or kind.startswith("chat/toolCall")]
    assert kinds == [
        "chat/toolCallConfirmed",
        "session/inputNeededRemoved",
        "chat/toolCallComplete",
    ]
    assert not waits(host)


def test_a_result_that_waits_is_a_confirmation_too(host, chat):
    async def script(turn):
        call = turn.running("fetch")
        turn.complete(call, "a page", requiresResultConfirmation=True)
        await turn.result_confirmed(call)

    host.agent.then(script)
    turn = host.turn(chat)
    [entry] = needed(host)
    assert (entry["kind"], entry["toolCall"]["status"]) == (
        "toolConfirmation",
        "pending-result-confirmation",
    )
    host.dispatch(
        chat, "chat/toolCallResultConfirmed", turnId=turn, toolCallId="turn-1:1", approved=True
    )
    assert needed(host) == []


def test_a_call_goes_from_one_kind_to_the_next(host, chat):
    async def script(turn):
        call = turn.client_tool("client-1", "openFile", confirmed=None)
        await turn.client_result(call)

    host.agent.then(script)
    turn = host.turn(chat)
    asked, run = (
        f"{kind}:{chat}:{turn}:turn-1:1" for kind in ("toolConfirmation", "toolClientExecution")
    )
    assert waits(host)
    confirm(host, chat, turn, "turn-1:1")
    assert [entry["id"] for entry in needed(host)] == [run]
    assert not waits(host)
    printed = [{"type": "text", "text": "so far"}]
    host.dispatch(
        chat, "chat/toolCallContentChanged", turnId=turn, toolCallId="turn-1:1", content=printed
    )
    assert needed(host)[0]["toolCall"]["content"] == printed
    result = {"success": True, "pastTenseMessage": "Opened"}
    host.dispatch(chat, "chat/toolCallComplete", turnId=turn, toolCallId="turn-1:1", result=result)
    assert mirrored(host) == [
        ("Set", asked),
        ("Removed", asked),
        ("Set", run),
        ("Set", run),
        ("Removed", run),
    ]


def test_a_call_a_setting_allowed_is_not_listed(host, chat):
    async def script(turn):
        call = turn.begin("rm", _meta={"autoApproveBySetting": "chat.tools.autoApprove"})
        turn.ready(call, "Remove it")
        other = turn.begin("mv", _meta={"autoApproveBySetting": False})
        turn.ready(other, "Move it")
        await turn.forever()

    host.agent.then(script)
    host.turn(chat)
    assert [entry["toolCall"]["toolName"] for entry in needed(host)] == ["mv"]


def test_a_sign_in_that_is_there_takes_its_entry_down(host, chat):
    gate = Gate()

    async def script(turn):
        call = turn.begin("query", contributor={"kind": "mcp", "customizationId": "db"})
        turn.ready(call, "Asking", confirmed="not-needed")
        auth = {"reason": "required", "resource": {"resource": "https://db.example"}}
        turn.say("chat/toolCallAuthRequired", toolCallId=call, auth=auth)
        await gate.passed()
        turn.say("chat/toolCallAuthResolved", toolCallId=call)
        await turn.forever()

    host.agent.then(script)
    host.turn(chat)
    assert [entry["kind"] for entry in needed(host)] == ["toolAuthentication"]
    gate.open()
    assert needed(host) == []


def test_the_entries_of_a_chat_go_with_the_chat_and_leave_the_others(host, chat):
    host.service.create_chat({"channel": SESSION, "chat": SECOND})

    async def asks(turn):
        turn.ask("rm", "Remove it")
        turn.question("Which?")
        await turn.forever()

    host.agent.then(asks, asks)
    host.turn(chat)
    host.turn(SECOND)
    assert len(needed(host)) == 4
    host.wait(host.service.dispose_chat(SECOND))
    assert {entry["chat"] for entry in needed(host)} == {chat}
    assert len(needed(host)) == 2
    assert waits(host)


def test_a_turn_that_takes_anothers_place_takes_its_questions_down(host, chat):
    gate = Gate()

    async def asks(turn):
        turn.question("Which?")
        await gate.passed()

    host.agent.then(asks)
    host.turn(chat)
    assert waits(host)
    host.turn(chat, "never mind")
    assert needed(host) == []
    gate.open()


def test_cutting_the_history_takes_the_questions_down(host, chat):
    async def asks(turn):
        turn.question("Which?")
        await turn.forever()

    host.agent.then(asks)
    host.turn(chat)
    host.dispatch(chat, "chat/truncated")
    assert needed(host) == []
    assert not waits(host)


@pytest.mark.parametrize(
    "action",
    [
        {"type": "session/inputNeededSet", "request": {"id": "mine", "chat": "c", "kind": "x"}},
        {"type": "session/inputNeededRemoved", "id": "mine"},
    ],
)
def test_an_entry_a_backend_says_itself_is_not_said(host, chat, action):
    async def script(turn):
        turn.output.emit(action)

    host.agent.then(script)
    host.turn(chat)
    assert mirrored(host) == []
    assert not any(said["type"] in MIRROR for said in host.said())
    assert host.turns(chat)[0]["state"] == "complete"


def test_what_a_session_had_listed_is_taken_down_when_its_chat_moves():
    said = []
    entry = {"id": "chatInput:c:r", "chat": "c", "kind": "chatInput", "request": {"id": "r"}}
    blockers = Blockers(said.append, {"inputNeeded": [entry]})
    state = {"turns": []}
    blockers.moved("c", state, {"type": "chat/isReadChanged", "isRead": True}, ())
    blockers.moved("other", state, {"type": "chat/error", "turnId": "t"}, ())
    assert said == []
    blockers.moved("c", state, {"type": "chat/error", "turnId": "t"}, ())
    assert said == [{"type": "session/inputNeededRemoved", "id": "chatInput:c:r"}]
    blockers.drop("c")
    assert len(said) == 1
