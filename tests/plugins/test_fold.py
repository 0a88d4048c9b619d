"""The fold: the first has a name, ports are taken over by word alone, two agents are refused."""

import pytest

from ahpd.interfaces import Owned
from ahpd.plugins.contribution import Contribution, GrantSubject, Port
from ahpd.plugins.fold import TwoAgents, fold

BY_NAME = (
    "engines",
    "tools",
    "session_config",
    "provider_configurations",
    "resource_providers",
    "channels",
    "methods",
    "adapters",
    "tunnel_kinds",
    "trigger_types",
    "changeset_operations",
    "session_meta",
)


def contribution(plugin, **fields):
    return Contribution(plugin=plugin, **fields)


@pytest.mark.parametrize("kind", BY_NAME)
def test_the_first_has_a_name_and_the_later_keeps_the_rest_of_its_own(kind):
    folded = fold(
        [
            contribution("a", **{kind: {"shared": 1}}),
            contribution("b", **{kind: {"shared": 2, "own": 3}}),
        ]
    )
    assert getattr(folded, kind) == {"shared": Owned("a", 1), "own": Owned("b", 3)}
    (problem,) = folded.problems
    assert problem.plugin == "b"
    assert "shared is left out" in problem.line
    assert "registered by the plugin a" in problem.line


def test_two_agents_with_one_provider_are_refused_and_both_plugins_named():
    with pytest.raises(TwoAgents) as refused:
        fold([contribution("a", agents={"x": 1}), contribution("b", agents={"x": 2})])
    assert "the plugins a and b both register the agent x" in str(refused.value)


@pytest.mark.parametrize("agent_first", [True, False])
def test_an_agent_and_a_scheme_do_not_share_a_name_and_the_later_is_dropped(agent_first):
    agent = contribution("a", agents={"x": 1})
    scheme = contribution("s", resource_providers={"x": 2})
    folded = fold([agent, scheme] if agent_first else [scheme, agent])
    assert list(folded.agents) == (["x"] if agent_first else [])
    assert list(folded.resource_providers) == ([] if agent_first else ["x"])
    (problem,) = folded.problems
    assert problem.plugin == ("s" if agent_first else "a")


@pytest.mark.parametrize("name", ["resources", "terminals", "sessions", "vault", "records"])
def test_a_port_the_host_has_is_taken_over_with_replace_alone(name):
    left = fold([contribution("a", ports={name: Port(value=1, replace=False)})])
    assert left.port(name) is None
    assert "this host has one" in left.problems[0].line
    assert "replace=True" in left.problems[0].line
    taken = fold([contribution("a", ports={name: Port(value=1, replace=True)})])
    assert (taken.port(name), taken.problems) == (1, ())


def test_a_port_the_host_has_not_is_the_first_plugins_unless_another_takes_it_over():
    first = contribution("a", ports={"changes": Port(value=1, replace=False)})
    asks = contribution("b", ports={"changes": Port(value=2, replace=False)})
    takes = contribution("c", ports={"changes": Port(value=3, replace=True)})
    left = fold([first, asks])
    assert left.port("changes") == 1
    assert "the plugin a has one" in left.problems[0].line
    assert fold([first, takes]).port("changes") == 3


def test_preambles_are_in_the_order_of_the_plugins():
    folded = fold([contribution("a", preambles=[1, 2]), contribution("b", preambles=[3])])
    assert folded.preambles == (Owned("a", 1), Owned("a", 2), Owned("b", 3))


def test_a_subject_of_grants_is_shared_and_keeps_its_first_words():
    one = GrantSubject(title="Notes", description="first", operations=("pin",))
    two = GrantSubject(title="Other", description="second", operations=("put", "pin"))
    folded = fold(
        [contribution("a", grants={"notes": one}), contribution("b", grants={"notes": two})]
    )
    assert folded.grants["notes"] == Owned(
        "a", GrantSubject(title="Notes", description="first", operations=("pin", "put"))
    )
    assert folded.problems == ()


def test_what_a_name_lost_comes_back_when_its_first_holder_goes():
    a, b = contribution("a", tools={"x": 1}), contribution("b", tools={"x": 2})
    assert fold([a, b]).tools["x"].plugin == "a"
    assert fold([b]).tools["x"].plugin == "b"
