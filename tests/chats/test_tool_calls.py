"""Tool calls: what is asked about them, what was decided, and who hears it (AHP.txt, the rows)."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import AgentAbilities, AgentFailure, ToolAnswer, TurnOver
from ahpd.testing.agents import Gate

SESSION = "ahp-session:/s1"
RESULT = {
    "success": True,
    "pastTenseMessage": "Opened",
    "content": [{"type": "text", "text": "as the client saw it"}],
}


@pytest.fixture
def host(sessions_host):
    host = sessions_host()
    host.session(activeClient={"clientId": "client-1", "tools": [{"name": "openFile"}]})
    return host


@pytest.fixture
def chat(host):
    return host.chat()


def call_of(host, chat, place=-1):
    """The call of a turn's only, or last, part with one."""
    state = host.state(chat)
    turn = state.get("activeTurn") or state["turns"][-1]
    return [part["toolCall"] for part in turn["responseParts"] if "toolCall" in part][place]


def answer(host, chat, turn, call, approved=True, client="client-1", **fields):
    fields |= {"confirmed": "user-action"} if approved else {"reason": "denied"}
    return host.dispatch(
        chat,
        "chat/toolCallConfirmed",
        client=client,
        turnId=turn,
        toolCallId=call,
        approved=approved,
        **fields,
    )


def review(host, chat, turn, call, approved):
    return host.dispatch(
        chat, "chat/toolCallResultConfirmed", turnId=turn, toolCallId=call, approved=approved
    )


def report(host, chat, turn, call, client="client-1", result=RESULT, **fields):
    return host.dispatch(
        chat,
        "chat/toolCallComplete",
        client=client,
        turnId=turn,
        toolCallId=call,
        result=result,
        **fields,
    )


def asks_once(answers, **fields):
    """A script that asks about one call, keeps the answer, and acts on it."""

    async def script(turn):
        call = turn.ask("rm", "Remove it", tool_input='{"path": "a"}', **fields)
        decided = await turn.confirmed(call)
        answers.append(decided)
        if decided.approved:
            turn.complete(call, "gone")

    return script


def hands_out(results, client="client-1", **fields):
    """A script that has a client run one call, and keeps what came of it."""

    async def script(turn):
        call = turn.client_tool(client, "openFile", **fields)
        results.append(await turn.client_result(call))

    return script


# -- asking ------------------------------------------------------------------------


def test_an_approval_is_said_as_it_was_sent_and_then_handed_to_the_backend(host, chat):
    answers = []
    host.agent.then(asks_once(answers))
    turn = host.turn(chat)
    assert call_of(host, chat)["status"] == "pending-confirmation"
    host.forget()
    assert answer(host, chat, turn, "turn-1:1", selectedOptionId="allow-once", extra=1) is None
    said = host.said(chat)
    assert said[0] == {
        "type": "chat/toolCallConfirmed",
        "turnId": turn,
        "toolCallId": "turn-1:1",
        "approved": True,
        "confirmed": "user-action",
        "selectedOptionId": "allow-once",
        "extra": 1,
    }
    assert said[1]["type"] == "chat/toolCallComplete"
    assert answers == [ToolAnswer(approved=True, option="allow-once")]
    [ended] = host.turns(chat)
    assert ended["state"] == "complete"
    assert ended["responseParts"][0]["toolCall"]["selectedOption"]["label"] == "Allow Once"


def test_a_refusal_reaches_the_backend_with_all_that_came_with_it(host, chat):
    answers = []
    host.agent.then(asks_once(answers))
    turn = host.turn(chat)
    better = {"text": "Move it instead", "origin": {"kind": "user"}}
    answer(
        host,
        chat,
        turn,
        "turn-1:1",
        approved=False,
        reasonMessage={"markdown": "Not *that* one"},
        userSuggestion=better,
        selectedOptionId="skip",
    )
    assert answers == [
        ToolAnswer(
            approved=False,
            reason="denied",
            message="Not *that* one",
            suggestion=better,
            option="skip",
        )
    ]
    call = call_of(host, chat)
    assert (call["status"], call["reason"]) == ("cancelled", "denied")


def test_an_edited_input_is_what_runs_and_what_the_backend_hears(host, chat):
    answers = []
    host.agent.then(asks_once(answers, editable=True))
    turn = host.turn(chat)
    answer(host, chat, turn, "turn-1:1", editedToolInput='{"path": "b"}')
    assert answers[0].edited_input == '{"path": "b"}'
    assert call_of(host, chat)["toolInput"] == '{"path": "b"}'


