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


class Broken(ScriptedAgent):
    """An agent whose plugin has a fault."""

    fault = None

    def info(self):
        if self.fault is not None:
            raise self.fault
        return super().info()


def test_an_agent_that_cannot_say_what_it_is_costs_itself_alone():
    store = ChannelStore()
    broken, sound = Broken("broken"), ScriptedAgent("sound")
    broken.fault = RuntimeError("no models")
    root = RootService(store, [broken, sound], 0, 0)
    assert [row["provider"] for row in root.agents()] == ["sound"]
    broken.fault = None
    root.agents_changed([broken, sound])
    assert [row["provider"] for row in root.agents()] == ["broken", "sound"]
    broken.fault = RuntimeError("no models any more")
    sound.models = ("sound-2",)
    root.agents_changed([broken, sound])
    assert [row["provider"] for row in root.agents()] == ["broken", "sound"]
    assert root.agents()[1]["models"][0]["id"] == "sound-2"


def test_an_agent_that_changes_its_shape_is_what_it_said_before():
    store = ChannelStore()
    agent = ScriptedAgent("one")
    root = RootService(store, [agent], 0, 0)
    before = list(root.agents())
    agent.more_info = {"models": "many"}
    root.agents_changed([agent])
    assert root.agents() == before
    assert store.server_seq == 0
