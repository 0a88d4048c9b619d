"""JSON-RPC both ways, on a program that is only a list of lines."""

import json

import pytest
import pytest_twisted
from hypothesis import given
from hypothesis import strategies as st
from twisted.internet.defer import CancelledError, Deferred, succeed

from ahpd.interfaces import AgentFailure
from ahpd.wire.lines import LineTooLong
from ahpd_agent_acp.connection import CANCEL, MAX_ASKED, Connection, RequestError
from ahpd_agent_acp.heads import Head, read_head


class Program:
    """Lines a test writes, and what was written to it."""

    def __init__(self):
        self.sent = []
        self._waiting = None

    async def lines(self):
        self._waiting = Deferred()
        return await self._waiting

    def send(self, value):
        self.sent.append(json.loads(json.dumps(value)))

    def write(self, *messages):
        waiting, self._waiting = self._waiting, None
        lines = [
            message
            if isinstance(message, bytes)
            else json.dumps({"jsonrpc": "2.0", **message}).encode()
            for message in messages
        ]
        waiting.callback(lines)

    def end(self, words="it is gone"):
        self._waiting.errback(AgentFailure(words))


class Calls:
    def __init__(self):
        self.heard = []
        self.answers = {}

    async def asked(self, method, params):
        self.heard.append(method)
        if method not in self.answers:
            raise RequestError(-32601, "no such")
        return await self.answers[method]

    def told(self, method, params):
        self.heard.append(method)

    async def room(self):
        pass


class Talk:
    def __init__(self):
        self.program, self.calls = Program(), Calls()
        self.connection = Connection(self.program, "It", self.calls)
        self.over = Deferred.fromCoroutine(self.connection.run())

    def ask(self, method="m"):
        return Deferred.fromCoroutine(self.connection.request(method, {}))


@pytest.fixture
def talk():
    return Talk()


def failure_of(deferred):
    caught = []
    deferred.addErrback(lambda failure: caught.append(failure.value))
    assert caught
    return caught[0]


def test_answers_find_their_requests_in_any_order_and_ids_are_never_used_again(talk):
    first, second = talk.ask(), talk.ask()
    talk.program.write({"id": 2, "result": "b"}, {"id": 1, "result": "a"})
    assert (first.result, second.result) == ("a", "b")
    talk.ask()
    assert [message["id"] for message in talk.program.sent] == [1, 2, 3]


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"message": "Internal error", "data": {"details": "No route.\n  at x"}}, "No route."),
        ({"message": "Internal error", "data": "No route."}, "No route."),
        ({"message": "Internal error", "data": {"message": ["no text"]}}, "Internal error"),
        ({"message": "No route.", "data": {"details": "No route."}}, "No route."),
        ({"data": {"error": "No route."}}, "No route."),
        ({"message": 5, "data": 5}, "an error without words"),
    ],
)
def test_an_error_says_what_its_data_says_of_it(talk, error, words):
    asked = talk.ask()
    talk.program.write({"id": 1, "error": {"code": -32603, **error}})
    said = failure_of(asked).message
    assert said.endswith(words)
    assert said.count(words) == 1
    assert "at x" not in said


def test_answers_to_nothing_and_late_ones_are_ignored(talk):
    asked = talk.ask()
    asked.addErrback(lambda failure: failure.trap(CancelledError))
    asked.cancel()
    assert talk.program.sent[-1] == {
        "jsonrpc": "2.0",
        "method": CANCEL,
        "params": {"requestId": 1},
    }
    again = talk.ask()
    talk.program.write(
        {"id": 1, "result": "late"}, {"id": 99, "result": 0}, {"id": "2", "result": 0}
    )
    assert not again.called
    talk.program.write({"id": 2, "result": "x"}, {"id": 2, "result": "twice"})
    assert again.result == "x"


def test_an_error_is_raised_with_its_code_whatever_its_shape(talk):
    for error, code in (({"code": -32002, "message": "gone"}, -32002), ({}, -32603)):
        asked = talk.ask()
        talk.program.write({"id": talk.program.sent[-1]["id"], "error": error})
        assert failure_of(asked).code == code


def test_the_programs_end_fails_all_that_waits_and_all_that_comes(talk):
    asked = talk.ask()
    talk.program.end()
    assert failure_of(asked).message == "it is gone"
    assert failure_of(talk.ask()).message == "it is gone"
    assert talk.over.result.message == "it is gone"
    talk.connection.notify("x", {})
    assert len(talk.program.sent) == 1


def test_a_request_is_answered_once_and_its_errors_have_no_trace(talk):
    talk.calls.answers["good"] = succeed({"fine": 1})
    talk.program.write({"id": "a", "method": "good"}, {"id": "b", "method": "bad"})
    assert talk.program.sent == [
        {"jsonrpc": "2.0", "id": "a", "result": {"fine": 1}},
        {"jsonrpc": "2.0", "id": "b", "error": {"code": -32601, "message": "no such"}},
    ]


