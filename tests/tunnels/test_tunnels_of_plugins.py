"""A plugin's kind of tunnels and its trigger type, over the wire of a whole host."""

import pytest

from ahpd.config.plugins import PluginEntry
from ahpd.protocol.errors import RpcError
from ahpd.testing.host import MemoryHost

URI = "x-ahpd-tunnels://"
INVOKE = "x-ahpd/invokeOperation"

PLUGIN = """
from ahpd.interfaces import TriggerType, TunnelKind, TunnelReport

SCHEMA = {
    "type": "object",
    "properties": {
        "port": {"type": "integer", "title": "Port"},
        "token": {"type": "string", "title": "Token", "secret": True},
    },
    "required": ["port"],
}


def apply(host, options):
    def create(tunnel, report):
        if tunnel.settings["port"] == 0:
            raise ValueError("no such port for " + tunnel.settings["token"])
        report(TunnelReport(status="running", url=f"https://x-{tunnel.settings['port']}.example/"))

    host.register_tunnel_kind(
        TunnelKind(name="dev", title="Dev", schema=SCHEMA, create=create, remove=lambda tunnel: None)
    )
    host.register_trigger_type(
        TriggerType(type="deploy", title="Deploy", events=[{"id": "failed", "title": "Failed"}])
    )
"""
MANIFEST = """
id: relays
version: 1.0.0
main: relays.py
contracts:
  tunnelKinds: [dev]
  triggerTypes: [deploy]
"""


@pytest.fixture
def host(tmp_path):
    folder = tmp_path / "relays"
    folder.mkdir()
    (folder / "relays.py").write_text(PLUGIN)
    (folder / "plugin.yaml").write_text(MANIFEST)
    host = MemoryHost(plugins=[PluginEntry(source=str(folder), place="plugins[0]")])
    yield host
    host.stop()


def invoke(host, client, operation, **more):
    asked = client.call(INVOKE, {"channel": URI, "operationId": operation, **more})
    return host.run(asked)


def read(host, client):
    """The state a client that comes now reads."""
    asked = host.connect(client).call("subscribe", {"channel": URI})
    return host.run(asked)["snapshot"]["state"]


def test_a_client_makes_a_tunnel_of_a_plugins_kind_and_everybody_reads_it(host):
    ada, bob = host.connect("ada", URI), host.connect("bob", URI)
    host.settle()
    made = invoke(host, ada, "dev/create", input={"port": 7, "token": "tok-secret"})
    assert (made["status"], made["url"], made["plugin"]) == (
        "running",
        "https://x-7.example/",
        "relays",
    )
    invoke(host, ada, "dev/update", target={"id": made["id"]}, input={"port": 8})
    host.settle()
    told = [envelope.action for envelope in bob.envelopes(URI)]
    assert [one["row"]["port"] for one in told if one["type"].endswith("/added")] == [7]
    assert told[-1]["row"]["url"] == "https://x-8.example/"
    state = read(host, "late")
    assert [row["id"] for row in state["rows"]] == [made["id"]]
    assert state["rows"][0] == told[-1]["row"]
    assert "tok-secret" not in str([told, state])
    host.check()
    with pytest.raises(RpcError, match="no such port for <set>"):
        invoke(host, ada, "dev/create", input={"port": 0, "token": "tok-secret"})
    assert read(host, "later")["rows"] == state["rows"]


def test_the_list_of_a_late_client_has_the_operations_of_the_plugins_kind(host):
    state = read(host, "late")
    assert state["rows"] == []
    assert [one["id"] for one in state["operations"]] == [
        f"dev/{verb}" for verb in ("create", "update", "enable", "disable", "remove")
    ]


def test_a_client_is_offered_the_plugins_trigger_types(host):
    client = host.connect("ada")
    listed = host.run(client.call("listAutomationTriggerDefinitions", {"channel": "ahp-root://"}))
    assert listed == {
        "items": [
            {
                "type": "deploy",
                "title": "Deploy",
                "events": [{"id": "failed", "title": "Failed"}],
            }
        ]
    }
