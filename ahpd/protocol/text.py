"""Text that grows: appended to in constant time, joined only when it is read."""

from collections.abc import Sequence
from typing import Any, Final

#: Characters of small pieces that are made one: a string costs some fifty bytes of its own.
_PIECE: Final = 64 * 1024
#: Characters from which on a text that is over stays in pieces. To join it takes its size
#: again, and up to four times that where one character of it is a wide one.
_LONG: Final = 1024 * 1024


class GrowingText:
    """A string under construction.

    A streamed answer is a string that grows by one delta at a time. Python's
    strings are immutable, so `answer += delta` copies all that was said before;
    this keeps the pieces and joins them when somebody reads, and a read leaves one
    piece behind so that the next read costs only what came after it. What is long is
    better read as its `pieces`, which costs nothing.

    `str(text)` is the whole text, `len(text)` its length in characters, and a
    comparison with a string or another `GrowingText` compares the text.

    It can also be taken away from the front of it, as it is of what a terminal printed:
    what went costs what it was, never what stays.
    """

    __slots__ = ("_due", "_gone", "_length", "_pieces", "_whole")

    def __init__(self, initial: str = "") -> None:
        self._pieces = [initial] if initial else []
        self._length = len(initial)
        self._whole = len(self._pieces)
        self._due = self._length + _PIECE
        self._gone = 0

    def append(self, piece: str) -> None:
        """Add `piece` at the end, in constant time whatever is there already."""
        self._pieces.append(piece)
        self._length += len(piece)
        if self._length >= self._due:
            self._pieces[self._whole :] = ["".join(self._pieces[self._whole :])]
            self._whole = len(self._pieces)
            self._due = self._length + _PIECE

    @property
    def pieces(self) -> Sequence[str]:
        """What the text is made of, in order. To read, never to change."""
        self._cut_front()
        return self._pieces

    def drop(self, count: int) -> None:
        """Take `count` characters from the front, all there are where they are fewer."""
        count = min(count, self._length)
        if count <= 0:
            return
        self._length -= count
        # What is appended next is made one piece as soon as it was before.
        self._due -= count
        self._gone += count
        whole_pieces = 0
        for piece in self._pieces:
            if self._gone < len(piece):
                break
            self._gone -= len(piece)
            whole_pieces += 1
        del self._pieces[:whole_pieces]
        self._whole = max(0, self._whole - whole_pieces)
        # A piece is cut once half of it is gone, not every time: it is copied for that.
        if self._pieces and self._gone * 2 >= len(self._pieces[0]):
            self._cut_front()

    def between(self, start: int, stop: int) -> str:
        """The characters from `start` to before `stop`, both counted from 0."""
        start, stop = max(0, start) + self._gone, stop + self._gone
        found = []
        for piece in self._pieces:
            if stop <= 0:
                break
            if start < len(piece):
                found.append(piece[max(0, start) : stop])
            start -= len(piece)
            stop -= len(piece)
        return "".join(found)

    def _cut_front(self) -> None:
        if self._gone:
            self._pieces[0] = self._pieces[0][self._gone :]
            self._gone = 0

    def copy(self) -> "GrowingText":
        """A text of its own that reads the same now."""
        copied = GrowingText()
        copied._pieces = list(self._pieces)
        copied._length, copied._whole, copied._due = self._length, self._whole, self._due
        copied._gone = self._gone
        return copied

    def __str__(self) -> str:
        self._cut_front()
        if len(self._pieces) != 1:
            self._pieces = ["".join(self._pieces)]
            self._whole = 1
            self._due = self._length + _PIECE
        return self._pieces[0]

    def __len__(self) -> int:
        return self._length

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (str, GrowingText)):
            return len(self) == len(other) and str(self) == str(other)
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # mutable

    def __repr__(self) -> str:
        return f"GrowingText({str(self)!r})"


def appended(text: "str | GrowingText", piece: str) -> GrowingText:
    """`text` with `piece` at its end: the same object where it could grow already."""
    grown = text if isinstance(text, GrowingText) else GrowingText(text)
    grown.append(piece)
    return grown


def settled(text: GrowingText) -> "str | GrowingText":
    """A text that is said out: a plain string, or in pieces still where it is long."""
    return str(text) if len(text) < _LONG else text


def plain(value: Any) -> Any:
    """A deep copy of a JSON value in which every `GrowingText` is a string."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, GrowingText):
        return str(value)
    return value
