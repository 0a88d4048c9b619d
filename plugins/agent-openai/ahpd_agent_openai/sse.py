"""Server-sent events without I/O: bytes in, events out, wherever they were cut.

Source: the HTML standard, "Server-sent events". A line ends at CR, LF or CRLF, a stream may
begin with a byte order mark, a line that begins with a colon is a comment, and an event's
`data` lines are joined with newlines. Two liberties: an event the stream ends in is given
although its empty line is missing, and a field `error`, which some servers write in place
of `data`, is an event of the type `error`.
"""

from typing import Final

import attrs

#: The longest event taken, in bytes of its data.
LIMIT: Final = 8 * 1024 * 1024

_MARK: Final = b"\xef\xbb\xbf"


class EventTooLong(Exception):
    """An event, or one line, is longer than the reader takes; the stream is of no more use."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"an event is longer than {limit} bytes")
        self.limit = limit


@attrs.frozen
class Event:
    """One event: its type, empty where it named none, and its data."""

    kind: str
    data: bytes


class EventReader:
    """Cuts a stream into events. Holds at most `limit` bytes of an unfinished one."""

    def __init__(self, limit: int = LIMIT) -> None:
        self._limit = limit
        self._partial = bytearray()
        self._after_return = False
        self._begun = False
        self._kind = ""
        self._data: list[bytes] = []
        self._length = 0

    def feed(self, data: bytes) -> list[Event]:
        """The events `data` completes. Raises `EventTooLong`."""
        events: list[Event] = []
        if not self._begun:
            data = self._begin(data)
        if self._after_return and data:
            self._after_return = False
            data = data.removeprefix(b"\n")
        if b"\r" in data:
            self._after_return = data.endswith(b"\r")
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            line = data[start:end]
            if self._partial:
                line = bytes(self._partial) + line
                self._partial.clear()
            self._read(line, events)
            start = end + 1
        if start < len(data):
            self._partial += data[start:]
            self._bound(len(self._partial))
        return events

    def finish(self) -> list[Event]:
        """The stream is over: the event it ended in, where it had begun one."""
        events: list[Event] = []
        if not self._begun:
            self._begun = True
        if self._partial:
            line = bytes(self._partial)
            self._partial.clear()
            self._read(line, events)
        self._read(b"", events)
        return events

    def _begin(self, data: bytes) -> bytes:
        """Leave out a byte order mark, which may arrive in pieces."""
        data = bytes(self._partial) + data
        self._partial.clear()
        if len(data) < len(_MARK) and _MARK.startswith(data):
            self._partial += data
            return b""
        self._begun = True
        return data.removeprefix(_MARK)

    def _read(self, line: bytes, events: list[Event]) -> None:
        if not line:
            if self._data:
                events.append(Event(self._kind, b"\n".join(self._data)))
            self._kind, self._data, self._length = "", [], 0
            return
        name, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if name == b"event":
            self._kind = value.decode(errors="replace")
        elif name in (b"data", b"error"):
            if name == b"error":
                self._kind = "error"
            self._data.append(value)
            self._length += len(value)
            self._bound(self._length)

    def _bound(self, length: int) -> None:
        if length > self._limit:
            raise EventTooLong(self._limit)
