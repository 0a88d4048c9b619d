"""The wire log: every message both ways, a line of JSON each.

A line is the message as it travelled with a key `_ahpLog` beside its own: `ts`,
`direction` (`in` or `out`, as the host sees it), `connection`, `bytes`. It is made from
the bytes the transport has anyway; nothing is encoded for the log, except what must not
be in it (the token of `authenticate`) and what is no JSON object (as text, in `raw`). The
URL of a canvas's page is not in it either.

Lines wait in memory for a moment and are written together. A disk that fails costs log
lines, said once, and no connection anything.
"""

import errno
import json
import os
import re
import stat
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from twisted.application.service import Service
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.interfaces import IConnection, IMessageHandler, IPeerFactory
from ahpd.wire.codec import Frame, decode, encode

_log = Logger()

ROLL_BYTES = 75 * 1024 * 1024
KEPT = 5
MAX_LINE = 1024 * 1024
FLUSH_SECONDS = 0.25
FLUSH_BYTES = 1024 * 1024


class WireLog(Service):
    """Appends messages to `path` (0600), rolled at `roll_bytes` to `.1` .. `.5`.

    `now` answers the time of day in seconds since the epoch.
    """

    name = "wire"

    def __init__(
        self,
        path: Path,
        clock: IReactorTime,
        now: Callable[[], float],
        roll_bytes: int = ROLL_BYTES,
        max_line: int = MAX_LINE,
    ) -> None:
        self._path = path
        self._clock = clock
        self._now = now
        self._roll_bytes = roll_bytes
        self._max_line = max_line
        self._file: int | None = None
        self._size = 0
        self._lines: list[bytes] = []
        self._waiting = 0
        self._timer: IDelayedCall | None = None
        self._failed = False
        self._stamp = (-1, "")

    # -- the service -----------------------------------------------------------

    def startService(self) -> None:
        super().startService()  # type: ignore[no-untyped-call]
        self._guarded(self._open)

    def stopService(self) -> None:
        """Write what waits and close the file."""
        super().stopService()  # type: ignore[no-untyped-call]
        self.flush()
        if self._file is not None:
            with suppress(OSError):
                os.close(self._file)
            self._file = None

    def wrap(self, peers: IPeerFactory) -> IPeerFactory:
        """`peers`, with everything its connections say and hear written down."""
        return _RecordedPeers(peers, self)

    # -- recording -------------------------------------------------------------

    def record(self, direction: str, connection: bytes, payload: bytes) -> None:
        """Write down one message. `connection` is its name in JSON, quotes included."""
        about = b'"ts":"%s","direction":"%s","connection":%s,"bytes":%d' % (
            self._timestamp(),
            direction.encode(),
            connection,
            len(payload),
        )
        line = self._line(direction, payload, about)
        self._lines.append(line)
        self._waiting += len(line)
        if self._waiting >= FLUSH_BYTES:
            self.flush()
        elif self._timer is None:
            self._timer = self._clock.callLater(FLUSH_SECONDS, self._flush_later)

    def _line(self, direction: str, payload: bytes, about: bytes) -> bytes:
        if _CANVAS in payload:
            payload = _PAGE.sub(rb"\1***", payload)
        if len(payload) + len(about) + 20 > self._max_line:
            return self._cut_line(payload, about)
        if direction == "in":
            # What a stranger sent may be no JSON at all, may be spread over lines, and
            # may hold a secret.
            payload = _fit_to_keep(payload)
        if payload == b"{}":
            return b'{"_ahpLog":{%s}}\n' % about
        return b'%s,"_ahpLog":{%s}}\n' % (payload[:-1], about)

    def _cut_line(self, payload: bytes, about: bytes) -> bytes:
        room = self._max_line - len(about) - 64
        kept = room // 2
        while True:
            text = _as_text(payload[:kept])
            if len(text) <= room or kept < 2:
                return b'{"raw":%s,"_ahpLog":{%s,"truncated":true}}\n' % (text, about)
            kept //= 2

    def _timestamp(self) -> bytes:
        milliseconds = int(self._now() * 1000)
        if milliseconds != self._stamp[0]:
            at = datetime.fromtimestamp(milliseconds / 1000, UTC)
            self._stamp = (milliseconds, at.isoformat(timespec="milliseconds")[:-6] + "Z")
        return self._stamp[1].encode()

    # -- the file --------------------------------------------------------------

    def _flush_later(self) -> None:
        self._timer = None
        self.flush()

    def flush(self) -> None:
        """Write what waits, now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        lines, self._lines, self._waiting = self._lines, [], 0
        if lines:
            self._guarded(lambda: self._append(lines))

    def _append(self, lines: list[bytes]) -> None:
        batch: list[bytes] = []
        size = 0
        for line in lines:
            if self._size + size + len(line) > self._roll_bytes and self._size + size:
                self._put(batch)
                self._roll()
                batch, size = [], 0
            batch.append(line)
            size += len(line)
        self._put(batch)

    def _put(self, batch: list[bytes]) -> None:
        data = memoryview(b"".join(batch))
        if self._file is None:
            self._open()
        assert self._file is not None
        while data:
            written = os.write(self._file, data)
            self._size += written
            data = data[written:]

    def _open(self) -> None:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        # A pipe nobody reads would hold the whole host up at its opening.
        opened = os.open(self._path, flags | os.O_NONBLOCK, 0o600)
        about = os.fstat(opened)
        if not stat.S_ISREG(about.st_mode):
            os.close(opened)
            raise OSError(errno.EINVAL, "it is no regular file")
        os.fchmod(opened, 0o600)
        self._file, self._size = opened, about.st_size

    def _roll(self) -> None:
        if self._file is not None:
            os.close(self._file)
            self._file = None
        for number in range(KEPT, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            newer = (
                self._path
                if number == 1
                else self._path.with_name(f"{self._path.name}.{number - 1}")
            )
            with suppress(FileNotFoundError):
                newer.replace(older)
        self._open()

    def _guarded(self, act: Callable[[], None]) -> None:
        try:
            act()
        except OSError as error:
            if not self._failed:
                self._failed = True
                _log.error(
                    "the wire log {path} cannot be written, lines are lost: {why}",
                    path=str(self._path),
                    why=error.strerror or str(error),
                )
        else:
            self._failed = False


#: A message about a canvas, and the page it shows: who knows the page's URL may read it.
_CANVAS: Final = b'"ahp-canvas:/'
_PAGE: Final = re.compile(rb'("url"\s*:\s*")(?:[^"\\]|\\.)*')

#: A token of `authenticate` in what could not be read as a message: to its end, or the text's.
_TOKEN: Final = re.compile(rb'("token"\s*:\s*")(?:[^"\\]|\\.)*')


def _as_text(data: bytes) -> bytes:
    return json.dumps(_TOKEN.sub(rb"\1***", data).decode(errors="replace")).encode()


def _fit_to_keep(payload: bytes) -> bytes:
    try:
        message = decode(payload)
    except ValueError:
        return b'{"raw":%s}' % _as_text(payload)
    if not isinstance(message, dict):
        return b'{"raw":%s}' % _as_text(payload)
    params = message.get("params")
    if message.get("method") == "authenticate" and isinstance(params, dict) and "token" in params:
        return encode({**message, "params": {**params, "token": "***"}})
    if b"\n" in payload or b"\r" in payload:
        # Outside strings a line break is only space, and inside one it is not JSON.
        payload = payload.replace(b"\n", b" ").replace(b"\r", b" ")
    return payload.strip()


@implementer(IPeerFactory)
class _RecordedPeers:
    def __init__(self, peers: IPeerFactory, wire: WireLog) -> None:
        self._peers = peers
        self._wire = wire

    def accept(self, connection: IConnection) -> IMessageHandler:
        name = json.dumps(connection.name).encode()
        handler = self._peers.accept(_RecordedConnection(connection, self._wire, name))
        return _RecordedHandler(handler, self._wire, name)


@implementer(IConnection)
class _RecordedConnection:
    def __init__(self, connection: IConnection, wire: WireLog, name: bytes) -> None:
        self._connection = connection
        self._wire = wire
        self._quoted = name
        self.name = connection.name
        self.address = connection.address
        self.forwarded_for = connection.forwarded_for
        self.pending_bytes = connection.pending_bytes
        self.progressing = connection.progressing
        self.close = connection.close
        self.abort = connection.abort

    def send(self, frame: Frame) -> None:
        self._wire.record("out", self._quoted, frame.payload)
        self._connection.send(frame)


@implementer(IMessageHandler)
class _RecordedHandler:
    def __init__(self, handler: IMessageHandler, wire: WireLog, name: bytes) -> None:
        self._handler = handler
        self._wire = wire
        self._quoted = name
        self.connection_lost = handler.connection_lost

    def message_received(self, data: bytes) -> None:
        self._wire.record("in", self._quoted, data)
        self._handler.message_received(data)
