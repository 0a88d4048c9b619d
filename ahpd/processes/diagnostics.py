"""What a child says on its standard error, in the host's log, within bounds.

The pipe is always drained, so a child never waits for the log. A line is cut at
`MAX_LINE` bytes; more than `MAX_LINES` lines in `WINDOW` seconds are counted and not
written.
"""

from collections.abc import Callable
from typing import Final

from twisted.logger import Logger

log = Logger()

MAX_LINE: Final = 2000
MAX_LINES: Final = 100
WINDOW: Final = 10.0


class Diagnostics:
    """The standard error of one child. `seconds` is the reactor's clock."""

    def __init__(self, name: str, pid: int, seconds: Callable[[], float]) -> None:
        self._name = name
        self._pid = pid
        self._seconds = seconds
        self._rest = b""
        self._cut = False
        self._since = seconds()
        self._written = 0
        self._left_out = 0

    def received(self, data: bytes) -> None:
        """Some of it, in any pieces."""
        *lines, rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._line(line)
            self._cut = False
        # The end of a line whose beginning was written already is dropped.
        self._rest = b"" if self._cut else rest
        if len(rest) > MAX_LINE and not self._cut:
            self._line(rest)
            self._cut = True
            self._rest = b""

    def ended(self) -> None:
        """The child closed it: the unfinished line is written, and what was left out counted."""
        if self._rest:
            self._line(self._rest)
            self._rest = b""
        self._say_left_out()

    def _line(self, line: bytes) -> None:
        if self._cut or not line.strip():
            return
        now = self._seconds()
        if now - self._since >= WINDOW:
            self._say_left_out()
            self._since, self._written = now, 0
        if self._written >= MAX_LINES:
            self._left_out += 1
            return
        self._written += 1
        text = line[:MAX_LINE].decode("utf-8", "replace").rstrip()
        shown = "".join(
            c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in text
        )
        log.info(
            "{name} [{pid}] says: {line}{more}",
            name=self._name,
            pid=self._pid,
            line=shown,
            more=" ..." if len(line) > MAX_LINE else "",
        )

    def _say_left_out(self) -> None:
        if self._left_out:
            log.warn(
                "{name} [{pid}] said {count} more lines, which are left out",
                name=self._name,
                pid=self._pid,
                count=self._left_out,
            )
            self._left_out = 0
