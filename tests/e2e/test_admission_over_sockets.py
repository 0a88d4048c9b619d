"""Who gets in: tokens, names, origins, and what plain HTTP is answered."""

import json
import re
import stat

import pytest
import pytest_twisted

from ahpd.client import RpcError
from ahpd.protocol.uris import ROOT
from ahpd.transports.websocket_client import ConnectError, connect

VSCODE = "vscode-file://vscode-app"


@pytest_twisted.ensureDeferred
async def test_a_token_opens_the_door_both_ways_and_is_never_said(serve, raw, tmp_path):
    wire = tmp_path / "wire.jsonl"
    daemon = await serve("--port", "0", "--wire", str(wire))
    token = daemon.token
    for target, headers in (
        (f"/?tkn={token}", ()),
        (f"/any/path?a=b&tkn={token}", ()),
        ("/", (f"Authorization: Bearer {token}",)),
    ):
        client = raw(daemon)
        assert client.upgrade(target, *headers)[0] == 101
        client.close()
    wrong = "wrong-token-wrong-token-wrong-token"
    daemon.secrets.append(wrong)
    for target, headers in (
        ("/", ()),
        (f"/?tkn={wrong}", ()),
        ("/?tkn=", ()),
        (f"/?tkn={token}x", ()),
        (f"/?TKN={token}", ()),
        ("/", (f"Authorization: Bearer {wrong}",)),
        ("/", (f"Authorization: Basic {token}",)),
    ):
        client = raw(daemon)
        status, answered = client.upgrade(target, *headers)
        assert status == 401, target
        assert answered["www-authenticate"].startswith("Bearer ")
        assert answered["access-control-allow-origin"] == "*"
    assert b"token" in client.rest()
    await daemon.connect("ann", ROOT)
    with pytest.raises(ConnectError) as refused:
        await connect(daemon.reactor, daemon.url, daemon.client("x"), wrong)
    assert refused.value.status == 401
    await daemon.stop()
    written = wire.read_text()
    assert token not in written
    assert wrong not in written


@pytest_twisted.ensureDeferred
async def test_what_is_sent_along_with_a_refused_handshake_is_not_read(serve, raw):
    daemon = await serve()
    pushy = raw(daemon)
    pushy.socket.sendall(
        f"GET / HTTP/1.1\r\nHost: {pushy.host}\r\nUpgrade: websocket\r\n"
        "Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n".encode()
    )
    pushy.initialize("pushy", ROOT)
    assert pushy.head()[0] == 401
    assert b"jsonrpc" not in pushy.rest()
    await daemon.connect("ann", ROOT)
    assert "pushy" not in daemon.log


@pytest_twisted.ensureDeferred
async def test_a_token_may_be_configured(serve, raw):
    token = "configured-token-0123456789"
    daemon = await serve(settings={"connectionToken": token})
    daemon.secrets.append(token)
    assert raw(daemon).upgrade(f"/?tkn={token}")[0] == 101
    assert raw(daemon).upgrade("/")[0] == 401


@pytest_twisted.ensureDeferred
async def test_without_a_token_on_loopback_everybody_here_gets_in(serve, raw):
    daemon = await serve("--port", "0", "--without-connection-token")
    assert daemon.token is None
    assert raw(daemon).upgrade("/")[0] == 101
    assert raw(daemon).request("/")[0] == 426
    probe = await daemon.connect("ann", ROOT)
    assert probe.state(ROOT)["agents"]


@pytest_twisted.ensureDeferred
async def test_pages_and_rebound_names_are_kept_out(serve, raw):
    daemon = await serve("--port", "0", "--allowed-origin", "https://editor.example")
    port = daemon.url.rpartition(":")[2]
    target = f"/?tkn={daemon.token}"
    for origin, status in (
        (None, 101),
        (VSCODE, 101),
        ("https://editor.example", 101),
        (f"http://127.0.0.1:{port}", 101),
        (f"http://localhost:{port}", 101),
        ("https://evil.example", 403),
        ("null", 403),
        ("http://127.0.0.1:1", 403),
        ("https://editor.example.evil.example", 403),
    ):
        headers = () if origin is None else (f"Origin: {origin}",)
        assert raw(daemon).upgrade(target, *headers)[0] == status, origin
    for host, status in (
        (f"localhost:{port}", 101),
        (f"127.0.0.1:{port}", 101),
        (f"evil.example:{port}", 403),
        ("127.0.0.1.evil.example", 403),
    ):
        assert raw(daemon).upgrade(target, host=host)[0] == status, host
    assert raw(daemon).request("/health", host="evil.example")[0] == 403


@pytest_twisted.ensureDeferred
async def test_plain_http_is_told_what_this_is(serve, raw):
    daemon = await serve()
    bearer = f"Authorization: Bearer {daemon.token}"
    status, headers = raw(daemon).request("/")
    assert (status, headers["access-control-allow-origin"]) == (401, "*")
    status, headers = raw(daemon).request("/", bearer)
    assert (status, headers["access-control-allow-origin"]) == (426, "*")
    assert headers["upgrade"] == "websocket"
    health = raw(daemon)
    assert health.request("/health")[0] == 200
    assert json.loads(health.rest()) == {"status": "ok"}
    assert raw(daemon).request("/version")[0] == 401
    version = raw(daemon)
    assert version.request("/version", bearer)[0] == 200
    said = json.loads(version.rest())
    assert said["name"] == "ahpd"
    assert said["protocolVersions"] == ["1.0.0", "0.10.0", "0.9.0"]
    assert raw(daemon).request("/", method="OPTIONS")[0] == 204
    probe = await daemon.connect("ann", ROOT)
    assert probe.version == "1.0.0"


@pytest_twisted.ensureDeferred
async def test_the_wire_log_is_its_owners_and_has_a_line_for_each_frame(serve, talk, raw, tmp_path):
    path = tmp_path / "wire.jsonl"
    daemon = await serve("--port", "0", "--wire", str(path))
    ann = await talk(await daemon.connect("ann", ROOT))
    await ann.say("/think a\n/tool b c\nhällo → \U0001f600\n/usage 1 2")
    ann.probe.send_raw(b'{"jsonrpc":"2.0",\n"id":"odd","method":"ping","params":{}}')
    ann.probe.send_raw(b"no json at all")
    with pytest.raises(RpcError):
        await ann.probe.call("authenticate", {"channel": ROOT, "token": "a-secret-of-mine"})
    await daemon.until(lambda: "-32700" in path.read_text(), "the answer in the wire log")
    await ann.probe.ping()
    await daemon.stop()
    await ann.probe.closed
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    text = path.read_text()
    assert "a-secret-of-mine" not in text
    lines = [json.loads(line) for line in text.splitlines()]
    ours = lines[0]["_ahpLog"]["connection"]
    written = {"in": [], "out": []}
    for line in lines:
        about = line.pop("_ahpLog")
        if about["connection"] == ours:
            written[about["direction"]].append(line)
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", about["ts"])
        assert about["connection"].startswith("127.0.0.1:")
    frames = {"client": [], "host": []}
    for who, message in ann.probe.frames:
        frames[who].append(message)
    assert written["out"] == frames["host"]
    hidden = {"raw": "no json at all"}, {"channel": ROOT, "token": "***"}
    for line, message in zip(written["in"], frames["client"], strict=True):
        if isinstance(message, bytes):
            assert line == hidden[0]
        elif message.get("method") == "authenticate":
            assert line["params"] == hidden[1]
        else:
            assert line == message
