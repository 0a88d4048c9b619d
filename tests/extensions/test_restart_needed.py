"""The mark that a restart is needed (PLUGINS.txt, "A write the daemon cannot apply")."""

import pytest

from ahpd.extensions.restart import KEY, RestartNeeded
from ahpd.interfaces import Refusal
from ahpd.protocol.uris import ROOT
from ahpd.root.host_values import HostValue


@pytest.fixture
def restart(rig):
    def hold(key, schema, value):
        rig.root.host_values("restart", {key: HostValue(schema=schema, value=value)})

    return RestartNeeded(rig.store, hold)


def told(client):
    return [m for m in client.received if m.get("method") in ("action", "x-ahpd/restartNeeded")]


def test_who_watches_the_root_is_told_once_behind_the_value(rig, restart):
    watching, other = rig.client("a", ROOT), rig.client("b")
    restart.mark()
    restart.mark()
    action, notification = told(watching)
    assert action["params"]["action"] == {"type": "root/configChanged", "config": {KEY: True}}
    assert "origin" not in action["params"]
    assert notification["method"] == "x-ahpd/restartNeeded"
    assert notification["params"] == {"channel": ROOT}
    assert told(other) == []


def test_who_comes_afterwards_reads_it(rig, restart):
    assert KEY not in rig.client("a").watch(ROOT)["config"]["values"]
    restart.mark()
    config = rig.client("b").watch(ROOT)["config"]
    assert config["values"][KEY] is True
    assert config["schema"]["properties"][KEY]["readOnly"] is True


@pytest.mark.parametrize("replace", [False, True])
def test_no_client_takes_it_away(rig, restart, replace):
    client = rig.client("a", ROOT)
    restart.mark()
    origin = {"clientId": "a", "clientSeq": 1}
    action = {"type": "root/configChanged", "config": {KEY: False}, "replace": replace}
    with pytest.raises(Refusal, match=KEY):
        rig.root.handle(ROOT, action, origin)
    rig.root.handle(ROOT, {**action, "config": {"other": 1}}, origin)
    assert rig.root.values()[KEY] is True
    assert rig.root.values()["other"] == 1
    assert client.watch(ROOT)["config"]["values"][KEY] is True
