"""Real coding agents over ACP at work: what a client is told, asked and shown of each.

Every test runs with each of `CODING_AGENTS`, installed as its vendor publishes it, against a
model on this machine. At the end of each test every frame was held to the protocol, what each
client was told makes what a late subscriber reads, and the agents' programs are gone.
"""

import base64
import json

import pytest
import pytest_twisted

from ahpd.protocol.uris import ROOT

from .fake_model import GREETING
from .talking import PATIENCE, agent_in, calls_of, text_of

pytestmark = pytest.mark.agents

GREETED = "".join(GREETING)


def denies(*rules):
    return {"type": "session/configChanged", "config": {"permissions": {"deny": list(rules)}}}


def mode(name):
    return {"type": "session/configChanged", "config": {"permissionMode": name}}


@pytest_twisted.ensureDeferred
async def test_it_answers_and_says_what_it_can_be_set_to(talk, serving, figures):
    name = serving.agent.id
    ann = await talk()
    assert agent_in(ann.probe, name)["displayName"] == name.title()
    with figures.taking(name, "start and first answer"):
        turn = await ann.say("Good morning")
    assert text_of(turn) == GREETED
    assert turn["state"] == "complete"
    with figures.taking(name, "next answer"):
        assert text_of(await ann.say("And again")) == GREETED
    await ann.probe.wait_for(
        lambda: (
            {each["id"] for each in agent_in(ann.probe, name)["models"]}
            >= set(serving.agent.models)
        ),
        PATIENCE,
        "its models",
    )
    form = await ann.probe.request("resolveSessionConfig", channel=ROOT, provider=name)
    assert set(serving.agent.modes) <= set(form["schema"]["properties"]["permissionMode"]["enum"])
    await ann.probe.wait_for(lambda: commands_of(ann), PATIENCE, "its commands")
    assert "init" in commands_of(ann)


def commands_of(ann):
    offered = ann.probe.plain_state(ann.session).get("customizations") or []
    return [child["name"] for each in offered for child in each["children"]]


@pytest_twisted.ensureDeferred
async def test_a_message_runs_on_the_model_it_names_and_with_what_came_with_it(
    talk, serving, model
):
    ann = await talk()
    note = {
        "type": "embeddedResource",
        "label": "note.txt",
        "contentType": "text/plain",
        "data": base64.b64encode(b"the tide is at noon").decode(),
    }
    turn = await ann.say(
        "What is in it", model={"id": serving.agent.models[-1]}, attachments=[note]
    )
    assert text_of(turn) == GREETED
    asked = next(each for each in reversed(model.asked) if "What is in it" in each.text)
    assert serving.agent.model_asked in (asked.path + json.dumps(asked.body.get("model")))
    assert "the tide is at noon" in asked.text


@pytest_twisted.ensureDeferred
async def test_it_writes_a_file_when_a_person_allows_it_and_does_not_when_they_refuse(
    talk, serving, served
):
    ann = await talk()
    allowed, refused, ruled = (served.work / name for name in ("allowed", "refused", "ruled"))
    turn, question = await ann.decide(serving.agent.writing(allowed, "yes"), True)
    assert allowed.read_text().strip() == "yes"
    (call,) = calls_of(turn)
    assert call["status"] == "completed"
    assert call["confirmed"] == "user-action"
    assert "yes" in question["toolInput"]
    edits = [each for each in call["content"] if each["type"] == "fileEdit"]
    assert [edit["after"]["uri"] for edit in edits] == [allowed.as_uri()]
    assert text_of(turn).startswith("The tool said: ")

    turn, _ = await ann.decide(serving.agent.writing(refused, "no"), False)
    (call,) = calls_of(turn)
    assert (call["status"], call["reason"]) == ("cancelled", "denied")
    assert turn["state"] == "complete"

    asked = ann.questions()
    await ann.probe.perform(ann.session, denies("Edit"))
    turn = await ann.say(serving.agent.writing(ruled, "no"))
    (call,) = calls_of(turn)
    assert call.get("success") is not True
    assert ann.questions() == asked
    assert not refused.exists()
    assert not ruled.exists()
    assert text_of(await ann.say("Still there?")) == GREETED


@pytest_twisted.ensureDeferred
async def test_a_shell_line_is_asked_about_as_one_and_judged_by_the_rules(talk, serving, served):
    ann = await talk()
    made = served.work / "made by a shell"
    line = f"echo salt > '{made}'"
    turn, question = await ann.decide(serving.agent.running(line), True)
    assert question["_meta"]["toolKind"] == "terminal"
    assert made.read_text() == "salt\n"
    (call,) = calls_of(turn)
    assert call["status"] == "completed"
    made.unlink()
    if not serving.agent.shows_lines:
        assert "toolInput" not in question
        return
    assert question["toolInput"] == line
    asked = ann.questions()
    await ann.probe.perform(ann.session, denies("Shell(echo *)"))
    await ann.say(serving.agent.running(line))
    assert ann.questions() == asked
    assert not made.exists()


