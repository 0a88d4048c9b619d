"""The root channel's own state."""

from ahpd.channels.store import ChannelStore
from ahpd.protocol.uris import ROOT
from ahpd.root.service import RootService
from ahpd.testing.agents import ScriptedAgent


def test_the_agents_are_said_where_the_list_differs():
    store = ChannelStore()
    agent = ScriptedAgent("one")
    root = RootService(store, [agent], 0, 0)
    root.agents_changed([agent])
    assert store.server_seq == 0
    agent.models = ("one-2",)
    root.agents_changed([agent])
    assert store.server_seq == 1
    assert [model["id"] for model in store.state(ROOT)["agents"][0]["models"]] == ["one-2"]
