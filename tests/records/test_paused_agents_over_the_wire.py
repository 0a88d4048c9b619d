"""What clients see of an agent that is paused."""

import pytest
from twisted.internet.task import Clock

from ahpd.app import make_host
from ahpd.config.records import Records
from ahpd.config.settings import Settings
from ahpd.protocol.errors import PROVIDER_NOT_FOUND, RpcError
from ahpd.records.paused import PausedAgent
from ahpd.sessions.creation import chosen_agent
from ahpd.stores.memory import MemorySessionStore
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost


def made(provider, paused=False):
    agent = ScriptedAgent()
    agent.provider = provider
    return PausedAgent(agent) if paused else agent


def test_a_session_on_it_is_refused_in_words():
    agents = {"a": made("a", paused=True), "b": made("b")}
    for provider, channel in (("a", "ahp-session:/x"), (None, "a:/x")):
        with pytest.raises(RpcError) as caught:
            chosen_agent(agents, provider, channel)
        assert caught.value.code == PROVIDER_NOT_FOUND
        assert "'a' is paused on this host and takes no new session" in caught.value.message


def test_it_is_the_default_of_nobody_while_another_works():
    agents = {"a": made("a", paused=True), "b": made("b")}
    assert chosen_agent(agents, None, "ahp-session:/x").provider == "b"
    with pytest.raises(RpcError, match="is paused"):
        chosen_agent({"a": agents["a"]}, None, "ahp-session:/x")


def test_clients_see_it_listed_and_are_refused_a_session():
    host = MemoryHost({"a": made("a", paused=True), "b": made("b")})
    client = host.connect("client-1", "ahp-root://")
    listed = [each["provider"] for each in client.state("ahp-root://")["agents"]]
    assert listed == ["a", "b"]

    def create(**params):
        host.run(client.request("createSession", channel="ahp-session:/s1", **params))

    with pytest.raises(RpcError, match="'a' is paused on this host"):
        create(provider="a")
    create()
    host.stop()


def test_a_host_offers_the_agents_of_its_records(tmp_path):
    rows = [
        {"id": "one", "engine": "demo", "name": "One"},
        {"id": "two", "engine": "demo", "mode": "paused"},
        {"id": "three", "engine": "demo", "mode": "disabled"},
        {"id": "four", "engine": "no-such-engine"},
    ]
    for demo, expected in ((None, ["one", "two"]), (True, ["one", "two", "demo"])):
        settings = Settings(
            agents=Records().check(rows, tmp_path), demo=demo, listens=False, paths=(tmp_path,)
        )
        host = make_host(settings, Clock(), kept=MemorySessionStore())
        agents = host.store.state("ahp-root://")["agents"]
        assert [each["provider"] for each in agents] == expected
        assert agents[0]["displayName"] == "One"
