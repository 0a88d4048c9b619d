"""Connecting to a host: what opens, what is refused, and the same connection behaviour."""

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.endpoints import serverFromString
from twisted.internet.protocol import Factory, Protocol
from twisted.internet.task import deferLater
from zope.interface.verify import verifyObject

from ahpd.interfaces import IConnection
from ahpd.transports.websocket_client import ConnectError, connect
from ahpd.transports.websocket_settings import WebSocketSettings
from ahpd.wire.codec import Frame


@pytest_twisted.ensureDeferred
async def test_a_client_opens_talks_and_closes(listening, kit):
    host = await listening()
    mine = kit.peers()
    client = await connect(reactor, host.url, mine, token="secret")
    assert client is mine.handlers[0]
    assert verifyObject(IConnection, client.connection)
    (server,) = await host.peers.at_least(1)
    frame = Frame(b'{"hello":"\xe2\x98\x83"}')
    client.connection.send(frame)
    await server.until(lambda h: h.messages)
    assert server.messages == [frame.payload]
    assert frame.framed is None, "a masked frame is nobody else's"
    server.connection.send(Frame(b"x" * 5_000_000))
    await client.until(lambda h: h.messages)
    assert client.messages == [b"x" * 5_000_000]
    client.connection.close(1000, "done")
    assert (await client.gone()).startswith("closed here: 1000 done")
    assert await server.gone() == "closed by the other side: 1000"


@pytest_twisted.ensureDeferred
async def test_what_a_client_sent_arrives_before_its_close(listening, kit):
    host = await listening()
    client = await connect(reactor, host.url, kit.peers(), token="secret")
    for number in range(100):
        client.connection.send(Frame(b"%d" % number + b"x" * 20_000))
    client.connection.close(1000, "")
    (server,) = await host.peers.at_least(1)
    await server.gone()
    await client.gone()
    assert [int(m.partition(b"x")[0]) for m in server.messages] == list(range(100))


@pytest.mark.parametrize(
    ("token", "options", "status"),
    [("wrong", {}, 401), (None, {}, 401), ("secret", {"origin": "https://evil.example"}, 403)],
)
@pytest_twisted.ensureDeferred
async def test_a_refusal_is_raised_with_its_status(listening, kit, token, options, status):
    host = await listening()
    mine = kit.peers()
    with pytest.raises(ConnectError, match=str(status)) as caught:
        await connect(reactor, host.url + "/?tkn=", mine, token=token, **options)
    assert caught.value.status == status
    assert "?tkn=***" in str(caught.value)
    assert not mine.handlers


@pytest_twisted.ensureDeferred
async def test_nobody_there_is_raised_in_words(kit, listening):
    host = await listening()
    url = host.url
    await host.listener.stopService()
    with pytest.raises(ConnectError, match="refused") as caught:
        await connect(reactor, url, kit.peers())
    assert caught.value.status is None


@pytest_twisted.ensureDeferred
async def test_a_server_that_says_nothing_is_given_up_on(kit):
    lost = []

    class Silent(Protocol):
        def connectionLost(self, reason):
            lost.append(reason)

    port = await serverFromString(reactor, "tcp:0:interface=127.0.0.1").listen(
        Factory.forProtocol(Silent)
    )
    try:
        with pytest.raises(ConnectError, match=r"did not answer in 0\.05 s"):
            await connect(
                reactor, f"ws://127.0.0.1:{port.getHost().port}", kit.peers(), timeout=0.05
            )
    finally:
        await port.stopListening()


@pytest.mark.parametrize(
    "reply",
    [
        b"HTTP/1.1 101 Switching Protocols\r\n\r\n",
        b"HTTP/1.1 101 X\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Accept: bogus\r\n\r\n",
        b"SSH-2.0-OpenSSH\r\n\r\n",
        b"",
    ],
)
@pytest_twisted.ensureDeferred
async def test_a_server_that_is_no_websocket_one_is_an_error(kit, reply):
    class Odd(Protocol):
        def dataReceived(self, data):
            self.transport.write(reply)
            self.transport.loseConnection()

    port = await serverFromString(reactor, "tcp:0:interface=127.0.0.1").listen(
        Factory.forProtocol(Odd)
    )
    try:
        with pytest.raises(ConnectError):
            await connect(reactor, f"ws://127.0.0.1:{port.getHost().port}", kit.peers())
    finally:
        await port.stopListening()


@pytest.mark.parametrize(
    ("url", "token"),
    [
        ("http://127.0.0.1:1", None),
        ("ws://", None),
        ("ws://127.0.0.1:1/#x", None),
        ("ws://127.0.0.1:1", "a\r\nX: y"),
        ("ws://127.0.0.1:1", ""),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_cannot_be_sent_is_a_value_error(kit, url, token):
    with pytest.raises(ValueError, match=r"WebSocket URL|connection token"):
        await connect(reactor, url, kit.peers(), token=token)


@pytest_twisted.ensureDeferred
async def test_a_host_that_goes_away_says_1001(listening, kit):
    host = await listening()
    client = await connect(reactor, host.url, kit.peers(), token="secret")
    await host.listener.stopService()
    assert await client.gone() == "closed by the other side: 1001"


@pytest_twisted.ensureDeferred
async def test_a_client_and_a_host_keep_each_other_alive_with_pings(listening, kit):
    quick = WebSocketSettings(ping_interval=0.02, ping_timeout=0.1, close_timeout=1.0)
    host = await listening(settings=quick)
    client = await connect(reactor, host.url, kit.peers(), token="secret", settings=quick)
    await deferLater(reactor, 0.5, lambda: None)
    assert not client.lost
    assert host.listener.connections == 1
    client.connection.abort()
    await client.gone()
