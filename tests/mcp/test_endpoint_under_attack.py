"""Endpoints and those who mean them ill, or are only slow: pages, floods, deaf readers, ends."""

import gc
import json
import tracemalloc

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater

from ahpd.mcp.resource import MOST_RUNNING

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()
GREET = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "greet"}}
EVIL = "Origin: http://evil.example\r\n"


def path_of(endpoint):
    return "/" + endpoint.url.split("/", 3)[3]


async def until(condition):
    for _ in range(500):
        if condition():
            return
        await deferLater(reactor, 0.01)
    raise AssertionError("it did not come to that")


async def listening(served, endpoint):
    """A stream that is open."""
    reader = await served.raw("GET", path_of(endpoint), endpoint.token)
    await reader.until(lambda one: b": " in one.data.partition(b"\r\n\r\n")[2])
    return reader


# -- pages ----------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE", "OPTIONS"])
@pytest_twisted.ensureDeferred
async def test_a_page_reaches_no_endpoint_whatever_it_stole(served, endpoint, method):
    for origin in (EVIL, "Origin: null\r\n", "Origin: http://127.0.0.1.evil.example\r\n"):
        status, head, _ = await served.ask(
            method, path_of(endpoint), endpoint.token, PING if method == "POST" else b"", origin
        )
        assert status == 403
        assert "access-control" not in head.lower()
    assert served.tools.ran == []


@pytest_twisted.ensureDeferred
async def test_no_page_is_told_that_it_may_ask(served, endpoint):
    asks = (
        "Access-Control-Request-Method: POST\r\nAccess-Control-Request-Headers: authorization\r\n"
    )
    for path in (path_of(endpoint), "/ahp-mcp/nobody", "/ahp-mcp"):
        for headers in (asks, asks + "Origin: vscode-file://vscode-app\r\n", asks + EVIL):
            status, head, _ = await served.ask("OPTIONS", path, None, b"", headers)
            assert status in (401, 403, 404)
            assert "access-control" not in head.lower()


@pytest.mark.parametrize(
    "spelling", ["/{}", "//{}", "{}/", "{}/x", "/x/..{}", "{}%2f", "{}#", "{}%00", "{}?x=1"]
)
@pytest_twisted.ensureDeferred
async def test_no_other_spelling_of_a_path_gets_round_the_token(served, endpoint, spelling):
    path = spelling.format(path_of(endpoint))
    status, _, _ = await served.ask("POST", path, "wrong", PING)
    assert status in (401, 404)
    other = served.servers.open("ahp-session:/b", "ahp-chat:/b1", None, True)
    status, _, said = await served.ask("POST", path, other.token, json.dumps(GREET).encode())
    assert status in (401, 404), said
    assert served.tools.ran == []


# -- what is sent ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"[" * 300_000, 400),
        (b'{"jsonrpc":"2.0","id":1,"method":"ping","params":' + b'{"a":' * 50_000, 400),
        (b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 5000 + b',"method":"ping"}', 400),
        (b'{"jsonrpc":"2.0","id":' + b"9" * 100 + b',"method":"ping"}', 200),
        (b'{"jsonrpc":"2.0","id":-1,"method":"ping"}', 200),
        (b'{"jsonrpc":"2.0","id":"","method":"ping"}', 200),
        (b'{"jsonrpc":"2.0","id":"\\ud800","method":"\\ud800"}', 200),
        (b'{"jsonrpc":"2.0","id":{},"method":"ping"}', 400),
    ],
)
@pytest_twisted.ensureDeferred
async def test_odd_messages_are_answered(served, endpoint, body, status):
    found, _, said = await served.ask("POST", path_of(endpoint), endpoint.token, body)
    assert found == status
    assert ("error" in json.loads(said)) == (status == 400 or b"ud800" in body)
    assert (await served.call(endpoint, "ping"))["result"] == {}


@pytest.mark.parametrize("message", ["method", "name"])
@pytest_twisted.ensureDeferred
async def test_a_long_word_is_not_said_back_whole(served, endpoint, message):
    word = "x" * 1_000_000
    method, params = (word, {}) if message == "method" else ("tools/call", {"name": word})
    answered = await served.call(endpoint, method, params)
    assert len(answered["error"]["message"]) < 3000


