"""The plugin as people have it: its wheel installed, in a daemon, asked over HTTP."""

from pathlib import Path

from pytest_twisted import ensureDeferred
from twisted.internet.task import deferLater

from ahpd.testing.daemon import Daemon
from ahpd.testing.plugin_daemon import ask, install_plugin

SOURCE = Path(__file__).parent.parent
PAGE = "/plugins/heartbeat/"


@ensureDeferred
async def test_it_beats_while_it_is_loaded_and_not_a_moment_longer(reactor, tmp_path):
    site = install_plugin(SOURCE, tmp_path / "site")
    entry = {"source": "ahpd-heartbeat", "options": {"interval": 0.1}}
    daemon = Daemon(
        reactor,
        tmp_path / "daemon",
        "--port",
        "0",
        settings={"plugins": [entry]},
        preset={"PYTHONPATH": str(site)},
    )
    async with daemon:
        first = (await ask(daemon, "GET", PAGE)).json()
        assert first["interval"] == 0.1
        await deferLater(reactor, 0.5)
        answer = await ask(daemon, "GET", PAGE)
        assert answer.status == 200
        assert answer.json()["beats"] > first["beats"]
        assert answer.json()["running"] > first["running"]
        assert (await ask(daemon, "HEAD", PAGE)).body == b""
        assert (await ask(daemon, "POST", PAGE, b"x")).status == 405
        place = daemon.url.replace("ws://", "http://").rstrip("/")
        assert f"heartbeat on {place}{PAGE}" in daemon.output

        client = await daemon.connect("ann")
        await client.call(
            "x-ahpd/plugins/options", {"id": "heartbeat", "key": "interval", "value": 5}
        )
        assert (await ask(daemon, "GET", PAGE)).json()["interval"] == 5
        await client.call("x-ahpd/plugins/disable", {"id": "heartbeat"})
        assert (await ask(daemon, "GET", PAGE)).status == 404
