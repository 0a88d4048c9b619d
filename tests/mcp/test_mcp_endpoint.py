"""A session's tools over MCP, on the host's own listener: who is let in, what is served."""

import json

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from zope.interface.verify import verifyObject

from ahpd.interfaces import IToolsServer, ToolCallContext

PING = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"}).encode()


def path_of(endpoint):
    return "/" + endpoint.url.split("/", 3)[3]


def test_a_chat_has_one_endpoint_for_its_life(served, endpoint):
    verifyObject(IToolsServer, endpoint)
    assert served.servers.open("ahp-session:/a", "ahp-chat:/a1", None, False) is endpoint
    other = served.servers.open("ahp-session:/b", "ahp-chat:/b1", None, True)
    assert other.token != endpoint.token
    assert other.url != endpoint.url
    assert len(endpoint.token) >= 40
    assert endpoint.token not in repr(endpoint)


def test_a_host_without_http_opens_none(served):
    served.servers._origin = lambda: None
    assert served.servers.open("ahp-session:/a", "ahp-chat:/a1", None, True) is None


@pytest_twisted.ensureDeferred
async def test_the_handshake_says_the_revision_and_that_the_list_may_change(served, endpoint):
    asked = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x"}}
    answered = await served.call(endpoint, "initialize", asked)
    assert answered["result"]["protocolVersion"] == "2025-06-18"
    assert answered["result"]["capabilities"] == {"tools": {"listChanged": True}}
    assert answered["result"]["serverInfo"]["name"] == "ahpd"
    unknown = await served.call(endpoint, "initialize", {"protocolVersion": "1999-01-01"})
    assert unknown["result"]["protocolVersion"] == "2025-06-18"


@pytest_twisted.ensureDeferred
async def test_the_host_s_tools_are_listed_and_called_in_their_chat(served, endpoint):
    listed = await served.call(endpoint, "tools/list")
    assert listed["result"]["tools"] == [
        {"name": "greet", "description": "Greets", "inputSchema": {"type": "object"}}
    ]
    called = await served.call(endpoint, "tools/call", {"name": "greet", "arguments": {"who": 1}})
    assert called["result"] == {"content": [{"type": "text", "text": "hello"}], "isError": False}
    [(name, arguments, context)] = served.tools.ran
    assert (name, arguments) == ("greet", {"who": 1})
    assert isinstance(context, ToolCallContext)
    assert (context.session, context.chat) == ("ahp-session:/a", "ahp-chat:/a1")


@pytest_twisted.ensureDeferred
async def test_a_client_s_tool_goes_to_the_backend_s_runner(served, endpoint):
    ran = []

    async def run(client, name, arguments, call_id):
        ran.append((client, name, arguments, call_id))
        return {"success": True, "pastTenseMessage": "Opened"}

    served.tools.clients["ahp-session:/a"] = [
        {"name": "openFile", "clientId": "one", "inputSchema": {"type": "object"}},
        {"name": "openFile", "clientId": "two"},
    ]
    assert [t["name"] for t in (await served.call(endpoint, "tools/list"))["result"]["tools"]] == [
        "greet"
    ], "with no runner there is nobody to run them"
    served.servers.open("ahp-session:/a", "ahp-chat:/a1", run, True)
    listed = await served.call(endpoint, "tools/list")
    names = [tool["name"] for tool in listed["result"]["tools"]]
    assert names == ["greet", "one__openFile", "two__openFile"]
    asked = {"name": "two__openFile", "_meta": {"claudecode/toolUseId": "t1"}}
    called = await served.call(endpoint, "tools/call", asked)
    assert called["result"]["content"] == [{"type": "text", "text": "Opened"}]
    assert ran == [("two", "openFile", {}, "t1")]


