"""Types of events that automations may watch: which are taken, listed and fired, what matches."""

import attrs
import pytest

from ahpd.commands.automations import automation_commands
from ahpd.extensions.completions import Choices
from ahpd.extensions.triggers import TriggerTypes, check_trigger_type, drawn, matches
from ahpd.interfaces import Owned, PluginError, TriggerType
from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes.config import ConfigSchema
from ahpd.protocol.uris import ROOT

DEPLOY = TriggerType(
    type="deploy",
    title="A deployment",
    description="Something a deployment did.",
    events=[
        {"id": "failed", "title": "A deployment failed", "description": "It did not finish."},
        {"id": "rolledBack", "title": "A deployment was rolled back"},
    ],
    config_schema={
        "type": "object",
        "properties": {
            "environment": {"type": "string", "title": "Environment"},
            "connector": {
                "type": "string",
                "title": "Connector",
                "x-ahpd-connector": {"adapter": "forge"},
            },
        },
    },
)
PING = TriggerType(type="ping", title="A ping", events=[{"id": "came", "title": "A ping came"}])
METHOD = "listAutomationTriggerDefinitions"


class Host:
    def __init__(self, access):
        self.choices = Choices(access)
        self.connectors = []
        self.choices.connectors = lambda: self.connectors
        self.dropped = []
        self.triggers = TriggerTypes(
            lambda schema: self.choices.stamped(schema, dynamic=True),
            lambda plugin, line: self.dropped.append((plugin, line)),
        )

    def offer(self, *definitions, plugin="acme"):
        self.triggers.contributed({one.type: Owned(plugin, one) for one in definitions})


@pytest.fixture
def host(access):
    return Host(access)


@pytest.fixture
def window(rig, host):
    """A client of a host that serves the command; every frame is held to the protocol."""
    rig.own.update(automation_commands(host.triggers))
    return rig.client("root")


# -- which are taken ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"type": ""}, "the type of a trigger must be a text"),
        ({"type": "session"}, "the trigger type session is this host's own"),
        ({"type": "watch"}, "the trigger type watch is this host's own"),
        ({"title": " "}, "the trigger type deploy: its title must be a text"),
        ({"events": []}, "the trigger type deploy has no event"),
        ({"events": ["failed"]}, "an event is an object with an id and a title"),
        ({"events": [{"id": "failed"}]}, "the title of an event must be a text"),
        ({"events": [{"title": "Failed"}]}, "the id of an event must be a text"),
        ({"events": [*DEPLOY.events, DEPLOY.events[0]]}, "two events have the id failed"),
        ({"config_schema": ["x"]}, "its config_schema is the JSON Schema of an object"),
        ({"config_schema": {"type": "string"}}, "its config_schema is the JSON Schema"),
    ],
)
def test_a_type_that_breaks_a_rule_is_refused_in_words_that_name_it(change, words):
    check_trigger_type(DEPLOY)
    with pytest.raises(PluginError, match=words):
        check_trigger_type(attrs.evolve(DEPLOY, **change))


def test_a_bad_type_costs_no_other_its_place_and_is_reported_once(host):
    bad = attrs.evolve(DEPLOY, title="")
    torn = attrs.evolve(PING, type="torn", config_schema={"properties": ["x"]})
    host.offer(bad, torn, PING)
    host.offer(bad, torn, PING)
    assert list(host.triggers.types) == ["ping"]
    assert [plugin for plugin, _ in host.dropped] == ["acme", "acme"]
    assert "the trigger type deploy is left out: " in host.dropped[0][1]
    assert "the trigger type torn is left out: " in host.dropped[1][1]


def test_the_whole_is_contributed_each_time(host):
    host.offer(DEPLOY, PING)
    assert host.triggers.types["deploy"] == Owned("acme", DEPLOY)
    host.offer(PING)
    assert [one["type"] for one in host.triggers.definitions()] == ["ping"]


# -- which are listed ------------------------------------------------------------------------


