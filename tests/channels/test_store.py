"""The store: one order, run to completion, encoded once, atomic subscribes."""

import pytest
from twisted.logger import globalLogPublisher

import ahpd.channels.store as store_module
from ahpd.channels.store import ChannelStore
from ahpd.protocol.uris import ChannelKind
from ahpd.wire.codec import decode

ROOT = "ahp-root://"


class Watcher:
    def __init__(self, fail=False):
        self.envelopes = []
        self.notified = []
        self.fail = fail
        self.behind = False

    def deliver(self, envelope):
        if self.fail:
            raise RuntimeError("this subscriber is broken")
        self.envelopes.append(envelope)

    def notify(self, channel, method, frame):
        if self.fail:
            raise RuntimeError("this subscriber is broken")
        self.notified.append((channel, decode(frame.payload)))

    def lagging(self):
        return self.behind


@pytest.fixture
def store():
    store = ChannelStore()
    store.open(ROOT, ChannelKind.ROOT, {"agents": [], "activeSessions": 0})
    return store


@pytest.fixture
def logged():
    events = []
    globalLogPublisher.addObserver(events.append)
    yield events
    globalLogPublisher.removeObserver(events.append)


def count(number):
    return {"type": "root/activeSessionsChanged", "activeSessions": number}


def test_numbers_rise_by_one_across_channels_and_refusals(store):
    watcher = Watcher()
    store.subscribe(ROOT, watcher)
    store.subscribe("ahp-session:/none", watcher)
    store.dispatch(ROOT, count(1))
    store.refuse(ROOT, count(2), {"clientId": "a", "clientSeq": 1}, "No.")
    store.dispatch("ahp-session:/none", {"type": "session/ready"})
    assert [e.seq for e in watcher.envelopes] == [1, 2, 3]
    assert store.state(ROOT)["activeSessions"] == 1, "a refusal moves nothing"


def test_an_action_caused_by_an_action_takes_a_later_number_everywhere(store):
    first, last = Watcher(), Watcher()

    class Chains(Watcher):
        def deliver(self, envelope):
            super().deliver(envelope)
            if envelope.action["activeSessions"] == 1:
                store.dispatch(ROOT, count(2))
                assert store.state(ROOT)["activeSessions"] == 1, "it waits its turn"

    for watcher in (first, Chains(), last):
        store.subscribe(ROOT, watcher)
    store.dispatch(ROOT, count(1))
    for watcher in (first, last):
        assert [(e.seq, e.action["activeSessions"]) for e in watcher.envelopes] == [(1, 1), (2, 2)]


def test_the_owner_is_told_after_the_subscribers(store):
    order = []

    class Notes(Watcher):
        def deliver(self, envelope):
            order.append("subscriber")

    store.open("x-a:", ChannelKind.SESSION, {"title": ""}, lambda envelope: order.append("owner"))
    store.subscribe("x-a:", Notes())
    store.dispatch("x-a:", {"type": "session/titleChanged", "title": "t"})
    assert order == ["subscriber", "owner"]


def test_every_subscriber_gets_the_same_bytes(store):
    watchers = [Watcher() for _ in range(3)]
    for watcher in watchers:
        store.subscribe(ROOT, watcher)
    frames = []
    for watcher in watchers:
        watcher.deliver = lambda envelope: frames.append(envelope.frame)
    store.dispatch(ROOT, count(1))
    assert frames[0] is frames[1] is frames[2]
    assert decode(frames[0].payload)["params"]["serverSeq"] == 1


@pytest.mark.logs_failures
def test_a_broken_subscriber_costs_the_others_nothing(store, logged):
    broken, fine = Watcher(fail=True), Watcher()
    store.subscribe(ROOT, broken)
    store.subscribe(ROOT, fine)
    store.dispatch(ROOT, count(1))
    store.notify(ROOT, "root/sessionRemoved", {"channel": ROOT, "session": "x"})
    assert len(fine.envelopes) == 1
    assert len(fine.notified) == 1
    assert sum(1 for event in logged if event.get("log_failure")) == 2