@pytest_twisted.ensureDeferred
async def test_a_tool_that_fails_tells_the_model(served, endpoint):
    served.tools.answer = {
        "success": False,
        "pastTenseMessage": "Could not greet",
        "error": {"message": "nobody is there"},
    }
    called = await served.call(endpoint, "tools/call", {"name": "greet"})
    assert called["result"] == {
        "content": [{"type": "text", "text": "nobody is there"}],
        "isError": True,
    }


@pytest_twisted.ensureDeferred
async def test_content_mcp_has_no_kind_for_is_said_as_text(served, endpoint):
    served.tools.answer = {
        "success": True,
        "pastTenseMessage": "Drew",
        "content": [
            {"type": "embeddedResource", "data": "AAAA", "contentType": "image/png"},
            {"type": "resource", "uri": "file:///a"},
        ],
        "structuredContent": {"n": 1},
    }
    called = (await served.call(endpoint, "tools/call", {"name": "greet"}))["result"]
    assert called["content"][0] == {"type": "image", "data": "AAAA", "mimeType": "image/png"}
    assert json.loads(called["content"][1]["text"]) == {"type": "resource", "uri": "file:///a"}
    assert called["structuredContent"] == {"n": 1}


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("resources/list", {}, -32601),
        ("tools/call", {"name": "missing"}, -32602),
        ("tools/call", {}, -32602),
        ("tools/call", {"name": "greet", "arguments": []}, -32602),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_is_not_served_is_an_error(served, endpoint, method, params, code):
    answered = await served.call(endpoint, method, params, "text id")
    assert answered["error"]["code"] == code
    assert served.tools.ran == []


@pytest.mark.logs_failures
@pytest_twisted.ensureDeferred
async def test_a_fault_of_the_host_shows_no_trace(served, endpoint):
    served.tools.answer = RuntimeError("the secret place")
    answered = await served.call(endpoint, "tools/call", {"name": "greet"})
    assert answered["error"]["code"] == -32603
    assert "secret" not in json.dumps(answered)


@pytest_twisted.ensureDeferred
async def test_notifications_are_accepted_and_bodies_that_are_no_message_refused(served, endpoint):
    path, token = path_of(endpoint), endpoint.token
    note = json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}).encode()
    answer = json.dumps({"jsonrpc": "2.0", "id": 1, "result": {}}).encode()
    for body in (note, answer):
        status, _, said = await served.ask("POST", path, token, body)
        assert (status, said) == (202, b"")
    bad = [
        b"",
        b"{",
        b"null",
        b"[]",
        b"[" + PING + b"]",
        b'{"jsonrpc":"1.0","id":1,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":null,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":true,"method":"ping"}',
        b'{"jsonrpc":"2.0","id":1,"method":7}',
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}',
        b'{"jsonrpc":"2.0","id":1}',
        b"\xff\xfe",
    ]
    for body in bad:
        status, _, said = await served.ask("POST", path, token, body)
        assert status == 400, body
        assert "error" in json.loads(said)


@pytest_twisted.ensureDeferred
async def test_a_wrong_token_is_refused_before_the_body_is_read(served, endpoint):
    path = path_of(endpoint)
    other = served.servers.open("ahp-session:/b", "ahp-chat:/b1", None, True)
    for token in (None, "", "wrong", other.token, endpoint.token + "x", "the host's own"):
        reader = await served.raw("POST", path, token, b"", "Content-Length: 999999\r\n"[:0])
        await reader.until(lambda one: one.lost)
        assert reader.data.startswith(b"HTTP/1.1 401 "), token
        assert b"WWW-Authenticate: Bearer" in reader.data
    reader = await served.connect()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 900000\r\n\r\n"
    reader.transport.write(head.encode())  # and no body at all
    await reader.until(lambda one: b"\r\n\r\n" in one.data)
    assert reader.data.startswith(b"HTTP/1.1 401 ")
    reader.transport.loseConnection()
    status, _, _ = await served.ask("DELETE", path, "wrong")
    assert status == 401
    assert served.tools.ran == []


