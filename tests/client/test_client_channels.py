"""The states a client holds: baselines, envelopes, reconnects, and what may not be."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.client import ActionRefused, ConnectionGone, RpcError
from ahpd.protocol.uris import ROOT

CHAT = "ahp-chat:/one"
OTHER = "ahp-chat:/two"
LOGS = "ahp-otlp:/logs"


def start(coroutine):
    return Deferred.fromCoroutine(coroutine)


def result_of(deferred):
    got = []
    deferred.addCallback(got.append)
    assert got, getattr(deferred, "result", "it has not fired")
    return got[0]


def error_of(deferred, kind):
    got = []
    deferred.addErrback(got.append)
    assert got, "it has not failed"
    assert got[0].check(kind), got[0]
    return got[0].value


def renamed(seq):
    return {"type": "chat/activityChanged", "activity": f"step {seq}"}


def snapshot(channel, state, seq):
    return {"resource": channel, "state": state, "fromSeq": seq}


@pytest.fixture
def open_chat(client, host, chat):
    """A client past its handshake, watching the root and one chat, both at 5."""
    asked = start(client.initialize(subscriptions=[ROOT, CHAT]))
    message = host.take("initialize")
    host.say(
        {
            "id": message["id"],
            "result": {
                "protocolVersion": "1.0.0",
                "serverSeq": 5,
                "snapshots": [
                    snapshot(ROOT, {"agents": [], "activeSessions": 0}, 5),
                    snapshot(CHAT, chat(), 5),
                ],
            },
        }
    )
    result_of(asked)
    return message


def test_initialize_says_who_asks_and_holds_the_snapshots(client, open_chat):
    assert open_chat["params"] == {
        "channel": ROOT,
        "protocolVersions": ["1.0.0"],
        "clientId": "tester",
        "initialSubscriptions": [ROOT, CHAT],
    }
    assert client.version == "1.0.0"
    assert client.last_seen_seq == 5
    assert client.subscriptions == [ROOT, CHAT]
    assert client.state(CHAT)["title"] == "A chat"
    assert client.state("ahp-root:")["agents"] == []


def test_a_session_without_a_snapshot_is_subscribed_and_an_unread_changeset_is_not(client, host):
    start(client.initialize(subscriptions=["ahp-session:/a", "ahp-session:/a/changeset/session"]))
    host.answer("initialize", {"protocolVersion": "1.0.0", "serverSeq": 0, "snapshots": []})
    assert client.subscriptions == ["ahp-session:/a"]
    with pytest.raises(KeyError):
        client.state("ahp-session:/a")


def test_an_envelope_moves_the_state_and_the_number(client, host, open_chat):
    heard = []
    client.on_action(
        lambda envelope: heard.append((envelope.seq, client.state(CHAT).get("activity")))
    )
    host.act(CHAT, 6, renamed(6))
    host.act(CHAT, 9, renamed(9))
    assert heard == [(6, "step 6"), (9, "step 9")]
    assert client.last_seen_seq == 9
    assert client.plain_state(CHAT)["activity"] == "step 9"


@pytest.mark.parametrize("seq", [5, 6])
def test_a_number_that_does_not_rise_is_a_violation_and_not_applied(client, host, open_chat, seq):
    heard = []
    host.act(CHAT, 6, renamed(6))
    client.on_action(heard.append)
    host.act(CHAT, seq, renamed("twice"))
    assert client.state(CHAT)["activity"] == "step 6"
    assert heard == []
    assert len(client.violations) == 1
    assert f"serverSeq {seq}" in client.violations.pop()


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"channel": CHAT, "action": {}, "serverSeq": 6},
        {"channel": CHAT, "action": {"type": "chat/x"}, "serverSeq": "6"},
        {"channel": CHAT, "action": {"type": "chat/x"}, "serverSeq": 6, "origin": 1},
        {"channel": 1, "action": {"type": "chat/x"}, "serverSeq": 6},
        {"channel": CHAT, "action": {"type": "chat/x"}, "serverSeq": 6, "rejectionReason": 1},
    ],
)
def test_an_envelope_that_is_none_is_a_violation(client, host, open_chat, params):
    host.say({"method": "action", "params": params})
    assert len(client.violations) == 1
    client.violations.clear()
    assert client.last_seen_seq == 5


def test_a_refusal_is_heard_and_reduced_by_nobody(client, host, open_chat):
    refused = start(client.perform(CHAT, renamed("mine")))
    sent = host.take("dispatchAction")["params"]
    assert sent == {"channel": CHAT, "clientSeq": 1, "action": renamed("mine")}
    host.act(
        CHAT,
        6,
        renamed("mine"),
        origin={"clientId": "tester", "clientSeq": 1},
        rejectionReason="Server-only action: chat/activityChanged",
    )
    assert error_of(refused, ActionRefused).reason.startswith("Server-only action")
    assert "activity" not in client.state(CHAT)
    assert client.last_seen_seq == 6


def test_perform_answers_with_the_echo_of_that_dispatch_alone(client, host, open_chat):
    first = client.dispatch(CHAT, renamed("first"))
    performed = start(client.perform(CHAT, renamed("second")))
    assert first == 1
    for number, seq, who in ((1, 6, "tester"), (2, 7, "somebody else"), (2, 8, "tester")):
        host.act(CHAT, seq, renamed(seq), origin={"clientId": who, "clientSeq": number})
    assert result_of(performed).seq == 8


def test_perform_fails_with_the_connection(client, host, open_chat):
    performed = start(client.perform(CHAT, renamed("x")))
    host.drop()
    assert "chat/activityChanged" in str(error_of(performed, ConnectionGone))


def test_subscribe_passes_its_wishes_on_and_answers_the_state(client, host, open_chat, chat):
    asked = start(client.subscribe(OTHER, turns=3, delivery={"maxLatencyMs": 50}))
    message = host.take("subscribe")
    assert message["params"] == {
        "channel": OTHER,
        "view": {"turns": 3},
        "delivery": {"maxLatencyMs": 50},
    }
    host.say({"id": message["id"], "result": {"snapshot": snapshot(OTHER, chat(), 8)}})
    assert result_of(asked)["title"] == "A chat"
    # The number of one channel's snapshot says nothing about the others.
    assert client.last_seen_seq == 5
    host.act(CHAT, 7, renamed(7))
    assert client.state(CHAT)["activity"] == "step 7"
    host.act(OTHER, 8, renamed(8))
    assert "activity" not in client.state(OTHER)
    assert "the state held is of 8 already" in client.violations.pop()


def test_what_overtakes_a_snapshot_is_applied_past_its_number_only(client, host, open_chat, chat):
    heard = []
    client.on_action(lambda envelope: heard.append(envelope.seq))
    asked = start(client.subscribe(OTHER))
    for seq in (6, 7, 8):
        host.act(OTHER, seq, {"type": "chat/turnsLoaded", "turns": [turn(seq)]})
    held = chat(turns=[turn(7), turn(6)])
    host.answer("subscribe", {"snapshot": snapshot(OTHER, held, 7)})
    state = result_of(asked)
    assert sorted(one["id"] for one in state["turns"]) == ["turn-6", "turn-7", "turn-8"]
    assert heard == [6, 7, 8]


def test_a_second_snapshot_replaces_the_first(client, host, open_chat, chat):
    host.act(CHAT, 6, renamed(6))
    asked = start(client.subscribe(CHAT))
    host.act(CHAT, 7, renamed(7))
    assert client.state(CHAT)["activity"] == "step 7"
    host.act(CHAT, 8, renamed(8))
    host.answer("subscribe", {"snapshot": snapshot(CHAT, chat(activity="step 7"), 7)})
    assert result_of(asked)["activity"] == "step 8"


def test_a_refused_subscribe_leaves_nothing_held(client, host, open_chat):
    asked = start(client.subscribe(OTHER))
    host.fail("subscribe", -32001, "Resource not found: " + OTHER)
    assert error_of(asked, RpcError).code == -32001
    assert client.subscriptions == [ROOT, CHAT]
    again = start(client.subscribe(CHAT))
    host.fail("subscribe", -32603, "Subscription cancelled: " + CHAT)
    error_of(again, RpcError)
    assert client.subscriptions == [ROOT, CHAT]


def test_an_answer_that_holds_no_snapshot_worth_the_name_fails_the_subscribe(
    client, host, open_chat
):
    asked = start(client.subscribe(OTHER))
    host.answer("subscribe", {"snapshot": {"resource": OTHER}})
    assert error_of(asked, RpcError).code == -32603
    assert client.violations.pop().startswith("the answer to subscribe is not one")
    assert OTHER not in client.subscriptions


def test_a_stateless_channel_has_no_state_and_stays_subscribed(client, host, open_chat):
    asked = start(client.subscribe(LOGS))
    host.answer("subscribe", {})
    assert asked.result is None
    assert LOGS in client.subscriptions


def test_unsubscribe_forgets_and_what_was_on_its_way_is_passed_over(client, host, open_chat):
    client.unsubscribe(CHAT)
    assert host.take("unsubscribe")["params"] == {"channel": CHAT}
    host.act(CHAT, 6, renamed(6))
    with pytest.raises(KeyError):
        client.state(CHAT)
    assert client.last_seen_seq == 6


def test_an_unsubscribe_wins_over_a_subscribe_sent_before_it(client, host, open_chat, chat):
    asked = start(client.subscribe(OTHER))
    client.unsubscribe(OTHER)
    host.answer("subscribe", {"snapshot": snapshot(OTHER, chat(), 6)})
    result_of(asked.addCallback(lambda state: (state,)))
    assert client.subscriptions == [ROOT, CHAT]


def test_a_stream_ends_with_its_connection_after_what_had_come(client, host, open_chat):
    seen = []

    async def follow():
        async for envelope in client.actions(CHAT):
            seen.append(envelope.seq)

    following = start(follow())
    host.act(CHAT, 6, renamed(6))
    host.act(ROOT, 7, {"type": "root/activeSessionsChanged", "activeSessions": 3})
    host.act(CHAT, 8, renamed(8))
    assert seen == [6, 8]
    host.drop()
    assert following.called
    assert seen == [6, 8]
    assert client.state(ROOT)["activeSessions"] == 3


def test_wait_for_asks_after_every_message_and_times_out_by_the_clock(
    client, host, open_chat, clock
):
    waiting = start(client.wait_for(lambda: client.state(CHAT).get("activity") == "step 7"))
    host.act(CHAT, 6, renamed(6))
    assert not waiting.called
    host.act(CHAT, 7, renamed(7))
    assert result_of(waiting) is True
    late = start(client.wait_for(lambda: False, timeout=2, what="a miracle"))
    clock.advance(2)
    assert "a miracle did not come within 2 seconds" in str(error_of(late, TimeoutError))
    wrong = start(client.wait_for(lambda: 1 / 0))
    error_of(wrong, ZeroDivisionError)
    seen = start(client.wait_for_action(lambda envelope: envelope.seq == 9))
    host.act(CHAT, 8, renamed(8))
    host.act(CHAT, 9, renamed(9))
    assert result_of(seen).seq == 9


def turn(seq):
    return {
        "id": f"turn-{seq}",
        "message": {"text": "hi", "origin": {"kind": "user"}},
        "responseParts": [],
        "state": "complete",
    }


def test_reconnect_replays_what_was_missed_onto_what_is_held(client, host, open_chat, again):
    host.act(CHAT, 6, renamed(6))
    host.drop()
    assert client.state(CHAT)["activity"] == "step 6"
    host = again()
    asked = start(client.reconnect(_meta={"ahpd.locale": "de"}))
    message = host.take("reconnect")
    assert message["params"] == {
        "channel": ROOT,
        "clientId": "tester",
        "lastSeenServerSeq": 6,
        "subscriptions": [ROOT, CHAT],
        "_meta": {"ahpd.locale": "de"},
    }
    # Said by the host after it answered, and here before the answer: it waits its turn.
    host.act(CHAT, 9, renamed(9))
    assert client.state(CHAT)["activity"] == "step 6"
    actions = [
        {"channel": CHAT, "action": renamed(seq), "serverSeq": seq, "origin": None}
        for seq in (7, 8)
    ]
    heard = []
    client.on_action(lambda envelope: heard.append((envelope.seq, envelope.replayed)))
    host.say({"id": message["id"], "result": {"type": "replay", "actions": actions, "missing": []}})
    back = result_of(asked)
    assert (back.type, [e.seq for e in back.actions], back.missing) == ("replay", [7, 8], ())
    assert heard == [(7, True), (8, True), (9, False)]
    assert client.state(CHAT)["activity"] == "step 9"
    assert client.last_seen_seq == 9


def test_a_replay_of_what_a_snapshot_held_already_is_applied_once(
    client, host, open_chat, again, chat
):
    start(client.subscribe(OTHER))
    host.answer("subscribe", {"snapshot": snapshot(OTHER, chat(turns=[turn(7)]), 7)})
    host.drop()
    host = again()
    start(client.reconnect())
    action = {"type": "chat/turnsLoaded", "turns": [turn(7)]}
    host.answer(
        "reconnect",
        {
            "type": "replay",
            "actions": [
                {"channel": OTHER, "action": action, "serverSeq": 7},
                {"channel": OTHER, "action": renamed(8), "serverSeq": 8},
            ],
            "missing": [],
        },
    )
    assert [one["id"] for one in client.state(OTHER)["turns"]] == ["turn-7"]
    assert client.state(OTHER)["activity"] == "step 8"


def test_a_replay_that_says_something_twice_is_a_violation(client, host, open_chat, again):
    host.drop()
    host = again()
    start(client.reconnect())
    twice = {"channel": CHAT, "action": renamed(6), "serverSeq": 6}
    host.answer("reconnect", {"type": "replay", "actions": [twice, twice], "missing": []})
    assert len(client.violations) == 1
    client.violations.clear()


def test_missing_channels_are_dropped(client, host, open_chat, again):
    host.drop()
    host = again()
    asked = start(client.reconnect())
    host.answer("reconnect", {"type": "replay", "actions": [], "missing": [CHAT]})
    assert result_of(asked).missing == (CHAT,)
    assert client.subscriptions == [ROOT]


def test_snapshots_replace_what_is_held_and_what_has_none_is_gone(
    client, host, open_chat, again, chat
):
    start(client.subscribe(LOGS))
    host.answer("subscribe", {})
    host.act(CHAT, 6, renamed(6))
    host.drop()
    host = again()
    asked = start(client.reconnect())
    host.answer(
        "reconnect",
        {"type": "snapshot", "snapshots": [snapshot(CHAT, chat(activity="anew"), 2000)]},
    )
    back = result_of(asked)
    assert (back.type, back.actions, back.missing) == ("snapshot", (), (ROOT,))
    assert client.subscriptions == [CHAT, LOGS]
    assert client.state(CHAT)["activity"] == "anew"
    assert client.last_seen_seq == 2000
    host.act(CHAT, 2001, renamed(2001))
    assert client.state(CHAT)["activity"] == "step 2001"


def test_a_host_that_forgot_the_client_says_so_and_initialize_begins_anew(
    client, host, open_chat, again
):
    host.act(CHAT, 60, renamed(60))
    host.drop()
    host = again()
    asked = start(client.reconnect())
    host.fail("reconnect", -32008, "Reconnect client not found: tester")
    assert error_of(asked, RpcError).code == -32008
    start(client.initialize())
    host.answer("initialize", {"protocolVersion": "1.0.0", "serverSeq": 2, "snapshots": []})
    assert client.subscriptions == []
    assert client.last_seen_seq == 2


def test_a_subscribe_cut_off_by_the_connection_is_not_asked_back(client, host, open_chat, again):
    asked = start(client.subscribe(OTHER))
    host.drop()
    error_of(asked, ConnectionGone)
    host = again()
    start(client.reconnect())
    assert host.take("reconnect")["params"]["subscriptions"] == [ROOT, CHAT]


def test_an_action_no_reducer_can_take_is_a_violation_and_the_client_goes_on(
    client, host, open_chat
):
    host.act(CHAT, 6, {"type": "chat/turnsLoaded", "turns": 5})
    assert len(client.violations) == 1
    client.violations.clear()
    host.act(CHAT, 7, renamed(7))
    assert client.state(CHAT)["activity"] == "step 7"
