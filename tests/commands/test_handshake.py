"""`ping`, `initialize` and `reconnect`, as AHP.txt's Commands table has them."""

import pytest

from ahpd.interfaces import MAX_DEBTS
from ahpd.protocol.uris import ROOT, ChannelKind

S = "ahp-session:/one"
T = "ahp-session:/two"


def title(words):
    return {"type": "session/titleChanged", "title": words}


def titles(wire):
    return [e["action"]["title"] for e in wire.envelopes if "title" in e["action"]]


def test_ping_works_before_the_handshake_and_after_it(host):
    wire = host.connect()
    assert wire.call("ping", channel=ROOT) is None
    wire.hello()
    assert wire.call("ping", channel="ahp-wrong://") is None


@pytest.mark.parametrize("method", ["subscribe", "listSessions", "resourceRead", "nonsense"])
def test_nothing_else_is_served_before_the_handshake(host, method):
    error = host.connect().refused(method, channel=ROOT)
    assert error["code"] == -32600
    assert "initialize" in error["message"]


@pytest.mark.parametrize(
    ("offered", "agreed"),
    [
        (["1.0.0"], "1.0.0"),
        (["0.9.0", "1.0.0", "0.10.0"], "1.0.0"),
        (["0.9.0", "0.10.0"], "0.10.0"),
        (["0.9.0"], "0.9.0"),
        (["2.0.0", "1.0.0"], "1.0.0"),
        (["99.0.0", "0.10.0", "0.1.0"], "0.10.0"),
    ],
)
def test_the_highest_version_both_speak_is_agreed(host, offered, agreed):
    result = host.connect().call("initialize", channel=ROOT, protocolVersions=offered, clientId="c")
    assert result["protocolVersion"] == agreed
    assert result["serverInfo"]["name"] == "ahpd"
    assert result["snapshots"] == []


@pytest.mark.parametrize("offered", [["2.0.0"], ["0.8.0", "1.1.0"], []])
def test_nothing_in_common_is_refused_with_what_to_retry(host, offered):
    error = host.connect().refused(
        "initialize", channel=ROOT, protocolVersions=offered, clientId="c"
    )
    assert error["code"] == -32005
    assert error["data"] == {"supportedVersions": ["1.0.0", "0.10.0", "0.9.0"]}


@pytest.mark.parametrize(
    "bad", ["1.0", "v1.0.0", "1.0.0-beta", "01.0.0", "", "1.0.0.0", "\u0661.0.0"]
)
def test_a_malformed_version_is_named(host, bad):
    error = host.connect().refused(
        "initialize", channel=ROOT, protocolVersions=["1.0.0", bad], clientId="c"
    )
    assert error["code"] == -32602
    assert "protocolVersions[1]" in error["message"]


def test_a_refused_handshake_may_be_tried_again(host):
    wire = host.connect()
    wire.refused("initialize", channel=ROOT, protocolVersions=["7.0.0"], clientId="c")
    assert wire.hello()["protocolVersion"] == "1.0.0"


def test_a_second_handshake_on_one_connection_is_refused(host):
    wire = host.client()
    error = wire.refused("initialize", channel=ROOT, protocolVersions=["1.0.0"], clientId="x")
    assert error["code"] == -32600
    error = wire.refused(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=0, subscriptions=[]
    )
    assert error["code"] == -32600


@pytest.mark.parametrize(
    ("params", "path"),
    [
        ({"clientId": "c"}, "params.protocolVersions"),
        ({"protocolVersions": ["1.0.0"]}, "params.clientId"),
        ({"protocolVersions": "1.0.0", "clientId": "c"}, "params.protocolVersions"),
        ({"protocolVersions": ["1.0.0", 4], "clientId": "c"}, "params.protocolVersions[1]"),
        ({"protocolVersions": ["1.0.0"], "clientId": ""}, "params.clientId"),
        (
            {"protocolVersions": ["1.0.0"], "clientId": "c", "initialSubscriptions": [1]},
            "params.initialSubscriptions[0]",
        ),
    ],
)
def test_a_wrong_parameter_is_named_by_its_path(host, params, path):
    error = host.connect().refused("initialize", channel=ROOT, **params)
    assert error["code"] == -32602
    assert path in error["message"]


