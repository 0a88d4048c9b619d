"""What plugins and the host itself add to the root configuration."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.channels.store import ChannelStore
from ahpd.interfaces import Owned, ProviderConfiguration, Refusal
from ahpd.protocol.uris import ROOT
from ahpd.root.host_values import HostValue
from ahpd.root.service import RootService
from ahpd.wire.codec import decode

ORIGIN = {"clientId": "client-1", "clientSeq": 1}
TEXT = {"type": "string", "title": "A text"}
PAGES = "vscode.agentCustomizationSettings"


class Watcher:
    """Keeps what is said on the root."""

    def __init__(self):
        self.said = []

    def deliver(self, envelope):
        self.said.append(decode(envelope.body))

    def notify(self, channel, method, frame):
        pass

    def lagging(self):
        return False


@pytest.fixture
def store():
    return ChannelStore()


@pytest.fixture
def root(store):
    return RootService(store, [], 0, 0)


@pytest.fixture
def said(store, root):
    watcher = Watcher()
    store.subscribe(ROOT, watcher)
    return watcher.said


def configuration(provider="acme", title="Acme", plugin="acme-plugin", **properties):
    settings = [{"key": key, "group": "All"} for key in properties]
    value = ProviderConfiguration(
        provider=provider,
        title=title,
        properties={f"{provider}.{key}": schema for key, schema in properties.items()},
        settings=settings,
    )
    return {provider: Owned(plugin, value)}


def config(store):
    return store.state(ROOT)["config"]


def push(root, config, **more):
    return root.handle(ROOT, {"type": "root/configChanged", "config": config, **more}, ORIGIN)


def test_properties_join_the_schema_with_their_defaults_held(store, root, said):
    root.contributed_configuration(configuration(mood={**TEXT, "default": "calm"}, other=TEXT))
    properties = config(store)["schema"]["properties"]
    assert properties["acme.mood"] == {**TEXT, "default": "calm"}
    assert "acme.other" in properties
    assert "canvasesEnabled" in properties
    assert config(store)["values"]["acme.mood"] == "calm"
    assert "acme.other" not in config(store)["values"]
    [envelope] = said
    assert envelope["action"] == {"type": "root/configChanged", "config": {"acme.mood": "calm"}}
    assert "origin" not in envelope


def test_the_page_a_client_draws_is_listed_in_the_roots_meta(store, root):
    root.contributed_configuration(configuration(mood=TEXT))
    assert store.state(ROOT)["_meta"][PAGES] == [
        {
            "provider": "acme",
            "title": "Acme",
            "description": "",
            "settings": [{"key": "mood", "group": "All"}],
        }
    ]
    root.contributed_configuration({})
    assert "_meta" not in store.state(ROOT)


def test_what_a_client_set_is_kept_in_place_of_the_default(store, root):
    push(root, {"acme.mood": "wild"})
    root.contributed_configuration(configuration(mood={**TEXT, "default": "calm"}))
    assert config(store)["values"]["acme.mood"] == "wild"
    root.contributed_configuration(configuration(mood={**TEXT, "default": "mild"}))
    assert config(store)["values"]["acme.mood"] == "wild"


def test_another_default_takes_the_place_of_one_nobody_set(store, root):
    root.contributed_configuration(configuration(mood={**TEXT, "default": "calm"}))
    root.contributed_configuration(configuration(mood={**TEXT, "default": "mild"}))
    assert config(store)["values"]["acme.mood"] == "mild"


def test_a_default_goes_with_its_property_and_what_was_set_stays(store, root):
    properties = {"mood": {**TEXT, "default": "calm"}, "tone": {**TEXT, "default": "low"}}
    root.contributed_configuration(configuration(**properties))
    push(root, {"acme.tone": "low"})
    push(root, {"acme.tone": "high"})
    root.contributed_configuration({})
    assert "acme.mood" not in config(store)["schema"]["properties"]
    assert "acme.mood" not in config(store)["values"]
    assert config(store)["values"]["acme.tone"] == "high"


def test_a_default_is_held_again_where_a_client_replaces_everything(store, root):
    root.contributed_configuration(configuration(mood={**TEXT, "default": "calm"}))
    push(root, {"acme.mood": "wild"})
    push(root, {"other": 1}, replace=True)
    assert config(store)["values"] == {"other": 1, "acme.mood": "calm"}


def test_of_a_key_that_is_declared_twice_the_first_stands(store, root, log_lines):
    both = {
        **configuration("acme", mood={**TEXT, "default": "calm"}),
        "other": Owned(
            "other-plugin",
            ProviderConfiguration(
                provider="other",
                title="Other",
                properties={
                    "acme.mood": {**TEXT, "default": "wild"},
                    "clientQueueBytes": TEXT,
                    "other.own": TEXT,
                },
                settings=[],
            ),
        ),
    }
    root.contributed_configuration(both)
    assert config(store)["values"]["acme.mood"] == "calm"
    assert config(store)["schema"]["properties"]["clientQueueBytes"]["type"] == "number"
    assert "other.own" in config(store)["schema"]["properties"]
    problems = [words for words in log_lines() if "left out" in words]
    assert problems == [
        "the plugin other-plugin: other's setting acme.mood is left out: acme's configuration "
        "declares it already",
        "the plugin other-plugin: other's setting clientQueueBytes is left out: this host "
        "declares it already",
    ]
    root.contributed_configuration(both)
    assert len([words for words in log_lines() if "left out" in words]) == 2


def test_a_property_that_is_none_costs_itself(store, root, log_lines):
    root.contributed_configuration(configuration(mood={"type": "mood"}, tone=TEXT))
    assert "acme.mood" not in config(store)["schema"]["properties"]
    assert "acme.tone" in config(store)["schema"]["properties"]
    assert any("acme.mood is left out" in words for words in log_lines())


def test_the_same_again_says_nothing(store, root, said):
    root.contributed_configuration(configuration(mood={**TEXT, "default": "calm"}))
    root.contributed_configuration(configuration(mood={**TEXT, "default": "calm"}))
    assert len(said) == 1


# -- what the host sets itself ---------------------------------------------------------

RESTART = {"type": "boolean", "title": "Restart needed", "readOnly": True}


def test_a_value_of_the_hosts_own_is_said_and_goes(store, root, said):
    root.host_values("operating", {"ahpd.restartNeeded": HostValue(schema=RESTART, value=True)})
    assert config(store)["schema"]["properties"]["ahpd.restartNeeded"] == RESTART
    assert config(store)["values"]["ahpd.restartNeeded"] is True
    root.host_values("operating", {"ahpd.restartNeeded": HostValue(schema=RESTART, value=True)})
    assert len(said) == 1
    root.host_values("operating", {})
    assert "ahpd.restartNeeded" not in config(store)["values"]
    assert "ahpd.restartNeeded" not in config(store)["schema"]["properties"]


def test_a_client_may_not_set_what_the_host_sets(store, root):
    root.host_values("operating", {"ahpd.restartNeeded": HostValue(schema=RESTART, value=True)})
    with pytest.raises(Refusal, match="this host sets it itself"):
        push(root, {"ahpd.restartNeeded": False, "other": 1})
    assert "other" not in config(store)["values"]
    push(root, {"ahpd.restartNeeded": True, "other": 1})
    assert config(store)["values"]["other"] == 1


def test_what_is_said_in_place_of_a_value_is_its_owners_to_answer(store, root, said):
    asked = []

    def pushed(key, value, origin):
        asked.append((key, value, origin))
        return {"token": "<set>"}

    plugin = {"type": "object", "title": "Notes"}
    root.host_values("plugins", {"plugins.notes": HostValue(schema=plugin, value={})}, pushed)
    push(root, {"plugins.notes": {"token": "s3cret"}, "other": 1})
    assert asked == [("plugins.notes", {"token": "s3cret"}, ORIGIN)]
    assert config(store)["values"]["plugins.notes"] == {"token": "<set>"}
    assert said[-1]["origin"] == ORIGIN
    assert "s3cret" not in str(said)


def test_who_sent_another_value_is_told_though_nothing_moved(store, root, said):
    plugin = HostValue(schema=TEXT, value="<set>")
    root.host_values("plugins", {"plugins.notes": plugin}, lambda key, value, origin: "<set>")
    push(root, {"plugins.notes": "s3cret"})
    assert said[-1]["origin"] == ORIGIN
    assert said[-1]["action"]["config"] == {"plugins.notes": "<set>"}
    count = len(said)
    push(root, {"plugins.notes": "<set>"})
    assert len(said) == count


def test_what_the_host_sets_stays_where_a_client_replaces_everything(store, root):
    root.host_values("operating", {"ahpd.restartNeeded": HostValue(schema=RESTART, value=True)})
    push(root, {"other": 1}, replace=True)
    assert config(store)["values"] == {"other": 1, "ahpd.restartNeeded": True}


def test_an_owner_may_take_its_time(store, root):
    waiting = Deferred()

    async def pushed(key, value, origin):
        await waiting
        return value

    one = HostValue(schema=TEXT, value="a")
    root.host_values("plugins", {"plugins.a": one, "plugins.b": one}, pushed)
    answer = root.handle(
        ROOT,
        {"type": "root/configChanged", "config": {"plugins.a": "1", "plugins.b": "2"}},
        ORIGIN,
    )
    done = Deferred.fromCoroutine(answer)
    assert config(store)["values"]["plugins.a"] == "a"
    waiting.callback(None)
    assert done.called
    assert config(store)["values"]["plugins.a"] == "1"
    assert config(store)["values"]["plugins.b"] == "2"


def test_an_owner_who_refuses_late_refuses_the_whole(store, root):
    async def pushed(key, value, origin):
        raise Refusal("the file cannot be written")

    root.host_values("plugins", {"plugins.a": HostValue(schema=TEXT, value="a")}, pushed)
    answer = push(root, {"plugins.a": "1", "other": 1})
    failures = []
    Deferred.fromCoroutine(answer).addErrback(failures.append)
    assert failures[0].check(Refusal)
    assert "other" not in config(store)["values"]


def test_a_key_a_plugin_contributes_gives_way_to_one_the_host_sets(store, root):
    root.contributed_configuration(configuration("plugins", notes={**TEXT, "default": "x"}))
    root.host_values("plugins", {"plugins.notes": HostValue(schema=TEXT, value="own")})
    assert config(store)["values"]["plugins.notes"] == "own"


def test_the_roots_meta_is_put_together_of_what_each_says(store, root):
    root.set_meta({"ahpd.channels": [1]})
    root.contributed_configuration(configuration(mood=TEXT))
    assert set(store.state(ROOT)["_meta"]) == {"ahpd.channels", PAGES}
    root.set_meta({"ahpd.channels": None})
    assert set(store.state(ROOT)["_meta"]) == {PAGES}


def test_canvases_are_off_until_a_window_turns_them_on(root):
    assert root.canvases_enabled() is False
    push(root, {"canvasesEnabled": "yes"})
    assert root.canvases_enabled() is False
    push(root, {"canvasesEnabled": True})
    assert root.canvases_enabled() is True
