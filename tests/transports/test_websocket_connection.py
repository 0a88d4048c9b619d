"""A WebSocket connection over a real socket: frames, pings, ends, and neighbours."""

import errno
import gc
import json
import socket
import tracemalloc

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.endpoints import clientFromString
from twisted.internet.error import ConnectError
from twisted.internet.protocol import Factory
from twisted.internet.task import deferLater
from zope.interface.verify import verifyObject

from ahpd.interfaces import IConnection
from ahpd.transports.websocket_settings import WebSocketSettings
from ahpd.wire.codec import Frame, message_frame

GOOD = b"Authorization: Bearer secret\r\n"
QUICK = {"close_timeout": 0.3, "linger": 0.05}


def closed_with(kit, client):
    """The close code at the end of what a client was sent, and the frames before it."""
    frames, rest = kit.server_frames(client.received)
    assert rest == b""
    assert frames, "nothing was sent"
    assert frames[-1][0] == 0x88, frames[-1]
    return int.from_bytes(frames[-1][1][:2], "big"), frames[:-1]


@pytest_twisted.ensureDeferred
async def test_messages_go_both_ways_whole_and_in_order(listening, kit):
    host = await listening()
    client, handler = await host.opened(GOOD)
    assert verifyObject(IConnection, handler.connection)
    for number in range(50):
        client.transport.write(kit.client_frame(1, b"[%d]" % number))
        handler.connection.send(message_frame({"n": number}))
    await handler.until(lambda h: len(h.messages) == 50)
    assert handler.messages == [b"[%d]" % n for n in range(50)]
    await client.until(lambda c: len(kit.server_frames(c.received)[0]) == 50)
    frames, _ = kit.server_frames(client.received)
    assert [json.loads(p)["n"] for _, p in frames] == list(range(50))
    assert {opcode for opcode, _ in frames} == {0x81}


@pytest.mark.parametrize("size", [0, 1, 125, 126, 65_535, 65_536, 300_000])
@pytest_twisted.ensureDeferred
async def test_frames_of_every_length_class_travel(listening, kit, size):
    host = await listening()
    client, handler = await host.opened(GOOD)
    payload = b"x" * size
    client.transport.write(kit.client_frame(1, payload))
    await handler.until(lambda h: h.messages)
    assert handler.messages == [payload]
    handler.connection.send(Frame(payload))
    await client.until(lambda c: kit.server_frames(c.received)[0])
    assert kit.server_frames(client.received) == ([(0x81, payload)], b"")


@pytest_twisted.ensureDeferred
async def test_one_framing_serves_every_connection(listening, kit):
    host = await listening()
    pairs = [await host.opened(GOOD) for _ in range(3)]
    frame = Frame(b'{"shared":true}')
    framed = set()
    for _, handler in pairs:
        handler.connection.send(frame)
        framed.add(id(frame.framed))
    assert len(framed) == 1
    for client, _ in pairs:
        await client.until(lambda c: c.received == frame.framed)


@pytest_twisted.ensureDeferred
async def test_a_fragmented_message_with_a_ping_inside_is_one_message(listening, kit):
    host = await listening()
    client, handler = await host.opened(GOOD)
    snowman = "\u2603".encode()
    client.transport.write(
        kit.client_frame(1, b"a" + snowman[:1], fin=False)
        + kit.client_frame(9, b"ping")
        + kit.client_frame(0, b"", fin=False)
        + kit.client_frame(0, snowman[1:] + b"b")
    )
    await handler.until(lambda h: h.messages)
    assert handler.messages == [b"a" + snowman + b"b"]
    await client.until(lambda c: c.received)
    assert kit.server_frames(client.received) == ([(0x8A, b"ping")], b"")


@pytest_twisted.ensureDeferred
async def test_a_message_in_very_many_fragments_costs_its_bytes(listening, kit):
    host = await listening()
    client, handler = await host.opened(GOOD)
    data = kit.client_frame(1, b"x", fin=False)
    data += kit.client_frame(0, b"", fin=False) * 5_000
    gc.collect()
    tracemalloc.start()
    client.transport.write(data + kit.client_frame(0, b"y", fin=False) * 1000)
    client.transport.write(kit.client_frame(0, b"z"))
    before = tracemalloc.get_traced_memory()[0]
    await handler.until(lambda h: h.messages)
    after = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert handler.messages == [b"x" + b"y" * 1000 + b"z"]
    assert after - before < 100_000