def test_unknown_parameters_are_no_error(host):
    assert host.connect().hello(someday={"x": 1})["protocolVersion"] == "1.0.0"


def test_first_subscriptions_come_back_as_snapshots(host):
    host.naps.add(S)
    wire = host.connect()
    result = wire.hello(initialSubscriptions=["ahp-root:", S, S])
    assert [s["resource"] for s in result["snapshots"]] == [ROOT, S]
    assert all(s["fromSeq"] == result["serverSeq"] for s in result["snapshots"])
    host.store.dispatch(S, title("after"))
    assert titles(wire) == ["after"]


def test_a_first_subscription_with_no_state_is_taken_and_owed(host):
    wire = host.connect()
    result = wire.hello(initialSubscriptions=[S, "ahp-chat:/x", "ahp-canvas:/a/b", "nonsense"])
    assert result["snapshots"] == []
    host.naps.add(S)
    host.store.dispatch(S, title("made later"))
    assert titles(wire) == ["made later"]
    wire.hang_up()
    back = host.connect()
    result = back.call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=1, subscriptions=[S]
    )
    assert result["type"] == "snapshot"
    assert result["snapshots"][0]["state"]["title"] == "made later"
    back.hang_up()
    again = host.connect().call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=1, subscriptions=[S]
    )
    assert again["type"] == "replay", "a snapshot settled the debt"


@pytest.mark.parametrize("settle", ["subscribe", "unsubscribe"])
def test_a_debt_is_settled_by_a_subscribe_and_by_an_unsubscribe(host, settle):
    wire = host.connect()
    wire.hello(initialSubscriptions=[S])
    host.naps.add(S)
    if settle == "subscribe":
        wire.call("subscribe", channel=S)
    else:
        wire.tell("unsubscribe", channel=S)
    host.store.dispatch(S, title("x"))
    wire.hang_up()
    result = host.connect().call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=1, subscriptions=[S]
    )
    assert result["type"] == "replay"


def test_a_debt_of_a_channel_reported_missing_is_settled(host):
    wire = host.connect()
    wire.hello(initialSubscriptions=[S])
    host.naps.add(T)
    host.store.dispatch(T, title("x"))
    wire.hang_up()
    back = host.connect()
    result = back.call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=1, subscriptions=[S, T]
    )
    assert result == {"type": "replay", "actions": [], "missing": [S]}


@pytest.mark.parametrize("away", [True, False])
def test_a_channel_made_anew_under_its_uri_is_not_replayed_onto_the_old_one(host, away):
    host.naps.add(S)
    wire = host.client(initialSubscriptions=[S])
    if away:
        wire.hang_up()
    host.store.close(S)
    host.naps.open(S)
    if not away:
        wire.hang_up()
    result = host.connect().call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=0, subscriptions=[S]
    )
    assert result["type"] == "snapshot"


def test_an_unknown_client_starts_again(host):
    error = host.connect().refused(
        "reconnect", channel=ROOT, clientId="ghost", lastSeenServerSeq=0, subscriptions=[]
    )
    assert error == {"code": -32008, "message": "Reconnect client not found: ghost"}


def test_a_record_expires_ten_windows_after_its_client_left(host):
    host.client("early").hang_up()
    host.client("late").hang_up()
    host.clock.advance(299)
    assert host.connect().call(
        "reconnect", channel=ROOT, clientId="early", lastSeenServerSeq=0, subscriptions=[]
    )
    host.clock.advance(2)
    host.client("another")
    error = host.connect().refused(
        "reconnect", channel=ROOT, clientId="late", lastSeenServerSeq=0, subscriptions=[]
    )
    assert error["code"] == -32008