@pytest.mark.parametrize("first", [True, False])
def test_of_two_opposite_answers_the_first_counts_and_the_state_says_which(host, chat, first):
    answers, gate = [], Gate()

    async def script(turn):
        call = turn.ask("rm", "Remove it")
        answers.append(await turn.confirmed(call))
        await gate.passed()

    host.agent.then(script)
    turn = host.turn(chat)
    host.forget()
    assert answer(host, chat, turn, "turn-1:1", approved=first, client="one") is None
    decided = call_of(host, chat)
    assert answer(host, chat, turn, "turn-1:1", approved=not first, client="two") is None
    assert [one.approved for one in answers] == [first]
    assert call_of(host, chat) == decided
    assert decided["status"] == ("running" if first else "cancelled")
    told = [e["origin"]["clientId"] for e in host.store.watcher.said if "origin" in e]
    assert told == ["one", "two"]
    gate.open()


def test_an_answer_that_comes_before_the_backend_asks_is_kept(host, chat):
    answers, gate = [], Gate()

    async def script(turn):
        call = turn.ask("rm", "Remove it")
        await gate.passed()
        answers.append(await turn.confirmed(call))
        answers.append(await turn.confirmed(call))

    host.agent.then(script)
    turn = host.turn(chat)
    answer(host, chat, turn, "turn-1:1", selectedOptionId="allow-session")
    assert answers == []
    gate.open()
    assert [one.option for one in answers] == ["allow-session"] * 2


def test_a_call_asked_about_again_takes_a_new_answer(host, chat):
    answers = []

    async def script(turn):
        call = turn.ask("rm", "Remove it")
        answers.append(await turn.confirmed(call))
        turn.say("chat/toolCallReady", toolCallId=call, invocationMessage="Really?")
        answers.append(await turn.confirmed(call))

    host.agent.then(script)
    turn = host.turn(chat)
    answer(host, chat, turn, "turn-1:1")
    assert call_of(host, chat)["status"] == "pending-confirmation"
    answer(host, chat, turn, "turn-1:1", approved=False)
    assert [one.approved for one in answers] == [True, False]


def test_an_answer_to_a_call_that_waits_for_nobody_changes_nothing_and_is_said(host, chat):
    gate, answers = Gate(), []

    async def script(turn):
        turn.running("grep")
        call = turn.begin("rm")
        await gate.passed()
        turn.say("chat/toolCallReady", toolCallId=call, invocationMessage="Remove it")
        answers.append(await turn.confirmed(call))

    host.agent.then(script)
    turn = host.turn(chat)
    before = host.state(chat)
    host.forget()
    for call in ("turn-1:1", "turn-1:2", "never-said"):
        assert answer(host, chat, turn, call) is None
    assert answer(host, chat, "another-turn", "turn-1:2") is None
    assert host.kinds(chat) == ["chat/toolCallConfirmed"] * 4
    assert host.state(chat) == before
    gate.open()
    assert answers == []
    answer(host, chat, turn, "turn-1:2", approved=False)
    assert [one.approved for one in answers] == [False]


def test_a_backend_that_goes_on_by_itself_has_its_own_answer(host, chat):
    """What it said settled the question for every client, so it settles it here too."""
    answers, gate = [], Gate()

    async def waits(turn, call):
        answers.append(await turn.confirmed(call))

    async def script(turn):
        call = turn.ask("rm", "Remove it")
        waiting = Deferred.fromCoroutine(waits(turn, call))
        await gate.passed()
        turn.say(
            "chat/toolCallReady",
            toolCallId=call,
            invocationMessage="Remove it",
            confirmed="setting",
        )
        await waiting

    host.agent.then(script)
    host.turn(chat)
    gate.open()
    assert answers == [ToolAnswer(approved=True, decided_by="setting")]


def test_what_needs_no_answer_is_not_waited_for(host, chat):
    """A resumed turn's calls of its first run are over, and say how."""
    answers = []

    async def breaks(turn):
        turn.tool("openFile", "as it was")
        turn.ask("rm", "Remove it")
        raise AgentFailure("away", resumable=True)

    async def goes_on(turn):
        answers.append((await turn.confirmed("turn-1:1")).approved)
        answers.append((await turn.result_confirmed("turn-1:1")).approved)
        answers.append((await turn.client_result("turn-1:1"))["content"][0]["text"])
        answers.append((await turn.confirmed("turn-1:2")).approved)
        answers.append((await turn.client_result("turn-1:2"))["success"])

    host.agent.abilities = AgentAbilities(resume=True)
    host.agent.then(breaks, goes_on)
    host.dispatch(chat, "chat/turnResume", turnId=host.turn(chat))
    assert answers == [True, True, "as it was", False, False]


