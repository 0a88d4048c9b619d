"""Which kinds of tunnels are taken."""

import attrs
import pytest

from ahpd.interfaces import Owned, PluginError, TunnelKind, TunnelOperation
from ahpd.tunnels.kinds import check_kind

from .tunnels_host import ANONYMOUS, RESTART, SCHEMA, ScriptedKind, TunnelsHost, outcome

KIND = ScriptedKind(operations=(RESTART, ANONYMOUS)).kind


def operation(**more):
    return TunnelOperation(**{"id": "restart", "label": "Restart", **more})


def test_a_whole_kind_is_taken():
    check_kind(KIND)
    check_kind(TunnelKind(name="x", title="X", schema={}, create=print, remove=print))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "Dev Tunnel"}, "a slug, 1 to 40 of a-z, 0-9 and -, a letter first"),
        ({"name": ""}, "a slug"),
        ({"title": " "}, "tunnel kind dev: title must be a text"),
        ({"description": None}, "description is no text"),
        ({"schema": ["port"]}, "schema is the JSON Schema of an object"),
        ({"schema": {"type": "string"}}, "schema is the JSON Schema of an object"),
        ({"schema": {"properties": ["port"]}}, "properties of its schema are no object"),
        ({"schema": {"properties": {"status": {}}}}, "field status, which the host says"),
        ({"schema": {"properties": {"kind": {}, "port": {}}}}, "field kind, which the host says"),
        ({"create": None}, "create is not callable"),
        ({"remove": "stop"}, "remove is not callable"),
        ({"update": 3}, "update is neither callable nor None"),
        ({"system": 3}, "system is neither callable nor None"),
        ({"invoke": None}, "it lists operations and has no invoke"),
        ({"operations": ["restart"]}, "an operation is a TunnelOperation, found str"),
        ({"operations": [operation(), operation()]}, "two operations have the id restart"),
        ({"operations": [operation(id="")]}, "the id of an operation must be a text"),
        ({"operations": [operation(label="")]}, "the operation restart: its label must be a text"),
        ({"operations": [operation(icon=3)]}, "its icon is no text"),
        ({"operations": [operation(input="x")]}, "its input is no JSON Schema object"),
        ({"operations": [operation(grant="")]}, "its grant must be a text"),
        ({"operations": [operation(offered=True)]}, "offered is neither callable nor None"),
    ],
)
def test_a_kind_that_breaks_a_rule_is_refused_in_words_that_name_it(change, words):
    with pytest.raises(PluginError, match=words):
        check_kind(attrs.evolve(KIND, **change))


@pytest.mark.parametrize("verb", ["create", "update", "remove", "enable", "disable"])
def test_the_hosts_own_verbs_are_nobody_elses(verb):
    with pytest.raises(PluginError, match=f"the operation {verb} is this host's own"):
        check_kind(attrs.evolve(KIND, operations=[operation(id=verb)]))


def test_what_is_no_kind_is_refused():
    with pytest.raises(PluginError, match="a tunnel kind is a TunnelKind, found dict"):
        check_kind({"name": "dev"})


def test_a_bad_kind_costs_no_other_its_place():
    host = TunnelsHost()
    good = ScriptedKind("good").kind
    bad = attrs.evolve(good, name="bad", title="")
    taken = {"bad": Owned("acme", bad), "none": Owned("acme", 7), "good": Owned("beta", good)}
    outcome(host.service.contributed(taken))
    assert {one["kind"] for one in host.operations().values()} == {"good"}
    assert [plugin for plugin, _ in host.reported] == ["acme", "acme"]
    assert "the tunnel kind bad is left out: tunnel kind bad: title must be" in host.reported[0][1]


def test_a_kind_keeps_the_schema_it_was_registered_with(host, dev):
    assert dev.kind.schema is SCHEMA
    assert host.operations()["dev/create"]["input"] == SCHEMA