@pytest.mark.parametrize(
    ("frames", "code"),
    [
        ([(2, b"binary", True)], 1003),
        ([(1, b"\xff\xfe", True)], 1007),
        ([(1, b"\xe2\x98", True)], 1007),
        ([(1, b"\xe2", False), (0, b"x", True)], 1007),
        ([(1, b"x" * 5000, True)], 1009),
        ([(1, b"x" * 600, False), (0, b"x" * 600, True)], 1009),
        ([(0, b"continued", True)], 1002),
        ([(1, b"a", False), (1, b"b", True)], 1002),
        ([(3, b"reserved", True)], 1002),
        ([(11, b"reserved", True)], 1002),
        ([(9, b"p" * 126, True)], 1002),
        ([(9, b"p", False)], 1002),
        ([(8, b"x", True)], 1002),
        ([(8, b"\x03\xed", True)], 1002),
        ([(8, b"\x03\xe8\xff\xff", True)], 1007),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_breaks_the_protocol_is_told_its_code_and_read_no_further(
    listening, kit, frames, code
):
    host = await listening(settings=WebSocketSettings(max_payload=1000, **QUICK))
    client, handler = await host.opened(GOOD)
    neighbour, other = await host.opened(GOOD)
    data = b"".join(kit.client_frame(op, payload, fin) for op, payload, fin in frames)
    client.transport.write(data + kit.client_frame(1, b"after") + b"\xff" * 50)
    await client.all()
    assert closed_with(kit, client) == (code, [])
    await handler.gone()
    assert handler.messages == []
    assert len(handler.lost) == 1
    assert str(code) in handler.lost[0]
    neighbour.transport.write(kit.client_frame(1, b"still here"))
    await other.until(lambda h: h.messages)


@pytest_twisted.ensureDeferred
async def test_an_unmasked_frame_is_refused_1002(listening, kit):
    host = await listening(settings=WebSocketSettings(**QUICK))
    client, _ = await host.opened(GOOD)
    client.transport.write(kit.client_frame(1, b"{}", masked=False))
    await client.all()
    assert closed_with(kit, client)[0] == 1002


@pytest_twisted.ensureDeferred
async def test_a_frame_that_announces_too_much_is_refused_before_it_comes(listening, kit):
    host = await listening(settings=WebSocketSettings(max_payload=1000, **QUICK))
    client, handler = await host.opened(GOOD)
    client.transport.write(b"\x81\xff" + (1 << 50).to_bytes(8, "big") + b"mask")
    await client.all()
    assert closed_with(kit, client)[0] == 1009
    assert (await handler.gone()).startswith("closed here: 1009")


@pytest_twisted.ensureDeferred
async def test_a_close_goes_after_what_was_queued(listening, kit):
    host = await listening()
    client, handler = await host.opened(GOOD)
    payload = b"q" * 3_000_000
    handler.connection.send(Frame(payload))
    handler.connection.send(Frame(b"last"))
    handler.connection.close(4001, "enough \u2603")
    handler.connection.send(Frame(b"after the close"))
    await client.until(lambda c: c.received.endswith("enough \u2603".encode()))
    client.transport.write(kit.client_frame(8, (4001).to_bytes(2, "big")))
    await client.all()
    code, frames = closed_with(kit, client)
    assert code == 4001
    assert frames == [(0x81, payload), (0x81, b"last")]
    assert (await handler.gone()).startswith("closed here: 4001 enough")
    assert len(handler.lost) == 1


@pytest_twisted.ensureDeferred
async def test_an_overlong_reason_is_cut_at_a_character(listening, kit):
    host = await listening()
    client, handler = await host.opened(GOOD)
    handler.connection.close(4000, "\u2603" * 100)
    await client.until(lambda c: len(c.received) > 2)
    ((opcode, payload),) = kit.server_frames(client.received)[0]
    assert opcode == 0x88
    assert payload[2:].decode() == "\u2603" * 41
    client.transport.write(kit.client_frame(8, payload[:2]))
    await handler.gone()


@pytest_twisted.ensureDeferred
async def test_a_client_that_does_not_answer_a_close_is_cut(listening, kit):
    host = await listening(settings=WebSocketSettings(**QUICK))
    client, handler = await host.opened(GOOD)
    client.transport.pauseProducing()
    for _ in range(200):
        handler.connection.send(Frame(b"x" * 100_000))
    handler.connection.close(1000, "bye")
    client.transport.write(kit.client_frame(1, b"too late"))
    await handler.gone()
    assert handler.messages == []
    client.transport.abortConnection()


@pytest_twisted.ensureDeferred
async def test_an_abort_ends_it_at_once_and_once(listening, kit):
    host = await listening()
    client, handler = await host.opened(GOOD)
    client.transport.pauseProducing()
    handler.connection.send(Frame(b"x" * 10_000_000))
    handler.connection.abort()
    handler.connection.abort()
    handler.connection.close(1000, "late")
    assert await handler.gone() == "cut off here"
    assert len(handler.lost) == 1
    assert handler.connection.pending_bytes() == 0
    client.transport.abortConnection()


@pytest_twisted.ensureDeferred
async def test_what_the_same_turn_sent_before_an_abort_is_not_sent(listening, kit):
    host = await listening()
    client, handler = await host.opened(GOOD)
    handler.connection.send(Frame(b"delta"))
    handler.connection.abort()
    assert await client.all() == b""


@pytest_twisted.ensureDeferred
async def test_a_clients_close_is_answered_and_the_handler_told(listening, kit):
    host = await listening()
    client, handler = await host.opened(GOOD)
    client.transport.write(kit.client_frame(8, (1001).to_bytes(2, "big") + b"tab closed"))
    await client.all()
    assert closed_with(kit, client)[0] == 1000
    assert await handler.gone() == "closed by the other side: 1001"
    assert client.ended.type.__name__ == "ConnectionDone", "not a reset"


@pytest_twisted.ensureDeferred
async def test_a_slow_reader_is_counted_and_seen_to_progress(listening, kit):
    host = await listening(settings=WebSocketSettings(**QUICK))
    client, handler = await host.opened(GOOD)
    connection = handler.connection
    assert connection.pending_bytes() == 0
    client.transport.pauseProducing()
    for _ in range(300):
        connection.send(Frame(b"x" * 100_000))
    await deferLater(reactor, 0.1, lambda: None)
    owed = connection.pending_bytes()
    # What the kernel holds on loopback is a few MB.
    assert 15_000_000 < owed <= 30_010_000
    client.transport.resumeProducing()
    await client.until(lambda c: len(c.received) >= 300 * 100_010)
    assert connection.pending_bytes() == 0
    assert connection.progressing()


@pytest_twisted.ensureDeferred
async def test_a_reader_that_stands_still_is_dropped_by_the_ping(listening, kit):
    host = await listening(
        settings=WebSocketSettings(ping_interval=0.05, ping_timeout=0.1, **QUICK)
    )
    _, handler = await host.opened(GOOD)
    answering, other = await host.opened(GOOD)

    def answer(client):
        frames, client.received = kit.server_frames(client.received)
        for opcode, payload in frames:
            if opcode == 0x89:
                client.transport.write(kit.client_frame(10, payload))
        return False

    answering._waiters.append((answer, None))
    assert await handler.gone() == "it answered no ping"
    assert not other.lost
    assert other.connection.progressing()


@pytest_twisted.ensureDeferred
async def test_a_flood_of_pings_from_a_reader_that_stands_still_costs_one_pong(listening, kit):
    host = await listening(settings=WebSocketSettings(**QUICK))
    client, handler = await host.opened(GOOD)
    client.transport.pauseProducing()
    handler.connection.send(Frame(b"x" * 8_000_000))
    await deferLater(reactor, 0.05, lambda: None)
    before = handler.connection.pending_bytes()
    client.transport.write(kit.client_frame(9, b"p" * 125) * 5000 + kit.client_frame(1, b"end"))
    await handler.until(lambda h: h.messages)
    assert handler.connection.pending_bytes() <= before + 127


@pytest.mark.logs_failures
@pytest_twisted.ensureDeferred
async def test_a_handler_that_raises_costs_its_own_connection_only(listening, kit):
    def prepare(handler):
        def fail(data):
            if data == b"boom":
                raise RuntimeError("a bug")

        handler.on_message = fail

    host = await listening(prepare=prepare, settings=WebSocketSettings(**QUICK))
    client, handler = await host.opened(GOOD)
    neighbour, other = await host.opened(GOOD)
    client.transport.write(kit.client_frame(1, b"boom") + kit.client_frame(1, b"next"))
    await handler.gone()
    code, frames = closed_with(kit, client)
    assert (code, frames) == (1011, [])
    assert b"a bug" not in client.received
    assert handler.messages == [b"boom"]
    neighbour.transport.write(kit.client_frame(1, b"fine"))
    await other.until(lambda h: h.messages == [b"fine"])


@pytest.mark.logs_failures
@pytest_twisted.ensureDeferred
async def test_a_factory_that_raises_closes_1011(listening, kit):
    def prepare(handler):
        raise RuntimeError("no peer")

    host = await listening(prepare=prepare, settings=WebSocketSettings(**QUICK))
    client = await host.raw(kit.request(headers=GOOD, upgrade=True))
    await client.all()
    del client.received[: client.received.index(b"\r\n\r\n") + 4]
    assert closed_with(kit, client)[0] == 1011


@pytest_twisted.ensureDeferred
async def test_a_handler_may_end_its_connection_from_inside_a_message(listening, kit):
    def prepare(handler):
        handler.on_message = lambda data: (
            handler.connection.send(Frame(b"bye")),
            getattr(handler.connection, data.decode())(*([] if data == b"abort" else [4000, ""])),
        )

    host = await listening(prepare=prepare, settings=WebSocketSettings(**QUICK))
    for how in (b"close", b"abort"):
        client, handler = await host.opened(GOOD)
        client.transport.write(kit.client_frame(1, how) + kit.client_frame(1, b"more") * 10)
        await handler.gone()
        await client.all()
        assert handler.messages == [how]


@pytest_twisted.ensureDeferred
async def test_many_connections_come_talk_and_go(listening, kit):
    host = await listening()
    pairs = [await host.opened(GOOD) for _ in range(60)]
    frame = Frame(b'{"to":"all"}')
    for number, (client, handler) in enumerate(pairs):
        if number % 3 == 0:
            client.transport.abortConnection()
        handler.connection.send(frame)
    for number, (client, handler) in enumerate(pairs):
        if number % 3 == 0:
            await handler.gone()
        else:
            await client.until(lambda c: c.received == frame.framed)
    assert host.listener.connections == 40


@pytest_twisted.ensureDeferred
async def test_stopping_says_1001_to_everybody_and_waits_for_them(listening, kit):
    host = await listening(settings=WebSocketSettings(**QUICK))
    pairs = [await host.opened(GOOD) for _ in range(5)]
    silent = await host.raw(b"GET / ")
    await deferLater(reactor, 0.02, lambda: None)
    port = host.address.port
    stopped = host.listener.stopService()
    for client, _ in pairs[1:]:
        await client.until(lambda c: c.received)
        client.transport.write(kit.client_frame(8, client.received[2:4]))
    await stopped
    for client, handler in pairs:
        assert closed_with(kit, client)[0] == 1001
        assert len(handler.lost) == 1
    await silent.all()
    assert host.listener.connections == 0
    with pytest.raises(ConnectError, match="refused"):
        await clientFromString(reactor, f"tcp:127.0.0.1:{port}").connect(Factory())


@pytest_twisted.ensureDeferred
async def test_nagles_algorithm_is_off_on_every_connection(listening):
    host = await listening()
    _, handler = await host.opened(GOOD)
    assert handler.connection.transport.getTcpNoDelay()


@pytest_twisted.ensureDeferred
async def test_what_one_turn_sends_leaves_in_one_send(listening, kit, monkeypatch):
    sends = {}
    send = socket.socket.send

    def counted(sock, data, *flags):
        sends.setdefault(sock, []).append(len(data))
        return send(sock, data, *flags)

    monkeypatch.setattr(socket.socket, "send", counted)
    host = await listening()
    client, handler = await host.opened(GOOD)
    sends.clear()
    for _ in range(100):
        handler.connection.send(Frame(b"x" * 100))
    assert sends == {}
    await client.until(lambda c: len(c.received) == 100 * 102)
    assert list(sends.values()) == [[100 * 102]]


@pytest_twisted.ensureDeferred
async def test_a_large_frame_in_parts_arrives_as_one_message_and_is_not_copied(listening, kit):
    host = await listening()
    pairs = [await host.opened(GOOD) for _ in range(3)]
    parts = (b'{"state":', b'"' + b"s" * 2_000_000 + b'"', b',"fromSeq":1}')
    frame = Frame(*parts)
    tracemalloc.start()
    for _, handler in pairs:
        handler.connection.send(Frame(b"before"))
        handler.connection.send(frame)
        handler.connection.send(Frame(b"after"))
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert held < 500_000
    for client, _ in pairs:
        await client.until(lambda c: c.received.endswith(b"after"))
        frames, rest = kit.server_frames(client.received)
        assert rest == b""
        assert [payload for _, payload in frames] == [b"before", b"".join(parts), b"after"]


@pytest_twisted.ensureDeferred
async def test_a_client_that_resets_ends_its_connection_and_no_other(listening, kit):
    host = await listening()
    pairs = [await host.opened(GOOD) for _ in range(9)]
    frame = Frame(b"x" * 1000)
    for number, (client, handler) in enumerate(pairs):
        if number % 3 == 0:
            client.transport.abortConnection()
            await deferLater(reactor, 0, lambda: None)
        # Not yet noticed on the host's side, so what is sent is what meets the reset.
        for _ in range(50):
            handler.connection.send(frame)
    for number, (client, handler) in enumerate(pairs):
        if number % 3 == 0:
            await handler.gone()
            assert len(handler.lost) == 1
            handler.connection.send(frame)
            assert handler.connection.pending_bytes() == 0
        else:
            await client.until(lambda c: c.received == frame.framed * 50)
            assert not handler.lost


@pytest_twisted.ensureDeferred
async def test_why_a_send_failed_is_why_the_connection_ended(listening, monkeypatch):
    host = await listening()
    client, handler = await host.opened(GOOD)

    def broken(data):
        raise ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")

    monkeypatch.setattr(handler.connection._queue, "_send", broken)
    handler.connection.send(Frame(b"{}"))
    await client.until(lambda c: c.received)  # the transport's own send did not fail
    client.transport.loseConnection()
    assert await handler.gone() == "Connection reset by peer"
