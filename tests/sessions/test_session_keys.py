"""Settings plugins add to every session (PLUGINS.txt, "A contributed setting can be a question")."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.commands.completions import config_commands
from ahpd.completions.config import LONGEST_SEED
from ahpd.completions.contributed import LONGEST_ANSWER
from ahpd.interfaces import Owned, SessionConfigKey
from ahpd.protocol.errors import RpcError
from ahpd.testing.agents import CompletingAgent, ScriptedAgent

S1 = "ahp-session:/s1"
TEXT = {"type": "string", "title": "Computer"}


def key(name="computer", schema=TEXT, completer=None, plugin="machines"):
    return {name: Owned(plugin, SessionConfigKey(key=name, schema=schema, completer=completer))}


def machines(ask):
    rows = [
        {"value": "computer://box", "label": "box", "description": "debian"},
        {"value": "computer://den", "label": "den", "icon": "x"},
    ]
    return [row for row in rows if ask.query in row["label"]]


@pytest.fixture
def host(sessions_host):
    host = sessions_host()
    host.agent.schema = {
        "type": "object",
        "properties": {"mode": {"type": "string", "title": "Mode", "default": "ask"}},
    }
    return host


class Form:
    """What a client asks while somebody fills in a form."""

    def __init__(self, host, caller):
        self.clock = host.clock
        commands = config_commands(host.service, host.agents, host.clock)
        self._caller, self._commands = caller(), commands

    def ask(self, method, **params):
        answers = []
        params = {"channel": "ahp-root://", **params}
        asking = Deferred.fromCoroutine(self._commands[method](self._caller, params))
        asking.addBoth(answers.append)
        return answers

    def values(self, **params):
        [answer] = self.ask("sessionConfigCompletions", **params)
        return answer["items"]

    def properties(self, **params):
        [answer] = self.ask("resolveSessionConfig", **params)
        return answer["schema"]["properties"]


@pytest.fixture
def form(host, caller):
    return Form(host, caller)


def declared(host):
    return host.state(S1)["config"]["schema"]["properties"]


def test_a_key_is_merged_into_the_agents_own_schema(host, form):
    host.service.keys.contributed(key())
    properties = form.properties()
    assert properties["computer"] == TEXT
    assert list(properties)[:2] == ["mode", "computer"]


def test_what_was_chosen_is_the_sessions_and_reaches_its_agent_and_is_kept(host):
    host.service.keys.contributed(key())
    host.session(config={"computer": "computer://box"})
    assert host.state(S1)["config"]["values"]["computer"] == "computer://box"
    host.turn(host.chat())
    assert host.agent.chats[0].start.config["computer"] == "computer://box"
    host.restart()
    assert host.state(S1)["config"]["values"]["computer"] == "computer://box"


def test_a_default_is_filled_in_and_a_value_that_does_not_fit_is_refused(host):
    host.service.keys.contributed(key("cores", {"type": "number", "title": "C", "default": 2}))
    host.session()
    assert host.state(S1)["config"]["values"]["cores"] == 2
    with pytest.raises(RpcError, match=r"config\.cores: found 'two', expected a value of type"):
        host.session("ahp-session:/s2", config={"cores": "two"})


def test_a_key_the_agent_declares_itself_is_left_alone(host, form):
    schema = {"type": "string", "title": "Other", "default": "x"}
    host.service.keys.contributed(key("mode", schema, machines))
    host.session()
    assert declared(host)["mode"]["title"] == "Mode"
    assert "enumDynamic" not in form.properties()["mode"]
    assert form.values(property="mode") == []


def test_a_key_of_this_host_is_left_alone(host, form, log_lines):
    host.service.keys.contributed({**key("permissions"), **key()})
    assert form.properties()["permissions"]["type"] == "object"
    assert "computer" in form.properties()
    assert any("permissions is left out: this host declares it" in line for line in log_lines())


def test_a_key_with_a_schema_that_is_none_costs_itself(host, form, log_lines):
    host.service.keys.contributed({**key("bad", {"type": "mood"}), **key()})
    assert "bad" not in form.properties()
    assert "computer" in form.properties()
    assert any("the plugin machines: the session setting bad is left out" in x for x in log_lines())


def test_only_whoever_answers_makes_a_key_dynamic(host, form):
    claimed = {**TEXT, "enumDynamic": True}
    host.service.keys.contributed({**key("claims", claimed), **key("asks", TEXT, machines)})
    properties = form.properties()
    assert "enumDynamic" not in properties["claims"]
    assert properties["asks"]["enumDynamic"] is True


def test_a_picker_is_answered_by_the_plugin_with_what_was_asked(host, form):
    asked = []

    async def answer(ask):
        asked.append(ask)
        return machines(ask)

    host.service.keys.contributed(key(completer=answer))
    items = form.values(
        property="computer",
        query="bo",
        provider="scripted",
        workingDirectory="file:///w",
        config={"mode": "act"},
    )
    assert items == [{"value": "computer://box", "label": "box", "description": "debian"}]
    [ask] = asked
    assert (ask.query, ask.provider, ask.working_directory) == ("bo", "scripted", "file:///w")
    assert ask.config == {"mode": "act"}


def test_what_a_row_has_beside_its_fields_is_not_sent(host, form):
    host.service.keys.contributed(key(completer=machines))
    items = form.values(property="computer", query="den")
    assert items == [{"value": "computer://den", "label": "den"}]


@pytest.mark.parametrize(
    "answer",
    [None, 3, [{"label": "no value"}], ["box"], [{"value": "a", "label": "half \ud800"}]],
)
def test_an_answer_that_is_no_list_of_rows_is_an_empty_picker(host, form, log_lines, answer):
    host.service.keys.contributed(key(completer=lambda ask: answer))
    assert form.values(property="computer") == []
    assert any("the plugin machines has no values for computer" in line for line in log_lines())


def test_an_answerer_that_raises_is_an_empty_picker(host, form, log_lines):
    def fails(ask):
        raise OSError("no machines")

    host.service.keys.contributed(key(completer=fails))
    assert form.values(property="computer") == []
    assert any("OSError: no machines" in line for line in log_lines())


def test_an_answerer_that_never_answers_is_an_empty_picker_in_the_end(host, form):
    async def hangs(ask):
        await Deferred()

    host.service.keys.contributed(key(completer=hangs))
    answers = form.ask("sessionConfigCompletions", property="computer")
    host.clock.advance(LONGEST_ANSWER - 1)
    assert answers == []
    host.clock.advance(1)
    assert answers == [{"items": []}]


def test_the_form_has_the_first_values_before_anybody_opens_the_picker(host, form):
    asked = []

    def answer(ask):
        asked.append(ask.query)
        return machines(ask)

    host.service.keys.contributed(key(completer=answer))
    seeded = form.properties()["computer"]
    assert seeded == {
        **TEXT,
        "enumDynamic": True,
        "enum": ["computer://box", "computer://den"],
        "enumLabels": ["box", "den"],
        "enumDescriptions": ["debian", ""],
    }
    assert asked == [""]


def test_a_key_with_values_of_its_own_has_seeded_itself(host, form):
    schema = {**TEXT, "enum": ["a"], "enumLabels": ["A"]}
    host.service.keys.contributed(key(schema=schema, completer=machines))
    assert form.properties()["computer"] == {**schema, "enumDynamic": True}


def test_a_seed_that_fails_or_hangs_costs_that_one_key(host, form):
    def fails(ask):
        raise OSError("no machines")

    async def hangs(ask):
        await Deferred()

    host.service.keys.contributed(
        {**key("bad", TEXT, fails), **key("slow", TEXT, hangs), **key(completer=machines)}
    )
    answers = form.ask("resolveSessionConfig")
    assert answers == []
    host.clock.advance(LONGEST_SEED)
    properties = answers[0]["schema"]["properties"]
    assert "enum" not in properties["bad"]
    assert "enum" not in properties["slow"]
    assert properties["computer"]["enum"] == ["computer://box", "computer://den"]


def test_an_agents_own_pickers_are_asked_beside_the_plugins(sessions_host, caller):
    agent = CompletingAgent()
    host = sessions_host(agents={"scripted": agent})
    before = Form(host, caller).properties()
    host.service.keys.contributed(key(completer=machines))
    after = Form(host, caller).properties()
    assert {name: after[name] for name in before} == before
    assert after["computer"]["enum"] == ["computer://box", "computer://den"]


def test_keys_come_and_go_and_a_session_keeps_what_it_holds(host, form):
    host.service.keys.contributed(key(schema={**TEXT, "sessionMutable": True}))
    host.session(config={"computer": "computer://box"})
    host.turn(host.chat())
    host.service.keys.contributed({})
    assert "computer" not in form.properties()
    host.session("ahp-session:/s2")
    assert "computer" not in host.state("ahp-session:/s2")["config"]["values"]
    with pytest.raises(RpcError, match=r"config\.computer: is no key of agent scripted"):
        host.session("ahp-session:/s3", config={"computer": "x"})
    assert host.state(S1)["config"]["values"]["computer"] == "computer://box"
    refused = host.dispatch(S1, "session/configChanged", config={"computer": "computer://den"})
    assert refused is None
    assert host.state(S1)["config"]["values"]["computer"] == "computer://den"


def test_a_key_of_another_plugin_takes_the_place_of_the_one_before(host, form):
    host.service.keys.contributed(key())
    host.service.keys.contributed(key(schema={**TEXT, "title": "Box"}, plugin="boxes"))
    assert form.properties()["computer"]["title"] == "Box"


def test_a_conversation_a_backend_lists_is_held_with_the_keys_there_are(sessions_host):
    host = sessions_host(agents={"scripted": ScriptedAgent()})
    host.service.keys.contributed(key(schema={**TEXT, "default": "computer://box"}))
    host.session()
    assert host.state(S1)["config"]["values"] == {"computer": "computer://box"}
