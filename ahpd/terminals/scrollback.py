"""How much of a terminal's output is kept: the newest of it, cut where it can be read from."""

from typing import Final

from ahpd.protocol import State
from ahpd.protocol.text import GrowingText
from ahpd.terminals.cutting import LINE_NEAR, LONGEST_SEQUENCE, place_to_cut

#: Characters kept of a terminal's output.
MOST: Final = 200_000
#: Parts kept: a command that prints nothing takes room as well.
MOST_PARTS: Final = 2_000
#: Parts beside a place that are read to judge it. Of a flood of commands that print next to
#: nothing all would be, every time one of them goes.
_PARTS_NEAR: Final = 32


class Scrollback:
    """Keeps one terminal's `content` (schema: TerminalState) within its bounds.

    At most `most` characters of output, as many of command lines, and `most_parts` parts.
    What goes is the oldest. A part goes when all of its output does, its command line with
    it; one that lost the beginning of its output is a part with the rest. The last part
    stays whatever it has: a command that runs is finished in it.

    What is kept begins where it can be read from (`cutting`), so it may be less than `most`
    by a line or a sequence. (Where nothing is kept but a part without output yet, the rest of
    a sequence that was not over may come into it.) The cost of a `trim` is that of what was added since the last
    one and of what goes.
    """

    __slots__ = ("_before", "_content", "_lines", "_longest", "_most", "_most_parts", "_seen")

    def __init__(self, most: int = MOST, most_parts: int = MOST_PARTS) -> None:
        self._most = most
        self._most_parts = most_parts
        # What is kept of the text is more than that, so no unfinished sequence is all of it.
        self._longest = min(LONGEST_SEQUENCE, most)
        self._forget()

    def _forget(self, content: list[State] | None = None) -> None:
        self._content = content
        self._seen = 0  # parts of `content`
        self._before = 0  # characters of output in all of them but the last
        self._lines = 0  # characters of command lines in all of them

    def trim(self, content: list[State]) -> int:
        """Take what is too much from the front of `content`, in place; how many characters went.

        To be called after every change the reducer made.
        """
        self._count(content)
        if not content:
            return 0
        excess = self._before + len(_output(content[-1])) - self._most
        if excess <= 0 and self._lines <= self._most and len(content) <= self._most_parts:
            return 0
        number, offset = self._place(content, excess)
        before, behind = self._around(content, number, offset)
        at = place_to_cut(before + behind, len(before), self._longest)
        number, offset = _further(content, number, offset, at - len(before))
        return self._take(content, number, offset)

    def _count(self, content: list[State]) -> None:
        """Learn of the parts that are new, and of another `content`."""
        if content is not self._content or len(content) < self._seen:
            self._forget(content)
        for number in range(self._seen, len(content)):
            if number:
                self._before += len(_output(content[number - 1]))
            self._lines += _line_length(content[number])
        self._seen = len(content)

    def _place(self, content: list[State], excess: int) -> tuple[int, int]:
        """The part, and the character in its output, from which on is kept what may be kept."""
        number, lines = 0, self._lines
        while number < len(content) - 1 and (
            lines > self._most or len(content) - number > self._most_parts
        ):
            excess -= len(_output(content[number]))
            lines -= _line_length(content[number])
            number += 1
        return _further(content, number, 0, excess)

    def _around(self, content: list[State], number: int, offset: int) -> tuple[str, str]:
        """The output ahead of a place and behind it, as much as it takes to judge the place.

        What stretches over more than `_PARTS_NEAR` parts is not seen, and is cut like text.
        """
        before = _between(content[number], offset - self._longest, offset)
        for part in reversed(content[max(0, number - _PARTS_NEAR) : number]):
            if len(before) >= self._longest:
                break
            size = len(_output(part))
            before = _between(part, size - self._longest + len(before), size) + before
        wanted = self._longest + 2 * LINE_NEAR
        behind = _between(content[number], offset, offset + wanted)
        for part in content[number + 1 : number + 1 + _PARTS_NEAR]:
            if len(behind) >= wanted:
                break
            behind += _between(part, 0, wanted - len(behind))
        return before, behind

    def _take(self, content: list[State], number: int, offset: int) -> int:
        gone = sum(len(_output(part)) for part in content[:number])
        self._lines -= sum(map(_line_length, content[:number]))
        del content[:number]
        self._seen = len(content)
        if offset:
            field = _field(content[0])
            text = content[0][field]
            if not isinstance(text, GrowingText):
                text = content[0][field] = GrowingText(text)
            text.drop(offset)
            gone += offset
            if len(content) == 1:  # it is the last: `_before` does not count it
                self._before -= gone - offset
                return gone
        self._before -= gone
        return gone


def _further(content: list[State], number: int, offset: int, count: int) -> tuple[int, int]:
    """The place `count` characters of output past another one."""
    while count > 0:
        left = len(_output(content[number])) - offset
        if count < left or number == len(content) - 1:
            return number, offset + min(count, left)
        count -= left
        number, offset = number + 1, 0
    return number, offset


def _field(part: State) -> str:
    return "output" if part["type"] == "command" else "value"


def _output(part: State) -> str | GrowingText:
    text: str | GrowingText = part[_field(part)]
    return text


def _line_length(part: State) -> int:
    return len(part["commandLine"]) if part["type"] == "command" else 0


def _between(part: State, start: int, stop: int) -> str:
    text = _output(part)
    start = max(0, start)
    return text.between(start, stop) if isinstance(text, GrowingText) else text[start:stop]