@pytest.mark.logs_failures
def test_a_broken_owner_costs_the_others_nothing(store, logged):
    def owner(envelope):
        raise RuntimeError("broken")

    store.open("x-a:", ChannelKind.SESSION, {"title": ""}, owner)
    store.dispatch("x-a:", {"type": "session/titleChanged", "title": "t"})
    store.dispatch(ROOT, count(1))
    assert store.server_seq == 2


def test_a_notification_has_no_number_and_is_not_held(store):
    watcher = Watcher()
    store.subscribe(ROOT, watcher)
    store.notify(ROOT, "root/sessionRemoved", {"channel": ROOT, "session": "x"})
    assert watcher.notified == [
        (
            ROOT,
            {
                "jsonrpc": "2.0",
                "method": "root/sessionRemoved",
                "params": {"channel": ROOT, "session": "x"},
            },
        )
    ]
    assert store.server_seq == 0
    assert len(store.replay) == 0


def test_a_closed_channel_has_no_watchers_and_no_state(store):
    watcher = Watcher()
    store.subscribe(ROOT, watcher)
    store.close(ROOT)
    assert not store.is_open(ROOT)
    assert store.find(ROOT) is None
    assert not store.is_watching(ROOT, watcher)
    store.dispatch(ROOT, count(1))
    assert watcher.envelopes == []


def test_opening_twice_is_an_error(store):
    with pytest.raises(ValueError, match="open already"):
        store.open(ROOT, ChannelKind.ROOT, {})


def test_leaving_takes_every_subscription_away(store):
    leaving, staying = Watcher(), Watcher()
    for watcher in (leaving, staying):
        store.subscribe(ROOT, watcher)
        store.subscribe("x-a:", watcher)
    store.leave(leaving)
    store.leave(leaving)
    assert not store.is_watching(ROOT, leaving)
    assert not store.is_watching("x-a:", leaving)
    assert store.is_watching("x-a:", staying)


@pytest.mark.logs_failures
def test_what_is_not_json_is_not_said(store, logged):
    watcher = Watcher()
    store.subscribe(ROOT, watcher)
    store.dispatch(ROOT, {"type": "root/activeSessionsChanged", "activeSessions": object()})
    assert watcher.envelopes == []
    assert store.server_seq == 0
    store.dispatch(ROOT, count(1))
    assert [e.seq for e in watcher.envelopes] == [1]


def test_lagging_is_asked_of_whoever_watches(store):
    watcher = Watcher()
    store.subscribe("x-a:", watcher)
    assert not store.lagging(["x-a:", "x-b:"])
    watcher.behind = True
    assert store.lagging(["x-b:", "x-a:"])
    assert not store.lagging(["x-b:"])


def test_kept_snapshots_are_bounded(store):
    chat = "ahp-chat:/c"
    turns = [{"id": f"t{n}", "state": "complete"} for n in range(20)]
    store.open(chat, ChannelKind.CHAT, {"turns": turns})
    seen = {turns: store.snapshot(chat, turns)["state"] for turns in range(1, 10)}
    assert store.snapshot(chat, 9)["state"] is seen[9]
    assert store.snapshot(chat, 1)["state"] is not seen[1]


def test_what_is_done_behind_actions_keeps_its_place_among_them(store):
    order = []

    class Orders(Watcher):
        def deliver(self, envelope):
            number = envelope.action["activeSessions"]
            order.append(number)
            if number == 1:
                store.dispatch(ROOT, count(2))
                store.behind(lambda: order.append("behind"))
                store.dispatch(ROOT, count(3))

    store.subscribe(ROOT, Orders())
    store.dispatch(ROOT, count(1))
    assert order == [1, 2, "behind", 3]
    store.behind(lambda: order.append("at once"))
    assert order[-1] == "at once"


@pytest.mark.logs_failures
def test_what_fails_behind_an_action_costs_the_next_nothing(store, logged):
    store.behind(lambda: 1 / 0)
    store.dispatch(ROOT, count(1))
    assert store.state(ROOT)["activeSessions"] == 1
    assert any("log_failure" in event for event in logged)


