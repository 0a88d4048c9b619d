"""A model endpoint that sends prebuilt tokens, as fast as they are read or at a pace.

The last word of the newest message says what comes: `burst:N` is N tokens at once,
`paced:RATE:N` N tokens at that rate, each stamped with the moment it was sent
(`@<ns of CLOCK_MONOTONIC>@`). A token is an SSE event with about five characters of text.
"""

import json
import re
import socket
import sys
import threading
import time

_ASKED = re.compile(rb'(burst|paced):(\d+)(?::(\d+))?"')
_HEAD = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
    b"Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
)
MODELS = json.dumps({"object": "list", "data": [{"id": "tokens", "object": "model"}]}).encode()


def event(text: str, finish: str | None = None) -> bytes:
    """One event of a stream, as most servers write it."""
    delta = {"content": text} if finish is None else {}
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    body = {
        "id": "chatcmpl-0123456789abcdef",
        "object": "chat.completion.chunk",
        "created": 1_700_000_000,
        "model": "tokens",
        "choices": [choice],
    }
    return b"data: " + json.dumps(body, separators=(",", ":")).encode() + b"\n\n"


def chunked(data: bytes) -> bytes:
    """A piece of a body."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def burst(tokens: int) -> bytes:
    """A whole answer of so many tokens, a chunk for each, as servers send them."""
    pieces = [chunked(event(f"t{number % 1000:03d} ")) for number in range(tokens)]
    return b"".join(pieces) + _END


_END = chunked(event("", "stop") + b"data: [DONE]\n\n") + b"0\r\n\r\n"
_BURSTS: dict[int, bytes] = {}


def answer(connection: socket.socket) -> None:
    """One request, and its answer."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    while length is not None and len(body) < int(length[1]):
        body += connection.recv(65536)
    if head.startswith(b"GET"):
        connection.sendall(
            b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close\r\n"
            b"Content-Length: %d\r\n\r\n%b" % (len(MODELS), MODELS)
        )
        return
    kind, first, second = _ASKED.findall(body)[-1]
    connection.sendall(_HEAD)
    if kind == b"burst":
        tokens = int(first)
        if tokens not in _BURSTS:
            _BURSTS[tokens] = burst(tokens)
        connection.sendall(_BURSTS[tokens])
        return
    rate, tokens = int(first), int(second)
    due = time.monotonic()
    for _ in range(tokens):
        due += 1 / rate
        time.sleep(max(0.0, due - time.monotonic()))
        connection.sendall(chunked(event(f"@{time.monotonic_ns()}@")))
    connection.sendall(_END)


def _serve(connection: socket.socket) -> None:
    with connection:
        try:
            answer(connection)
        except OSError:
            return


def main() -> None:
    """Say the port, then serve until the end of standard input."""
    listening = socket.create_server(("127.0.0.1", 0), backlog=256)
    print(listening.getsockname()[1], flush=True)

    def accept() -> None:
        while True:
            connection, _ = listening.accept()
            threading.Thread(target=_serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    sys.stdin.read()


if __name__ == "__main__":
    main()
