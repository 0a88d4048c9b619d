"""Text that grows: appended to in constant time, joined only when it is read."""

from typing import Any


class GrowingText:
    """A string under construction.

    A streamed answer is a string that grows by one delta at a time. Python's
    strings are immutable, so `answer += delta` copies all that was said before;
    this keeps the pieces and joins them when somebody reads, and a read leaves one
    piece behind so that the next read costs only what came after it.

    `str(text)` is the whole text, `len(text)` its length in characters, and a
    comparison with a string or another `GrowingText` compares the text.
    """

    __slots__ = ("_length", "_pieces")

    def __init__(self, initial: str = "") -> None:
        self._pieces = [initial] if initial else []
        self._length = len(initial)

    def append(self, piece: str) -> None:
        """Add `piece` at the end, in constant time whatever is there already."""
        self._pieces.append(piece)
        self._length += len(piece)

    def __str__(self) -> str:
        if len(self._pieces) != 1:
            self._pieces = ["".join(self._pieces)]
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


def plain(value: Any) -> Any:
    """A deep copy of a JSON value in which every `GrowingText` is a string."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, GrowingText):
        return str(value)
    return value