@pytest.mark.parametrize("named", ["", "x" * 300, "two\nlines", 7, None])
@pytest_twisted.ensureDeferred
async def test_an_odd_id_of_a_call_is_none(served, endpoint, named):
    meta = {"claudecode/toolUseId": named}
    await served.call(endpoint, "tools/call", {"name": "greet", "_meta": meta})
    [(_, _, context)] = served.tools.ran
    assert context.tool_call_id.startswith("id-")


@pytest_twisted.ensureDeferred
async def test_a_body_without_an_end_and_one_that_is_too_large_are_let_go_of(served, endpoint):
    reader = await served.connect()
    head = f"POST {path_of(endpoint)} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    head += f"Authorization: Bearer {endpoint.token}\r\nContent-Length: 99999999\r\n\r\n"
    reader.transport.write(head.encode() + b"x" * 100_000)
    await reader.until(lambda one: b"\r\n\r\n" in one.data)
    assert reader.data.startswith(b"HTTP/1.1 413 ")
    reader.transport.abortConnection()


@pytest_twisted.ensureDeferred
async def test_more_than_one_request_on_a_connection_is_served_once(served, endpoint):
    body = json.dumps(GREET).encode()
    one = (
        f"POST {path_of(endpoint)} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
        f"Authorization: Bearer {endpoint.token}\r\nContent-Length: {len(body)}\r\n\r\n"
    ).encode() + body
    reader = await served.connect()
    reader.transport.write(one * 5)
    await reader.until(lambda each: each.lost)
    assert reader.data.count(b"HTTP/1.1 200 OK") == 1
    assert len(served.tools.ran) == 1


# -- many, and slow -------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_streams_keep_nobody_else_out(served, endpoint):
    readers = []
    for number in range(served.listener.settings.max_arriving + 20):
        one = served.servers.open(f"ahp-session:/{number}", f"ahp-chat:/{number}", None, True)
        readers.append(await listening(served, one))
    status, _, _ = await served.ask("GET", "/health")
    assert status == 200
    assert not any(reader.lost for reader in readers)
    served.servers.stop()
    for reader in readers:
        await reader.until(lambda one: one.lost)


@pytest_twisted.ensureDeferred
async def test_an_endpoint_answers_so_many_requests_at_a_time(served, endpoint):
    served.tools.gate = Deferred()
    body = json.dumps(GREET).encode()
    readers = [
        await served.raw("POST", path_of(endpoint), endpoint.token, body)
        for _ in range(MOST_RUNNING)
    ]
    await until(lambda: len(served.tools.ran) == MOST_RUNNING)
    status, _, said = await served.ask("POST", path_of(endpoint), endpoint.token, body)
    assert status == 503
    assert json.loads(said)["id"] == 7
    served.tools.gate.callback(None)
    for reader in readers:
        await reader.until(lambda one: one.lost)
        assert reader.data.startswith(b"HTTP/1.1 200 ")
    assert endpoint.running == set()


@pytest_twisted.ensureDeferred
async def test_a_stream_nobody_reads_is_owed_one_word(served, endpoint):
    reader = await listening(served, endpoint)
    reader.transport.pauseProducing()
    for _ in range(40):  # until the kernel takes no more
        for _ in range(5000):
            served.servers.moved("ahp-session:/a")
        await deferLater(reactor, 0)
    gc.collect()
    tracemalloc.start()
    for _ in range(40):
        for _ in range(5000):
            served.servers.moved("ahp-session:/a")
        await deferLater(reactor, 0)
    grown = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert grown < 200_000
    read = len(reader.data)
    reader.transport.resumeProducing()
    await reader.until(lambda one: len(one.data) > read)
    served.servers.session_gone("ahp-session:/a")
    await reader.until(lambda one: one.lost)


# -- ends -----------------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_call_that_waits_is_answered_when_its_endpoint_closes(served, endpoint):
    served.tools.gate = Deferred()
    body = json.dumps(GREET).encode()
    reader = await served.raw("POST", path_of(endpoint), endpoint.token, body)
    await until(lambda: served.tools.ran)
    served.servers.session_gone("ahp-session:/a")
    await reader.until(lambda one: one.lost)
    said = json.loads(reader.data.partition(b"\r\n\r\n")[2])
    assert said["id"] == 7
    assert "closed" in said["error"]["message"]
    assert served.tools.cancelled == 1
    assert endpoint.running == set()