def test_a_client_that_comes_back_late_is_known_where_nobody_came_meanwhile(host):
    host.client().hang_up()
    host.clock.advance(10_000)
    assert host.connect().call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=0, subscriptions=[]
    )


def test_a_client_that_is_here_never_expires(host):
    stays = host.client("stays")
    host.clock.advance(1000)
    host.client("other")
    stays.hang_up()
    host.clock.advance(200)
    assert host.connect().call(
        "reconnect", channel=ROOT, clientId="stays", lastSeenServerSeq=0, subscriptions=[]
    )


def test_what_was_missed_is_replayed_in_order_and_once(host):
    host.naps.add(S)
    host.naps.add(T)
    wire = host.client(initialSubscriptions=[S, T])
    host.store.dispatch(S, title("seen"))
    wire.hang_up()
    for words in ("a", "b"):
        host.store.dispatch(S, title(words))
        host.store.dispatch(T, title("other " + words))
    back = host.connect()
    result = back.call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=1, subscriptions=[S]
    )
    assert result["type"] == "replay"
    assert [a["action"]["title"] for a in result["actions"]] == ["a", "b"]
    assert [a["serverSeq"] for a in result["actions"]] == [2, 4]
    assert result["missing"] == []
    host.store.dispatch(S, title("live"))
    host.store.dispatch(T, title("not watched any more"))
    assert titles(back) == ["live"]


def test_a_client_ahead_of_the_host_is_replayed_nothing(host):
    host.naps.add(S)
    host.client(initialSubscriptions=[S]).hang_up()
    result = host.connect().call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=900, subscriptions=[S]
    )
    assert result == {"type": "replay", "actions": [], "missing": []}


def test_past_the_buffer_whole_snapshots_come(host):
    host.naps.add(S)
    host.client(initialSubscriptions=[S]).hang_up()
    for number in range(1001):
        host.store.dispatch(S, title(str(number)))
    result = host.connect().call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=0, subscriptions=[S, "ahp-x:/y"]
    )
    assert result["type"] == "snapshot"
    assert [(s["resource"], s["fromSeq"]) for s in result["snapshots"]] == [(S, 1001)]
    assert result["snapshots"][0]["state"]["title"] == "1000"


def test_a_sleeping_channel_is_woken_before_it_is_joined(host):
    host.naps.add(S)
    host.naps.add(T, asleep=True)
    host.client(initialSubscriptions=[S]).hang_up()
    back = host.connect()
    asked = back.ask(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=0, subscriptions=[S, T]
    )
    assert back.answer(asked) is None
    host.store.dispatch(S, title("said while the other woke"))
    host.naps.wake(T)
    result = back.answer(asked)["result"]
    seen = [s["state"]["title"] for s in result.get("snapshots", [])] + [
        a["action"]["title"] for a in result.get("actions", [])
    ]
    assert (
        seen.count("said while the other woke") + titles(back).count("said while the other woke")
        == 1
    )


def test_the_version_agreed_at_initialize_holds_at_reconnect(host):
    chat = "ahp-chat:/c"
    state = {
        "resource": chat, "title": "", "status": 1,
        "modifiedAt": "2026-01-01T00:00:00.000Z", "turns": [],
    }  # fmt: skip
    host.store.open(chat, ChannelKind.CHAT, state)
    canvases = {"type": "chat/canvasesChanged", "canvases": []}
    old, new = host.client("old", version="0.9.0"), host.client("new", version="0.10.0")
    for wire in (old, new):
        wire.call("subscribe", channel=chat)
    host.store.dispatch(chat, {"type": "chat/activityChanged", "activity": "x"})
    host.store.dispatch(chat, canvases)
    assert [e["action"]["type"] for e in old.envelopes] == ["chat/activityChanged"]
    assert [e["action"]["type"] for e in new.envelopes] == [
        "chat/activityChanged",
        "chat/canvasesChanged",
    ]
    old.hang_up()
    new.hang_up()
    host.store.dispatch(chat, canvases)
    host.store.dispatch(chat, {"type": "chat/activityChanged"})

    def replayed(client_id):
        back = host.connect()
        result = back.call(
            "reconnect", channel=ROOT, clientId=client_id, lastSeenServerSeq=2, subscriptions=[chat]
        )
        host.store.dispatch(chat, canvases)
        return [a["action"]["type"] for a in result["actions"]], len(back.envelopes)

    assert replayed("old") == (["chat/activityChanged"], 0)
    assert replayed("new") == (
        ["chat/canvasesChanged", "chat/activityChanged", "chat/canvasesChanged"],
        1,
    )


