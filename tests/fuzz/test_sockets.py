"""What arrives on a real socket when whoever is there means harm.

Many connections at once send heads that are none, frames RFC 6455 forbids, half of
things, or good frames with bad messages. Each is refused or closed with the code that is
due; a client beside them is answered all the while, and afterwards the process holds no
descriptor, no connection and no delayed call more than before.
"""

from random import Random

import pytest
import pytest_twisted
from twisted.internet import reactor
from twisted.internet.defer import Deferred, DeferredList
from twisted.internet.task import deferLater

from .messages import any_frame
from .oracle import SILENCE, expected_answer
from .profile import LONG, marks
from .wire import HEAD, PING, Listening, judged, ws_frame

pytestmark = marks

ROUNDS = 60 if LONG else 4
AT_ONCE = 50

#: Frames that end a connection, and the code it is told.
FATAL = [
    (ws_frame(0x81, b"\xff\xfe"), 1007),
    (ws_frame(0x81, b"\xed\xa0\x80"), 1007),
    (ws_frame(0x01, b"\xe2") + ws_frame(0x80, b"x"), 1007),
    (ws_frame(0x82, b"{}"), 1003),
    (ws_frame(0x81, b"x" * 20_001), 1009),
    (ws_frame(0x81, length=2**62), 1009),
    (ws_frame(0x01, b"x" * 15_000) + ws_frame(0x80, b"x" * 15_000), 1009),
    (ws_frame(0x81, b"{}", masked=False), 1002),
    (ws_frame(0xC1, b"{}"), 1002),
    (ws_frame(0xA1, b"{}"), 1002),
    (ws_frame(0x91, b"{}"), 1002),
    *[(ws_frame(0x80 | opcode, b"{}"), 1002) for opcode in (3, 7, 11, 15)],
    (ws_frame(0x80, b"{}"), 1002),
    (ws_frame(0x01, b"{") + ws_frame(0x81, b"}"), 1002),
    (ws_frame(0x09, b"p"), 1002),
    (ws_frame(0x08, b""), 1002),
    (ws_frame(0x89, b"p" * 126), 1002),
    (ws_frame(0x88, b"x"), 1002),
    (ws_frame(0x88, (1005).to_bytes(2, "big")), 1002),
    (ws_frame(0x88, (1000).to_bytes(2, "big") + b"\xff"), 1007),
]

HEADS = [
    b"\x00\x01\x02\x03",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    b"SSH-2.0-OpenSSH_9.9\r\n",
    b"\r\n\r\n",
    b"GET\r\n\r\n",
    b"GET / HTTP/9.9\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n folded: x\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX\x00: y\r\n\r\n",
    b"GET /" + b"a" * 100_000,
    b"GET / HTTP/1.1\r\n" + b"A: b\r\n" * 20_000,
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    HEAD.replace(b"secret", b"wrong"),
    HEAD.replace(b"127.0.0.1", b"evil.example"),
    HEAD.replace(b": 13", b": 12"),
    HEAD.replace(b"ZQ==", b"ZQ"),
    HEAD.replace(b"GET", b"POST"),
    HEAD.replace(b"\r\n\r\n", b"\r\nOrigin: https://evil.example\r\n\r\n"),
    HEAD.replace(b"\r\n\r\n", b"\r\nContent-Length: 5\r\n\r\nhello"),
    HEAD.replace(b"\r\n\r\n", b"\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n"),
    b"POST /version?tkn=secret HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: -1\r\n\r\n",
    b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999999999\r\n\r\nx",
    b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n" + b"f" * 5000,
    b"GET /%00/..%2f?tkn=%zz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n",
]


async def bad_head(there, random):
    """No WebSocket comes of it: an answer, or an end, in time."""
    socket = await there.connect()
    head = random.choice(HEADS)
    if random.random() < 0.3:
        at = random.randrange(len(head))
        head = head[:at] + random.randbytes(3) + head[at:]
    head = head[: random.randrange(1, len(head) + 1)] if random.random() < 0.2 else head
    await send(socket, head, random)
    assert await socket.closed_by_host(10) or not socket.received, (head[:100], socket.received)
    assert b"Traceback" not in socket.received
    assert b"secret" not in socket.received