def test_a_host_lists_what_plugins_registered_and_none_of_its_own(host, window):
    assert window.call(METHOD, channel=ROOT) == {"items": []}
    host.offer(DEPLOY, PING)
    listed = window.call(METHOD, channel=ROOT, provider="demo", sessionConfig={"a": 1})["items"]
    assert [one["type"] for one in listed] == ["deploy", "ping"]
    assert listed[0]["title"] == "A deployment"
    assert listed[0]["description"] == "Something a deployment did."
    assert listed[0]["events"] == list(DEPLOY.events)
    assert listed[1] == {
        "type": "ping",
        "title": "A ping",
        "events": [{"id": "came", "title": "A ping came"}],
    }


def test_the_form_carries_the_hosts_connectors_and_where_to_ask_for_more(host, window):
    host.offer(DEPLOY)

    def field():
        schema = window.call(METHOD, channel=ROOT)["items"][0]["configSchema"]
        return schema["properties"]["connector"]

    assert field()["enumDynamic"] is True
    assert "enum" not in field()
    host.connectors = [
        {"id": "work", "adapter": "forge", "owner": "host", "title": "Work"},
        {"id": "adas", "adapter": "forge", "owner": "user:ada"},
    ]
    assert (field()["enum"], field()["enumLabels"]) == (["work"], ["Work"])
    assert field()["x-ahpd-completions"] == {
        "command": "x-ahpd/completions",
        "ref": "connector:forge",
    }
    assert "enum" not in DEPLOY.config_schema["properties"]["connector"]


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"properties": {"count": {"type": "integer"}}, "additionalProperties": False},
        {"properties": {"any": {}, "yes": True, "one": {"enum": ["a", "b"]}}},
        {"properties": {"maybe": {"type": ["null", "number"], "title": "Maybe"}}},
        {
            "properties": {
                "many": {"items": {"properties": {"a": {}}, "additionalProperties": False}}
            }
        },
        {"properties": {"map": {"type": "object", "additionalProperties": {"type": "string"}}}},
    ],
)
def test_a_schema_that_says_less_than_the_protocol_asks_is_drawn_all_the_same(host, window, schema):
    host.offer(attrs.evolve(DEPLOY, config_schema=schema))
    assert host.dropped == []
    check_strict(drawn(schema), ConfigSchema)
    properties = window.call(METHOD, channel=ROOT)["items"][0]["configSchema"]["properties"]
    assert properties.keys() == schema.get("properties", {}).keys()


def test_what_a_schema_says_is_kept_as_it_is_drawn():
    said = {"type": "array", "title": "T", "items": {"type": "string", "pattern": "a"}, "x-y": 1}
    shown = drawn({"properties": {"a": said}, "required": ["a"]})
    assert shown["required"] == ["a"]
    assert shown["properties"]["a"] == {
        **said,
        "items": {"type": "string", "pattern": "a", "title": "a"},
    }


# -- what is fired ----------------------------------------------------------------------------


def test_a_plugin_fires_the_events_of_the_types_that_are_its_own(host):
    host.offer(DEPLOY)
    host.triggers.check_fire("acme", "deploy", "failed")
    with pytest.raises(PluginError, match="fire_trigger: beta has no trigger type deploy"):
        host.triggers.check_fire("beta", "deploy", "failed")
    with pytest.raises(PluginError, match="acme has no trigger type ping"):
        host.triggers.check_fire("acme", "ping", "came")
    with pytest.raises(PluginError, match="the trigger type deploy has no event started"):
        host.triggers.check_fire("acme", "deploy", "started")
    host.offer()
    with pytest.raises(PluginError, match="acme has no trigger type deploy"):
        host.triggers.check_fire("acme", "deploy", "failed")


FIRED = {"environment": "production", "revision": "9f2c1ab", "tries": 1, "tags": ["a"]}


@pytest.mark.parametrize(
    ("config", "woken"),
    [
        (None, True),
        ({}, True),
        ({"environment": "production"}, True),
        ({"environment": "staging"}, False),
        ({"region": "eu"}, True),
        ({"environment": "production", "region": "eu"}, True),
        ({"environment": "production", "revision": "other"}, False),
        ({"tries": 1.0}, True),
        ({"tries": True}, False),
        ({"tries": "1"}, False),
        ({"tags": ["a"]}, True),
        ({"tags": ["a", "b"]}, False),
        ({"environment": None}, False),
    ],
)
def test_a_saved_trigger_is_woken_where_what_both_hold_is_the_same(config, woken):
    assert matches(config, FIRED) is woken
