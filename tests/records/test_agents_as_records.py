"""Agents as records: what a put writes, what it keeps, what it refuses, and what rows show."""

from functools import partial

import attrs
import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock

from ahpd.interfaces import (
    Finding,
    InvalidRecord,
    IPausedAgent,
    Owned,
    RecordFailure,
    RecordsFailure,
)
from ahpd.protocol.errors import ALREADY_EXISTS, INVALID_PARAMS, NOT_FOUND, RpcError
from ahpd.record_store import FileRecordStore
from ahpd.testing.planted import planted
from ahpd.threads import in_thread

from .record_desk import VIEW, Desk, EditedAgent, MadeEngine, caller, view

KEY = planted("the key of an agent")


@pytest.fixture
def desk():
    return Desk()


def refused(desk, verb="put", who=None, **params):
    ask = desk.put if verb == "put" else partial(desk.call, verb)
    with pytest.raises(RpcError) as caught:
        ask(who=who, **params)
    return caught.value


# -- put ---------------------------------------------------------------------------------


def test_a_put_writes_a_record_opens_it_and_folds_it_in(desk):
    desk.changes.clear()
    row = desk.put(description="Builds", model="m1", icon="data:x", config={"level": "low"})
    assert row == {
        "id": "build",
        "engine": "made",
        "owner": "host",
        "name": "Build",
        "description": "Builds",
        "icon": "data:x",
        "model": "m1",
        "mode": "enabled",
        "config": {"level": "low"},
        "state": "ready",
        "source": "record",
        "icons": [{"src": "data:x"}],
    }
    assert list(desk.roster) == ["build", "demo"]
    assert desk.changes
    assert all(each == ["build", "demo"] for each in desk.changes)
    assert desk.kept()["config"] == {"level": "low"}
    record = desk.record()
    assert (record.name, record.model, record.config) == ("Build", "m1", {"level": "low"})
    assert [action["type"] for action in desk.handle.heard()] == ["x-ahpd-agents/added"]


def test_what_was_put_is_there_in_the_next_life(desk):
    desk.put(config={"apiKey": KEY})
    desk.call("pause", id="build")
    desk.again()
    assert (desk.row()["state"], desk.record().config) == ("paused", {"apiKey": KEY})
    assert IPausedAgent.providedBy(desk.roster["build"])


def test_secrets_and_key_variables_go_to_the_vault_and_come_back_to_the_engine(desk):
    row = desk.put(config={"apiKey": KEY, "env": {"MADE_KEY": "env-key-12345", "MODE": "q"}})
    assert row["config"] == {
        "apiKey": {"$secret": "host:agent/build/apiKey"},
        "env": {"MADE_KEY": {"$secret": "host:agent/build/env.MADE_KEY"}, "MODE": "<set>"},
    }
    assert desk.kept()["config"]["env"]["MODE"] == "q"
    assert desk.secrets() == {
        "host:agent/build/apiKey": KEY,
        "host:agent/build/env.MADE_KEY": "env-key-12345",
    }
    assert desk.record().config["env"] == {"MADE_KEY": "env-key-12345", "MODE": "q"}
    assert KEY not in str(desk.handle.said)


@pytest.mark.parametrize("sent", ["", "<set>"])
def test_a_secret_that_is_sent_empty_is_kept(desk, sent):
    desk.put(config={"apiKey": KEY, "env": {"MADE_KEY": "env-key-12345"}})
    desk.put(config={"apiKey": sent, "env": {"MADE_KEY": sent}, "level": "high"})
    assert desk.record().config == {
        "apiKey": KEY,
        "env": {"MADE_KEY": "env-key-12345"},
        "level": "high",
    }


def test_a_secret_that_is_taken_out_goes_from_the_vault(desk):
    desk.put(config={"apiKey": KEY, "env": {"MADE_KEY": "env-key-12345"}})
    desk.put(config={"apiKey": None})
    assert (desk.secrets(), desk.record().config) == ({}, {})


def test_a_reference_that_was_shown_is_sent_back_as_it_is(desk):
    shown = desk.put(config={"apiKey": KEY})["config"]
    desk.put(config=shown, name="Other")
    assert (desk.record().config, desk.record().name) == ({"apiKey": KEY}, "Other")


HIDDEN = {
    "env": {"MODE": "quiet", "MADE_KEY": {"fromEnv": "HERE"}},
    "args": ["--api-key=abc", "--token", "xyz", "https://u:p@h/"],
    "machine": {"env": {"CODEX_HOME": "/ahpd/codex"}},
}


@pytest.fixture
def open_desk():
    return Desk(MadeEngine(properties={"args": {"type": "array"}, "machine": {"type": "object"}}))


