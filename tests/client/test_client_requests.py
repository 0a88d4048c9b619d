"""What a client asks, what it is asked, and what a lost connection does to both."""

import pytest
from twisted.internet.defer import Deferred

from ahpd.client import Client, ConnectionGone, RpcError
from ahpd.wire.codec import encode


def start(coroutine):
    return Deferred.fromCoroutine(coroutine)


def failure_of(deferred, kind):
    caught = []
    deferred.addErrback(caught.append)
    assert caught, "it has not failed"
    assert caught[0].check(kind), caught[0]
    return caught[0].value


def result_of(deferred):
    got = []
    deferred.addCallback(got.append)
    assert got, getattr(deferred, "result", "it has not fired")
    return got[0]


def test_a_request_names_the_root_where_no_channel_is_given(client, host):
    asked = start(client.request("listSessions", limit=3))
    message = host.take("listSessions")
    assert message["params"] == {"channel": "ahp-root://", "limit": 3}
    host.say({"id": message["id"], "result": {"items": []}})
    assert result_of(asked) == {"items": []}


def test_answers_may_come_in_any_order(client, host):
    first, second = start(client.request("ping")), start(client.request("listSessions"))
    ping, sessions = host.take("ping"), host.take("listSessions")
    assert ping["id"] != sessions["id"]
    host.say({"id": sessions["id"], "result": {"items": [1]}})
    host.say({"id": ping["id"], "result": {}})
    assert result_of(second) == {"items": [1]}
    assert result_of(first) == {}


def test_an_error_answer_is_raised_with_its_code_words_and_data(client, host):
    asked = start(client.request("ping"))
    identifier = host.take("ping")["id"]
    host.say({"id": identifier, "error": {"code": -32001, "message": "No.", "data": {"a": 1}}})
    error = failure_of(asked, RpcError)
    assert (error.code, error.message, error.data) == (-32001, "No.", {"a": 1})


def test_an_unanswered_request_times_out_naming_itself(client, host, clock):
    asked = start(client.request("ping"))
    clock.advance(10)
    assert "ping was not answered within 10 seconds" in str(failure_of(asked, TimeoutError))
    host.answer("ping", {})  # too late, and no violation


def test_a_lost_connection_fails_what_is_pending_in_words(client, host):
    asked = start(client.request("ping"))
    waiting = start(client.wait_for(lambda: False, what="the thing"))
    closed = client.closed
    host.drop()
    assert (
        str(failure_of(asked, ConnectionGone))
        == "the connection went before ping was answered: the cable was pulled"
    )
    assert "before the thing came" in str(failure_of(waiting, ConnectionGone))
    assert result_of(closed) == "the cable was pulled"
    assert not client.connected
    assert result_of(client.closed) == "the cable was pulled"
    assert "ping was not sent" in str(failure_of(start(client.request("ping")), ConnectionGone))


def test_without_a_connection_nothing_is_sent_and_closing_is_no_error(clock):
    client = Client("tester", clock)
    client.close()
    client.abort()
    with pytest.raises(ConnectionGone, match="no connection was made yet"):
        client.dispatch("ahp-root://", {"type": "root/configChanged", "config": {}})
    failure_of(start(client.wait_for(lambda: False)), ConnectionGone)
    assert result_of(start(client.wait_for(lambda: 7))) == 7


def test_a_second_connection_takes_over_from_the_first(client, host, again):
    asked = start(client.request("ping"))
    newer = again()
    assert host.ended == ("abort",)
    failure_of(asked, ConnectionGone)
    host.handler.message_received(b"what the old one still says is not read")
    host.handler.connection_lost("late word")
    assert client.connected
    next_asked = start(client.request("ping"))
    newer.answer("ping", {})
    assert result_of(next_asked) == {}


def test_close_and_abort_reach_the_connection(client, host, again):
    client.close(1001, "bye")
    assert host.ended == ("close", 1001, "bye")
    host = again()
    client.abort()
    assert host.ended == ("abort",)
    assert result_of(client.closed) == "dropped by this client"


def test_a_request_of_the_hosts_is_answered_by_what_serves_it(client, host):
    later = Deferred()
    client.serve("resourceRead", lambda params: {"data": params["uri"]})
    client.serve("resourceList", lambda params: later)
    host.say({"id": "a", "method": "resourceRead", "params": {"uri": "file:///x"}})
    assert host.take() == {"jsonrpc": "2.0", "id": "a", "result": {"data": "file:///x"}}
    host.say({"id": "b", "method": "resourceList", "params": {}})
    assert host.sent == []
    later.callback({"entries": []})
    assert host.take() == {"jsonrpc": "2.0", "id": "b", "result": {"entries": []}}


def test_a_request_nobody_serves_is_method_not_found(client, host):
    host.say({"id": 9, "method": "resourceWrite", "params": {}})
    assert host.take() == {
        "jsonrpc": "2.0",
        "id": 9,
        "error": {"code": -32601, "message": "Method not found: resourceWrite"},
    }


@pytest.mark.logs_failures
def test_a_server_that_fails_is_answered_in_words_without_a_trace(client, host):
    def broken(params):
        raise RuntimeError("secret detail")

    async def refusing(params):
        raise RpcError(-32009, "Not yours.")

    client.serve("resourceRead", broken)
    client.serve("resourceMove", refusing)
    host.say({"id": 1, "method": "resourceRead", "params": {}})
    error = host.take()["error"]
    assert error["code"] == -32603
    assert "secret" not in error["message"]
    host.say({"id": 2, "method": "resourceMove", "params": {}})
    assert host.take()["error"] == {"code": -32009, "message": "Not yours."}


def test_an_answer_still_being_made_when_the_connection_goes_is_dropped(client, host):
    cancelled = []
    client.serve("resourceRead", lambda params: Deferred(cancelled.append))
    host.say({"id": 1, "method": "resourceRead", "params": {}})
    host.drop()
    assert len(cancelled) == 1
    assert host.sent == []


@pytest.mark.parametrize(
    "payload",
    [b"not json", b"null", b"[]", encode({"jsonrpc": "2.0", "id": 99, "result": 1})],
)
def test_what_a_host_may_not_send_is_a_violation_and_no_more(client, host, payload):
    host.handler.message_received(payload)
    assert len(client.violations) == 1
    client.violations.clear()
    asked = start(client.request("ping"))
    host.answer("ping", {})
    assert result_of(asked) == {}


@pytest.mark.logs_failures
def test_a_hook_that_raises_costs_nobody_else(client, host):
    heard = []

    def broken(method, params):
        raise RuntimeError

    client.on_notification(broken)
    cancel = client.on_notification(lambda method, params: heard.append((method, params)))
    host.say({"method": "root/sessionRemoved", "params": {"session": "x"}})
    assert heard == [("root/sessionRemoved", {"session": "x"})]
    cancel()
    cancel()
    host.say({"method": "root/sessionRemoved", "params": {"session": "x"}})
    assert len(heard) == 1
