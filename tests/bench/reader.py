"""The reading side of the socket benches: one process, one epoll loop, many connections.

Run as a program it takes one JSON object on its standard input (see `main`), opens
the connections, says `ready` on its standard output when every one has answered,
reads until each was sent as many marked frames as expected, and prints one JSON
object of what it saw. Frames are counted by a marker in their bytes; on the first
connection they are cut apart as well, and the two counts must agree.
"""

import json
import re
import select
import socket
import sys
import time
from typing import Any

import rawsocket

CHUNK = 256 * 1024
#: Two clocks a paced delta carries: when it was due, when it was handed over (ns, CLOCK_MONOTONIC).
STAMPS = re.compile(rb"@(\d{6,20})/(\d{6,20})@")
_STAMP_ROOM = 48


class Watched:
    """One connection: its socket, and what of it has been counted."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.count = 0
        #: The end of what was read last, in which a mark may have begun.
        self.tail = b""


def open_all(task: dict[str, Any]) -> list[Watched]:
    """Every connection open, greeted, and answered with the text the task waits for."""
    watched = []
    awaited = task.get("answer", "").encode()
    for number in range(task["connections"]):
        sock = rawsocket.connect(tuple(task["address"]), task.get("path", "/"))
        for text in task.get("hello", ()):
            sock.sendall(rawsocket.client_frame(text.replace("{n}", str(number)).encode()))
        seen = b""
        while awaited and awaited not in seen:
            data = sock.recv(CHUNK)
            if not data:
                raise ConnectionError(f"connection {number} closed after {seen[-300:]!r}")
            seen += data
        sock.setblocking(False)
        watched.append(Watched(sock))
    return watched


class Reading:
    """The loop: reads everything, counts the marked frames, notes the first and the last.

    With `rest` it sleeps that long (seconds) between two sweeps over the sockets that
    have something, as a busy client's loop would come round: a sweep then takes many
    frames with one call, and the reader's own work stays far below the server's.
    """

    def __init__(self, watched: list[Watched], task: dict[str, Any]) -> None:
        self.marker: bytes = task["marker"].encode()
        self.expect: int = task["expect"]
        self.rest: float = task.get("rest", 0.0)
        self.stamped: bool = task.get("stamped", False)
        self.by_fd = {each.sock.fileno(): each for each in watched}
        self.frames = rawsocket.FrameReader()
        self.walked_fd = watched[0].sock.fileno()
        self.walked = 0
        self.sample = b""
        self.late: list[tuple[int, int]] = []
        self.bytes = self.reads = self.first = self.last = self.cpu_first = self.cpu_last = 0
        self.unfinished = len(watched)
        self.buffer = bytearray(CHUNK)
        self.view = memoryview(self.buffer)

    def run(self, timeout: float) -> None:
        """Read until every connection has had its frames, or nothing came for `timeout` seconds."""
        poll = select.epoll()
        for fd in self.by_fd:
            poll.register(fd, select.EPOLLIN)
        while self.unfinished:
            ready = poll.poll(timeout)
            if not ready:
                return
            found = sum([self._take(self.by_fd[fd], fd) for fd, _ in ready])
            if found:
                self.last, self.cpu_last = time.monotonic_ns(), time.process_time_ns()
                if not self.first:
                    self.first, self.cpu_first = self.last, self.cpu_last
            if self.rest:
                time.sleep(self.rest)

    def _take(self, each: Watched, fd: int) -> int:
        """Read once from a socket that has something; how many marked frames ended there."""
        held = len(each.tail)
        self.buffer[:held] = each.tail
        size = each.sock.recv_into(self.view[held:])
        if not size:
            raise ConnectionError(f"a connection was closed after {each.count} frames")
        self.reads += 1
        self.bytes += size
        end = held + size
        if fd == self.walked_fd:
            self._walk(bytes(self.view[held:end]))
        if self.stamped:
            found = self._stamps(each, end)
        else:
            found = self.buffer.count(self.marker, 0, end)
            each.tail = bytes(self.view[max(0, end - len(self.marker) + 1) : end])
        if found:
            before, each.count = each.count, each.count + found
            if before < self.expect <= each.count:
                self.unfinished -= 1
        return found

    def _stamps(self, each: Watched, size: int) -> int:
        now = time.monotonic_ns()
        found, end = 0, 0
        for match in STAMPS.finditer(self.buffer, 0, size):
            found += 1
            end = match.end()
            self.late.append((now - int(match[1]), now - int(match[2])))
        each.tail = bytes(self.view[max(end, size - _STAMP_ROOM) : size])
        return found

    def _walk(self, data: bytes) -> None:
        for _, payload in self.frames.feed(data):
            if self.marker in payload:
                self.walked += 1
                self.sample = self.sample or payload

    def result(self) -> dict[str, Any]:
        """What was seen; times in seconds, latencies in milliseconds."""
        counts = [each.count for each in self.by_fd.values()]
        elapsed = (self.last - self.first) / 1e9
        body: dict[str, Any] = {
            "delivered": sum(counts),
            "least": min(counts),
            "walked": self.walked,
            "walkedCounted": self.by_fd[self.walked_fd].count,
            "elapsed": elapsed,
            "cpu": (self.cpu_last - self.cpu_first) / 1e9,
            "bytes": self.bytes,
            "reads": self.reads,
            "sample": self.sample.decode(),
        }
        if self.late:
            body["due"] = percentiles([due for due, _ in self.late])
            body["handed"] = percentiles([handed for _, handed in self.late])
        return body


def percentiles(nanoseconds: list[int]) -> dict[str, float]:
    """p50, p99, p99.9 and the worst, in milliseconds."""
    ordered = sorted(nanoseconds)
    return {
        name: ordered[min(len(ordered) - 1, int(len(ordered) * share))] / 1e6
        for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999), ("max", 1.0))
    }


def main() -> None:
    """Reads its task, one JSON object on a line, then works as the module says.

    `address` (host, port) and `path` to connect to, `connections` how many; `hello` the
    texts each sends (`{n}` is its number) and `answer` a text it waits for before it
    counts as ready; `marker` what marks a counted frame and `expect` how many of them
    each connection is sent; `timeout` seconds without anything; `rest` seconds between
    sweeps; `stamped` to read the clocks in the frames (`STAMPS`). With `starts` one more
    line is read once all are ready, and sent on the first connection.
    """
    task = json.loads(sys.stdin.readline())
    watched = open_all(task)
    print("ready", flush=True)
    if task.get("starts"):
        begin = sys.stdin.readline().strip().encode()
        watched[0].sock.sendall(rawsocket.client_frame(begin))
    reading = Reading(watched, task)
    reading.run(task.get("timeout", 20.0))
    print(json.dumps(reading.result()), flush=True)


if __name__ == "__main__":
    main()
