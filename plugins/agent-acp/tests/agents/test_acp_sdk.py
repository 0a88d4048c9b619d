"""Agents on the ACP SDK for Python: its own examples, and one that checks what it is sent."""

import pytest
import pytest_twisted

from ahpd.interfaces import ConversationPoint, ToolAnswer
from ahpd.testing.agent_contract import AgentContract, check_agent

pytestmark = pytest.mark.agents

SERVERS = {
    "api": {"type": "http", "url": "http://127.0.0.1:1/mcp", "headers": {"A": "b"}},
    "search": {"type": "stdio", "command": "search", "args": ["-x"], "env": {"K": "v"}},
}


@pytest_twisted.ensureDeferred
async def test_the_echo_example_answers(acp, sdk_program):
    talk = await acp.talk(sdk_program("echo_agent.py"))
    assert await talk.say("hello") == "hello"
    assert await talk.say("again") == "again"
    assert not talk.agent.abilities.reopens


@pytest_twisted.ensureDeferred
async def test_the_example_agent_says_back_what_it_was_sent(acp, sdk_program):
    talk = await acp.talk(sdk_program("agent.py"))
    assert await talk.say("hello") == "Client sent:hello"
    findings = await talk.agent.probe()
    assert all(finding.ok for finding in findings)
    assert any("Example Agent" in finding.words for finding in findings)


@pytest_twisted.ensureDeferred
async def test_the_backend_contract_holds_on_the_sdk(reactor, sdk_program):
    contract = AgentContract(
        reactor=reactor,
        endless="slow",
        asking=["ask"],
        config={"permissionMode": "code"},
        cuts=False,
        keeps=False,
        bound=30,
    )
    await check_agent(lambda: sdk_program("sdk_agent.py"), contract)


@pytest_twisted.ensureDeferred
async def test_a_stopped_turn_is_cancelled_and_the_program_lives_on(acp, sdk_program):
    talk = await acp.talk(sdk_program("sdk_agent.py"))
    output, running = talk.begin("slow")
    await talk.heard(output)
    pid = talk.chat.pid
    await talk.chat.stop(output.turn_id)
    await running
    assert await talk.say("hello") == "hello"
    assert talk.chat.pid == pid


@pytest_twisted.ensureDeferred
async def test_servers_and_modes_reach_it(acp, sdk_program):
    start = {"mcp_servers": SERVERS, "config": {"permissionMode": "code"}}
    talk = await acp.talk(sdk_program("sdk_agent.py"), start=start)
    assert await talk.say("sets") == "code ['api', 'search']"


@pytest_twisted.ensureDeferred
async def test_a_person_is_asked(acp, sdk_program):
    talk = await acp.talk(sdk_program("sdk_agent.py"))
    output, running = talk.begin("ask")
    await output.asked("confirmed")
    output.confirm(ToolAnswer(approved=True))
    await running
    assert output.text() == "yes"


@pytest_twisted.ensureDeferred
async def test_a_loaded_conversation_is_read_and_gone_on_with(acp, sdk_program):
    agent = sdk_program("sdk_agent.py")
    (turn,) = (await agent.read_conversation("kept-session")).turns
    assert turn["message"]["text"] == "asked"
    assert turn["responseParts"][0]["content"] == "answered"
    resume = ConversationPoint(conversation="kept-session")
    talk = await acp.talk(agent, start={"resume": resume, "history": [turn]})
    assert await talk.say("hello") == "hello"