def test_the_locale_of_a_reconnect_replaces_the_one_it_had(host):
    host.client(locale="en").hang_up()
    host.connect().call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=0, subscriptions=[],
        _meta={"ahpd.locale": "ja"},
    )  # fmt: skip
    assert host.clients.find("me").locale == "ja"
    host.connect().call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=0, subscriptions=[]
    )
    assert host.clients.find("me").locale == "ja"


NO_LOCALES = ["ja-" + "-".join(["abcdefgh"] * 4), "ja_JP", "", 7]


@pytest.mark.parametrize("sent", NO_LOCALES)
def test_what_cannot_be_a_locale_keeps_the_one_the_client_had(host, sent):
    host.client(locale="pt").hang_up()
    host.connect().call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=0, subscriptions=[],
        _meta={"ahpd.locale": sent},
    )  # fmt: skip
    assert host.clients.find("me").locale == "pt"


@pytest.mark.parametrize("sent", NO_LOCALES[:3])
def test_what_cannot_be_a_locale_is_read_as_none_sent(host, sent):
    host.client(locale=sent)
    assert host.clients.find("me").locale is None


def test_a_literal_channel_is_held_to_and_may_be_left_out(host):
    wire = host.connect()
    wire.hello()
    wire.hang_up()
    back = host.connect()
    error = back.refused(
        "reconnect", channel="ahp-chat:/x", clientId="me", lastSeenServerSeq=0, subscriptions=[]
    )
    assert error["code"] == -32602
    assert "ahp-root://" in error["message"]
    assert (
        back.call("reconnect", clientId="me", lastSeenServerSeq=0, subscriptions=[])["type"]
        == "replay"
    )


# -- several connections of one client ----------------------------------------------


def test_a_reconnect_speaks_what_the_clients_newest_open_connection_does(host):
    first = host.client(version="1.0.0")
    second = host.client(version="0.9.0")
    record = host.clients.find("me")
    assert record.version == "0.9.0"
    second.hang_up()
    assert record.version == "1.0.0"
    first.hang_up()
    assert record.version == "1.0.0"
    host.client(version="0.9.0").hang_up()
    assert record.version == "0.9.0"


def test_an_older_connection_keeps_the_version_it_agreed_on(host):
    chat = "ahp-chat:/c"
    state = {
        "resource": chat, "title": "", "status": 1,
        "modifiedAt": "2026-01-01T00:00:00.000Z", "turns": [],
    }  # fmt: skip
    host.store.open(chat, ChannelKind.CHAT, state)
    older = host.client(version="1.0.0", initialSubscriptions=[chat])
    newer = host.client(version="0.9.0", initialSubscriptions=[chat])
    host.store.dispatch(chat, {"type": "chat/canvasesChanged", "canvases": []})
    assert len(older.envelopes) == 1
    assert newer.envelopes == []


def test_a_client_may_reconnect_before_its_old_connection_is_known_to_be_gone(host):
    host.naps.add(S)
    old = host.client(initialSubscriptions=[S])
    host.store.dispatch(S, title("seen"))
    back = host.connect()
    result = back.call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=1, subscriptions=[S]
    )
    assert result == {"type": "replay", "actions": [], "missing": []}
    host.store.dispatch(S, title("both"))
    old.hang_up()
    host.store.dispatch(S, title("one"))
    assert titles(old) == ["seen", "both"]
    assert titles(back) == ["both", "one"]
    host.clock.advance(10_000)
    host.client("another")
    assert host.clients.find("me") is not None


