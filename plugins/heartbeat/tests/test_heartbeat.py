"""The heart on a clock of the test's, and the page that tells of it."""

import json

import pytest
from pytest_twisted import ensureDeferred
from twisted.internet.task import Clock

import ahpd_heartbeat.plugin
from ahpd.interfaces import PluginError
from ahpd.testing import RecordingPluginHost

PAGE = "/plugins/heartbeat/"


@pytest.fixture
def host():
    clock = Clock()
    clock.advance(1_000_000)
    return RecordingPluginHost(ahpd_heartbeat.plugin, "heartbeat", clock)


async def status(host):
    answer = await host.request("GET", PAGE)
    return answer.status, json.loads(answer.body)


@ensureDeferred
async def test_it_tells_when_it_last_beat_and_how_long_it_has_been_running(host):
    await host.apply({"interval": 10})
    await host.listening()
    host.clock.advance(10)
    host.clock.advance(4)
    assert await status(host) == (
        200,
        {
            "beats": 2,
            "last": "1970-01-12T13:46:50.000+00:00",
            "interval": 10,
            "running": 14.0,
        },
    )


@ensureDeferred
async def test_the_interval_is_the_manifests_where_nobody_sets_one(host):
    await host.apply()
    await host.listening()
    assert (await status(host))[1]["interval"] == 30


@pytest.mark.parametrize("interval", [0, -1, 3601, "10", True, None])
@ensureDeferred
async def test_an_interval_that_is_none_is_refused_before_anything_runs(host, interval):
    with pytest.raises(PluginError, match="interval"):
        await host.apply({"interval": interval})
    assert host.contribution.services == []


@ensureDeferred
async def test_it_does_not_beat_before_the_host_listens(host):
    await host.apply()
    host.clock.advance(100)
    assert await status(host) == (
        503,
        {"beats": 0, "last": None, "interval": 30, "running": 1_000_100.0},
    )


@ensureDeferred
async def test_one_that_stood_still_for_three_intervals_says_503(host):
    await host.apply({"interval": 10})
    await host.listening()
    host.clock.rightNow += 31  # time passes, and the daemon does nothing
    assert (await status(host))[0] == 503
    host.clock.advance(0)
    assert (await status(host))[0] == 200


@ensureDeferred
async def test_nothing_beats_once_the_plugin_is_gone(host):
    await host.apply()
    await host.listening()
    await host.unload()
    assert host.clock.getDelayedCalls() == []
    assert (await status(host))[0] == 503


@pytest.mark.parametrize(
    ("payload", "line"),
    [
        ({"port": 8080}, "heartbeat on http://127.0.0.1:8080/plugins/heartbeat/"),
        ({"host": "::1", "port": 80}, "heartbeat on http://[::1]:80/plugins/heartbeat/"),
    ],
)
@ensureDeferred
async def test_it_says_where_it_is(host, payload, line):
    await host.apply()
    await host.listening(**payload)
    assert host.said == [line]


@ensureDeferred
async def test_it_says_nothing_where_there_is_no_port(host):
    await host.apply()
    await host.listening(port=None)
    assert host.said == []


@ensureDeferred
async def test_other_paths_and_other_methods_are_refused(host):
    await host.apply()
    await host.listening()
    assert (await host.request("GET", "/plugins/heartbeat")).status == 200
    assert (await host.request("HEAD", PAGE)).status == 200
    assert (await host.request("GET", "/plugins/heartbeat/more")).status == 404
    refused = await host.request("POST", PAGE, b"{}")
    assert (refused.status, dict(refused.headers)["Allow"]) == (405, "GET, HEAD")