@pytest_twisted.ensureDeferred
async def test_its_modes_count_from_the_first_turn_and_when_they_change(talk, serving, served):
    first = await talk()
    await first.say("What modes are there")
    ann = await talk(config={"permissionMode": "plan"})
    planned, built = served.work / "planned", served.work / "built"
    await ann.allow_all(serving.agent.writing(planned, "no"))
    assert not planned.exists()
    await ann.probe.perform(ann.session, mode(serving.agent.modes[0]))
    await ann.allow_all(serving.agent.writing(built, "yes"))
    assert built.read_text().strip() == "yes"


@pytest_twisted.ensureDeferred
async def test_a_stopped_turn_ends_once_and_its_program_goes_on(talk, serving, model, figures):
    ann = await talk()
    await ann.say("Good morning")
    programs = agents_of(ann.daemon)
    left = model.left
    turn_id = await ann.begin("SLOW 300")
    await ann.probe.wait_for(lambda: "word3" in ann.answered(), PATIENCE, "some words")
    await ann.stop(turn_id)
    with figures.taking(serving.agent.id, "let go of a stopped answer"):
        turn = await ann.finished(turn_id)
        await ann.daemon.until(lambda: model.left > left, "the end of its request", PATIENCE)
    assert turn["state"] == "cancelled"
    assert ann.ends(turn_id) == ["chat/turnCancelled"]
    assert text_of(await ann.say("Go on")) == GREETED
    assert programs & agents_of(ann.daemon), "it goes on in the program it had"
    assert ann.ends(turn_id) == ["chat/turnCancelled"]


def agents_of(daemon):
    """The processes of a daemon that speak ACP, and not what they start for a moment."""
    return {pid for pid in daemon.children() if b"acp" in daemon.command_line(pid)}


@pytest_twisted.ensureDeferred
async def test_a_turn_is_stopped_while_a_person_is_asked(talk, serving, served):
    ann = await talk()
    path = served.work / "never"
    turn_id = await ann.begin(serving.agent.writing(path, "no"))
    await ann.asked()
    await ann.stop(turn_id)
    turn = await ann.finished(turn_id)
    assert turn["state"] == "cancelled"
    assert [call["status"] for call in calls_of(turn)] == ["cancelled"]
    await ann.probe.wait_for(
        lambda: not ann.probe.state(ann.session).get("inputNeeded"), PATIENCE, "no question"
    )
    assert text_of(await ann.say("Go on")) == GREETED
    assert not path.exists()


@pytest_twisted.ensureDeferred
async def test_its_model_calls_the_hosts_own_tools(talk, serving):
    ann = await talk()
    if serving.agent.reveals:
        await ann.allow_all(serving.agent.revealing("list_sessions"))
    turn = await ann.allow_all("CALL list_sessions {}")
    (call,) = calls_of(turn)
    assert call["toolName"] == "mcp__host__list_sessions"
    assert (call["status"], call["success"]) == ("completed", True)
    assert ann.session in text_of(turn)


@pytest_twisted.ensureDeferred
async def test_its_model_calls_a_tool_that_a_client_brought_and_runs(talk, serving):
    tools = [
        {
            "name": "openFile",
            "description": "Opens a file in the editor",
            "inputSchema": {"type": "object", "properties": {"path": {"type": "string"}}},
        }
    ]
    ann = await talk(activeClient={"clientId": "ann-0", "tools": tools})
    if serving.agent.reveals:
        await ann.allow_all(serving.agent.revealing("ann-0__openFile"))
    turn_id = await ann.begin('CALL openFile {"path": "a.txt"}')
    call = await ann.allowed_until(turn_id, running_call)
    assert call["toolName"] == "openFile"
    assert call["contributor"] == {"kind": "client", "clientId": "ann-0"}
    assert json.loads(call["toolInput"]) == {"path": "a.txt"}
    opened = {
        "type": "chat/toolCallComplete",
        "turnId": turn_id,
        "toolCallId": call["toolCallId"],
        "result": {
            "success": True,
            "pastTenseMessage": "Opened a.txt",
            "content": [{"type": "text", "text": "it is open, says Ann"}],
        },
    }
    await ann.probe.perform(ann.chat, opened)
    turn = await ann.finished(turn_id)
    *others, call = calls_of(turn)
    assert call["pastTenseMessage"] == "Opened a.txt"
    assert len(others) == (not serving.agent.names_servers_tools)
    assert "it is open, says Ann" in text_of(turn)


def running_call(turn):
    """A call that a client has to run now."""
    calls = (call for call in calls_of(turn) if "contributor" in call)
    return next((call for call in calls if call["status"] == "running"), None)