def test_a_question_with_no_options_offers_the_usual_three(host, chat):
    async def script(turn):
        turn.ask("rm", "Remove it")
        turn.ask("mv", "Move it", options=[])
        turn.ask("cp", "Copy it", options=[{"id": "go", "label": "Go", "kind": "approve"}])
        turn.running("ls")
        await turn.forever()

    host.agent.then(script)
    host.turn(chat)
    usual = [
        {"id": "allow-session", "label": "Allow in this Session", "kind": "approve", "group": 1},
        {"id": "allow-once", "label": "Allow Once", "kind": "approve"},
        {"id": "skip", "label": "Skip", "kind": "deny", "group": 2},
    ]
    assert call_of(host, chat, 0)["options"] == usual
    assert call_of(host, chat, 1)["options"] == usual
    assert [option["id"] for option in call_of(host, chat, 2)["options"]] == ["go"]
    assert "options" not in call_of(host, chat, 3)


def test_a_question_put_better_keeps_the_options_it_had(host, chat):
    async def script(turn):
        call = turn.ask("cp", "Copy", options=[{"id": "go", "label": "Go", "kind": "approve"}])
        turn.say("chat/toolCallReady", toolCallId=call, invocationMessage="Copy a to b")
        await turn.forever()

    host.agent.then(script)
    host.turn(chat)
    call = call_of(host, chat)
    assert call["invocationMessage"] == "Copy a to b"
    assert [option["id"] for option in call["options"]] == ["go"]


# -- results -----------------------------------------------------------------------


@pytest.mark.parametrize("approved", [True, False])
def test_a_result_the_backend_wants_confirmed(host, chat, approved):
    answers = []

    async def script(turn):
        call = turn.running("fetch")
        turn.complete(call, "a page", requiresResultConfirmation=True)
        answers.append(await turn.result_confirmed(call))

    host.agent.then(script)
    turn = host.turn(chat)
    assert call_of(host, chat)["status"] == "pending-result-confirmation"
    assert review(host, chat, turn, "turn-1:1", approved) is None
    assert [one.approved for one in answers] == [approved]
    assert answers[0].reason == (None if approved else "denied")
    assert call_of(host, chat)["status"] == ("completed" if approved else "cancelled")


def test_how_long_a_call_ran_is_on_its_completion(host, chat):
    gates = [Gate(), Gate()]

    async def script(turn):
        kind = {"toolKind": "terminal"}
        ran = turn.begin("bash", _meta=kind)
        turn.ready(ran, "Running", confirmed="not-needed")
        await gates[0].passed()
        turn.say(
            "chat/toolCallContentChanged",
            toolCallId=ran,
            content=[],
            _meta={**kind, "progressMessage": "half way"},
        )
        turn.complete(ran, "ok")
        asked = turn.ask("rm", "Remove it")
        await gates[1].passed()
        turn.complete(asked, "never ran")
        told = turn.running("ls")
        turn.complete(told, "ok", _meta={"vscode.toolCallDurationMs": 7, "own": True})

    host.agent.then(script)
    host.turn(chat)
    host.clock.advance(1.25)
    gates[0].open()
    host.clock.advance(1)
    gates[1].open()
    parts = host.turns(chat)[0]["responseParts"]
    ran, asked, told = (part["toolCall"] for part in parts)
    assert ran["_meta"] == {"toolKind": "terminal", "vscode.toolCallDurationMs": 1250}
    assert "_meta" not in asked
    assert told["_meta"] == {"vscode.toolCallDurationMs": 7, "own": True}


def test_the_time_a_question_took_is_part_of_a_calls(host, chat):
    answers = []
    host.agent.then(asks_once(answers))
    turn = host.turn(chat)
    host.clock.advance(2)
    answer(host, chat, turn, "turn-1:1")
    assert call_of(host, chat)["_meta"] == {"vscode.toolCallDurationMs": 2000}


# -- a client's calls --------------------------------------------------------------


