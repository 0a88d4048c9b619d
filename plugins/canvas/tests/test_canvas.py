"""The tools as a model calls them, the canvas they draw, and the page behind it."""

import re
from urllib.parse import urlsplit

import pytest
from pytest_twisted import ensureDeferred

import ahpd_canvas.plugin
from ahpd.interfaces import PluginError, RpcError, ToolFailure
from ahpd.protocol.errors import invalid_params
from ahpd.testing import RecordingPluginHost

PLAN = {"title": "Plan", "text": "1. read\n2. write"}


@pytest.fixture
def host():
    return RecordingPluginHost(ahpd_canvas.plugin, "canvas")


async def started(host, options=None, /, **payload):
    await host.apply(options)
    await host.listening(**payload)


def the_canvas(host):
    ((channel, state),) = host.asked.canvases.items()
    return channel, state


async def load(host, state):
    parts = urlsplit(state["url"])
    return await host.request("GET", parts.path, query=parts.query)


@ensureDeferred
async def test_a_page_is_opened_on_the_chat_that_calls(host):
    await started(host)
    words = await host.run_tool("canvas_show", {**PLAN, "status": "draft"}, chat="ahp-chat:/a")
    assert words == "The page “Plan” is shown beside the chat."
    _, state = the_canvas(host)
    assert state["title"] == "Plan"
    assert state["status"] == "draft"
    assert state["url"].startswith("http://127.0.0.1:9187/plugins/canvas/")
    answer = await load(host, state)
    assert answer.status == 200
    assert "<h1>Plan</h1><pre>1. read\n2. write</pre>" in answer.body.decode()


@ensureDeferred
async def test_called_again_it_draws_the_same_canvas_anew_and_has_it_loaded_again(host):
    await started(host)
    await host.run_tool("canvas_show", {**PLAN, "status": "draft"})
    channel, first = the_canvas(host)
    await host.run_tool("canvas_show", {"title": "Result", "text": "42"})
    again, second = the_canvas(host)
    assert again == channel
    assert second["title"] == "Result"
    assert "status" not in second
    assert second["url"] != first["url"]
    for state in (first, second):  # the address is another one, and the page the same
        assert "<pre>42</pre>" in (await load(host, state)).body.decode()


@ensureDeferred
async def test_each_chat_has_a_page_of_its_own(host):
    await started(host)
    await host.run_tool("canvas_show", {"title": "One", "text": "1"}, chat="ahp-chat:/a")
    await host.run_tool("canvas_show", {"title": "Two", "text": "2"}, chat="ahp-chat:/b")
    assert [state["title"] for state in host.asked.canvases.values()] == ["One", "Two"]


@ensureDeferred
async def test_what_a_model_wrote_is_text_and_nothing_else(host):
    await started(host)
    wicked = "<script src=https://example.org/x.js></script>\"'&"
    await host.run_tool(
        "canvas_show", {"title": f"</title>{wicked}", "text": f"</pre>{wicked}\ud800"}
    )
    answer = await load(host, the_canvas(host)[1])
    body = answer.body.decode()
    assert "<script" not in body
    assert body.count("</title>") == body.count("</pre>") == 1
    assert "&lt;script src=https://example.org/x.js&gt;" in body


@ensureDeferred
async def test_the_page_may_do_nothing_but_be_read(host):
    await started(host)
    await host.run_tool("canvas_show", PLAN)
    answer = await load(host, the_canvas(host)[1])
    headers = dict(answer.headers)
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "form-action 'none'" in policy
    assert "base-uri 'none'" in policy
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert not re.search(r"(src|href|action)=|@import|url\(|<script", answer.body.decode())


@ensureDeferred
async def test_an_address_nobody_was_given_is_answered_404(host):
    await started(host)
    await host.run_tool("canvas_show", PLAN)
    for path in ("", "board", "..", "é"):
        assert (await host.request("GET", f"/plugins/canvas/{path}")).status == 404
    assert (await host.request("GET", "/plugins/canvas")).status == 404
    assert (await host.request("POST", "/plugins/canvas/x", b"")).status == 405


