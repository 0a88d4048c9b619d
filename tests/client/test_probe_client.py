"""The probe: what a host does wrong is found, and what it does right is not."""

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from zope.interface import implementer

from ahpd.interfaces import IConnection
from ahpd.protocol.reducers import REDUCERS
from ahpd.protocol.uris import ROOT, ChannelKind
from ahpd.testing.client import ProbeClient
from ahpd.testing.differences import first_difference
from ahpd.wire.codec import Encoded, decode, encode

CHAT = "ahp-chat:/one"


def start(coroutine):
    return Deferred.fromCoroutine(coroutine)


@implementer(IConnection)
class StoreHost:
    """A host with one chat, which it reduces itself, and a fault for each way to go wrong."""

    name = "store"

    def __init__(self, state):
        self.state = state
        self.seq = 0
        self.said = []
        self.handlers = []

    def attach(self, client):
        self.handlers.append(client.accept(Wire(self, len(self.handlers))))

    def snapshot(self, channel):
        return {"resource": channel, "state": Encoded(encode(self.state)), "fromSeq": self.seq}

    def answer(self, number, message):
        method, params = message.get("method"), message.get("params", {})
        if method == "initialize":
            result = {"protocolVersion": "1.0.0", "serverSeq": self.seq, "snapshots": []}
        elif method == "reconnect":
            seen = params["lastSeenServerSeq"]
            missed = [envelope for envelope in self.said if envelope["serverSeq"] > seen]
            result = {"type": "replay", "actions": missed, "missing": []}
        elif method == "subscribe":
            result = {"snapshot": self.snapshot(params["channel"])}
        elif method == "ping":
            result = None
        else:
            return
        self.say({"id": message["id"], "result": result}, number)

    def say(self, message, number=0):
        self.handlers[number].message_received(encode({"jsonrpc": "2.0", **message}))

    def act(self, action, reduced=None):
        """Say an action; `reduced` is what this host makes of it, where that is another."""
        self.seq += 1
        envelope = {"channel": CHAT, "action": action, "serverSeq": self.seq}
        self.said.append(envelope)
        copy = decode(encode(action if reduced is None else reduced))
        self.state = REDUCERS[ChannelKind.CHAT](self.state, copy)
        for number, _ in enumerate(self.handlers):
            self.say({"method": "action", "params": envelope}, number)


@implementer(IConnection)
class Wire:
    name = "wire"

    def __init__(self, host, number):
        self.host = host
        self.number = number

    def send(self, frame):
        try:
            message = decode(frame.payload)
        except ValueError:
            error = {"code": -32700, "message": "Parse error"}
            self.host.say({"id": None, "error": error}, self.number)
        else:
            self.host.answer(self.number, message)

    def pending_bytes(self):
        return None

    def progressing(self):
        return True

    def close(self, code, reason):
        pass

    def abort(self):
        pass


def activity(words):
    return {"type": "chat/activityChanged", "activity": words}


@pytest.fixture
def host(chat):
    return StoreHost(chat())


def probe(host, name="probe"):
    client = ProbeClient(name, Clock())
    host.attach(client)
    for step in (client.initialize(), client.subscribe(CHAT)):
        done = start(step)
        assert done.called
        assert not isinstance(done.result, Exception)
    return client


def test_a_streamed_turn_converges_with_a_late_subscriber(host):
    client = probe(host)
    for action in (
        {
            "type": "chat/turnStarted",
            "turnId": "t",
            "startedAt": "2026-01-01T00:00:00.000Z",
            "message": {"text": "hi", "origin": {"kind": "user"}},
        },
        {
            "type": "chat/responsePart",
            "turnId": "t",
            "part": {"kind": "markdown", "id": "p", "content": ""},
        },
        {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "one "},
        {"type": "chat/delta", "turnId": "t", "partId": "p", "content": "two"},
    ):
        host.act(action)
    late = probe(host, "late")
    host.act({"type": "chat/turnComplete", "turnId": "t", "duration": 5})
    client.assert_converged(host)
    client.assert_converged(decode(encode(host.snapshot(CHAT))))
    client.assert_converged(late)
    assert [envelope.seq for envelope in client.envelopes(CHAT)] == [1, 2, 3, 4, 5]
    agreed = start(client.assert_late_subscriber_agrees(late))
    assert agreed.result is None
    assert client.plain_state(CHAT)["turns"][0]["responseParts"][0]["content"] == "one two"


def test_a_state_changed_without_an_action_is_found(host):
    client = probe(host)
    host.act(activity("writing"))
    host.state["title"] = "No action of AHP carries a chat's title"
    client.assert_converged(host)
    host.state["status"] = 2
    with pytest.raises(AssertionError, match="status is 1 and 2"):
        client.assert_converged(host)