def test_a_row_that_is_sent_back_leaves_what_it_hides_as_it_was(open_desk):
    desk = open_desk
    row = desk.put(config=HIDDEN)
    assert row["config"] == {
        "env": {"MODE": "<set>", "MADE_KEY": {"fromEnv": "HERE"}},
        "args": ["--api-key=<set>", "--token", "<set>", "https://<set>@h/"],
        "machine": {"env": {"CODEX_HOME": "<set>"}},
    }
    again = desk.put(name="Renamed", config={**row["config"], "level": "high"})
    assert (again["state"], again["name"]) == ("ready", "Renamed")
    assert desk.kept()["config"] == {**HIDDEN, "level": "high"}
    assert desk.record().config["env"]["MODE"] == "quiet"


def test_a_row_that_was_read_before_its_engine_was_is_sent_back_too(open_desk):
    desk = open_desk
    desk.put(config=HIDDEN)
    desk.engines.contributed({})
    desk.service.records.show(desk.service.records.get("build"))
    shown = desk.row()["config"]
    assert shown == {"env": "<set>", "args": "<set>", "machine": "<set>"}
    desk.engines.contributed({"made": Owned("acme", desk.engine)})
    desk.put(name="Renamed", config=shown)
    assert desk.kept()["config"] == HIDDEN


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({"env": {"OTHER": "<set>"}}, "env.OTHER"),
        ({"args": ["https://<set>@elsewhere/"]}, "args[0]"),
        ({"args": ["--other-token", "<set>"]}, "args[1]"),
        ({"apiKey": "<set>"}, "apiKey"),
        ({"command": "<set>"}, "command"),
    ],
)
def test_a_put_of_what_hides_nothing_is_refused_and_changes_nothing(open_desk, config, place):
    desk = open_desk
    desk.put(config=HIDDEN)
    failure = refused(desk, config=config)
    assert failure.code == INVALID_PARAMS
    assert failure.message.startswith(f"params.config.{place} is <set> and stands for nothing")
    assert desk.kept()["config"] == HIDDEN
    assert refused(desk, identifier="new", config=config).code == INVALID_PARAMS


def test_what_is_hidden_goes_to_no_other_owner_and_no_other_engine(open_desk):
    desk = open_desk
    other = MadeEngine("other", properties=desk.engine.properties)
    desk.engines.contributed({one.name: Owned("acme", one) for one in (desk.engine, other)})
    shown = desk.put(config={"env": {"MODE": "quiet"}})["config"]
    assert "params.config.env.MODE" in refused(desk, owner="user:ada", config=shown).message
    assert "params.config.env.MODE" in refused(desk, engine="other", config=shown).message


def test_a_hosts_record_reads_the_daemons_environment(desk):
    row = desk.put(config={"env": {"MADE_KEY": {"fromEnv": "HERE"}}})
    assert row["config"] == {"env": {"MADE_KEY": {"fromEnv": "HERE"}}}
    assert desk.record().config == {"env": {"MADE_KEY": "value-of-here"}}
    assert desk.secrets() == {}


@pytest.mark.parametrize(
    ("params", "words"),
    [
        ({"mode": "paused"}, "params.mode: a put keeps the mode a record has"),
        ({"name": None}, "params.name: is missing"),
        ({"owner": None}, "params.owner: is missing"),
        ({"owner": "everybody"}, 'params.owner: found "everybody", allowed: host, team:<team>'),
        ({"colour": "red"}, "params.colour: is an unknown field"),
        ({"config": []}, "params.config: "),
        ({"model": 5}, "params.model: found 5"),
        ({"engine": "nobody"}, 'params.engine: there is no engine "nobody" here'),
        ({"config": {"level": KEY}}, "params.config.level must be one of low, high"),
        ({"config": {"more": 1}}, "params.config.more is not a known field"),
        ({"config": {"apiKey": 5}}, "params.config.apiKey must be text"),
    ],
)
def test_a_put_that_does_not_fit_is_refused_before_anything_is_written(desk, params, words):
    failure = refused(desk, **params)
    assert failure.code == INVALID_PARAMS
    assert failure.message.startswith(words), failure.message
    assert KEY not in failure.message
    assert (desk.kept(), desk.secrets(), desk.row()) == (None, {}, None)


@pytest.mark.parametrize("identifier", ["Build", "", "a b", "-a", "x" * 65])
def test_an_id_is_a_slug(desk, identifier):
    assert refused(desk, identifier=identifier).message.startswith("params.id: found ")


@pytest.mark.parametrize("identifier", ["session", "x-mine", "ahpd-agent", "agent", "file"])
def test_an_id_is_none_of_the_hosts_names(desk, identifier):
    assert "is reserved for the host" in refused(desk, identifier=identifier).message