async def fatal_frames(there, random):
    """Good messages, one thing forbidden, and more behind it that nobody may read."""
    socket = await there.connect()
    frames, code = random.choice(FATAL)
    before = random.randrange(4)
    good = b"".join(ws_frame(0x81, PING % number) for number in range(before))
    behind = ws_frame(0x81, PING % 99) + random.randbytes(random.choice([0, 5, 500]))
    await send(socket, HEAD + good + frames + behind, random)
    assert await socket.closed_by_host(10), frames[:50]
    messages, told = judged(socket.received)
    assert told == code, (frames[:50], told)
    assert len(messages) <= before
    assert 99 not in [message["id"] for message in messages]


async def bad_messages(there, random):
    """Frames that are right and hold anything: answered, and the connection lives."""
    socket = await there.connect()
    frames = [any_frame(random) for _ in range(6)]
    frames = [frame for frame in frames if len(frame) <= 20_000 and is_utf8(frame)]
    wanted = sum(expected_answer(frame) is not SILENCE for frame in frames)
    data = b"".join(ws_frame(0x81, frame) for frame in frames)
    await send(socket, HEAD + data + ws_frame(0x88, b"\x03\xe8"), random)
    assert await socket.closed_by_host(10)
    messages, code = judged(socket.received)
    assert code == 1000
    answers = [message for message in messages if "method" not in message]
    assert len(answers) <= wanted  # what waits for its answer is not answered any more


async def random_frames(there, random):
    """Bytes that may be frames, after a good head."""
    socket = await there.connect()
    data = ws_frame(random.randrange(256), random.randbytes(random.randrange(200)))
    data = bytearray(data * random.choice([1, 3]))
    for _ in range(random.randrange(4)):
        data[random.randrange(len(data))] ^= 1 << random.randrange(8)
    await send(socket, HEAD + bytes(data), random)
    if await socket.closed_by_host(0.2):
        assert judged(socket.received)[1] in (None, 1000, 1002, 1003, 1007, 1009)
    end(socket, random)


async def half_open(there, random):
    """Something begun and never ended; then gone, or silent until the host has had enough."""
    socket = await there.connect()
    whole = HEAD + ws_frame(0x81, PING % 1) + ws_frame(0x01, b"{" * 200)
    size = random.randrange(len(whole))
    await send(socket, whole[:size], random)
    if size < len(HEAD) and random.random() < 0.3:
        assert await socket.closed_by_host(10), "a head that never ends is waited for for ever"
        assert not socket.received or socket.received.startswith(b"HTTP/1.1 408 ")
    end(socket, random)


async def send(socket, data, random):
    """All at once, in two halves, or the beginning byte by byte."""
    how = random.randrange(3)
    at = random.randrange(len(data) + 1) if how else 0
    if how == 2:
        at = min(at, 12)
        for byte in range(at):
            socket.transport.write(data[byte : byte + 1])
            await deferLater(reactor, 0)
    else:
        socket.transport.write(data[:at])
        await deferLater(reactor, 0.005)
    socket.transport.write(data[at:])


def end(socket, random):
    if random.random() < 0.5:
        socket.transport.abortConnection()
    else:
        socket.transport.loseConnection()


def is_utf8(data):
    try:
        data.decode()
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("last", "code"),
    [(ws_frame(0x88, b"\x03\xe8"), 1000), (ws_frame(0x82, b"{}"), 1003)],
    ids=["its own close", "a fatal frame"],
)
@pytest_twisted.ensureDeferred
async def test_what_was_answered_goes_out_before_the_close(nothing_left, last, code):
    async with Listening() as there:
        socket = await there.connect()
        socket.transport.write(HEAD + ws_frame(0x81, PING % 1) + ws_frame(0x81, b"{") + last)
        assert await socket.closed_by_host(10)
        messages, told = judged(socket.received)
        assert [message["id"] for message in messages] == [1, None]
        assert told == code


KINDS = [bad_head, fatal_frames, bad_messages, random_frames, half_open]


@pytest_twisted.ensureDeferred
async def test_whoever_comes_to_the_socket_nobody_else_notices(nothing_left):
    async with Listening() as there:
        for number in range(ROUNDS):
            random = Random(number if not LONG else None)
            rude = []
            for _ in range(AT_ONCE):
                one = Random(random.randrange(2**32))
                rude.append(Deferred.fromCoroutine(one.choice(KINDS)(there, one)))
            await there.ping()
            for succeeded, result in await DeferredList(rude, consumeErrors=True):
                if not succeeded:
                    result.raiseException()
            await there.ping()
            await there.quiet()
