"""`subscribe` and `unsubscribe`: one place per channel, an atomic snapshot, delivery windows."""

import pytest

from ahpd.protocol.errors import resource_not_found
from ahpd.protocol.uris import ROOT, ChannelKind

S = "ahp-session:/one"
CHAT = "ahp-chat:/c"


def title(words):
    return {"type": "session/titleChanged", "title": words}


def open_chat(host, turns=0):
    host.store.open(
        CHAT,
        ChannelKind.CHAT,
        {
            "resource": CHAT,
            "title": "",
            "status": 1,
            "modifiedAt": "2026-01-01T00:00:00.000Z",
            "turns": [
                {
                    "id": f"t{n}",
                    "message": {"text": str(n), "origin": {"kind": "user"}},
                    "responseParts": [],
                    "state": "complete",
                }
                for n in range(turns)
            ],
        },
    )


def start_part(host):
    host.store.dispatch(
        CHAT,
        {
            "type": "chat/turnStarted",
            "turnId": "T",
            "startedAt": "2026-01-01T00:00:00.000Z",
            "message": {"text": "hi", "origin": {"kind": "user"}},
        },
    )
    host.store.dispatch(
        CHAT,
        {
            "type": "chat/responsePart",
            "turnId": "T",
            "part": {"kind": "markdown", "id": "p", "content": ""},
        },
    )


def delta(text, part="p"):
    return {"type": "chat/delta", "turnId": "T", "partId": part, "content": text}


def test_the_snapshot_and_what_follows_meet_without_gap_or_overlap(host):
    host.naps.add(S)
    host.store.dispatch(S, title("before"))
    wire = host.client()
    snapshot = wire.call("subscribe", channel=S)["snapshot"]
    host.store.dispatch(S, title("after"))
    assert snapshot["state"]["title"] == "before"
    assert [e["serverSeq"] for e in wire.envelopes] == [snapshot["fromSeq"] + 1]


def test_an_unknown_channel_is_refused_in_words(host):
    wire = host.client()
    for channel, code, words in [
        ("ahp-session:/none", -32001, "Resource not found: ahp-session:/none"),
        ("ahp-canvas:/a/b", -32008, "Canvas is no longer available: ahp-canvas:/a/b"),
        ("ahp-resource-watch://r/x", -32001, "Resource watch not found: ahp-resource-watch://r/x"),
        ("ahp-otlp://logs/info", -32001, "Resource not found: ahp-otlp://logs/info"),
        ("no uri", -32001, "Resource not found: no uri"),
        ("", -32001, "Resource not found: "),
    ]:
        assert wire.refused("subscribe", channel=channel) == {"code": code, "message": words}


def test_the_root_answers_under_its_own_name(host):
    wire = host.client()
    for spelling in ("ahp-root:", "ahp-root:/", ROOT):
        assert wire.call("subscribe", channel=spelling)["snapshot"]["resource"] == ROOT


def test_an_unsubscribe_is_of_one_connection(host):
    host.naps.add(S)
    one, two = (
        host.client("a", initialSubscriptions=[S]),
        host.client("b", initialSubscriptions=[S]),
    )
    one.tell("unsubscribe", channel=S)
    one.tell("unsubscribe", channel=S)
    host.store.dispatch(S, title("x"))
    assert (len(one.envelopes), len(two.envelopes)) == (0, 1)


def test_subscribing_twice_delivers_once(host):
    host.naps.add(S)
    wire = host.client()
    wire.call("subscribe", channel=S)
    wire.call("subscribe", channel=S)
    host.store.dispatch(S, title("x"))
    assert len(wire.envelopes) == 1


def test_an_unsubscribe_takes_a_waiting_subscribe_with_it(host):
    host.naps.add(S, asleep=True)
    wire = host.client()
    asked = wire.ask("subscribe", channel=S)
    wire.tell("unsubscribe", channel=S)
    host.naps.wake(S)
    assert wire.answer(asked)["error"] == {
        "code": -32603,
        "message": f"Subscription cancelled: {S}",
    }
    host.store.dispatch(S, title("x"))
    assert wire.envelopes == []


def test_a_second_subscribe_takes_the_first_ones_place(host):
    host.naps.add(S, asleep=True)
    wire = host.client()
    first, second = wire.ask("subscribe", channel=S), wire.ask("subscribe", channel=S)
    gates = host.naps.waking[S]
    gates[0].callback(None)
    assert wire.answer(first)["error"]["message"] == f"Subscription cancelled: {S}"
    gates[1].callback(None)
    assert wire.answer(second)["result"]["snapshot"]["resource"] == S


def test_a_view_shows_the_newest_turns_and_a_cursor(host):
    open_chat(host, turns=120)
    wire = host.client()

    def shown(**params):
        state = wire.call("subscribe", channel=CHAT, **params)["snapshot"]["state"]
        return [t["id"] for t in state["turns"]], state.get("turnsNextCursor")

    assert shown() == ([f"t{n}" for n in range(120)], None)
    turns, cursor = shown(view={"turns": 2})
    assert turns == ["t118", "t119"]
    assert cursor
    assert shown(view={"turns": 120}) == ([f"t{n}" for n in range(120)], None)
    for count in (0, -3, 1.5):
        turns, cursor = shown(view={"turns": count})
        assert len(turns) == 50
        assert cursor
    assert shown(view={})[1] is None