@pytest.mark.logs_failures
def test_a_fault_of_this_side_is_an_internal_error(talk):
    failing = Deferred()
    talk.calls.answers["broken"] = failing
    talk.program.write({"id": 1, "method": "broken"})
    failing.errback(KeyError("a secret"))
    assert talk.program.sent[-1]["error"] == {"code": -32603, "message": "Internal error"}


def test_a_request_that_is_taken_back_is_called_off_and_answered(talk):
    talk.calls.answers["slow"] = Deferred()
    talk.program.write({"id": 5, "method": "slow"}, {"method": CANCEL, "params": {"requestId": 5}})
    assert talk.program.sent[-1]["error"]["code"] == -32800
    talk.program.write({"method": CANCEL, "params": {"requestId": [1]}})
    assert len(talk.program.sent) == 1


def test_more_requests_than_may_be_on_the_way_are_refused(talk):
    talk.calls.answers["slow"] = Deferred()
    talk.program.write(*({"id": n, "method": "slow"} for n in range(MAX_ASKED + 1)))
    assert [message["id"] for message in talk.program.sent] == [MAX_ASKED]
    talk.program.end()
    assert len(talk.program.sent) == 1, "what is over is answered no more"


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"warn",
        b"[]",
        b"{}",
        b"5",
        b'{"jsonrpc":"1.0","id":1,"result":2}',
        b"\xff",
        b'{"id":{}}',
    ],
)
def test_a_line_that_is_no_message_is_dropped(talk, line):
    asked = talk.ask()
    talk.program.write(line)
    asked.addErrback(lambda failure: failure.trap(RequestError))  # it may have been the answer
    assert not talk.over.called
    talk.program.write({"method": "news"})
    assert talk.calls.heard == ["news"]


@pytest_twisted.ensureDeferred
async def test_a_large_line_is_read_elsewhere_in_its_place():
    read = []

    async def elsewhere(function, line):
        read.append(len(line))
        return function(line)

    program, calls = Program(), Calls()
    Deferred.fromCoroutine(Connection(program, "It", calls, elsewhere).run())
    large = {"method": "second", "params": {"x": "x" * 1_100_000}}
    program.write({"method": "first"}, large, {"method": "third"})
    assert calls.heard == ["first", "second", "third"]
    assert len(read) == 1


# -- lines that were dropped for their length -----------------------------------------------


def too_long(talk, head):
    talk.connection.too_long(LineTooLong(100, head))


def test_a_dropped_answer_fails_its_request_alone(talk):
    first, second = talk.ask(), talk.ask()
    too_long(talk, b'{"jsonrpc":"2.0","id":2,"result":{"id":1,"text":"xxx')
    assert "100 bytes" in failure_of(second).message
    assert not first.called
    too_long(talk, b'{"result":{"id":7,"text":"xxx')
    assert "100 bytes" in failure_of(first).message


def test_a_dropped_call_is_answered_where_it_wanted_an_answer(talk):
    asked = talk.ask()
    too_long(talk, b'{"id":"a","method":"fs/write_text_file","params":{"content":"xxx')
    assert talk.program.sent[-1]["id"] == "a"
    assert talk.program.sent[-1]["error"]["code"] == -32600
    too_long(talk, b'{"method":"session/update","params":{"id":1')
    assert not asked.called
    assert len(talk.program.sent) == 2


@pytest.mark.parametrize(
    ("head", "found"),
    [
        (b'{"jsonrpc":"2.0","id":12,"result":{"a', Head(12, None)),
        (b' { "id" : "x" , "error" : {', Head("x", None)),
        (b'{"params":{"method":"no","id":5},"method":"yes","id":6,"x":"', Head(6, "yes")),
        (b'{"a":[{"id":1},[2]],"id":3.5,', Head(3.5, None)),
        (b'{"a":"\\"id\\":9","method":"m"', Head(None, "m")),
        (b'{"a":"\\"id\\":9","method":"m",', Head(None, "m")),
        (b'{"id":12', Head(None, None)),
        (b'{"id":true,"method":5,', Head(None, None)),
        (b"[1,2", Head(None, None)),
        (b"xxxx", Head(None, None)),
        (b"", Head(None, None)),
    ],
)
def test_a_head_says_what_stands_at_its_top(head, found):
    assert read_head(head) == found


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(before=st.dictionaries(st.text(), JSON, max_size=3), cut=st.integers(0, 200), late=JSON)
def test_a_head_never_reads_another_id_than_the_messages(before, cut, late):
    for key in ("id", "method"):
        before.pop(key, None)
    line = json.dumps({**before, "id": 41, "method": "m", "params": late}).encode()
    head = read_head(line[:cut])
    assert head.id in (None, 41)
    assert head.method in (None, "m")
    assert read_head(line + b" ") == Head(41, "m")


def test_garbage_heads_are_read_in_no_time():
    for head in (b'{"' + b"\\" * 4000, b"{" * 4096, b'{"a":' * 800, b'"' * 4096, b"[,:" * 1300):
        read_head(head)
