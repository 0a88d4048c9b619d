"""From records to agents: what fits is opened, what does not is said and left out."""

import attrs
import pytest
from twisted.internet.defer import Deferred
from twisted.logger import formatEvent, globalLogPublisher
from zope.interface import alsoProvides

from ahpd.config.errors import ConfigError
from ahpd.config.settings import Settings
from ahpd.interfaces import AgentFailure, IAgent, IConversations, IPausedAgent
from ahpd.records.opening import refuse_twins
from ahpd.records.paused import PausedAgent
from ahpd.records.ports import agents_folder, blocking, ports_for
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.planted import planted

SECRET = planted("the key of a record")


@pytest.fixture(autouse=True)
def logged():
    lines = []

    def observe(event):
        lines.append(formatEvent(event))

    globalLogPublisher.addObserver(observe)
    yield lines
    globalLogPublisher.removeObserver(observe)
    assert SECRET not in "".join(lines)


def test_each_record_is_an_agent_of_its_id_in_the_records_order(world):
    rows = ({"id": "z", "name": "Zed"}, {"id": "a", "description": "Words"}, {"engine": "demo"})
    agents, problems = world.open(*rows)
    assert problems == []
    assert list(agents) == ["z", "a", "agent-2"]
    assert agents["z"].info()["displayName"] == "Zed"
    assert (agents["a"].info()["displayName"], agents["a"].info()["description"]) == ("a", "Words")
    assert all(agent.provider == provider for provider, agent in agents.items())


def test_an_engine_is_handed_the_whole_record(world):
    row = {"model": "m-1", "config": {"level": "low"}, "description": "d", "name": "N"}
    record = world.open(row)[0]["agent-0"].record
    assert (record.model, record.config, record.description) == ("m-1", {"level": "low"}, "d")
    assert (record.id, record.engine, record.name, record.mode) == (
        "agent-0", "fake", "N", "enabled",
    )  # fmt: skip


def test_the_engines_defaults_lie_under_each_record(world):
    world.defaults = {
        "fake": {"level": "high", "env": {"A": "1", "B": "1"}, "hosts": ["x"]},
        "other": {"level": "low"},
    }
    row = {"config": {"env": {"B": "2"}, "hosts": ["y"]}}
    config = world.open(row)[0]["agent-0"].record.config
    assert config == {"level": "high", "env": {"A": "1", "B": "2"}, "hosts": ["y"]}
    assert world.defaults["fake"]["env"] == {"A": "1", "B": "1"}


def test_a_reference_takes_the_place_of_a_default_whole(world):
    world.defaults = {"fake": {"env": {"A": {"$env": "NOT_THERE"}}, "apiKey": {"$env": "NOPE"}}}
    row = {"config": {"env": {"A": {"fromEnv": "FROM_HERE"}}, "apiKey": {"$env": "FROM_HERE"}}}
    config = world.open(row)[0]["agent-0"].record.config
    assert config == {"env": {"A": "value-from-here"}, "apiKey": "value-from-here"}


@pytest.mark.parametrize(
    ("config", "words"),
    [
        ({"apiKey": {"$env": "NOPE"}}, "config.apiKey: the variable NOPE is not in the daemon's environment"),
        ({"env": {"A": {"$env": "EMPTY"}}}, "config.env.A: the variable EMPTY is empty in the daemon's environment"),
        ({"apiKey": {"$secret": "host:x"}}, 'config.apiKey: names the secret "host:x", and no vault is read here; '),
        ({"level": SECRET}, "config.level must be one of low, high"),
        ({"apiKey": [SECRET]}, "config.apiKey must be text"),
        ({"env": SECRET}, "config.env must be an object"),
        ({"env": {"A": 1}}, "config.env.A must be text"),
        ({"hosts": ["a", True]}, "config.hosts[1] must be text"),
        ({"hosts": ["a", "b", "c"]}, "config.hosts must have at most 2 items"),
        ({"colour": SECRET}, "config.colour is not a known field; known: command, level, apiKey, phrase, env, hosts, provider, does"),
        ({"does": "refuse"}, "config.command: is not where it was"),
        ({"does": "tell", "apiKey": SECRET}, "config.apiKey: <set> was refused"),
        ({"does": "tell", "apiKey": {"$env": "FROM_HERE"}}, "config.apiKey: <set> was refused"),
        ({"does": "break", "apiKey": SECRET}, 'the engine "fake" failed: with <set>'),
        ({"does": "nothing"}, 'the engine "fake" made no agent: '),
        ({"provider": "another"}, "the engine \"fake\" made an agent of provider 'another'"),
    ],
)  # fmt: skip
def test_one_that_cannot_be_opened_says_why(world, config, words):
    agents, problems = world.open({"config": config}, {"id": "fine"})
    assert list(agents) == ["fine"]
    assert len(problems) == 1
    assert problems[0].startswith(f"agents[0] (agent-0): {words}"), problems[0]
    assert "\n" not in problems[0]
    assert SECRET not in problems[0]


