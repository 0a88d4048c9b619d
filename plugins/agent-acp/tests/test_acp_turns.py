"""Turns on an agent that speaks ACP: one end each, whatever its program does."""

import json

import pytest
import pytest_twisted

from ahpd.interfaces import AgentFailure, ToolAnswer
from ahpd.testing.agent_contract import AgentContract, check_agent
from ahpd.testing.processes import fields_of
from ahpd_agent_acp import server as server_module
from ahpd_agent_acp.hidden import Hidden

CAN_ALL = {
    "loadSession": True,
    "sessionCapabilities": {"resume": {}, "list": {}, "fork": {}, "close": {}, "delete": {}},
}


@pytest_twisted.ensureDeferred
async def test_a_prompt_is_answered_and_the_conversation_goes_on(acp):
    talk = await acp.talk()
    assert await talk.say("hello") == "hello"
    assert await talk.say("count") == "1"
    assert len(talk.host.kept) == 1
    assert talk.outputs[0].points == ["t1"]


@pytest_twisted.ensureDeferred
async def test_the_backend_contract_holds(acp, reactor, tmp_path):
    program = {"store": str(tmp_path / "store"), "can": CAN_ALL, "modes": ["ask", "code"]}
    contract = AgentContract(
        reactor=reactor,
        endless="endless",
        asking=["permission"],
        config={"permissionMode": "code"},
        cuts=False,
        bound=20,
    )
    await check_agent(lambda: acp.agent(program), contract)


@pytest_twisted.ensureDeferred
async def test_the_handshake_says_who_asks_and_what_is_there(acp):
    told = json.loads(await (await acp.talk()).say("client"))
    assert told["protocolVersion"] == 1
    assert told["clientInfo"] == {"name": "ahpd", "title": "ahpd", "version": "1.2.3"}
    assert told["clientCapabilities"]["terminal"] is False
    assert told["clientCapabilities"]["fs"] == {"readTextFile": False, "writeTextFile": False}