@pytest.mark.parametrize(
    ("identifier", "whose"), [("demo", "an agent this host serves"), ("notes", "the scheme notes:")]
)
def test_an_id_is_nobody_elses(desk, identifier, whose):
    failure = refused(desk, identifier=identifier)
    assert failure.code == ALREADY_EXISTS
    assert failure.message == f"params.id: {identifier} is taken by {whose}"


def test_a_put_of_an_agent_a_plugin_registered_takes_nothing_from_it(desk):
    from ahpd.testing.agents import ScriptedAgent

    desk.wait(desk.service.contributed_agents({"mine": Owned("acme", ScriptedAgent("mine"))}))
    assert refused(desk, identifier="mine").code == ALREADY_EXISTS


@pytest.mark.logs_failures
def test_an_agent_a_plugin_registers_stands_before_a_record_of_its_name(desk):
    from ahpd.testing.agents import ScriptedAgent

    desk.put()
    before, theirs = desk.roster["build"], ScriptedAgent("build")
    desk.wait(desk.service.contributed_agents({"build": Owned("acme", theirs)}))
    assert (desk.roster["build"], desk.row()["state"], before.closed) == (theirs, "failed", True)
    assert desk.row()["alerts"][0]["text"] == "an agent that a plugin registered has its name"
    desk.wait(desk.service.contributed_agents({}))
    assert (desk.row()["state"], desk.roster["build"]) == ("ready", desk.engine.agents[-1])
    assert not desk.roster["build"].closed


def test_nothing_is_opened_once_the_host_is_on_its_way_out(desk):
    desk.put()
    desk.service.stopService()
    desk.call("check", id="build")
    desk.wait(desk.collection.put({**desk.kept(), "name": "By hand"}))
    assert len(desk.engine.opened) == 1


def test_a_record_of_somebody_else_may_not_say_what_is_the_hosts(desk):
    desk.put(owner="user:ada", config={"env": {"MADE_KEY": "env-key-12345"}})
    assert desk.secrets() == {"user:ada/agent/build/env.MADE_KEY": "env-key-12345"}
    for config, words in (
        ({"command": "sh"}, "config.command: only a record of the host's own may set it"),
        ({"env": {"NODE_OPTIONS": "x"}}, "config.env.NODE_OPTIONS: only a record of the host's"),
        ({"apiKey": {"fromEnv": "HERE"}}, "config.apiKey: only a record of the host's own reads"),
        ({"apiKey": {"$env": "HERE"}}, "config.apiKey: only a record of the host's own reads"),
        ({"apiKey": {"$secret": "host:stripe"}}, "config.apiKey: names a secret that is not"),
        ({"apiKey": {"$secret": "user:bob/x"}}, "config.apiKey: names a secret that is not"),
    ):
        for owner in ("user:ada", "team:backend"):
            failure = refused(desk, identifier="other", owner=owner, config=config)
            assert failure.message.startswith(f"params.{words}"), failure.message


def test_a_new_owner_takes_over_none_of_the_old_ones_secrets(desk):
    desk.put(config={"apiKey": KEY, "env": {"MADE_KEY": "env-key-12345"}})
    desk.put(owner="team:backend", config={"apiKey": "", "env": {"MADE_KEY": "another-key-1"}})
    assert desk.secrets() == {"team:backend/agent/build/env.MADE_KEY": "another-key-1"}
    assert desk.record().config == {"env": {"MADE_KEY": "another-key-1"}}


def test_an_engines_defaults_count_when_a_record_is_put():
    desk = Desk(defaults={"made": {"level": "loud"}})
    assert "config.level must be one of" in refused(desk).message
    desk.put(config={"level": "low"})


def test_a_put_that_cannot_be_kept_leaves_the_agent_its_key(desk, monkeypatch):
    desk.put(config={"apiKey": KEY})
    kept = desk.secrets()

    async def full(record):
        raise RecordsFailure("no space left")

    monkeypatch.setattr(desk.collection, "put", full)
    failure = refused(desk, config={"apiKey": "another-key-1"})
    assert failure.message == "build could not be kept: no space left"
    assert list(kept.values()) == [KEY]
    assert desk.secrets() == kept
    assert desk.row()["state"] == "ready"


def test_what_cannot_be_kept_leaves_nothing_behind(desk, monkeypatch):
    async def full(record):
        raise RecordsFailure("no space left")

    monkeypatch.setattr(desk.collection, "put", full)
    failure = refused(desk, config={"apiKey": KEY})
    assert failure.message == "build could not be kept: no space left"
    assert (desk.secrets(), desk.row(), list(desk.roster)) == ({}, None, ["demo"])


