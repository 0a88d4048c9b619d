"""Tokens nobody should be able to lend, and what a flood of them leaves behind."""

import pytest

from ahpd.credentials.service import LONGEST_TOKEN, MOST_SCOPES
from ahpd.interfaces import RpcError
from ahpd.testing.agents import ScriptedAgent
from ahpd.testing.host import MemoryHost

ROOT = "ahp-root://"
API = "https://api.example"


@pytest.fixture
def host():
    agent = ScriptedAgent()
    agent.more_info = {"protectedResources": [{"resource": API, "required": False}]}
    held = MemoryHost({"scripted": agent})
    yield held
    held.stop()


def lend(host, client, token, **more):
    params = {"channel": ROOT, "resource": API, "token": token, **more}
    return host.run(client.request("authenticate", **params))


def credentials(host):
    return host.host.sessions.registry.world.offers.credentials


@pytest.mark.parametrize(
    "token",
    [
        "good\r\nX-Admin: 1",
        "good\n",
        "\0",
        "tab\there",
        "tökén",
        "\u2028",
        "x" * (LONGEST_TOKEN + 1),
    ],
)
def test_what_would_not_travel_in_a_header_is_no_token(host, token):
    ann = host.connect("ann", ROOT)
    lend(host, ann, "good")
    with pytest.raises(RpcError) as refused:
        lend(host, ann, token)
    assert refused.value.code == -32602
    assert "token: " in refused.value.message
    assert token[:4] not in refused.value.message
    assert len(refused.value.message) < 200
    session = "ahp-session:/s1"
    host.run(ann.request("createSession", channel=session))
    chat = host.store.state(session)["defaultChat"]
    assert credentials(host).spent(session, chat, API) == "good"


@pytest.mark.parametrize("scopes", [["s"] * (MOST_SCOPES + 1), ["s" * 2000]])
def test_scopes_are_few_and_short(host, scopes):
    ann = host.connect("ann", ROOT)
    with pytest.raises(RpcError) as refused:
        lend(host, ann, "good", scopes=scopes)
    assert refused.value.code == -32602


@pytest.mark.parametrize("lasts", [2**62, 10**300, 10**400])
def test_a_token_that_lasts_longer_than_anybody_lives_is_kept_without_an_end(host, lasts):
    ann = host.connect("ann", ROOT)
    assert lend(host, ann, "good", expiresIn=lasts) == {}
    assert credentials(host).lends(connection(host, "ann"), API)


@pytest.mark.parametrize("lasts", [0, -1, 1.5, True, "60"])
def test_a_time_that_is_no_positive_number_is_refused(host, lasts):
    ann = host.connect("ann", ROOT)
    with pytest.raises(RpcError) as refused:
        lend(host, ann, "hush-hush", expiresIn=lasts)
    assert refused.value.code == -32602
    assert "hush" not in str(refused.value)


def connection(host, client):
    [only] = credentials(host)._connections(client)
    return only.connection_id


def late_calls(host):
    return sum(call.getTime() > 3000 for call in host.clock.getDelayedCalls())


def test_a_flood_of_tokens_leaves_no_more_than_its_last_ones(host):
    ann = host.connect("ann", ROOT)
    before = late_calls(host)
    for number in range(1000):
        lend(host, ann, f"token-{number}", expiresIn=3600)
    for number in range(500):
        lend(host, ann, "more", expiresIn=3600, scopes=[f"scope-{number}"])
    assert late_calls(host) - before == 256
    lend(host, ann, "")
    assert late_calls(host) == before