@ensureDeferred
async def test_a_page_that_is_closed_is_gone(host):
    await started(host)
    await host.run_tool("canvas_show", PLAN)
    _, state = the_canvas(host)
    assert await host.run_tool("canvas_close") == "The page “Plan” is closed."
    assert host.asked.canvases == {}
    assert (await load(host, state)).status == 404
    with pytest.raises(ToolFailure, match="shows no page"):
        await host.run_tool("canvas_close")


@ensureDeferred
async def test_a_canvas_that_went_with_its_chat_is_opened_again(host):
    await started(host)
    await host.run_tool("canvas_show", PLAN)
    host.asked.canvases.clear()
    await host.run_tool("canvas_show", PLAN)
    assert the_canvas(host)[1]["title"] == "Plan"


@ensureDeferred
async def test_what_the_host_refuses_a_model_is_told(host):
    await started(host)
    host.asked.failures["open_canvas"] = invalid_params("Canvases are disabled.")
    with pytest.raises(ToolFailure, match="Canvases are disabled"):
        await host.run_tool("canvas_show", PLAN)
    del host.asked.failures["open_canvas"]
    await host.run_tool("canvas_show", PLAN)
    host.asked.failures["update_canvas"] = RpcError(-32602, "Canvases are disabled.")
    with pytest.raises(ToolFailure, match="Canvases are disabled"):
        await host.run_tool("canvas_show", PLAN)


@ensureDeferred
async def test_a_page_goes_although_canvases_were_turned_off(host):
    await started(host)
    await host.run_tool("canvas_show", PLAN)
    _, state = the_canvas(host)
    host.asked.failures["close_canvas"] = invalid_params("Canvases are disabled.")
    await host.run_tool("canvas_close")
    assert (await load(host, state)).status == 404
    assert host.logged == ["a canvas stays open: Canvases are disabled."]


@pytest.mark.parametrize(
    "arguments", [{}, {"title": "x"}, {"title": 1, "text": "x"}, {"title": " ", "text": "x"}]
)
@ensureDeferred
async def test_arguments_that_make_no_page_are_refused(host, arguments):
    await started(host)
    with pytest.raises(ToolFailure):
        await host.run_tool("canvas_show", arguments)
    assert host.asked.drawn == []


@ensureDeferred
async def test_the_pages_of_a_session_go_with_it(host):
    await started(host)
    await host.run_tool("canvas_show", PLAN, session="ahp-session:/gone")
    _, state = the_canvas(host)
    await host.emit("session_end", session="ahp-session:/other", reason="disposed")
    assert (await load(host, state)).status == 200
    await host.emit("session_end", session="ahp-session:/gone", reason="disposed")
    assert (await load(host, state)).status == 404


@ensureDeferred
async def test_the_page_least_recently_written_on_makes_room(host):
    await started(host)
    for number in range(201):
        await host.run_tool("canvas_show", PLAN, chat=f"ahp-chat:/{number}")
    assert len(host.asked.canvases) == 200
    assert (await load(host, host.asked.drawn[0][1])).status == 404
    assert (await load(host, host.asked.drawn[1][1])).status == 200


# -- where the pages are ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "payload", "root"),
    [
        ({"url": "https://a.example"}, {}, "https://a.example/plugins/canvas/"),
        ({"url": "https://a.example:8443/"}, {}, "https://a.example:8443/plugins/canvas/"),
        ({}, {"host": "0.0.0.0", "port": 80}, "http://localhost:80/plugins/canvas/"),
        ({}, {"host": "::1", "port": 80}, "http://[::1]:80/plugins/canvas/"),
    ],
)
@ensureDeferred
async def test_pages_are_where_people_reach_the_host(host, options, payload, root):
    await started(host, options, **payload)
    await host.run_tool("canvas_show", PLAN)
    assert the_canvas(host)[1]["url"].startswith(root)


@ensureDeferred
async def test_a_host_without_an_address_shows_no_page_and_says_what_to_set(host):
    await started(host, port=None)
    with pytest.raises(ToolFailure, match="the option url"):
        await host.run_tool("canvas_show", PLAN)


@pytest.mark.parametrize("url", ["ftp://a", "a.example", "https://", "https://a/b", "https://a b"])
@ensureDeferred
async def test_an_address_that_is_none_is_refused(host, url):
    with pytest.raises(PluginError, match="url"):
        await host.apply({"url": url})