def test_connectors_that_a_record_names_are_there_and_its_owners_to_use():
    engine = MadeEngine(
        properties={
            "logins": {
                "type": "array",
                "items": {"type": "string", "x-ahpd-connector": {"adapter": "login"}},
            },
            "mail": {"type": "string", "x-ahpd-connector": "mail"},
        }
    )
    desk = Desk(engine)
    desk.connectors = [
        {"id": "work", "adapter": "login", "owner": "host"},
        {"id": "ada", "adapter": "login", "owner": "user:ada"},
        {"id": "post", "adapter": "mail", "owner": "host"},
    ]
    desk.put(config={"logins": ["work"], "mail": "post"})
    desk.put("hers", owner="user:ada", config={"logins": ["work", "ada"]})
    for owner, config, words in (
        ("host", {"logins": ["work", "gone"]}, "params.config.logins[1]: names no"),
        ("host", {"mail": "work"}, "params.config.mail: names no connector of mail"),
        ("host", {"logins": ["ada"]}, "params.config.logins[0]: names no connector of login"),
        ("user:bob", {"logins": ["ada"]}, "params.config.logins[0]: names no connector of login"),
    ):
        failure = refused(desk, identifier="x", owner=owner, config=config)
        assert failure.message.startswith(words), failure.message
    desk.connectors = []
    desk.again()  # agents open before the connectors do
    assert desk.row("hers")["state"] == "ready"


# -- edits -------------------------------------------------------------------------------


def test_an_edit_reaches_an_agent_that_takes_it():
    desk = Desk(MadeEngine(agent_class=EditedAgent))
    desk.put(config={"apiKey": KEY})
    before = desk.roster["build"]
    desk.put(name="Other", config={"apiKey": ""})
    assert desk.roster["build"] is before
    assert (before.record.name, before.record.config) == ("Other", {"apiKey": KEY})
    assert ("replaced", "build") not in desk.sessions.told
    assert desk.row()["name"] == "Other"


@pytest.mark.parametrize("agent_class", [None, EditedAgent])
def test_an_edit_that_an_agent_does_not_take_replaces_it(agent_class):
    desk = Desk(MadeEngine() if agent_class is None else MadeEngine(agent_class=agent_class))
    desk.put()
    before = desk.roster["build"]
    desk.put(name="no")
    assert desk.roster["build"] is not before
    assert desk.sessions.told == [("came", "build"), ("replaced", "build")]
    assert before.closed


def test_an_edit_keeps_the_mode(desk):
    desk.put()
    desk.call("pause", id="build")
    assert desk.put(name="Other")["mode"] == "paused"
    assert IPausedAgent.providedBy(desk.roster["build"])
    desk.call("disable", id="build")
    assert desk.put(name="Third")["mode"] == "disabled"
    assert "build" not in desk.roster


def test_an_edit_of_the_file_counts_as_one_of_a_client(desk):
    desk.put()
    desk.wait(desk.collection.put({**desk.kept(), "name": "By hand"}))
    assert (desk.row()["name"], desk.record().name) == ("By hand", "By hand")
    record = {"id": "new", "engine": "made", "name": "New"}
    desk.wait(desk.collection.put(record))
    assert desk.row("new")["owner"] == "host"
    desk.wait(desk.collection.remove("build"))
    assert (desk.row(), list(desk.roster)) == (None, ["new", "demo"])
    assert ("end", "build") in desk.sessions.told


@pytest.mark.logs_failures
def test_a_file_that_is_no_record_costs_itself_alone(desk):
    desk.put()
    desk.wait(desk.collection.put({"id": "bad", "engine": 5}))
    desk.wait(desk.collection.put({"id": "build", "engine": "made", "name": 7}))
    assert (desk.row("bad"), desk.row()["name"]) == (None, "Build")
    desk.again()
    assert list(desk.roster) == ["demo"]


# -- modes -------------------------------------------------------------------------------


def test_a_paused_one_stays_open_and_a_disabled_one_does_not(desk):
    desk.put()
    agent = desk.roster["build"]
    row = desk.call("pause", id="build")
    assert (row["state"], row["mode"], desk.kept()["mode"]) == ("paused", "paused", "paused")
    assert desk.roster["build"].inner is agent
    assert desk.sessions.told[-1] == ("rewrapped", "build")
    row = desk.call("disable", id="build")
    assert (row["state"], list(desk.roster)) == ("disabled", ["demo"])
    assert desk.sessions.told[-1] == ("rest", "build")
    assert agent.closed
    assert desk.roster.absent("build") == "The agent 'build' is disabled on this host."
    row = desk.call("enable", id="build")
    assert (row["state"], len(desk.engine.opened)) == ("ready", 2)
    assert desk.sessions.told[-1] == ("came", "build")
    assert desk.roster.absent("build") is None