def test_an_action_the_host_reduces_otherwise_is_found(host):
    client = probe(host)
    host.act(activity("writing"), reduced=activity("reading"))
    with pytest.raises(AssertionError, match="activity is 'writing' and 'reading'"):
        client.assert_converged(host)


def test_a_lost_envelope_is_found(host):
    client = probe(host)
    host.act(activity("writing"))
    silent, host.handlers = host.handlers, []
    host.act(activity("never said"))
    host.handlers = silent
    with pytest.raises(AssertionError, match="never said"):
        client.assert_converged(host)


def test_a_channel_subscribed_to_again_keeps_its_record_while_that_leads_to_the_snapshot(host):
    client = probe(host)
    host.act(activity("one"))
    start(client.subscribe(CHAT))
    host.act(activity("two"))
    client.assert_converged(host)
    assert client.restarts == []
    host.state["status"] = 2
    start(client.subscribe(CHAT))
    host.act(activity("three"))
    assert client.restarts == [f"{CHAT} at 2: status is 1 and 2"]
    client.assert_converged(host)


@pytest.mark.parametrize("seq", [1, 2])
def test_a_duplicate_or_late_delivery_is_raised_from_the_next_call(host, seq):
    client = probe(host)
    host.act(activity("one"))
    host.act(activity("two"))
    waiting = start(client.wait_for(lambda: False))
    host.say({"method": "action", "params": host.said[seq - 1]})
    caught = []
    waiting.addErrback(caught.append)
    assert caught[0].check(AssertionError)
    again = start(client.request("ping"))
    again.addErrback(caught.append)
    assert f"serverSeq {seq}" in str(caught[1].value)
    with pytest.raises(AssertionError):
        client.dispatch(CHAT, activity("three"))
    with pytest.raises(AssertionError):
        client.check()


@pytest.mark.parametrize(
    "message",
    [
        {"method": "action", "params": {"channel": CHAT, "action": activity("x")}},
        {
            "method": "action",
            "params": {"channel": CHAT, "action": {**activity("x"), "more": 1}, "serverSeq": 9},
        },
        {"method": "root/noSuchThing", "params": {"channel": ROOT}},
        {"id": 77, "result": None},
    ],
)
def test_a_frame_the_protocol_does_not_know_is_raised(host, message):
    client = probe(host)
    host.say(message)
    with pytest.raises(AssertionError):
        client.check()


def test_a_reconnect_goes_on_with_the_record(host):
    client = probe(host)
    host.act(activity("one"))
    client.abort()
    host.handlers.clear()
    host.act(activity("two"))
    host.attach(client)
    back = start(client.reconnect())
    assert [envelope.seq for envelope in back.result.actions] == [2]
    host.act(activity("three"))
    client.assert_converged(host)
    assert [envelope.seq for envelope in client.envelopes()] == [1, 2, 3]


def test_every_frame_both_ways_is_kept(host):
    client = probe(host)
    assert [(whose, frame.get("method")) for whose, frame in client.frames] == [
        ("client", "initialize"),
        ("host", None),
        ("client", "subscribe"),
        ("host", None),
    ]
    client.send_raw(b"no json")
    assert client.frames[-2] == ("client", b"no json")
    client.send_raw(encode({"jsonrpc": "2.0", "id": "mine", "method": "ping", "params": {}}))
    client.check()
    assert [answer.id for answer in client.unmatched] == ["", "mine"]


@pytest.mark.parametrize(
    ("left", "right", "difference"),
    [
        ({"a": None}, {}, None),
        ({"a": [{"b": None, "c": 1}]}, {"a": [{"c": 1.0}]}, None),
        ({"a": 1}, {}, "a is 1 and absent"),
        ({"a": True}, {"a": 1}, "a is True and 1"),
        ({"a": [1]}, {"a": [1, 2]}, "a has 1 entries and 2"),
        ({"a": [{"b": "x"}]}, {"a": [{"b": "y"}]}, "a[0].b is 'x' and 'y'"),
        ({"turns": [1, 2, 3]}, {"turns": [2, 3], "turnsNextCursor": "before:2"}, None),
        ({"turns": [1, 2, 3]}, {"turns": [1, 3], "turnsNextCursor": "x"}, "turns[0] is 2 and 1"),
        ({"turns": [1, 2, 3]}, {"turns": [2, 3]}, "turns has 3 entries and 2"),
    ],
)
def test_states_are_compared_as_values_where_null_is_absent(left, right, difference):
    assert first_difference(left, right) == difference