def test_a_clients_result_unblocks_the_agent_and_is_said_as_it_was_sent(host, chat):
    results = []
    host.agent.then(hands_out(results))
    turn = host.turn(chat)
    host.forget()
    assert report(host, chat, turn, "turn-1:1") is None
    first = host.store.watcher.said[0]
    assert first["origin"]["clientId"] == "client-1"
    assert first["action"] == {
        "type": "chat/toolCallComplete",
        "turnId": turn,
        "toolCallId": "turn-1:1",
        "result": RESULT,
    }
    assert results == [RESULT]
    assert call_of(host, chat)["status"] == "completed"
    assert host.turns(chat)[0]["state"] == "complete"


def test_what_a_clients_call_prints_is_everybodys_to_see(host, chat):
    host.agent.then(hands_out([]))
    turn = host.turn(chat)
    printed = [{"type": "text", "text": "so far"}]
    changed = {"turnId": turn, "toolCallId": "turn-1:1", "content": printed}
    assert host.dispatch(chat, "chat/toolCallContentChanged", **changed) is None
    assert call_of(host, chat)["content"] == printed
    words = "Only the client that provides tool call turn-1:1 may report on it."
    assert host.dispatch(chat, "chat/toolCallContentChanged", client="two", **changed) == words
    assert report(host, chat, turn, "turn-1:1", client="two") == words
    host.stop(chat, turn)


def test_only_the_first_of_a_clients_results_counts(host, chat):
    results, gate = [], Gate()

    async def script(turn):
        call = turn.client_tool("client-1", "openFile")
        await gate.passed()
        results.append(await turn.client_result(call))

    host.agent.then(script)
    turn = host.turn(chat)
    report(host, chat, turn, "turn-1:1")
    assert report(host, chat, turn, "turn-1:1", result={**RESULT, "success": False}) is None
    gate.open()
    assert results == [RESULT]


@pytest.mark.parametrize("approved", [True, False])
def test_a_result_its_client_wants_confirmed_comes_once_it_was(host, chat, approved):
    results = []
    host.agent.then(hands_out(results))
    turn = host.turn(chat)
    report(host, chat, turn, "turn-1:1", requiresResultConfirmation=True)
    assert call_of(host, chat)["status"] == "pending-result-confirmation"
    assert results == []
    review(host, chat, turn, "turn-1:1", approved)
    if approved:
        assert results == [RESULT]
        assert call_of(host, chat)["status"] == "completed"
    else:
        assert results[0]["success"] is False
        assert results[0]["error"] == {"message": "The user denied the tool result."}
        assert call_of(host, chat)["reason"] == "result-denied"


def test_a_clients_call_that_was_not_allowed_fails_for_the_backend(host, chat):
    results = []
    host.agent.then(hands_out(results, confirmed=None))
    turn = host.turn(chat)
    answer(host, chat, turn, "turn-1:1", approved=False)
    assert [one["success"] for one in results] == [False]


def test_a_result_for_a_call_still_being_written_is_said_and_is_no_result(host, chat):
    results, gate = [], Gate()

    async def script(turn):
        call = turn.begin("openFile", contributor={"kind": "client", "clientId": "client-1"})
        await gate.passed()
        turn.ready(call, "Opening", confirmed="not-needed")
        results.append(await turn.client_result(call))

    host.agent.then(script)
    turn = host.turn(chat)
    assert report(host, chat, turn, "turn-1:1", result={**RESULT, "success": False}) is None
    gate.open()
    assert results == []
    report(host, chat, turn, "turn-1:1")
    assert results == [RESULT]


def test_a_report_on_a_call_of_an_ended_turn_is_its_clients_alone(host, chat):
    results = []
    host.agent.then(hands_out(results))
    turn = host.turn(chat)
    host.stop(chat, turn)
    before = host.state(chat)
    words = "Only the client that provides tool call turn-1:1 may report on it."
    assert report(host, chat, turn, "turn-1:1", client="two") == words
    assert report(host, chat, turn, "turn-1:1") is None
    assert report(host, chat, turn, "nobodys", client="two") is None
    assert host.state(chat) == before
    assert results == []


def test_what_the_backend_says_of_a_call_its_client_completed_changes_nothing(host, chat):
    async def script(turn):
        call = turn.client_tool("client-1", "openFile")
        await turn.client_result(call)
        turn.complete(call, "something else")

    host.agent.then(script)
    turn = host.turn(chat)
    report(host, chat, turn, "turn-1:1")
    assert call_of(host, chat)["content"] == RESULT["content"]


# -- sign-ins ----------------------------------------------------------------------