def test_one_that_is_off_is_not_opened_in_the_next_life_and_no_key_is_read(desk, monkeypatch):
    desk.put(config={"apiKey": KEY})
    desk.call("disable", id="build")
    desk.engine.opened.clear()
    reads = []

    async def get(name):
        reads.append(name)

    monkeypatch.setattr(desk.vault, "get", get)
    desk.again()
    assert (desk.engine.opened, reads, desk.row()["state"]) == ([], [], "disabled")
    assert "alerts" not in desk.row()


def test_each_row_offers_what_can_be_done_to_it(desk):
    desk.wait(desk.service.load())
    from ahpd.extensions.operations import Invocations

    invocations = Invocations(desk.access)
    invocations.register("x-ahpd-agents://", desk.service.operations())
    desk.put()
    assert desk.row()["operations"] == ["pause", "disable", "check", "remove"]
    listed = {each["id"]: each for each in desk.state()["operations"]}
    assert set(listed) == {"enable", "pause", "disable", "check", "remove"}
    assert listed["remove"]["grant"] == "agent:remove"
    assert listed["remove"]["confirmation"]

    def invoke(operation):
        done = []
        params = {
            "channel": "x-ahpd-agents://",
            "operationId": operation,
            "target": {"id": "build"},
        }
        handled = invocations.method.handle(params, caller())
        Deferred.fromCoroutine(handled).addBoth(done.append)
        return done[0]

    assert invoke("pause")["state"] == "paused"
    assert desk.row()["operations"] == ["enable", "disable", "remove"]
    assert invoke("disable")["operations"] == ["enable", "remove"]
    assert invoke("enable")["state"] == "ready"
    assert invoke("check")["state"] == "ready"
    assert invoke("remove") == {}
    assert desk.row() is None


# -- remove ------------------------------------------------------------------------------


def test_a_remove_ends_what_runs_and_takes_the_record_and_its_secrets(desk):
    desk.put(config={"apiKey": KEY})
    agent = desk.roster["build"]
    desk.sessions.ending = Deferred()
    done = desk.begin_call("remove", id="build")
    assert (done, agent.closed, list(desk.roster)) == ([], False, ["demo"])
    desk.sessions.ending.callback(None)
    assert done == [{}]
    assert (agent.closed, desk.kept(), desk.secrets(), desk.row()) == (True, None, {}, None)
    assert desk.handle.heard()[-1] == {"type": "x-ahpd-agents/removed", "id": "build"}
    assert refused(desk, "remove", id="build").code == NOT_FOUND


def test_a_name_is_free_again(desk):
    desk.put()
    desk.call("remove", id="build")
    assert desk.put(owner="user:ada")["owner"] == "user:ada"


# -- states and alerts ---------------------------------------------------------------------


def test_what_a_record_needs_and_is_not_there_is_an_alert_each():
    desk = Desk()
    config = {
        "apiKey": {"$secret": "host:stripe"},
        "env": {"MADE_KEY": {"fromEnv": "NOT_HERE"}},
    }
    row = desk.put(config=config)
    assert row["state"] == "failed"
    assert [(each["ref"], each["level"]) for each in row["alerts"]] == [
        ("secret:host:stripe", "error"),
        ("env:NOT_HERE", "error"),
    ]
    assert row["alerts"][0]["text"].endswith("the vault holds no host:stripe")
    assert row["alerts"][0]["at"] == "2026-01-02T03:04:05.000Z"
    assert list(desk.roster) == ["demo"]
    desk.environ["NOT_HERE"] = "value-is-here"
    row = desk.call("check", id="build")
    assert [each["ref"] for each in row["alerts"]] == ["secret:host:stripe"]
    desk.wait(desk.vault.set("host:stripe", KEY))
    row = desk.call("check", id="build")
    assert (row["state"], "alerts" in row) == ("ready", False)
    assert desk.record().config == {"apiKey": KEY, "env": {"MADE_KEY": "value-is-here"}}


def test_a_secret_that_comes_later_is_there_in_the_next_life(desk):
    desk.put(config={"apiKey": {"$secret": "host:stripe"}})
    desk.wait(desk.vault.set("host:stripe", KEY))
    desk.again()
    assert desk.row()["state"] == "ready"