@pytest.mark.parametrize(
    "act",
    [
        "garbage",
        "batch",
        "wrong-id",
        "notify no/such",
        "notify _vendor/news",
        'update {"kind": "no_such_update"}',
        "late and more",
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_is_no_message_of_its_costs_itself_alone(acp, act):
    talk = await acp.talk()
    assert await talk.say("before ", act, "after") == "before after"
    assert await talk.say("again") == "again"


@pytest_twisted.ensureDeferred
async def test_the_first_answer_counts_and_what_follows_it_is_of_no_turn(acp, pause):
    talk = await acp.talk()
    assert await talk.say("before ", "twice", "after") == "before "
    await pause(0.05)
    assert talk.outputs[0].text() == "before "
    assert await talk.say("again") == "again"


@pytest_twisted.ensureDeferred
async def test_an_unknown_method_is_refused(acp):
    refused = json.loads(await (await acp.talk()).say("unknown"))
    assert refused["code"] == -32601


@pytest_twisted.ensureDeferred
async def test_a_request_the_agent_takes_back_is_answered_as_cancelled(acp):
    answer = json.loads(await (await acp.talk()).say("taken-back"))
    assert answer.get("code") == -32800 or answer["outcome"]["outcome"] == "cancelled"


@pytest_twisted.ensureDeferred
async def test_an_id_that_is_still_on_the_way_is_refused(acp):
    talk = await acp.talk()
    output, running = talk.begin("same-id")
    await running
    assert "-32600" in output.text()


# -- lines ---------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_large_line_passes(acp):
    talk = await acp.talk()
    assert len(await talk.say("huge 20000000")) == 20_000_000


@pytest_twisted.ensureDeferred
async def test_a_line_over_the_cap_fails_alone(acp, monkeypatch):
    monkeypatch.setattr(server_module, "MAX_LINE", 100_000)
    talk = await acp.talk()
    assert await talk.say("one", "over 200000", "two") == "onetwo"
    assert await talk.say("three") == "three"


@pytest.mark.parametrize("act", ["over-answer", "over-nameless"])
@pytest_twisted.ensureDeferred
async def test_an_answer_over_the_cap_fails_its_request_and_no_other(acp, monkeypatch, act):
    monkeypatch.setattr(server_module, "MAX_LINE", 100_000)
    talk = await acp.talk()
    await talk.say("one")
    failed = await talk.fails(f"{act} 200000")
    assert "100000 bytes" in failed.message
    assert await talk.say("three") == "three"


@pytest_twisted.ensureDeferred
async def test_a_flood_comes_whole_and_in_order(acp):
    said = await (await acp.talk()).say("flood 20000")
    assert said == "".join(f"{n} " for n in range(20_000))


# -- stopping --------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_stop_is_said_to_the_agent_and_its_program_lives_on(acp):
    talk = await acp.talk()
    pid = await talk.say("pid")
    output, running = talk.begin("endless")
    await talk.heard(output)
    await talk.chat.stop(output.turn_id)
    await running
    assert await talk.say("pid") == pid


@pytest.mark.parametrize("act", ["ignore-cancel", "hang"])
@pytest_twisted.ensureDeferred
async def test_an_agent_that_does_not_stop_is_killed_and_comes_back(
    acp, act, monkeypatch, tmp_path
):
    monkeypatch.setattr("ahpd_agent_acp.chat.STOP_GRACE", 0.2)
    talk = await acp.talk(store=str(tmp_path / "store"))
    pid = await talk.say("pid")
    output, running = talk.begin("begun", act)
    await talk.heard(output, "begun")
    await talk.chat.stop(output.turn_id)
    await running
    assert await talk.say("pid") != pid
    assert await talk.say("count") == "2"
    assert len(talk.host.kept) == 1, "it goes on with the conversation it had"


@pytest.mark.parametrize("method", ["initialize", "session/new"])
@pytest_twisted.ensureDeferred
async def test_a_stop_ends_a_turn_that_is_being_prepared(acp, pause, method):
    talk = await acp.talk(at={method: "hang"})
    output, running = talk.begin("hello")
    await pause(0.1)
    assert not running.called
    await talk.chat.stop(output.turn_id)
    await running


@pytest_twisted.ensureDeferred
async def test_a_stop_answers_the_question_that_stands_as_cancelled(acp):
    talk = await acp.talk()
    output, running = talk.begin("permission-late", "after")
    await output.asked("confirmed")
    await talk.chat.stop(output.turn_id)
    await running
    assert await talk.say("again") == "again"


@pytest_twisted.ensureDeferred
async def test_a_person_decides(acp):
    talk = await acp.talk()
    for approved, option in ((True, "yes"), (False, "no")):
        output, running = talk.begin("permission")
        await output.asked("confirmed")
        output.confirm(ToolAnswer(approved=approved, reason=None if approved else "denied"))
        await running
        assert f'"optionId": "{option}"' in output.text()


# -- how turns end ---------------------------------------------------------------------------


@pytest.mark.parametrize("reason", ["max_tokens", "max_turn_requests", "refusal"])
@pytest_twisted.ensureDeferred
async def test_a_turn_the_agent_cuts_fails_by_its_reason_or_completes(acp, reason):
    failed = await (await acp.talk()).fails("some", f"stop {reason}")
    assert failed.error_type == reason
    talk = await acp.talk({"cutTurns": "complete"})
    assert await talk.say("some", f"stop {reason}") == "some"


@pytest_twisted.ensureDeferred
async def test_a_reason_nobody_knows_completes_the_turn(acp):
    assert await (await acp.talk()).say("some", "stop at_last") == "some"


@pytest_twisted.ensureDeferred
async def test_what_a_turn_used_is_said(acp):
    talk = await acp.talk()
    usage = {"inputTokens": 3, "outputTokens": 4, "totalTokens": 7}
    await talk.say(f"usage {json.dumps(usage)}", "x")
    said = [each for each in talk.outputs[0].actions if each["type"] == "chat/usage"]
    assert said[-1]["usage"]["inputTokens"] == 3


@pytest_twisted.ensureDeferred
async def test_an_error_of_the_agent_ends_the_turn_in_its_words(acp):
    talk = await acp.talk()
    failed = await talk.fails("error -32603 the model is away")
    assert "the model is away" in failed.message
    assert failed.error_type == "sendFailed"
    assert await talk.say("again") == "again"


# -- the program's end -----------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_program_that_dies_fails_its_turn_and_the_next_reopens(acp, tmp_path):
    talk = await acp.talk(store=str(tmp_path / "store"))
    await talk.say("one")
    failed = await talk.fails("exit 7 it broke")
    assert "Scripted exited with code 7" in failed.message
    assert failed.message.endswith("it broke")
    assert failed.error_type == "sendFailed"
    assert await talk.say("count") == "1"
    assert len(talk.host.kept) == 1


@pytest_twisted.ensureDeferred
async def test_the_tail_of_its_errors_is_bounded_or_left_to_the_log(acp, logged):
    talk = await acp.talk({"stderrBytes": 10})
    failed = await talk.fails("exit 1 " + "x" * 50)
    assert failed.message.endswith("\n" + "x" * 9)
    talk = await acp.talk({"stderrTail": "log"})
    failed = await talk.fails("exit 1 for the log")
    assert failed.message == "Scripted exited with code 1"
    assert any("for the log" in line for line in logged)


@pytest_twisted.ensureDeferred
async def test_a_key_of_the_record_is_kept_out_of_what_is_shown(acp):
    talk = await acp.talk({"env": {"KEY": "sk-123456789"}})
    failed = await talk.fails("exit 1 bad key sk-123456789")
    assert "sk-123" not in failed.message


@pytest_twisted.ensureDeferred
async def test_what_a_program_was_given_is_kept_out_of_what_it_says(acp):
    servers = {
        "search": {"type": "http", "url": "https://x", "headers": {"A": "Bearer search-secret"}},
        "local": {"command": "x", "env": {"K": "local-secret"}},
    }
    talk = await acp.talk(start={"mcp_servers": servers})
    failed = await talk.fails("exit 1 I was given search-secret and local-secret")
    assert "search-secret" not in failed.message
    assert "local-secret" not in failed.message
    talk = await acp.talk(start={"mcp_servers": servers})
    failed = await talk.fails("error -32603 not with local-secret")
    assert "local-secret" not in failed.message
    assert "***" in failed.message


def test_an_inherited_credential_is_hidden_and_a_path_is_not():
    hidden = Hidden({"A": "of-the-record"}, {"PATH": "/usr/bin", "SOME_API_KEY": "inherited-key"})
    words = hidden.left_out("of-the-record in /usr/bin with inherited-key")
    assert words == "*** in /usr/bin with ***"


@pytest_twisted.ensureDeferred
async def test_a_closed_pipe_waits_for_the_code_as_long_as_the_record_says(acp):
    talk = await acp.talk({"exitGraceMs": 50})
    failed = await talk.fails("close-stdout")
    assert "closed its output and went on running" in failed.message


@pytest.mark.parametrize("method", ["initialize", "session/new"])
@pytest_twisted.ensureDeferred
async def test_a_program_that_dies_at_the_start_fails_the_turn(acp, method):
    talk = await acp.talk(at={method: "exit 3"})
    for _ in range(2):
        assert "exited with code 3" in (await talk.fails("hello")).message


@pytest_twisted.ensureDeferred
async def test_a_handshake_that_is_not_answered_fails_the_turn(acp, monkeypatch):
    monkeypatch.setattr(server_module, "HANDSHAKE", 0.2)
    talk = await acp.talk(at={"initialize": "hang"})
    assert "did not answer initialize within" in (await talk.fails("hello")).message


@pytest_twisted.ensureDeferred
async def test_another_version_is_refused_in_words(acp):
    failed = await (await acp.talk(version=2)).fails("hello")
    assert "speaks version 2" in failed.message


@pytest_twisted.ensureDeferred
async def test_a_program_that_is_not_there_is_named_with_what_installs_it(acp):
    talk = await acp.talk({"command": "no-such-agent", "install": ["npm i no-such-agent"]})
    failed = await talk.fails("hello")
    assert "no-such-agent" in failed.message
    assert failed.message.endswith("npm i no-such-agent")
    assert failed.error_type == "sendFailed"


@pytest_twisted.ensureDeferred
async def test_a_folder_that_is_not_there_fails_the_turn(acp):
    talk = await acp.talk(start={"working_directories": ("file:///no/such/folder",)})
    assert "no such directory" in (await talk.fails("hello")).message


@pytest_twisted.ensureDeferred
async def test_closing_says_so_to_the_agent_and_takes_all_it_started(acp, tmp_path, supervisor):
    store = tmp_path / "store"
    talk = await acp.talk(store=str(store), deaf=True)
    left = int(await talk.say("child"))
    assert fields_of(left)
    await talk.chat.close()
    assert not fields_of(left)
    assert list(store.glob("*.closed"))
    assert supervisor.children == ()
    with pytest.raises(AgentFailure):
        await talk.say("late")
