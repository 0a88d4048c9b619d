"""Requests go both ways: the host asks a client and is answered, in any order."""

import pytest
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from ahpd.interfaces import ClientGone
from ahpd.peers.peer import Peer
from ahpd.protocol.errors import RpcError
from ahpd.wire.codec import decode, encode


class Line:
    name = "line"

    def __init__(self):
        self.sent = []

    def send(self, frame):
        self.sent.append(decode(frame.payload))

    def pending_bytes(self):
        return 0

    def progressing(self):
        return True

    def close(self, code, reason):
        pass

    def abort(self):
        pass


@pytest.fixture
def line():
    return Line()


@pytest.fixture
def peer(line):
    return Peer(line, 1, Clock(), {}, {}, lambda: 0, lambda peer: None)


def asked(peer, method="resourceRead"):
    results = []
    Deferred.fromCoroutine(peer.request(method, {"channel": "ahp-root://"})).addBoth(results.append)
    return results


def answer(peer, identifier, **members):
    peer.message_received(encode({"jsonrpc": "2.0", "id": identifier, **members}))


def test_answers_find_their_questions_in_any_order(peer, line):
    first, second = asked(peer), asked(peer)
    ids = [message["id"] for message in line.sent]
    assert len(set(ids)) == 2
    answer(peer, ids[1], result={"n": 2})
    assert (first, second) == ([], [{"n": 2}])
    answer(peer, ids[0], result=None)
    assert first == [None]


def test_an_error_is_raised_as_the_client_said_it(peer, line):
    results = asked(peer)
    answer(peer, line.sent[0]["id"], error={"code": -32009, "message": "No.", "data": {"x": 1}})
    error = results[0].value
    assert (error.code, error.message, error.data) == (-32009, "No.", {"x": 1})


def test_an_error_without_words_is_one_all_the_same(peer, line):
    results = asked(peer)
    answer(peer, line.sent[0]["id"], error={"code": "high", "message": 5})
    assert isinstance(results[0].value, RpcError)
    assert results[0].value.code == -32603


@pytest.mark.parametrize("identifier", [99, "1", 1.5, True])
def test_an_answer_nobody_waits_for_is_passed_over(peer, line, identifier):
    results = asked(peer)
    answer(peer, identifier, result=1)
    assert results == []
    answer(peer, line.sent[0]["id"], result=2)
    assert results == [2]


def test_a_second_answer_changes_nothing(peer, line):
    results = asked(peer)
    answer(peer, line.sent[0]["id"], result=1)
    answer(peer, line.sent[0]["id"], result=2)
    assert results == [1]


def test_whoever_waits_is_told_that_the_client_went(peer, line):
    results = asked(peer)
    peer.connection_lost("cut")
    peer.connection_lost("cut")
    assert results[0].value.code == -32603
    late = asked(peer)
    assert late[0].value.code == -32603
    assert len(line.sent) == 1


def test_a_question_nobody_waits_for_any_more_is_forgotten(peer, line, logged):
    asking = Deferred.fromCoroutine(peer.request("resourceRead", {"channel": "ahp-root://"}))
    asking.addErrback(lambda failure: failure.trap(CancelledError))
    asking.cancel()
    answer(peer, line.sent[0]["id"], result=1)
    assert "line answered a request nobody made: 1" in logged


def test_that_a_client_went_is_told_apart_from_what_it_says(peer, line):
    results = asked(peer)
    peer.connection_lost("cut")
    assert isinstance(results[0].value, ClientGone)
    assert isinstance(asked(peer)[0].value, ClientGone)


@pytest.mark.logs_failures
@pytest.mark.parametrize("later", [False, True])
def test_a_result_that_is_no_json_is_answered_all_the_same(line, later):
    async def work():
        return object()

    def command(peer, params):
        return work() if later else object()

    peer = Peer(line, 1, Clock(), {"ping": command}, {}, lambda: 0, lambda peer: None)
    peer.message_received(encode({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {}}))
    (answer,) = line.sent
    assert (answer["id"], answer["error"]["code"]) == (7, -32603)