def test_an_introduction_leaves_what_an_older_connection_is_owed(host):
    host.naps.add(T)
    older = host.client(initialSubscriptions=[S])
    host.naps.add(S)
    host.store.dispatch(S, title("x"))
    host.client(initialSubscriptions=[T])
    older.hang_up()
    result = host.connect().call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=1, subscriptions=[S]
    )
    assert result["type"] == "snapshot"


# -- what is owed stays small ---------------------------------------------------------


def test_a_channel_a_gone_client_never_watched_owes_it_nothing(host):
    host.naps.add(S)
    host.naps.add(T)
    host.client(initialSubscriptions=[S]).hang_up()
    host.store.dispatch(S, title("x"))
    host.store.close(T)
    host.naps.open(T)
    result = host.connect().call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=1, subscriptions=[S, T]
    )
    assert result["type"] == "replay"


@pytest.mark.parametrize("away", [True, False])
def test_debts_are_kept_up_to_a_bound_and_past_it_everything_is_owed(host, away):
    channels = [f"ahp-session:/{number}" for number in range(MAX_DEBTS + 1)]
    for channel in channels:
        host.naps.open(channel)
    wire = host.client(initialSubscriptions=channels)
    if away:
        wire.hang_up()
    for channel in channels:
        host.store.close(channel)
    record = host.clients.find("me")
    assert record.owed == set()
    assert record.watched == set()
    wire.hang_up()

    def reconnected():
        back = host.connect()
        return back.call(
            "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=0, subscriptions=[ROOT]
        )["type"]

    assert reconnected() == "snapshot"
    assert reconnected() == "replay", "the snapshots settled it"


# -- connections that go while something is waited for -----------------------------------


@pytest.mark.parametrize("method", ["initialize", "reconnect"])
def test_a_connection_that_went_meanwhile_watches_nothing(host, method):
    host.naps.add(S)
    host.naps.add(f"{S}/changeset/session", asleep=True)
    host.directory.register(ChannelKind.CHANGESET, host.naps)
    sleeper = f"{S}/changeset/session"
    if method == "reconnect":
        host.client().hang_up()
    wire = host.connect()
    channels = [S, sleeper, "ahp-chat:/not-made-so-far"]
    if method == "initialize":
        wire.ask(
            method, channel=ROOT, clientId="me", protocolVersions=["1.0.0"],
            initialSubscriptions=channels,
        )  # fmt: skip
    else:
        wire.ask(method, channel=ROOT, clientId="me", lastSeenServerSeq=0, subscriptions=channels)
    wire.hang_up()
    host.naps.wake(sleeper)
    assert [channel for channel in channels if host.store.watchers(channel)] == []


def test_a_debt_outlives_a_reconnect_whose_answer_nobody_got(host):
    """Else the next reconnect is replayed onto a channel the client never had."""
    host.naps.add(T, asleep=True)
    host.client(initialSubscriptions=[S]).hang_up()
    host.naps.add(S)
    host.store.dispatch(S, title("x"))
    lost = host.connect()
    lost.ask("reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=1, subscriptions=[S, T])
    lost.hang_up()
    host.naps.wake(T)
    result = host.connect().call(
        "reconnect", channel=ROOT, clientId="me", lastSeenServerSeq=1, subscriptions=[S]
    )
    assert [snapshot["resource"] for snapshot in result["snapshots"]] == [S]


@pytest.mark.parametrize("client_id", ["", "x" * 257])
def test_a_client_id_has_a_length(host, client_id):
    error = host.connect().refused(
        "initialize", channel=ROOT, protocolVersions=["1.0.0"], clientId=client_id
    )
    assert error["code"] == -32602
    assert error["message"] == (
        f"params.clientId: expected 1 to 256 characters, found {len(client_id)}"
    )
    assert host.connect().hello("x" * 256)["protocolVersion"] == "1.0.0"
