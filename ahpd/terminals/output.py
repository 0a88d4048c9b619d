"""A terminal's output without I/O: text for the clients, and the marks of its shell.

Rules (AHP.txt, `terminal/data` and what follows it): OSC 133, 7 and 633 are taken out of
the output, and every mark stands where it stood in it. All else goes on untouched and in
order, bytes that are no UTF-8 replaced. A character that a mark stands in is none, as for
any terminal: what a command printed is read without what is printed after it.
"""

import re
from codecs import utf_8_decode
from collections.abc import Collection
from typing import Final

from ahpd.terminals.commands import Commands, Said
from ahpd.terminals.marks import mark_of

#: Bytes of a mark that does not end. Once it has more it was none: it is text like any other.
LONGEST_MARK: Final = 64 * 1024

Event = str | Said

_OSC: Final = b"\x1b]"
_OURS: Final = (b"\x1b]133;", b"\x1b]633;", b"\x1b]7;")
#: Whatever one of `_OURS` begins with: an output that ends like this may go on as a mark.
_OPENINGS: Final = frozenset(ours[:size] for ours in _OURS for size in range(1, len(ours)))
_LONGEST_OPENING: Final = max(map(len, _OPENINGS))
#: One of `_OURS`. A pattern is found in a third of the time that `bytes.find` takes for two bytes.
_BEGIN: Final = re.compile(rb"\x1b\](?:133|633|7);")
#: What ends an OSC, or breaks it off: BEL and ST (`ESC \` or U+009C) end it; CAN, SUB and the
#: ESC of another sequence break it off.
_END: Final = re.compile(rb"[\x07\x18\x1a\x1b]|\xc2\x9c")


class OutputReader:
    """Reads what a terminal's program prints.

    Cut into pieces anywhere it gives the same events, their texts joined. What is held back
    is the beginning of a mark, and the bytes of an unfinished character. A mark that is
    broken off, or that is longer than `LONGEST_MARK`, is text: whoever draws it will find
    that out as well. Every `ESC ]` begins an OSC, whatever it stands in, because an ESC
    breaks off any other sequence.

    `hosts` are the names of this machine, for folders that say whose they are (`marks`).
    What is said of commands is in order, whatever the shell does (`commands`).
    """

    __slots__ = ("_commands", "_held", "_hosts", "_partial", "_searched")

    def __init__(self, hosts: Collection[str] = ()) -> None:
        self._hosts = hosts
        self._held = bytearray()
        self._searched = 0
        self._partial = b""
        self._commands = Commands()

    @property
    def held(self) -> bool:
        """Whether something waits that may be no mark at all: see `flush`."""
        return 0 < len(self._held) <= _LONGEST_OPENING and bytes(self._held) in _OPENINGS

    def feed(self, data: bytes) -> list[Event]:
        """What `data` adds, in order."""
        events: list[Event] = []
        if self._held:
            if not self._goes_on(data):
                return events
            data = bytes(self._held)
            self._held.clear()
        start, at = 0, data.find(b"\x1b")
        while at >= 0 and (begun := _BEGIN.search(data, at)):
            at = begun.start()
            inside, end, whole = _end_of(data, at)
            if end < 0:
                break
            if whole:
                self._say(data[start:at], events)
                self._settle(events)
                self._mark(data[at + len(_OSC) : inside], events)
                start = end
            at = end
        else:
            at = len(data) - _opening_at_end(data, start)
        self._say(data if at - start == len(data) else data[start:at], events)
        if at < len(data):
            self._held += data[at:]
            self._searched = len(self._held) - 1
        return events

    def flush(self) -> list[Event]:
        """Give up what waits only because it may yet begin a mark, a lone ESC for one.

        To be called when `held` and nothing came for a moment: a program that prints such
        a thing and waits is waiting for an answer to what nobody was shown. A mark that
        has begun is waited for on: no terminal would draw it either.
        """
        return self._all_held() if self.held else []

    def finish(self) -> list[Event]:
        """The output is over: all that was held, as text."""
        events = self._all_held()
        self._settle(events)
        return events

    def _all_held(self) -> list[Event]:
        events: list[Event] = []
        self._say(bytes(self._held), events)
        self._held.clear()
        return events

    def _goes_on(self, data: bytes) -> bool:
        """Hold `data` too. Whether there is something to see in what is held now.

        A mark that comes byte by byte is searched once, not from its start with each.
        """
        held = self._held
        begun = held.startswith(_OURS)
        held += data
        if not begun or len(held) >= LONGEST_MARK or _END.search(held, self._searched):
            return True
        self._searched = len(held) - 1
        return False

    def _say(self, raw: bytes, events: list[Event]) -> None:
        if not raw:
            return
        if self._partial:
            raw = self._partial + raw
        text, used = utf_8_decode(raw, "replace", False)
        self._partial = raw[used:]
        if text:
            self._commands.shown(text)
            events.append(text)

    def _settle(self, events: list[Event]) -> None:
        """What comes next is of another text: an unfinished character goes no further."""
        if self._partial:
            text = utf_8_decode(self._partial, "replace", True)[0]
            self._partial = b""
            self._commands.shown(text)
            events.append(text)

    def _mark(self, payload: bytes, events: list[Event]) -> None:
        mark = mark_of(payload, self._hosts)
        if mark is not None:
            events.extend(self._commands.marked(mark))


def _end_of(data: bytes, at: int) -> tuple[int, int, bool]:
    """Where the inside of the OSC at `at` ends, where to read on, and whether it is whole.

    One that is not whole was broken off. -1 to read on: its end is still to come.
    """
    found = _END.search(data, at + len(_OSC), at + LONGEST_MARK)
    if found is None:
        return at, at + len(_OSC) if len(data) - at >= LONGEST_MARK else -1, False
    inside, end = found.span()
    by = data[inside]
    if by != 0x1B:
        return inside, end, by in (0x07, 0xC2)
    if end == len(data):
        return inside, -1, False
    ended = data[end] == 0x5C
    return inside, end + 1 if ended else inside, ended


def _opening_at_end(data: bytes, start: int) -> int:
    """How many bytes at the end of `data`, `start` and later, may begin a mark."""
    at = data.rfind(b"\x1b", max(start, len(data) - _LONGEST_OPENING))
    return len(data) - at if at >= 0 and data[at:] in _OPENINGS else 0
