"""A whole host that serves things beside the protocol."""

import pytest

from ahpd.interfaces import Channel, Description, Method, Owned
from ahpd.protocol.uris import ROOT
from ahpd.testing.host import MemoryHost

CLIENTS = "x-ahpd-clients://"
URI = "x-notes://"


@pytest.fixture
def host():
    host = MemoryHost()
    yield host
    host.stop()


def answered_meta(probe):
    (answer,) = [m for side, m in probe.frames if side == "host" and "result" in m][:1]
    return answer["result"]["_meta"]


def notes(state):
    return Channel(
        grant="notes:read",
        snapshot=lambda uri, caller: state,
        describe=lambda: Description(title="Notes"),
    )


def contribute(host, **channels):
    items = {f"x-{name}": Owned("notes", value) for name, value in channels.items()}
    host.host.beside.extensions.contributed_channels(items)


def test_a_client_learns_what_there_is_at_its_handshake_and_from_the_root(host):
    contribute(host, notes=notes({}))
    client = host.connect("ada", ROOT)
    meta = answered_meta(client)
    entry = {"scheme": "x-notes", "title": "Notes", "grant": "notes:read"}
    assert entry in meta["ahpd.channels"]
    assert client.state(ROOT)["_meta"] == {
        key: meta[key] for key in ("ahpd.channels", "ahpd.methods", "ahpd.grants")
    }
    assert {one["method"] for one in meta["ahpd.methods"]} >= {
        "x-ahpd/invokeOperation",
        "x-ahpd/completions",
    }
    contribute(host)
    assert entry not in answered_meta(host.connect("bob"))["ahpd.channels"]


def test_a_plugins_channel_and_command_are_served_beside_the_hosts(host):
    state = {"notes": []}
    contribute(host, notes=notes(state))
    extensions = host.host.beside.extensions

    def put(params, caller):
        state["notes"].append(params["note"])
        action = {"type": "x-notes/added", "note": params["note"]}
        extensions.handle("x-notes").publish(URI, action)
        return {"by": caller.client}

    extensions.contributed_methods({"x-notes/put": Owned("notes", Method(grant="", handle=put))})
    ada, bob = host.connect("ada", URI), host.connect("bob")
    assert host.run(bob.call("x-notes/put", {"note": "hello"})) == {"by": "bob"}
    host.settle()
    actions = [
        message["params"]["action"]
        for side, message in ada.frames
        if side == "host" and message.get("method") == "action"
    ]
    assert actions == [{"type": "x-notes/added", "note": "hello"}]
    host.run(bob.subscribe(URI))
    assert bob.state(URI) == {"notes": ["hello"]}
    host.cut(ada)
    host.run(bob.call("x-notes/put", {"note": "again"}))
    host.reconnect(ada)
    assert [m["action"]["note"] for m in replayed(ada)] == ["again"]


def replayed(probe):
    answers = [m["result"] for side, m in probe.frames if side == "host" and "result" in m]
    return [one for one in answers if isinstance(one, dict) and "actions" in one][-1]["actions"]


def test_every_connection_is_a_row_of_the_clients(host):
    ada = host.connect("ada", ROOT)
    watching = host.connect("bob", CLIENTS)
    rows = watching.state(CLIENTS)["rows"]
    assert (rows[0]["clientId"], rows[0]["subscriptions"]) == ("ada", [ROOT])
    dropped = host.run(
        watching.call(
            "x-ahpd/invokeOperation",
            {"channel": CLIENTS, "operationId": "drop", "target": {"id": rows[0]["id"]}},
        )
    )
    assert dropped["clientId"] == "ada"
    host.advance(1)
    assert not ada.connected
    assert watching.connected


def test_a_restart_that_is_needed_is_told_to_who_watches_the_root(host):
    client = host.connect("ada", ROOT)
    host.host.beside.restart.mark()
    host.settle()
    assert ("x-ahpd/restartNeeded", {"channel": ROOT}) in client.notifications
    assert client.state(ROOT)["config"]["values"]["ahpd.restartNeeded"] is True
