"""Who the listener lets in, over a real socket."""

import json

import pytest
import pytest_twisted

GOOD = b"Authorization: Bearer secret\r\n"


@pytest.mark.parametrize(
    ("path", "headers"),
    [
        (b"/", GOOD),
        (b"/?tkn=secret", b""),
        (b"/any/path?x=1&tkn=secret", b""),
        (b"/?tkn=%73ecret", b""),
        (b"/", b"authorization: bearer secret\r\n"),
        (b"/?tkn=secret", b"Origin: vscode-file://vscode-app\r\n"),
        (b"/?tkn=secret", b"Authorization: Bearer wrong\r\n"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_the_token_is_taken_from_the_query_or_the_header(listening, path, headers):
    host = await listening()
    _, handler = await host.opened(headers=headers, path=path)
    assert handler.connection.name.startswith("127.0.0.1:")


@pytest.mark.parametrize(
    ("path", "headers", "error"),
    [
        (b"/", b"", False),
        (b"/?tkn=", b"", True),
        (b"/?tkn=Secret", b"", True),
        (b"/?tkn=secret&tkn=secret", b"", True),
        (b"/?TKN=secret", b"", False),
        (b"/", b"Authorization: Basic secret\r\n", True),
        (b"/", b"Authorization: Bearer secretsecret\r\n", True),
        (b"/?tkn=\xff\xfe%ff%zz", b"", True),
        (b"/", b"Authorization: Bearer \xe2\x98\x83\r\n", True),
    ],
)
@pytest.mark.parametrize("upgrade", [True, False])
@pytest_twisted.ensureDeferred
async def test_a_wrong_token_is_refused_401_with_a_challenge(
    listening, kit, path, headers, error, upgrade
):
    host = await listening()
    answer = await host.answer(kit.request(path=path, headers=headers, upgrade=upgrade))
    assert answer.startswith(b"HTTP/1.1 401 Unauthorized\r\n")
    assert b'\r\nWWW-Authenticate: Bearer realm="ahpd"' in answer
    assert (b'error="invalid_token"' in answer) is error
    assert b"\r\nAccess-Control-Allow-Origin: *\r\n" in answer
    assert b"secret" not in answer
    assert not host.peers.handlers


@pytest.mark.parametrize(
    "headers",
    [
        b"Origin: https://evil.example\r\n",
        b"Origin: null\r\n",
        b"Origin: http://localhost:1\r\n",
        b"Origin: vscode-file://vscode-app.evil\r\n",
        b"Origin: vscode-file://vscode-app\r\nOrigin: https://evil.example\r\n",
        b"Origin: \xff\xff\r\n",
        b"Origin: \r\n",
    ],
)
@pytest.mark.parametrize("upgrade", [True, False])
@pytest_twisted.ensureDeferred
async def test_a_page_of_elsewhere_is_refused_403_even_with_the_token(
    listening, kit, headers, upgrade
):
    host = await listening()
    answer = await host.answer(kit.request(headers=GOOD + headers, upgrade=upgrade))
    assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")
    assert b"Access-Control-Allow-Origin" not in answer
    assert not host.peers.handlers


@pytest.mark.parametrize(
    "name", [b"evil.example", b"localhost.evil.example", b"", b"[", b"1.2.3.4"]
)
@pytest_twisted.ensureDeferred
async def test_a_rebound_name_is_refused_403(listening, kit, name):
    host = await listening()
    for upgrade in (True, False):
        answer = await host.answer(kit.request(host=name, headers=GOOD, upgrade=upgrade))
        assert answer.startswith(b"HTTP/1.1 403 Forbidden\r\n")


@pytest_twisted.ensureDeferred
async def test_a_page_this_host_serves_may_connect(listening):
    host = await listening(token=None)
    origin = b"Origin: http://127.0.0.1:%d\r\n" % host.address.port
    await host.opened(headers=origin)


@pytest_twisted.ensureDeferred
async def test_plain_http_is_told_to_upgrade_when_the_handshake_would_admit_it(listening, kit):
    host = await listening()
    answer = await host.answer(kit.request(headers=GOOD))
    assert answer.startswith(b"HTTP/1.1 426 Upgrade Required\r\n")
    assert b"\r\nAccess-Control-Allow-Origin: *\r\n" in answer
    assert b"\r\nUpgrade: websocket\r\n" in answer


@pytest_twisted.ensureDeferred
async def test_a_head_request_has_no_body_in_its_answer(listening, kit):
    host = await listening()
    for headers in (GOOD, b""):
        answer = await host.answer(kit.request(method=b"HEAD", headers=headers))
        assert answer.endswith(b"\r\n\r\n")


@pytest_twisted.ensureDeferred
async def test_a_preflight_needs_no_token_but_a_known_origin(listening, kit):
    host = await listening()
    ask = b"Access-Control-Request-Headers: authorization\r\n"
    good = await host.answer(
        kit.request(method=b"OPTIONS", headers=ask + b"Origin: vscode-file://vscode-app\r\n")
    )
    assert good.startswith(b"HTTP/1.1 204 No Content\r\n")
    assert b"\r\nAccess-Control-Allow-Headers: Authorization\r\n" in good
    bad = await host.answer(
        kit.request(method=b"OPTIONS", headers=ask + b"Origin: https://evil.example\r\n")
    )
    assert bad.startswith(b"HTTP/1.1 403 ")


@pytest.mark.parametrize(
    "data",
    [
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"\x00" * 100,
        b"GET\r\n\r\n",
        b"GET / HTTP/1.1 extra\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n folded\r\n\r\n",
        b"GET / HTTP/1.1\r\nHo st: 127.0.0.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\x00b\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX: a\nb\r\n\r\n",
        b"GET /\xc3\xa9 x HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_is_no_request_is_answered_400(listening, data):
    host = await listening()
    assert (await host.answer(data)).startswith(b"HTTP/1.1 400 Bad Request\r\n")


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"505"),
        (b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 200 + b"\r\n", b"431"),
        (b"GET /" + b"a" * 40_000, b"431"),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 40_000 + b"\r\n\r\n", b"431"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_head_past_the_bounds_is_refused(listening, data, status):
    host = await listening()
    assert (await host.answer(data)).startswith(b"HTTP/1.1 " + status)


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ((b"Sec-WebSocket-Version: 13", b"Sec-WebSocket-Version: 8"), b"426"),
        ((b"Sec-WebSocket-Version: 13\r\n", b""), b"426"),
        ((b"dGhlIHNhbXBsZSBub25jZQ==", b"short"), b"400"),
        ((b"dGhlIHNhbXBsZSBub25jZQ==", b"\xff" * 24), b"400"),
        ((b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n", b""), b"400"),
        ((b"GET ", b"POST "), b"400"),
        ((b"HTTP/1.1", b"HTTP/1.0"), b"400"),
        ((b"Connection: Upgrade\r\n", b""), b"426"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_an_upgrade_that_is_no_websocket_one_is_refused(listening, kit, change, status):
    host = await listening()
    data = kit.request(headers=GOOD, upgrade=True)
    assert change[0] in data
    answer = await host.answer(data.replace(*change))
    assert answer.startswith(b"HTTP/1.1 " + status)
    assert not host.peers.handlers


@pytest_twisted.ensureDeferred
async def test_a_message_right_behind_the_handshake_is_not_lost(listening, kit):
    host = await listening()
    data = kit.request(headers=GOOD, upgrade=True) + kit.client_frame(1, b'{"a":1}')
    client = await host.raw(data)
    (handler,) = await host.peers.at_least(1)
    await handler.until(lambda h: h.messages)
    assert json.loads(handler.messages[0]) == {"a": 1}
    await client.until(lambda c: b"\r\n\r\n" in c.received)
    assert b"Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=" in client.received
    assert b"xtensions" not in client.received


@pytest_twisted.ensureDeferred
async def test_compression_is_not_agreed_to(listening):
    host = await listening()
    client, handler = await host.opened(
        headers=GOOD + b"Sec-WebSocket-Extensions: permessage-deflate\r\n"
    )
    assert handler.connection.name
    assert client.received == b""


@pytest_twisted.ensureDeferred
async def test_one_connection_too_many_is_refused_503_and_taken_when_one_left(listening, kit):
    from ahpd.transports.websocket_settings import WebSocketSettings

    host = await listening(settings=WebSocketSettings(max_connections=2, close_timeout=1.0))
    first, handler = await host.opened(headers=GOOD)
    await host.opened(headers=GOOD)
    answer = await host.answer(kit.request(headers=GOOD, upgrade=True))
    assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
    first.transport.abortConnection()
    await handler.gone()
    await host.opened(headers=GOOD)


@pytest_twisted.ensureDeferred
async def test_a_silent_stranger_is_dropped_after_the_handshake_timeout(listening, kit):
    from ahpd.transports.websocket_settings import WebSocketSettings

    host = await listening(settings=WebSocketSettings(handshake_timeout=0.05, linger=0.05))
    silent = await host.raw()
    slow = await host.raw(b"GET / HT")
    assert await silent.all() == b""
    assert (await slow.all()).startswith(b"HTTP/1.1 408 ")
