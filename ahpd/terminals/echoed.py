"""A command line read back off what the terminal showed while it was typed.

For shells that mark a command and do not say it. It is a guess by nature: the width of the
prompt is not known, nor what a shell draws beside the line, so it is used where there is
nothing better.
"""

import re
from typing import Final

#: Characters of an echo that are kept; a line of more is not read back to its end.
_MOST: Final = 16 * 1024
#: How far past what was drawn the cursor is moved, and how many blanks are put in at once: as
#: far as a right prompt is drawn. Ten characters ask for ten thousand.
_GAP: Final = 512
#: How far it is moved at most past what was drawn, however often.
_WIDEST: Final = 4096

#: What moves on the line or is none of it. A group each: a CSI's numbers and its letter, or the
#: controls; strings, charsets and other sequences have no group. Then text.
_TOKEN: Final = re.compile(
    r"\x1b\[([0-9;:<=>?]*)[ -/]*([@-~])"
    r"|\x1b[\]PX^_][^\x07\x1b\x9c\x18\x1a]*(?:\x07|\x1b\\|\x9c)?"
    r"|\x1b[ -/]*[0-~]?"
    r"|([\x00-\x1f\x7f-\x9f])"
    r"|([^\x00-\x1f\x7f-\x9f]+)"
)


class EchoedLine:
    """Collects what is shown from a prompt's end to the command's start."""

    __slots__ = ("_kept", "_pieces")

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._kept = -1

    @property
    def listening(self) -> bool:
        """Whether what is shown now may be a line that is typed."""
        return 0 <= self._kept < _MOST

    def begin(self) -> None:
        """A prompt ended: nothing is typed yet."""
        self._pieces.clear()
        self._kept = 0

    def add(self, text: str) -> None:
        """Text that was shown since."""
        self._pieces.append(text[: _MOST - self._kept])
        self._kept += len(text)

    def line(self) -> str:
        """The line by now; "" where there was no prompt."""
        return line_shown("".join(self._pieces))

    def end(self) -> None:
        """Nothing is typed any more."""
        self._pieces.clear()
        self._kept = -1


def line_shown(text: str) -> str:
    """What reads as a command line after `text` was drawn; its lines joined by newlines.

    No more than `_MOST` characters of it.
    """
    lines = [_Drawn()]
    for found in _TOKEN.finditer(text):
        numbers, letter, control, words = found.groups()
        if words is not None:
            lines[-1].write(words)
        elif control == "\n":
            lines.append(_Drawn())
        elif control is not None:
            lines[-1].control(control)
        elif letter is not None:
            lines[-1].move(letter, numbers)
    read = [line.text for line in lines]
    return "\n".join(read).strip()[:_MOST]


class _Drawn:
    """One line of a screen without an edge, and where the cursor is on it."""

    __slots__ = ("_at", "_cells")

    def __init__(self) -> None:
        self._cells: list[str] = []
        self._at = 0

    @property
    def text(self) -> str:
        return "".join(self._cells).rstrip()

    def write(self, words: str) -> None:
        if self._at > len(self._cells):
            self._cells.extend(" " * (self._at - len(self._cells)))
        self._cells[self._at : self._at + len(words)] = words
        self._at += len(words)

    def control(self, control: str) -> None:
        if control == "\b":
            self._at = max(0, self._at - 1)
        elif control == "\r":
            self._at = 0
        elif control == "\t":
            self.write(" ")

    def move(self, letter: str, numbers: str) -> None:
        """What of the CSI sequences changes a line, as ECMA-48 has them."""
        first = numbers.partition(";")[0]
        count = int(first[:4]) if first.isdecimal() else 0
        times = count or 1
        if letter == "D":
            self._at = max(0, self._at - times)
        elif letter == "C":
            drawn = len(self._cells)
            self._at = min(self._at + times, drawn + _GAP, max(drawn, _WIDEST))
        elif letter == "K" and count == 0:
            del self._cells[self._at :]
        elif letter == "K" and count == 2:
            self._cells.clear()
        elif letter == "K":
            self._cells[: self._at + 1] = " " * min(self._at + 1, len(self._cells))
        elif letter == "J" and count == 0:
            del self._cells[self._at :]
        elif letter == "P":
            del self._cells[self._at : self._at + times]
        elif letter == "@":
            self._cells[self._at : self._at] = " " * min(times, _GAP)
            del self._cells[_MOST:]