def test_the_narrowest_view_is_known_until_everybody_was_told_more(store):
    chat = "ahp-chat:/c"
    state = {"resource": chat, "turns": [{"id": f"t{n}"} for n in range(10)]}
    store.open(chat, ChannelKind.CHAT, state)
    store.snapshot(chat)
    store.snapshot(chat, turns=50)
    assert store.shown_from(chat) == 0
    store.snapshot(chat, turns=2)
    store.snapshot(chat, turns=7)
    assert store.shown_from(chat) == 8
    store.widened(chat, 5)
    store.widened(chat, 9)
    assert store.shown_from(chat) == 5


@pytest.mark.logs_failures
def test_an_action_no_reducer_can_take_is_refused_to_whoever_sent_it(store, monkeypatch):
    def broken(state, action):
        raise RuntimeError("broken")

    monkeypatch.setattr(store_module, "REDUCERS", {ChannelKind.ROOT: broken})
    store.close(ROOT)
    store.open(ROOT, ChannelKind.ROOT, {"agents": [], "activeSessions": 0})
    watcher = Watcher()
    store.subscribe(ROOT, watcher)
    store.dispatch(ROOT, count(1))
    store.dispatch(ROOT, count(2), {"clientId": "a", "clientSeq": 4})
    assert [(e.seq, e.origin["clientSeq"]) for e in watcher.envelopes] == [(1, 4)]
    assert "could not be applied" in watcher.envelopes[0].rejection


def test_nothing_encoded_is_kept_of_a_channel_nobody_watches(store):
    watcher = Watcher()
    store.subscribe(ROOT, watcher)
    kept = store.snapshot(ROOT)["state"]
    assert store.snapshot(ROOT)["state"] is kept
    store.unsubscribe(ROOT, watcher)
    assert store.snapshot(ROOT)["state"] is not kept


def test_the_owner_of_a_channel_is_told_when_somebody_watches_and_when_nobody_does(store):
    told = []
    channel = "ahp-terminal:/kept"
    store.open(channel, ChannelKind.TERMINAL, {"content": []}, watched=told.append)
    first, second = Watcher(), Watcher()
    store.subscribe(channel, first)
    store.subscribe(channel, first)
    store.subscribe(channel, second)
    store.unsubscribe(channel, first)
    assert told == [True]
    store.leave(second)
    store.unsubscribe(channel, first)
    assert told == [True, False]
    store.subscribe(channel, first)
    store.close(channel)
    assert told == [True, False, True]


def test_an_owner_may_let_go_of_a_channel_as_soon_as_nobody_watches_it(store):
    channel = "ahp-terminal:/kept"

    def watched(somebody):
        if not somebody:
            store.release(channel)

    for _ in range(2):
        store.open(channel, ChannelKind.TERMINAL, {"content": []}, watched=watched)
        watcher = Watcher()
        store.subscribe(channel, watcher)
        store.subscribe(ROOT, watcher)
        assert set(store.leave(watcher)) == {channel, ROOT}
        assert not store.is_open(channel)
        assert store.watchers(channel) == store.watchers(ROOT) == ()


@pytest.mark.logs_failures
def test_a_broken_owner_keeps_nobody_from_coming_or_leaving(store, logged):
    def watched(somebody):
        raise RuntimeError("this owner is broken")

    channels = [f"ahp-terminal:/{number}" for number in range(3)]
    for channel in channels:
        store.open(channel, ChannelKind.TERMINAL, {"content": []}, watched=watched)
    watcher = Watcher()
    for channel in channels:
        store.subscribe(channel, watcher)
        assert store.is_watching(channel, watcher)
    assert set(store.leave(watcher)) == set(channels)
    assert all(store.watchers(channel) == () for channel in channels)
    assert store.leave(watcher) == ()
    assert len([event for event in logged if "log_failure" in event]) == 6