def test_an_engine_that_fails_is_said_without_a_secret(desk):
    desk.engine.fails = RuntimeError(f"with {KEY}")
    row = desk.put(config={"apiKey": KEY})
    assert row["state"] == "failed"
    assert [(a["ref"], a["text"]) for a in row["alerts"]] == [
        ("open", 'the engine "made" failed: with <set>')
    ]
    assert "could not be opened" in desk.roster.absent("build")
    desk.engine.fails = RecordFailure("config.command: is gone")
    row = desk.call("check", id="build")
    assert [each["text"] for each in row["alerts"]] == ["config.command: is gone"]
    desk.engine.fails = None
    row = desk.call("check", id="build")
    assert (row["state"], "alerts" in row) == ("ready", False)


def test_a_record_that_no_longer_fits_is_invalid_and_one_without_an_engine_unavailable(desk):
    desk.put(config={"level": "low"})
    other = MadeEngine(properties={"level": {"enum": ["mild"]}})
    desk.wait(desk.service.contributed_engines({"made": Owned("acme", other)}))
    assert desk.row()["state"] == "invalid"
    assert desk.row()["alerts"][0]["text"] == "config.level must be one of mild"
    desk.wait(desk.service.contributed_engines({}))
    assert desk.row()["state"] == "unavailable"
    assert desk.kept()["config"] == {"level": "low"}
    desk.wait(desk.service.contributed_engines({"made": Owned("acme", desk.engine)}))
    assert (desk.row()["state"], "alerts" in desk.row()) == ("ready", False)
    assert list(desk.roster) == ["build", "demo"]


@pytest.mark.parametrize(
    ("fails", "state"), [(InvalidRecord, "invalid"), (RecordFailure, "failed")]
)
def test_an_engine_says_that_a_record_is_wrong_beyond_its_schema(desk, fails, state):
    desk.engine.fails = fails(f"config.command: names nothing, {KEY}")
    row = desk.put(config={"command": "x", "apiKey": KEY})
    assert (row["state"], row["alerts"][0]["ref"]) == (state, "open")
    assert row["alerts"][0]["text"] == "config.command: names nothing, <set>"
    assert desk.kept()["config"]["command"] == "x"
    desk.engine.fails = None
    assert desk.put(config={"command": "y", "apiKey": ""})["state"] == "ready"


def test_what_an_engine_reads_itself_is_left_as_it_is_written(monkeypatch):
    properties = {"machine": {"type": "object", "additionalProperties": {"type": "string"}}}
    desk = Desk(
        MadeEngine(left_written=("machine",), properties=properties),
        defaults={"made": {"machine": {"B": {"$secret": "host:nor-this"}}}},
    )
    reads = []

    async def get(name):
        reads.append(name)

    monkeypatch.setattr(desk.vault, "get", get)
    machine = {"A": {"$secret": "host:not-held"}, "C": {"fromEnv": "NOT_HERE"}}
    row = desk.put(config={"machine": machine, "note": {"fromEnv": "HERE"}})
    assert (row["state"], reads) == ("ready", [])
    assert desk.record().config == {
        "machine": {"B": {"$secret": "host:nor-this"}, **machine},
        "note": "value-of-here",
    }


def test_an_engine_that_goes_ends_what_runs_on_its_agents_first(desk):
    desk.put()
    agent = desk.roster["build"]
    desk.sessions.ending = Deferred()
    done = []
    Deferred.fromCoroutine(desk.service.contributed_engines({})).addCallback(done.append)
    assert (done, agent.closed, desk.sessions.told[-1]) == ([], False, ("end", "build"))
    desk.sessions.ending.callback(None)
    assert (done, agent.closed) == ([None], True)


# -- checks --------------------------------------------------------------------------------


def test_a_check_asks_the_agent_and_its_row_says_what_is_wrong(desk):
    desk.put(config={"apiKey": KEY})
    agent = desk.roster["build"]
    desk.engine.finds = [
        Finding(about="program", ok=True, words="found"),
        Finding(about="sign-in", ok=False, words=f"{KEY} is\nold", mend="made login"),
    ]
    row = desk.call("check", id="build")
    assert [(a["level"], a["ref"], a["text"]) for a in row["alerts"]] == [
        ("warning", "probe", "<set> is old (made login)")
    ]
    assert row["state"] == "ready"
    assert desk.roster["build"] is agent  # the record is what it was
    desk.engine.finds = [Finding(about="program", ok=True, words="found")]
    assert "alerts" not in desk.call("check", id="build")


def test_a_probe_that_does_not_answer_is_unreachable_and_holds_no_put(desk):
    desk.put()
    desk.engine.finds = Deferred()
    done = desk.begin_call("check", id="build")
    desk.put("other")
    assert done == []
    desk.clock.advance(10)
    assert "did not say whether it works within 10 s" in done[0]["alerts"][0]["text"]