@pytest_twisted.ensureDeferred
async def test_a_host_stops_at_once_whatever_is_open(served, endpoint):
    served.tools.gate = Deferred()
    deaf = served.servers.open("ahp-session:/a", "ahp-chat:/a2", None, True)
    readers = [
        await listening(served, endpoint),
        await served.raw("POST", path_of(endpoint), endpoint.token, json.dumps(GREET).encode()),
        await listening(served, deaf),
    ]
    await until(lambda: served.tools.ran)
    readers[2].transport.pauseProducing()
    for _ in range(40):
        for _ in range(5000):
            deaf.moved()
        await deferLater(reactor, 0)
    before = reactor.seconds()
    served.servers.stop()
    await served.listener.stopService()
    assert reactor.seconds() - before < 3
    assert served.servers.open("ahp-session:/a", "ahp-chat:/a1", None, True) is None
    for reader in readers:
        reader.transport.abortConnection()


@pytest_twisted.ensureDeferred
async def test_two_chats_of_a_session_have_an_endpoint_each(served, endpoint):
    ran = []

    def runner(chat):
        async def run(client, name, arguments, call_id):
            ran.append((chat, name))
            return {"success": True, "pastTenseMessage": "Opened"}

        return run

    served.tools.clients["ahp-session:/a"] = [{"name": "openFile", "clientId": "one"}]
    first = served.servers.open("ahp-session:/a", "ahp-chat:/a1", runner("a1"), True)
    second = served.servers.open("ahp-session:/a", "ahp-chat:/a2", runner("a2"), False)
    assert first is endpoint
    assert first.token != second.token
    assert first.url != second.url
    for each in (first, second):
        await served.call(each, "tools/call", {"name": "one__openFile"})
        await served.call(each, "tools/call", {"name": "greet"})
    assert ran == [("a1", "openFile"), ("a2", "openFile")]
    assert [context.chat for _, _, context in served.tools.ran] == ["ahp-chat:/a1", "ahp-chat:/a2"]
    assert first.notify
    assert not second.notify
    served.servers.chat_gone("ahp-chat:/a2")
    assert (await served.ask("POST", path_of(second), second.token, PING))[0] == 404
    assert (await served.ask("POST", path_of(first), first.token, PING))[0] == 200


@pytest_twisted.ensureDeferred
async def test_a_chat_that_moved_has_the_other_session_s_endpoint(served, endpoint):
    moved = served.servers.open("ahp-session:/b", "ahp-chat:/a1", None, True)
    assert moved is not endpoint
    assert (await served.ask("POST", path_of(endpoint), endpoint.token, PING))[0] == 404
    assert (await served.call(moved, "tools/list"))["result"] == {"tools": []}


@pytest_twisted.ensureDeferred
async def test_hundreds_of_tools_are_listed_and_none_promises_a_shape(served, endpoint):
    async def run(client, name, arguments, call_id):
        return {"success": True, "pastTenseMessage": f"Ran {name}"}

    served.tools.clients["ahp-session:/a"] = [
        {"name": f"tool {number}", "clientId": "one", "outputSchema": {"type": "object"}}
        for number in range(500)
    ]
    served.servers.open("ahp-session:/a", "ahp-chat:/a1", run, True)
    stream = await listening(served, endpoint)
    listed = (await served.call(endpoint, "tools/list"))["result"]["tools"]
    assert len({tool["name"] for tool in listed}) == 501
    assert not any("outputSchema" in tool for tool in listed)
    called = await served.call(endpoint, "tools/call", {"name": listed[-1]["name"]})
    assert called["result"]["content"] == [{"type": "text", "text": "Ran tool 499"}]
    served.tools.clients["ahp-session:/a"] = []
    served.servers.moved("ahp-session:/a")
    await stream.until(lambda one: b"list_changed" in one.data)
    answered = await served.call(endpoint, "tools/call", {"name": listed[-1]["name"]})
    assert answered["error"]["code"] == -32602
    stream.transport.abortConnection()
