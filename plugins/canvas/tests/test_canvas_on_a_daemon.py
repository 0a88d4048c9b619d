"""The plugin as people have it: installed in a daemon, whose agent calls the tools."""

from pathlib import Path
from urllib.parse import urlsplit

from pytest_twisted import ensureDeferred

from ahpd.protocol.uris import ROOT
from ahpd.testing.daemon import Daemon
from ahpd.testing.plugin_daemon import CallerChat, ask, install_plugin, tool_caller

SOURCE = Path(__file__).parent.parent
PLAN = {"title": "Plan & more", "text": "1. <b>read</b>\n2. write"}


async def load(daemon, url):
    parts = urlsplit(url)
    return await ask(daemon, "GET", f"{parts.path}?{parts.query}")


@ensureDeferred
async def test_an_agent_shows_a_page_on_its_chat(reactor, tmp_path):
    site = install_plugin(SOURCE, tmp_path / "site")
    caller = tool_caller(tmp_path / "caller")
    daemon = Daemon(
        reactor,
        tmp_path / "daemon",
        "--port",
        "0",
        settings={"plugins": ["ahpd-canvas", caller]},
        preset={"PYTHONPATH": str(site)},
    )
    async with daemon:
        ann = await daemon.connect("ann", ROOT)
        chat = await CallerChat.begin(ann)
        refused = await chat.call("canvas_show", **PLAN)
        assert not refused["success"]
        assert "Canvases are disabled." in str(refused)
        assert "canvases" not in ann.state(chat.chat)

        enabled = {"type": "root/configChanged", "config": {"canvasesEnabled": True}}
        await ann.perform(ROOT, enabled)
        shown = await chat.call("canvas_show", status="draft", **PLAN)
        assert shown["success"], shown
        await ann.wait_for(lambda: ann.state(chat.chat).get("canvases"), what="the canvas")
        (reference,) = ann.state(chat.chat)["canvases"]
        canvas = reference["resource"]
        await ann.subscribe(canvas)
        state = ann.plain_state(canvas)
        assert (state["title"], state["status"]) == ("Plan & more", "draft")
        page = await load(daemon, state["url"])
        assert page.status == 200
        assert "<h1>Plan &amp; more</h1><pre>1. &lt;b&gt;read" in page.body.decode()
        assert "default-src 'none'" in page.headers["content-security-policy"]

        await chat.call("canvas_show", status="done", **PLAN)
        await ann.wait_for(lambda: ann.state(canvas)["status"] == "done", what="its new status")
        assert ann.plain_state(canvas)["url"] != state["url"]
        assert ann.plain_state(chat.chat)["canvases"] == [reference]

        assert (await chat.call("canvas_close"))["success"]
        await ann.wait_for(lambda: "canvases" not in ann.state(chat.chat), what="no canvas")
        ann.unsubscribe(canvas)
        assert (await load(daemon, state["url"])).status == 404

        # What is drawn when the plugin goes, goes with it, and the page as well.
        await chat.call("canvas_show", **PLAN)
        await ann.wait_for(lambda: ann.state(chat.chat).get("canvases"), what="a canvas again")
        await ann.call("x-ahpd/plugins/disable", {"id": "canvas"})
        await ann.wait_for(lambda: "canvases" not in ann.state(chat.chat), what="none")
        assert not (await chat.call("canvas_show", **PLAN))["success"]