def test_a_snapshot_is_encoded_once_until_its_channel_moves(host):
    host.naps.add(S)
    first = host.store.snapshot(S)["state"]
    assert host.store.snapshot(S)["state"] is first
    host.store.dispatch(S, title("moved"))
    assert host.store.snapshot(S)["state"] is not first


def test_a_delivery_window_merges_deltas_of_one_part(host):
    open_chat(host)
    start_part(host)
    slow, fast = host.client("slow"), host.client("fast")
    slow.call("subscribe", channel=CHAT, delivery={"maxLatencyMs": 100})
    fast.call("subscribe", channel=CHAT)
    for text in ("a", "b", "c"):
        host.store.dispatch(CHAT, delta(text))
    assert len(fast.envelopes) == 3
    assert slow.envelopes == []
    host.clock.advance(0.1)
    assert [(e["action"]["content"], e["serverSeq"]) for e in slow.envelopes] == [("abc", 5)]
    host.store.dispatch(CHAT, delta("d"))
    host.store.dispatch(CHAT, {"type": "chat/activityChanged", "activity": "x"})
    assert [e["serverSeq"] for e in slow.envelopes] == [5, 6, 7]


def test_what_is_held_goes_out_ahead_of_anything_else(host):
    open_chat(host)
    start_part(host)
    host.naps.add(S)
    wire = host.client()
    wire.call("subscribe", channel=CHAT, delivery={"maxLatencyMs": 1000})
    wire.call("subscribe", channel=S)
    host.store.dispatch(CHAT, delta("held"))
    host.store.dispatch(S, title("other channel"))
    assert [e["serverSeq"] for e in wire.envelopes] == [3, 4]
    host.store.dispatch(CHAT, delta("held again"))
    wire.call("ping", channel=ROOT)
    assert wire.received[-2]["params"]["serverSeq"] == 5, "ahead of the answer"
    host.store.dispatch(CHAT, delta("x"))
    wire.tell("unsubscribe", channel=CHAT)
    assert [e["serverSeq"] for e in wire.envelopes] == [3, 4, 5, 6]


@pytest.mark.parametrize("window", [60_001, 1e308, 10**400])
def test_a_window_no_clock_has_is_a_minute(host, window):
    open_chat(host)
    start_part(host)
    wire = host.client()
    wire.call("subscribe", channel=CHAT, delivery={"maxLatencyMs": window})
    host.store.dispatch(CHAT, delta("held"))
    host.clock.advance(59.9)
    assert wire.envelopes == []
    host.clock.advance(0.1)
    assert [e["action"]["content"] for e in wire.envelopes] == ["held"]


def test_a_window_of_zero_holds_nothing(host):
    open_chat(host)
    start_part(host)
    wire = host.client()
    wire.call("subscribe", channel=CHAT, delivery={"maxLatencyMs": 500})
    wire.call("subscribe", channel=CHAT, delivery={"maxLatencyMs": 0})
    host.store.dispatch(CHAT, delta("now"))
    assert len(wire.envelopes) == 1


def test_a_connection_that_drops_leaves_no_timer_behind(host):
    open_chat(host)
    start_part(host)
    wire = host.client()
    wire.call("subscribe", channel=CHAT, delivery={"maxLatencyMs": 500})
    host.store.dispatch(CHAT, delta("held"))
    wire.hang_up()
    assert host.clock.getDelayedCalls() == []
    assert list(host.store.watchers(CHAT)) == []


def test_a_channel_that_goes_while_it_is_waited_for_is_not_found(host):
    host.naps.add(S, asleep=True)
    wire = host.client()
    asked = wire.ask("subscribe", channel=S)
    host.naps.open = lambda uri: None
    host.naps.wake(S)
    assert wire.answer(asked)["error"] == {"code": -32001, "message": f"Resource not found: {S}"}
    assert host.store.watchers(S) == ()


def test_a_subscribe_that_fails_leaves_no_place_behind(host):
    host.naps.add(S, asleep=True)
    wire = host.client()
    asked = wire.ask("subscribe", channel=S)
    [gate] = host.naps.waking[S]
    gate.errback(resource_not_found(S))
    assert wire.answer(asked)["error"]["code"] == -32001
    [peer] = host.hub.peers
    assert peer.places == {}


def test_a_channel_that_is_gone_leaves_no_window_behind(host):
    open_chat(host)
    wire = host.client()
    wire.call("subscribe", channel=CHAT, delivery={"maxLatencyMs": 50})
    start_part(host)
    host.store.dispatch(
        CHAT, {"type": "chat/delta", "turnId": "T", "partId": "p", "content": "held"}
    )
    host.store.close(CHAT)
    assert wire.envelopes[-1]["action"]["content"] == "held"
    [peer] = host.hub.peers
    assert peer._windows == {}
    assert host.clock.getDelayedCalls() == []