def test_a_call_that_waits_for_a_sign_in_goes_on_once_it_is_there(host, chat):
    gate = Gate()

    async def script(turn):
        call = turn.begin("query", contributor={"kind": "mcp", "customizationId": "db"})
        turn.ready(call, "Asking", confirmed="not-needed")
        auth = {"reason": "required", "resource": {"resource": "https://db.example"}}
        turn.say("chat/toolCallAuthRequired", toolCallId=call, auth=auth)
        await gate.passed()
        turn.say("chat/toolCallAuthResolved", toolCallId=call)
        turn.complete(call, "rows")

    host.agent.then(script)
    host.turn(chat)
    assert call_of(host, chat)["status"] == "auth-required"
    gate.open()
    assert call_of(host, chat)["status"] == "completed"


# -- ends --------------------------------------------------------------------------


class Kept:
    """What a script's wait raised."""

    def __init__(self):
        self.raised = []

    def script(self, wait):
        async def script(turn):
            try:
                await wait(turn)
            except BaseException as error:
                self.raised.append(type(error))
                raise

        return script


WAITS = {
    "confirmed": lambda turn: turn.confirmed(turn.ask("rm", "Remove it")),
    "client_result": lambda turn: turn.client_result(turn.client_tool("client-1", "openFile")),
    "answered": lambda turn: turn.answered(turn.question("Which?")),
}


@pytest.mark.parametrize("what", WAITS)
def test_a_stop_calls_off_what_waits(host, chat, what):
    kept = Kept()
    host.agent.ignores_stop = True
    host.agent.then(kept.script(WAITS[what]))
    turn = host.turn(chat)
    host.stop(chat, turn)
    assert kept.raised == [TurnOver]
    [ended] = host.turns(chat)
    assert ended["state"] == "cancelled"
    assert [
        part["toolCall"]["status"] for part in ended["responseParts"] if "toolCall" in part
    ] in (
        [],
        ["cancelled"],
    )
    assert host.kinds(chat).count("chat/turnCancelled") == 1
    assert "chat/error" not in host.kinds(chat)
    assert all(call.getTime() < 1 for call in host.clock.getDelayedCalls()), "no grace is left"
    host.turn(chat)
    assert [one["state"] for one in host.turns(chat)] == ["cancelled", "complete"]


@pytest.mark.parametrize("what", WAITS)
def test_a_turn_that_was_replaced_is_asked_nothing_more(host, chat, what):
    """Its questions are on nobody's screen, and the turn in its place waits for it."""
    kept = Kept()
    host.agent.then(kept.script(WAITS[what]))
    host.turn(chat)
    host.turn(chat, "never mind")
    assert kept.raised == [TurnOver]
    [ended] = host.turns(chat)
    assert (ended["message"]["text"], ended["state"]) == ("never mind", "complete")
    assert "chat/error" not in host.kinds(chat)


def test_what_is_awaited_after_the_end_is_over_at_once(host, chat):
    outputs, raised = [], []

    async def script(turn):
        outputs.append(turn)
        call = turn.ask("rm", "Remove it")
        turn.say("chat/toolCallConfirmed", toolCallId=call, approved=True, confirmed="setting")

    async def late():
        for wait in (outputs[0].confirmed("turn-1:1"), outputs[0].answered("q")):
            try:
                await wait
            except TurnOver:
                raised.append(True)

    host.agent.then(script)
    host.turn(chat)
    host.wait(late())
    assert raised == [True, True]


def test_an_agent_that_dies_leaves_no_question_behind(host, chat):
    gate = Gate()

    async def script(turn):
        turn.ask("rm", "Remove it")
        turn.question("Which?")
        await gate.passed()
        raise AgentFailure("The agent has died")

    host.agent.then(script)
    turn = host.turn(chat)
    assert len(host.state(SESSION)["inputNeeded"]) == 2
    gate.open()
    assert "inputNeeded" not in host.state(SESSION)
    assert call_of(host, chat)["status"] == "cancelled"
    before = host.state(chat)
    assert answer(host, chat, turn, "turn-1:1") is None
    assert host.state(chat) == before


def test_usage_is_said_with_whatever_rides_on_it(host, chat):
    async def script(turn):
        turn.say("chat/usage", usage={"inputTokens": 3}, _meta={"cost": 0.1})

    host.agent.then(script)
    host.turn(chat)
    assert {
        "type": "chat/usage",
        "turnId": "turn-1",
        "usage": {"inputTokens": 3},
        "_meta": {"cost": 0.1},
    } in host.said(chat)
    assert host.turns(chat)[0]["usage"] == {"inputTokens": 3}
