"""The plugin as people have it: installed in a daemon, with clients, a watch and an editor."""

from pathlib import Path

import pytest
from pytest_twisted import ensureDeferred

from ahpd.interfaces import RpcError
from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import Daemon
from ahpd.testing.plugin_daemon import install_plugin

SOURCE = Path(__file__).parent.parent
URI = "x-notes://"


def daemon_of(reactor, tmp_path):
    site = install_plugin(SOURCE, tmp_path / "site")
    return Daemon(
        reactor,
        tmp_path / "daemon",
        "--port",
        "0",
        settings={"plugins": [{"source": "ahpd-notes", "options": {"largest": 1000}}]},
        preset={"PYTHONPATH": str(site)},
    )


def told(client, kind):
    """The actions of a kind that a client was told on the channel."""
    return [
        message["params"]["action"]
        for sender, message in client.frames
        if sender == "host"
        and message.get("method") == "action"
        and message["params"]["channel"] == URI
        and message["params"]["action"]["type"] == kind
    ]


async def read(client, uri):
    return (await client.request("resourceRead", channel=ROOT, uri=uri))["data"]


@ensureDeferred
async def test_notes_are_put_watched_and_kept_as_files(reactor, tmp_path):
    daemon = daemon_of(reactor, tmp_path)
    async with daemon:
        ann, bob = await daemon.connect("ann", ROOT), await daemon.connect("bob", ROOT)
        meta = ann.plain_state(ROOT)["_meta"]
        (channel,) = [one for one in meta["ahpd.channels"] if one["scheme"] == "x-notes"]
        assert (channel["title"], channel["grant"]) == ("Notes", "notes:list")
        assert "x-notes/put" in [one["method"] for one in meta["ahpd.methods"]]
        assert {"list", "put", "delete"} <= set(meta["ahpd.grants"]["notes"]["operations"])
        assert await bob.call("subscribe", {"channel": URI})
        await ann.call("x-notes/put", {"id": "milk", "text": "# Buy some"})
        await bob.wait_for(lambda: told(bob, "x-notes/changed"), what="the note")
        assert await read(ann, "notes:/milk.md") == "# Buy some"
        file = daemon.config / "notes" / "milk.md"
        assert file.read_text().rstrip().endswith("# Buy some")

        # A person edits the file, and makes one.
        file.write_text(file.read_text().replace("Buy some", "Buy more"))
        await bob.wait_for(
            lambda: told(bob, "x-notes/changed")[-1]["note"]["title"] == "Buy more",
            what="what an editor wrote",
        )
        await ann.call(
            "resourceWrite",
            {
                "channel": ROOT,
                "uri": "notes:/plan.md",
                "data": "by resource",
                "encoding": "utf-8",
                "createOnly": True,
            },
        )
        listed = await ann.request("resourceList", channel=ROOT, uri="notes:/")
        assert [entry["name"] for entry in listed["entries"]] == ["milk.md", "plan.md"]
        snapshot = await ann.call("subscribe", {"channel": URI})
        assert [note["id"] for note in snapshot["snapshot"]["state"]["notes"]] == ["milk", "plan"]

        with pytest.raises(RpcError, match="1000 bytes"):
            await ann.call("x-notes/put", {"id": "long", "text": "x" * 1001})
        await ann.call("x-notes/remove", {"id": "plan"})
        await bob.wait_for(lambda: told(bob, "x-notes/removed"), what="that it is gone")
        assert not (daemon.config / "notes" / "plan.md").exists()

        # They are there after a restart.
        await daemon.stop()
        daemon.clients.clear()
        await daemon.start()
        again = await daemon.connect("ann", ROOT)
        assert await read(again, "notes:/milk.md") == "# Buy more"


@ensureDeferred
async def test_its_page_has_a_button_that_calls_its_command(reactor, tmp_path):
    daemon = daemon_of(reactor, tmp_path)
    async with daemon:
        ann = await daemon.connect("ann", ROOT)
        await ann.call("x-notes/put", {"id": "milk", "text": "Buy some"})
        listed = await ann.call("subscribe", {"channel": "x-ahpd-plugins://"})
        (row,) = listed["snapshot"]["state"]["rows"]
        view = row["views"]["main"]
        assert view["dataModel"]["notes"] == [{"id": "milk", "title": "Buy some"}]
        event = view["components"]["remove"]["action"]["event"]
        item = view["dataModel"]["notes"][0]
        params = {key: item[bound["path"]] for key, bound in event["context"].items()}
        assert await ann.call(event["name"], params) == {}
        with pytest.raises(RpcError, match="no note milk"):
            await ann.call(event["name"], params)


@ensureDeferred
async def test_a_client_that_watches_the_scheme_is_told(reactor, tmp_path):
    daemon = daemon_of(reactor, tmp_path)
    async with daemon:
        ann = await daemon.connect("ann", ROOT)
        made = await ann.request("createResourceWatch", channel=ROOT, uri="notes:/")
        await ann.subscribe(made["channel"])
        await ann.call("x-notes/put", {"id": "milk", "text": "Buy some"})

        def changes():
            return [
                change
                for sender, message in ann.frames
                if sender == "host" and message.get("method") == "action"
                for change in message["params"]["action"].get("changes", {}).get("items", [])
            ]

        await ann.wait_for(changes, what="the change")
        assert changes()[0] == {"uri": "notes:/milk.md", "type": "added"}