@pytest.mark.logs_failures
def test_a_probe_that_throws_is_an_alert(desk):
    desk.put()
    desk.engine.finds = ValueError("no such thing")
    row = desk.call("check", id="build")
    assert row["alerts"][0]["text"] == "could not be asked: no such thing"


def test_an_agent_without_a_probe_is_checked_by_its_engine(desk):
    from ahpd.testing.agents import ScriptedAgent

    class Plain(ScriptedAgent):
        def __init__(self, record, ports, engine):
            super().__init__(record.id)

    desk.engine.agent_class = Plain

    async def check(record, ports):
        return [Finding(about="program", ok=False, words="not here")]

    desk.engine.check = check
    desk.put()
    assert desk.call("check", id="build")["alerts"][0]["text"] == "not here"


def test_one_that_is_off_is_not_checked_and_a_paused_one_is(desk):
    desk.put()
    desk.call("pause", id="build")
    assert desk.call("check", id="build")["state"] == "paused"
    desk.call("disable", id="build")
    assert "is disabled and is not asked" in refused(desk, "check", id="build").message


# -- icons and views -------------------------------------------------------------------------


def test_icons_are_the_records_own_or_its_templates(desk):
    assert "icons" not in desk.put()
    assert desk.put(config={"command": "one"})["icons"] == [{"src": "data:mark:one"}]
    assert desk.put(config={"command": "one"}, icon="data:y")["icons"] == [{"src": "data:y"}]

    def template_of(record, templates):
        return next(each for each in templates if each.id == record.id)

    desk.engine.template_of = template_of
    assert desk.put("one")["icons"] == [{"src": "data:mark:one"}]


@pytest.mark.logs_failures
def test_a_template_of_that_fails_costs_the_icons(desk):
    def template_of(record, templates):
        raise LookupError("nothing")

    desk.engine.template_of = template_of
    assert "icons" not in desk.put(config={"command": "one"})


def test_an_agent_shows_views_on_its_own_row():
    desk = Desk(MadeEngine(capabilities=(VIEW,), shows=view()))
    row = desk.put()
    assert row["views"]["main"]["dataModel"] == {"plan": "free"}
    handle = desk.roster["build"].ports.view
    desk.handle.said.clear()
    handle.set_view_data("/plan", "pro")
    assert desk.handle.heard() == [
        {
            "type": "x-ahpd-agents/viewData",
            "id": "build",
            "surface": "main",
            "path": "/plan",
            "value": "pro",
        }
    ]
    assert desk.row()["views"]["main"]["dataModel"] == {"plan": "pro"}
    handle.clear_view()
    assert "views" not in desk.row()
    with pytest.raises(ValueError, match="other"):
        handle.show_view(view(), "other")
    handle.show_view(view())
    desk.call("disable", id="build")
    assert "views" not in desk.row()
    handle.show_view(view())
    assert "views" not in desk.row()


def test_an_edit_that_an_agent_takes_keeps_its_view_and_a_new_agent_has_its_own():
    desk = Desk(MadeEngine(capabilities=(VIEW,), agent_class=EditedAgent))
    desk.put()
    first = desk.roster["build"].ports.view
    first.show_view(view())
    assert "views" in desk.put(name="Other")
    assert "views" not in desk.put(name="no")
    first.show_view(view())
    assert "views" not in desk.row()
    desk.roster["build"].ports.view.show_view(view())
    assert "views" in desk.row()


def test_an_engine_whose_agents_show_nothing_is_handed_no_view(desk):
    desk.put()
    assert desk.roster["build"].ports.view is None


# -- the configuration's own records ---------------------------------------------------------

ROW = {"id": "conf", "engine": "made", "name": "Conf"}


def test_the_configurations_records_are_rows_too_and_are_a_persons_to_edit():
    desk = Desk(written=[{**ROW, "config": {"level": "low", "note": "private"}}])
    row = desk.row("conf")
    assert (row["owner"], row["state"], row["source"]) == ("host", "ready", "configuration")
    assert row["config"] == {"level": "low", "note": "<set>"}
    assert list(desk.roster) == ["conf", "demo"]
    words = "params.id: conf is in the configuration file (agents[0]), which a person edits"
    for verb in ("remove", "pause", "disable", "enable"):
        assert refused(desk, verb, id="conf").message.startswith(words)
    assert refused(desk, identifier="conf").message.startswith(words)
    assert desk.call("check", id="conf")["state"] == "ready"


