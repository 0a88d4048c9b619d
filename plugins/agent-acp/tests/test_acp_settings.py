"""What a session of an agent is set to: modes, models and options, and when it is told."""

import json

import pytest
import pytest_twisted

from ahpd.interfaces import AgentFailure
from ahpd.testing.agent_contract import check_description
from ahpd_agent_acp.modes import Heard, config_schema, heard_in, model_infos, preset
from ahpd_agent_acp.rows import Mode

SELECT = {
    "id": "effort",
    "name": "Effort",
    "type": "select",
    "category": "thought_level",
    "currentValue": "low",
    "options": [
        {"value": "low", "name": "Low"},
        {"group": "g", "name": "Group", "options": [{"value": "high", "name": "High"}]},
    ],
}
MODEL = {
    "id": "model",
    "name": "Model",
    "type": "select",
    "category": "model",
    "currentValue": "m1",
    "options": [{"value": "m1", "name": "One"}, {"value": "m2", "name": "Two"}],
}
BRAVE = {"id": "permissions", "name": "Brave", "type": "boolean", "currentValue": False}


@pytest_twisted.ensureDeferred
async def test_what_was_heard_is_offered_to_the_next_session(acp):
    agent = acp.agent({"modes": ["ask", "code"], "options": [MODEL, SELECT, BRAVE]})
    assert agent.config_schema(None, {})["properties"] == {}
    await (await acp.talk(agent)).say("hello")
    shown = agent.config_schema(None, {})["properties"]
    assert shown["permissionMode"]["enum"] == ["ask", "code"]
    assert shown["permissionMode"]["default"] == "ask"
    assert shown["effort"]["enum"] == ["low", "high"]
    assert shown["option-permissions"]["type"] == "boolean"
    assert [model["id"] for model in agent.info()["models"]] == ["m1", "m2"]
    check_description(agent)


@pytest_twisted.ensureDeferred
async def test_a_session_is_set_to_its_values_and_told_of_a_change_once(acp):
    agent = acp.agent({"modes": ["ask", "code"], "options": [MODEL, SELECT, BRAVE]})
    values = {"permissionMode": "code", "effort": "high", "option-permissions": True}
    talk = await acp.talk(agent, start={"config": values})
    told = {"model": "m1", "effort": "high", "permissions": True}
    assert json.loads(await talk.say("told set")) == told
    assert await talk.say("told mode") == '"code"'
    await talk.say("mode ask")
    assert await talk.say("told mode") == '"ask"', "what the agent moved stays"
    talk.chat.configure({**values, "effort": "low"})
    assert json.loads(await talk.say("told set"))["effort"] == "low"
    assert await talk.say("told mode") == '"ask"'
    talk.chat.configure({**values, "permissionMode": "ask"})
    talk.chat.configure(values)
    assert await talk.say("told mode") == '"ask"'


@pytest_twisted.ensureDeferred
async def test_a_value_is_taken_while_a_turn_runs(acp, pause):
    talk = await acp.talk(options=[SELECT])
    output, running = talk.begin("endless")
    await talk.heard(output)
    talk.chat.configure({"effort": "high"})
    await pause(0.1)
    assert not running.called
    await talk.chat.stop(output.turn_id)
    await running
    assert json.loads(await talk.say("told set")) == {"effort": "high"}


@pytest_twisted.ensureDeferred
async def test_a_value_the_agent_does_not_take_is_refused_by_its_name(acp):
    talk = await acp.talk(options=[SELECT], start={"config": {"effort": "none"}})
    assert json.loads(await talk.say("told set")) == {"effort": "low"}
    with pytest.raises(AgentFailure, match="effort is one of low, high, not 'most'"):
        talk.chat.configure({"effort": "most"})


@pytest_twisted.ensureDeferred
async def test_the_model_is_the_turns_the_records_or_the_agents(acp):
    agent = acp.agent({"options": [MODEL]}, model="m2")
    assert [model["id"] for model in agent.info()["models"]] == ["m2"]
    talk = await acp.talk(agent)
    assert json.loads(await talk.say("told set")) == {"model": "m2"}
    assert json.loads(await talk.say("told set", model={"id": "m1"})) == {"model": "m1"}
    assert json.loads(await talk.say("told set")) == {"model": "m2"}
    failed = await talk.fails("x", model={"id": "m9"})
    assert (failed.error_type, "m1, m2" in failed.message) == ("modelSelectionFailed", True)


@pytest_twisted.ensureDeferred
async def test_preset_modes_stay_as_the_row_has_them(acp):
    agent = acp.agent({"modes": ["ask", "code"], "options": [SELECT]}, modes="preset")
    await (await acp.talk(agent)).say("hello")
    assert list(agent.config_schema(None, {})["properties"]) == ["effort"]


@pytest_twisted.ensureDeferred
async def test_commands_are_customizations(acp):
    talk = await acp.talk()
    await talk.say("hello")
    ((plugin,),) = talk.host.loaded
    (command,) = plugin["children"]
    assert (command["type"], command["name"]) == ("prompt", "review")
    assert command["_meta"] == {"vscode.skill.argumentHint": "what"}


def test_an_option_wins_over_a_mode_and_a_model_said_the_old_way():
    modes = {"currentModeId": "a", "availableModes": [{"id": "a", "name": "A"}]}
    models = {"currentModelId": "x", "availableModels": [{"modelId": "x", "name": "X"}]}
    old = heard_in({"modes": modes, "models": models})
    assert (old.mode.how, old.model.how) == ("mode", "model")
    mode = {**SELECT, "id": "m", "category": "mode"}
    new = heard_in({"modes": modes, "models": models, "configOptions": [mode, MODEL]})
    assert (new.mode.how, new.mode.id, new.model.how) == ("option", "m", "option")
    assert heard_in({"modes": modes}, new) == new


@pytest.mark.parametrize(
    "said",
    [None, [], {"modes": 5}, {"modes": {"availableModes": [5, {}]}}, {"configOptions": [5, {}]},
     {"configOptions": [{"id": "x", "type": "slider", "currentValue": 5}]},
     {"configOptions": [{"id": "x", "type": "select", "currentValue": 5, "options": "no"}]}],
)  # fmt: skip
def test_what_cannot_be_read_says_nothing(said):
    assert heard_in(said) == Heard()


def test_a_value_that_is_not_offered_is_no_default():
    heard = heard_in({"configOptions": [{**SELECT, "currentValue": "gone"}]})
    assert "default" not in config_schema(heard)["properties"]["effort"]
    assert model_infos(heard, "p", None) == []


def test_a_rows_modes_are_listed_before_anything_is_heard():
    schema = config_schema(preset([Mode(id="ask", name="Ask"), Mode(id="go", name="Go")]))
    assert schema["properties"]["permissionMode"]["enumLabels"] == ["Ask", "Go"]