@pytest_twisted.ensureDeferred
async def test_a_closed_endpoint_and_one_nobody_opened_answer_404(served, endpoint):
    assert (await served.ask("POST", "/ahp-mcp/other", endpoint.token, PING))[0] == 404
    assert (await served.ask("POST", "/ahp-mcp", endpoint.token, PING))[0] == 404
    served.servers.session_gone("ahp-session:/a")
    assert (await served.ask("POST", path_of(endpoint), endpoint.token, PING))[0] == 404
    again = served.servers.open("ahp-session:/a", "ahp-chat:/a1", None, True)
    assert again.url != endpoint.url
    again.close()
    again.close()
    assert len(served.servers) == 0


@pytest_twisted.ensureDeferred
async def test_other_methods_are_not_allowed(served, endpoint):
    status, head, _ = await served.ask("DELETE", path_of(endpoint), endpoint.token)
    assert status == 405
    assert "Allow: GET, POST" in head


@pytest_twisted.ensureDeferred
async def test_the_stream_says_when_the_list_moved_and_ends_with_the_endpoint(served, endpoint):
    first = await served.raw("GET", path_of(endpoint), endpoint.token)
    await first.until(lambda one: b": " in one.data.partition(b"\r\n\r\n")[2])
    assert b"Content-Type: text/event-stream" in first.data
    second = await served.raw("GET", path_of(endpoint), endpoint.token)
    await first.until(lambda one: one.lost)  # there is one stream, the newest
    await second.until(lambda one: b": " in one.data.partition(b"\r\n\r\n")[2])
    served.servers.moved("ahp-session:/a")
    served.servers.moved("ahp-session:/nobody")
    await second.until(lambda one: b"notifications/tools/list_changed" in one.data)
    served.servers.session_gone("ahp-session:/a")
    await second.until(lambda one: one.lost)
    assert endpoint.on_moved is None


@pytest_twisted.ensureDeferred
async def test_a_stream_that_its_reader_left_is_forgotten(served, endpoint):
    reader = await served.raw("GET", path_of(endpoint), endpoint.token)
    await reader.until(lambda one: b": " in one.data.partition(b"\r\n\r\n")[2])
    reader.transport.loseConnection()
    for _ in range(200):
        if endpoint.on_moved is None:
            break
        await deferLater(reactor, 0.01)
    assert endpoint.on_moved is None
    served.servers.moved("ahp-session:/a")


@pytest_twisted.ensureDeferred
async def test_an_endpoint_that_does_not_notify_refuses_the_stream(served, endpoint):
    served.servers.open("ahp-session:/a", "ahp-chat:/a1", None, False)
    status, head, _ = await served.ask("GET", path_of(endpoint), endpoint.token)
    assert status == 405
    assert "Allow: POST" in head
    answered = await served.call(endpoint, "initialize", {})
    assert answered["result"]["capabilities"] == {"tools": {"listChanged": False}}


@pytest_twisted.ensureDeferred
async def test_a_caller_that_leaves_stops_its_call(served, endpoint):
    served.tools.gate = Deferred()
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "greet"}}
    body = json.dumps(message).encode()
    reader = await served.raw("POST", path_of(endpoint), endpoint.token, body)
    for _ in range(200):
        if served.tools.ran:
            break
        await deferLater(reactor, 0.01)
    assert served.tools.ran
    reader.transport.loseConnection()
    for _ in range(200):
        if served.tools.cancelled:
            break
        await deferLater(reactor, 0.01)
    assert served.tools.cancelled == 1


@pytest_twisted.ensureDeferred
async def test_a_page_of_another_name_reaches_no_endpoint(served, endpoint):
    reader = await served.connect()
    head = f"POST {path_of(endpoint)} HTTP/1.1\r\nHost: evil.example\r\n"
    head += f"Authorization: Bearer {endpoint.token}\r\nContent-Length: 0\r\n\r\n"
    reader.transport.write(head.encode())
    await reader.until(lambda one: one.lost)
    assert reader.data.startswith(b"HTTP/1.1 403 ")
