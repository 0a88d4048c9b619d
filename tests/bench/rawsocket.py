"""WebSocket by hand over plain sockets: just enough to open, send and read frames.

A bench's reader must cost less than what it measures, so nothing here parses JSON
or knows the protocol above the frame (RFC 6455).
"""

import base64
import os
import socket
import struct
from collections.abc import Iterator

TEXT = 0x1
CLOSE = 0x8
PING = 0x9
PONG = 0xA


def connect(address: tuple[str, int], path: str = "/", timeout: float = 30.0) -> socket.socket:
    """A socket on which the opening handshake is through. Raises `OSError` when it is refused.

    Blocking, with `timeout` seconds to each call. What the server sent right behind
    its answer is left unread: the answer is read byte by byte up to its end.
    """
    sock = socket.create_connection(address, timeout)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    key = base64.b64encode(os.urandom(16)).decode()
    sock.sendall(
        f"GET {path} HTTP/1.1\r\nHost: {address[0]}:{address[1]}\r\nUpgrade: websocket\r\n"
        f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
    )
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        peeked = sock.recv(4096, socket.MSG_PEEK)
        if not peeked:
            raise ConnectionError(f"closed during the handshake after {answer[:200]!r}")
        end = (answer + peeked).find(b"\r\n\r\n")
        take = len(peeked) if end < 0 else end + 4 - len(answer)
        answer += sock.recv(take)
    if b" 101 " not in answer.split(b"\r\n", 1)[0]:
        raise ConnectionError(f"the handshake was answered {answer[:200]!r}")
    return sock


def client_frame(payload: bytes, opcode: int = TEXT) -> bytes:
    """One whole masked frame; the mask is zero, which is a mask like any other."""
    size = len(payload)
    if size < 126:
        head = struct.pack("!BB", 0x80 | opcode, 0x80 | size)
    elif size < 65536:
        head = struct.pack("!BBH", 0x80 | opcode, 0x80 | 126, size)
    else:
        head = struct.pack("!BBQ", 0x80 | opcode, 0x80 | 127, size)
    return head + b"\0\0\0\0" + payload


class FrameReader:
    """Cuts a server's bytes into frames: feed it what was received, take what is whole."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[tuple[int, bytes]]:
        """The opcode and payload of every frame completed by `data`."""
        held = self._held
        held += data
        at = 0
        while len(held) - at >= 2:
            size = held[at + 1] & 0x7F
            start = at + 2
            if size == 126:
                if len(held) < at + 4:
                    break
                (size,) = struct.unpack_from("!H", held, at + 2)
                start = at + 4
            elif size == 127:
                if len(held) < at + 10:
                    break
                (size,) = struct.unpack_from("!Q", held, at + 2)
                start = at + 10
            if len(held) < start + size:
                break
            yield held[at] & 0x0F, bytes(held[start : start + size])
            at = start + size
        del held[:at]
