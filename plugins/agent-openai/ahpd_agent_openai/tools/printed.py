"""What a command printed, as a model is told it: without what only a terminal understands, and
no more than fits, its beginning and its end. Pure."""

import re
from collections import deque
from typing import Final

#: Characters a model is told of one command's output: of its beginning, and of its end.
HEAD: Final = 8_000
TAIL: Final = 24_000

#: Control sequences, strings such as titles, and other escapes (ECMA-48).
_SEQUENCES: Final = re.compile(
    "\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?|\x1b[ -/]*[0-~]?"
)
_CONTROLS: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain(printed: str) -> str:
    """The text of it. Of a line that was printed over, what it showed last is left."""
    lines = _SEQUENCES.sub("", printed).replace("\r\n", "\n").split("\n")
    return "\n".join(
        _CONTROLS.sub("", line.rstrip("\r").rpartition("\r")[2]).rstrip() for line in lines
    ).strip("\n")


def bounded(text: str, head: int = HEAD, tail: int = TAIL) -> str:
    """`text`, or its beginning and end with the number of characters between them."""
    if len(text) <= head + tail:
        return text
    return joined(text[:head], text[-tail:], len(text) - head - tail)


def joined(head: str, tail: str, missing: int | None) -> str:
    """A beginning and an end, and what is missing between: so many characters, None for some."""
    first = head[: head.rfind("\n") + 1] or head
    last = tail[tail.find("\n") + 1 :] or tail
    if missing is not None:
        missing += len(head) - len(first) + len(tail) - len(last)
    count = "some" if missing is None else f"{missing} characters of"
    gap = "" if first.endswith("\n") else "\n"
    return f"{first}{gap}[… {count} output left out here …]\n{last}"


class Kept:
    """Bytes of a program's output as they come: the first and the last are kept."""

    def __init__(self, head: int = 4 * HEAD, tail: int = 4 * TAIL) -> None:
        self._most_head = head
        self._most_tail = tail
        self._head = bytearray()
        self._tail: deque[bytes] = deque()
        self._tail_size = 0
        self.dropped = 0

    def received(self, data: bytes) -> None:
        """The next piece."""
        room = self._most_head - len(self._head)
        self._head += data[:room]
        rest = data[room:] if room < len(data) else b""
        if not rest:
            return
        self._tail.append(rest)
        self._tail_size += len(rest)
        while self._tail_size - len(self._tail[0]) >= self._most_tail:
            gone = self._tail.popleft()
            self._tail_size -= len(gone)
            self.dropped += len(gone)

    def text(self) -> str:
        """What a model is told."""
        head, tail = bytes(self._head), b"".join(self._tail)
        if not self.dropped:
            return bounded(plain((head + tail).decode(errors="replace")))
        begun, ended = (plain(part.decode(errors="replace")) for part in (head, tail))
        return joined(begun[:HEAD], ended[-TAIL:], None)
