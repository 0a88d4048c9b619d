"""`dispatchAction`: order, refusals, and that nothing a client sends troubles the host."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.interfaces import Refusal
from ahpd.protocol.uris import ROOT

S = "ahp-session:/one"


def title(words):
    return {"type": "session/titleChanged", "title": words}


@pytest.fixture
def session(host):
    host.naps.add(S)
    return S


def test_an_accepted_action_goes_to_everybody_with_its_origin(host, session):
    watched = {"foreign": True, "initialSubscriptions": [S]}
    one, two = host.client("a", **watched), host.client("b", **watched)
    one.dispatch(S, {**title("x"), "unknownKey": {"kept": True}}, seq=7)
    for wire in (one, two):
        (envelope,) = wire.envelopes
        assert envelope["origin"] == {"clientId": "a", "clientSeq": 7}
        assert envelope["action"]["unknownKey"] == {"kept": True}
        assert "rejectionReason" not in envelope


def test_a_refusal_takes_a_number_and_goes_to_all_and_is_replayed(host, session):
    one, two = (
        host.client("a", initialSubscriptions=[S]),
        host.client("b", initialSubscriptions=[S]),
    )
    one.dispatch(S, title("no"), seq=3)
    assert [e["rejectionReason"] for e in one.envelopes + two.envelopes] == ["No.", "No."]
    assert host.store.state(S)["title"] == "A session"
    assert host.store.server_seq == 1
    two.hang_up()
    one.dispatch(S, title("no"), seq=4)
    result = host.connect().call(
        "reconnect", channel=ROOT, clientId="b", lastSeenServerSeq=1, subscriptions=[S]
    )
    assert [a["rejectionReason"] for a in result["actions"]] == ["No."]


def test_the_sender_is_told_where_it_does_not_watch(host, session):
    wire = host.client()
    wire.dispatch(S, title("no"))
    wire.dispatch(S, title("fine"), seq=2)
    assert [e.get("rejectionReason") for e in wire.envelopes] == ["No."]


@pytest.mark.parametrize(
    "action",
    [
        {"type": "session/ready"},
        {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "forged"},
        {"type": "resourceWatch/changed"},
        {"type": "no/suchThing"},
        {"type": ""},
    ],
)
def test_an_action_only_the_host_may_say_is_refused_unread(host, session, action):
    wire = host.client(initialSubscriptions=[S])
    wire.dispatch(S, action)
    assert wire.envelopes[0]["rejectionReason"] == f"Server-only action: {action['type']}"
    assert host.naps.handled == []


@pytest.mark.parametrize("kind", ["chat/workingDirectorySet", "chat/workingDirectoryRemoved"])
def test_a_chats_own_folders_are_unsupported(host, kind):
    wire = host.client()
    wire.dispatch("ahp-chat:/x", {"type": kind, "directory": "file:///x"})
    assert wire.envelopes[0]["rejectionReason"] == f"Unsupported action: {kind}"


def test_a_wrong_shape_is_refused_naming_the_path(host, session):
    wire = host.client(initialSubscriptions=[S])
    wire.dispatch(S, {"type": "session/titleChanged", "title": 5})
    assert "action.title" in wire.envelopes[0]["rejectionReason"]
    assert host.naps.handled == []


@pytest.mark.logs_failures
def test_a_failure_of_ours_is_refused_without_its_secret(host, session):
    wire = host.client(initialSubscriptions=[S])
    wire.dispatch(S, title("boom"))
    assert "secret" not in wire.envelopes[0]["rejectionReason"]
    wire.dispatch(S, title("still here"), seq=2)
    assert host.store.state(S)["title"] == "still here"


def test_a_clients_actions_wait_for_each_other_across_its_connections(host, session):
    host.naps.hold = Deferred()
    first, second = host.client("a", initialSubscriptions=[S]), host.client("a")
    other = host.client("b")
    first.dispatch(S, title("hold"), seq=1)
    second.dispatch(S, title("second"), seq=2)
    first.dispatch(S, title("no"), seq=3)
    other.dispatch(S, title("another client does not wait"), seq=1)
    assert [e["action"]["title"] for e in first.envelopes] == ["another client does not wait"]
    host.naps.hold.callback(None)
    assert [e["origin"]["clientSeq"] for e in first.envelopes[1:]] == [1, 2, 3]
    first.dispatch(S, title("at once again"), seq=4)
    assert host.store.state(S)["title"] == "at once again"


def test_what_waits_is_bounded_and_what_is_past_it_refused_at_once(host, session, monkeypatch):
    monkeypatch.setattr("ahpd.commands.dispatch.MAX_WAITING", 2)
    host.naps.hold = Deferred()
    wire = host.client("a", initialSubscriptions=[S])
    wire.dispatch(S, title("hold"), seq=1)
    for number in (2, 3, 4):
        wire.dispatch(S, title(f"number {number}"), seq=number)
    [refused] = wire.envelopes
    assert refused["origin"]["clientSeq"] == 4
    assert refused["rejectionReason"] == "2 actions of this client wait already."
    host.naps.hold.callback(None)
    assert [e["origin"]["clientSeq"] for e in wire.envelopes[1:]] == [1, 2, 3]


@pytest.mark.logs_failures
def test_a_dispatch_that_cannot_even_be_refused_holds_up_nothing(host, session, monkeypatch):
    host.naps.hold = Deferred()
    wire = host.client("a", initialSubscriptions=[S])
    wire.dispatch(S, title("hold"), seq=1)
    host.store.close(S)

    def broken(channel):
        raise RuntimeError("a source that fails")

    monkeypatch.setattr(host.naps, "resolve", broken)
    host.naps.hold.errback(Refusal("No."))
    host.naps.open(S)
    wire.dispatch(S, title("at once again"), seq=2)
    assert host.store.state(S)["title"] == "at once again"


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"channel": S},
        {"channel": 3, "clientSeq": 1, "action": title("x")},
        {"channel": S, "clientSeq": "1", "action": title("x")},
        {"channel": S, "clientSeq": True, "action": title("x")},
        {"channel": S, "clientSeq": 1, "action": None},
        {"channel": S, "clientSeq": 1, "action": []},
        {"channel": S, "clientSeq": 1, "action": {}},
        {"channel": S, "clientSeq": 1, "action": {"type": 4}},
    ],
)
def test_a_dispatch_that_names_no_action_is_dropped(host, session, params):
    wire = host.client(initialSubscriptions=[S])
    wire.tell("dispatchAction", **params)
    assert wire.envelopes == []
    assert wire.call("ping", channel=ROOT) is None


def test_frames_that_end_the_reference_host_are_harmless(host, session):
    wire = host.client(initialSubscriptions=[S])
    wire.raw(b"null")
    wire.raw(b'{"jsonrpc":"2.0","method":"unsubscribe"}')
    wire.raw(b'{"jsonrpc":"2.0","method":"dispatchAction"}')
    wire.dispatch(S, {"type": "chat/turnStarted", "turnId": "t", "startedAt": "x"})
    wire.dispatch("ahp-chat://default/%%%", {"type": "chat/isReadChanged", "isRead": True})
    assert wire.call("ping", channel=ROOT) is None
    host.store.dispatch(S, title("alive"))
    assert wire.envelopes[-1]["action"]["title"] == "alive"


def test_a_method_nobody_serves_is_said_so(host):
    assert host.client().refused("conjure", channel=ROOT) == {
        "code": -32601,
        "message": "Method not found: conjure",
    }


def test_root_config_is_kept_said_and_read_back(host):
    one, two = (
        host.client("a", initialSubscriptions=[ROOT]),
        host.client("b", initialSubscriptions=[ROOT]),
    )
    push = {"type": "root/configChanged", "config": {"defaultShell": "/bin/sh", "x": {"y": 1}}}
    one.dispatch(ROOT, push)
    one.dispatch(ROOT, push, seq=2)
    assert len(two.envelopes) == 1, "a push that moves nothing is not said"
    values = host.client("c").call("subscribe", channel=ROOT)["snapshot"]["state"]["config"][
        "values"
    ]
    assert values["x"] == {"y": 1}
    assert values["clientQueueBytes"] == 16 * 1024 * 1024


@pytest.mark.parametrize("value", [-1, 5, "1", None, True, 1.5, 1048575])
def test_a_byte_bound_out_of_range_is_refused_by_name(host, value):
    wire = host.client(initialSubscriptions=[ROOT])
    wire.dispatch(ROOT, {"type": "root/configChanged", "config": {"replayBytes": value}})
    assert "config.replayBytes" in wire.envelopes[0]["rejectionReason"]


def test_byte_bounds_pushed_apply_at_once(host):
    wire = host.client()
    wire.dispatch(
        ROOT,
        {"type": "root/configChanged", "config": {"replayBytes": 0, "clientQueueBytes": 1048576}},
    )
    assert host.store.replay.max_bytes == 0
    assert host.root.client_queue_bytes() == 1048576