def test_an_engine_that_is_missing_costs_its_records_alone(world):
    agents, problems = world.open({"engine": "acp"}, {"engine": "nobody"}, {})
    assert list(agents) == ["agent-2"]
    assert problems == [
        'agents[0] (agent-0): the engine "acp" is not installed; pip install ahpd-agent-acp '
        "installs it",
        'agents[1] (agent-1): there is no engine "nobody" here; installed: demo, fake',
    ]


def test_a_broken_schema_is_the_engines_fault(world, monkeypatch):
    engine = world.engines.get("fake")
    for schema in ({"type": 5}, {"$ref": "http://127.0.0.1:1/x"}):
        monkeypatch.setattr(engine, "schema", lambda schema=schema: schema)
        words = "agents[0] (agent-0): the engine's own schema cannot be read"
        assert world.open({"config": {"a": 1}})[1] == [words]


def test_a_record_without_fields_is_held_to_those_it_needs(world, monkeypatch):
    engine = world.engines.get("fake")
    schema = {"type": "object", "properties": {"command": {"type": "string"}}}
    monkeypatch.setattr(engine, "schema", lambda: schema)
    assert world.open({})[1] == []
    schema["required"] = ["command"]
    assert world.open({})[1] == ["agents[0] (agent-0): config.command is missing"]


def test_a_disabled_one_is_not_opened_and_no_problem(world):
    agents, problems = world.open({"mode": "disabled", "engine": "acp"}, {"mode": "disabled"})
    assert (agents, problems) == ({}, [])


def test_two_of_one_id_refuse_the_start(world):
    record = world.records({})[0]
    twin = attrs.evolve(record, place="agents[1]")
    with pytest.raises(
        ConfigError, match=r"agents\[1\].id: found 'agent-0', the id of agents\[0\]"
    ):
        refuse_twins([record, twin])


def test_no_repr_of_a_record_shows_what_it_holds(world):
    world.environ["KEY"] = SECRET
    rows = ({"config": {"apiKey": SECRET}}, {"config": {"apiKey": {"$env": "KEY"}}})
    agents, problems = world.open(*rows)
    assert problems == []
    assert agents["agent-1"].record.config["apiKey"] == SECRET
    for agent in agents.values():
        assert SECRET not in repr(agent.record)
    assert SECRET not in repr(world.records(*rows))


# -- paused ---------------------------------------------------------------------------


def result_of(coroutine):
    results = []
    Deferred.fromCoroutine(coroutine).addErrback(lambda failure: failure.value).addCallback(
        results.append
    )
    return results[0]


def test_a_paused_one_is_listed_and_opens_no_chat(world):
    agent = PausedAgent(world.open({"mode": "paused", "name": "Zed"})[0]["agent-0"])
    assert IPausedAgent.providedBy(agent)
    assert agent.info()["displayName"] == "Zed"
    failure = result_of(agent.open_chat(None))
    assert isinstance(failure, AgentFailure)
    assert failure.error_type == "agentPaused"
    assert "'agent-0' is paused" in failure.message


def test_a_paused_one_provides_all_that_it_is(world):
    agent = ScriptedAgent()
    alsoProvides(agent, IConversations)
    paused = PausedAgent(agent)
    assert IConversations.providedBy(paused)
    assert IAgent.providedBy(paused)
    assert paused.abilities is agent.abilities
    assert not IPausedAgent.providedBy(agent)


# -- ports ----------------------------------------------------------------------------


def test_each_record_has_a_folder_of_its_own(world, tmp_path):
    common = world.ports(None)
    first, second = world.records({}, {})
    made = ports_for(common, agents_folder(Settings(data_directory=tmp_path)))
    assert made(first).data_directory == tmp_path / "agents" / "agent-0"
    assert made(second).data_directory == tmp_path / "agents" / "agent-1"
    assert not (tmp_path / "agents").exists()
    for settings in (Settings(), Settings(data_directory=tmp_path, sessions="memory")):
        assert ports_for(common, agents_folder(settings))(first).data_directory is None


def test_blocking_work_is_handed_its_arguments():
    async def run(work):
        return work()

    assert result_of(blocking(run)(divmod, 7, 2)) == (3, 1)
