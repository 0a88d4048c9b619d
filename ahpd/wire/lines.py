"""Newline framing without I/O: one message a line, with a bound on a line's length.

A line ends at `\n`; a `\r` before it is not part of the message, and an empty line is
none. A line past the limit is reported once, by its place in the answer, and what
follows is read again from the next newline.
"""

import attrs

#: A line's greatest length in bytes, the newline not counted: what a WebSocket
#: message may hold is what a line may hold.
DEFAULT_LIMIT = 64 * 1024 * 1024

#: How many bytes of a line that is too long are told with it.
HEAD = 4096


@attrs.frozen
class LineTooLong:
    """A line that passed the limit; no more of it was kept than its head."""

    limit: int
    """The limit it passed, in bytes."""
    head: bytes = attrs.field(default=b"", eq=False, repr=False)
    """Its first `HEAD` bytes, or fewer: what may say which message it was."""


class LineReader:
    """Cuts a stream of bytes into lines. Holds at most `limit` bytes of an unfinished one."""

    def __init__(self, limit: int = DEFAULT_LIMIT) -> None:
        if limit < 1:
            raise ValueError(f"a line's limit must be at least 1 byte, found {limit}")
        self._limit = limit
        self._partial = bytearray()
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | LineTooLong]:
        """The lines `data` completes, in order, and a `LineTooLong` for each that was too long."""
        lines: list[bytes | LineTooLong] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._end_line(data, start, end, lines)
            start = end + 1
        self._keep(data, start, lines)
        return lines

    def _end_line(
        self, data: bytes, start: int, end: int, lines: list[bytes | LineTooLong]
    ) -> None:
        if self._skipping:
            self._skipping = False
            return
        if self._partial:
            self._partial += data[start:end]
            line = bytes(self._partial)
            self._partial.clear()
        else:
            line = data[start:end]
        line = line.removesuffix(b"\r")
        if len(line) > self._limit:
            lines.append(LineTooLong(self._limit, line[:HEAD]))
        elif line:
            lines.append(line)

    def _keep(self, data: bytes, start: int, lines: list[bytes | LineTooLong]) -> None:
        if self._skipping or start == len(data):
            return
        # One byte more than the limit may be the \r of a line that fits.
        if len(self._partial) + len(data) - start > self._limit + 1:
            head = bytes(self._partial[:HEAD])
            head += data[start : start + HEAD - len(head)]
            self._partial.clear()
            self._skipping = True
            lines.append(LineTooLong(self._limit, head))
            return
        self._partial += data[start:]

    def finish(self) -> list[bytes | LineTooLong]:
        """The stream is over: its last line, which may lack its newline."""
        lines: list[bytes | LineTooLong] = []
        if self._partial or self._skipping:
            self._end_line(b"", 0, 0, lines)
        return lines

    @property
    def held(self) -> int:
        """Bytes of an unfinished line held now."""
        return len(self._partial)