def test_a_secret_of_the_configuration_is_read_from_the_vault():
    config = {"apiKey": {"$secret": "host:stripe"}}
    desk = Desk(written=[{**ROW, "config": config}, {**ROW, "id": "plain"}])
    assert [desk.row(each)["state"] for each in ("conf", "plain")] == ["failed", "ready"]
    desk.wait(desk.vault.set("host:stripe", KEY))
    assert desk.call("check", id="conf")["state"] == "ready"
    assert desk.record("conf").config == {"apiKey": KEY}
    desk.again()
    assert desk.row("conf")["state"] == "ready"
    assert list(desk.roster) == ["conf", "plain", "demo"]


def test_a_team_s_secret_is_not_the_configurations_to_read():
    config = {"apiKey": {"$secret": "team:backend/x"}}
    desk = Desk(written=[{**ROW, "config": config}], secrets={"team:backend/x": KEY})
    assert desk.row("conf")["alerts"][0]["ref"] == "secret:team:backend/x"


def test_the_default_of_an_engine_may_be_a_secret_for_everybodys_records():
    desk = Desk(
        defaults={"made": {"apiKey": {"$secret": "host:shared"}}}, secrets={"host:shared": KEY}
    )
    desk.put(owner="user:ada")
    assert desk.record().config == {"apiKey": KEY}


@pytest.mark.logs_failures
def test_a_file_with_the_id_of_one_in_the_configuration_is_left_out():
    desk = Desk(written=[ROW])
    desk.wait(desk.collection.put({"id": "conf", "engine": "made", "name": "Mine"}))
    desk.again()
    assert (desk.row("conf")["name"], desk.row("conf")["source"]) == ("Conf", "configuration")


def test_a_host_that_keeps_no_records_says_so():
    desk = Desk(keeps=False)
    assert refused(desk).message.startswith("This host keeps no records")


def test_no_repr_shows_a_secret(desk):
    desk.put(config={"apiKey": KEY})
    held = desk.service.records.get("build")
    assert KEY not in repr(held.written)
    assert KEY not in repr(held.opened.ready)
    assert KEY not in repr(attrs.evolve(held.opened))


def test_one_that_cannot_be_opened_is_said_and_costs_nobody_else(logged_lines):
    desk = Desk(written=[{**ROW, "config": {"level": KEY}}, {**ROW, "id": "fine"}])
    assert list(desk.roster) == ["fine", "demo"]
    assert [line for line in logged_lines if "agents[0]" in line] == [
        "agents[0] (conf): config.level must be one of low, high; the agent is left out"
    ]


# -- a vault that does not answer ------------------------------------------------------------


def hang(desk, *names):
    """Have the vault never answer for these."""
    get = desk.vault.get

    async def answering(name):
        return await (Deferred() if name in names else get(name))

    desk.vault.get = answering


def test_records_are_opened_while_the_secrets_of_others_are_waited_for(desk):
    desk.put("plain", config={"level": "low"})
    desk.put("keyed", config={"apiKey": KEY})
    for number in range(3):
        desk.put(f"deaf-{number}", config={"apiKey": f"key-of-number-{number}"})
    names = [f"host:agent/deaf-{number}/apiKey" for number in range(3)]
    hang(desk, *names)
    desk.again()
    assert set(desk.roster) == {"demo", "plain", "keyed"}
    assert desk.loading == []
    desk.clock.advance(10)
    assert desk.loading == [None]
    assert set(desk.roster) == {"demo", "plain", "keyed"}
    for number, name in enumerate(names):
        (alert,) = desk.row(f"deaf-{number}")["alerts"]
        assert f"{name} cannot be read: the vault did not answer within 10 s" in alert["text"]
        assert alert["ref"] == f"secret:{name}"


def test_a_put_and_those_behind_it_wait_for_a_vault_no_longer_than_it_may_take(desk):
    hang(desk, "host:slow", "host:slower")
    env = {"A": {"$secret": "host:slow"}, "B": {"$secret": "host:slower"}}
    slow = desk.begin_call(
        "put", id="slow", engine="made", owner="host", name="S", config={"env": env}
    )
    other = desk.begin_call("put", id="other", engine="made", owner="host", name="O", config={})
    desk.clock.advance(9.9)
    assert (slow, other) == ([], [])
    desk.clock.advance(0.1)
    assert [slow[0]["state"], other[0]["state"]] == ["failed", "ready"]
    assert len(slow[0]["alerts"]) == 2


def test_a_host_that_ends_before_its_agents_are_read_says_nothing_of_them(
    desk, tmp_path, logged_lines
):
    clock = Clock()
    desk.store = FileRecordStore(tmp_path, in_thread(clock), clock, lambda line: None)
    desk.again()
    assert desk.loading == []
    desk.wait(desk.store.close())
    assert (desk.loading, logged_lines) == ([None], [])
