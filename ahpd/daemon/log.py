"""The log: one event a line, and no secret in any of them.

A line is its time, its level and its words. A failure is one line too, naming the
exception and the place it came from; a stack is for a debugger, not for a log.
"""

import os
import re
import sys
import threading
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Final, cast

from twisted.logger import (
    FileLogObserver,
    FilteringLogObserver,
    ILogObserver,
    LogEvent,
    LogLevel,
    LogLevelFilterPredicate,
    PredicateResult,
    formatEvent,
)
from twisted.python.failure import Failure

from ahpd.unspoken import struck
from ahpd.whose_code import place_words

ROTATE_BYTES: Final = 5 * 1024 * 1024
KEPT_FILES: Final = 4
_TOKEN_IN_URL: Final = re.compile(r"([?&]tkn=)[^&\s\"'#]+")
#: The longest line, in characters: much of what is logged is a stranger's to choose.
_LONGEST: Final = 4096


def redact(text: str, secrets: Iterable[str]) -> str:
    """The text without the secrets, in whatever form it has them, and without the token of any
    URL in it."""
    return struck(_TOKEN_IN_URL.sub(r"\1<token>", text), secrets, "<secret>")


def failure_words(failure: Failure) -> str:
    """What failed and where, on one line."""
    words = f"{failure.type.__name__}: {failure.getErrorMessage()}" if failure.type else "failure"
    return words + place_words(failure.frames)


def format_line(event: LogEvent, secrets: Iterable[str] = ()) -> str:
    """An event as a line, its newline included; `secrets` are asked anew for each."""
    moment = datetime.fromtimestamp(event.get("log_time", 0.0), UTC).astimezone()
    level = event.get("log_level")
    words, failure = formatEvent(event), event.get("log_failure")
    older = event.get("failure") if event.get("isError") else None
    if failure is None and isinstance(older, Failure):  # as Twisted's older way of logging has it
        words, failure = str(event.get("why") or ""), older
    if isinstance(failure, Failure):
        # The words of a failure nobody described are Twisted's, and hold its stack.
        described = words and "Traceback (most recent call last)" not in words
        words = f"{words}: {failure_words(failure)}" if described else failure_words(failure)
    # Before it is one line, and after: a secret of several lines is found in either.
    words = " | ".join(part for part in redact(words, secrets).splitlines() if part.strip())
    words = _shown(redact(words, secrets))
    return f"{moment:%Y-%m-%dT%H:%M:%S%z} {level.name if level else 'info'} {words}\n"


def _shown(words: str) -> str:
    """What a terminal shows as it stands: no control characters, no marks that reorder text."""
    if len(words) > _LONGEST:
        words = f"{words[:_LONGEST]} ... ({len(words)} characters)"
    if words.isprintable():
        return words
    return "".join(letter if letter.isprintable() else "?" for letter in words)


class BoundedFile:
    """A log file that is put aside as NAME.1, NAME.2 and so on once it is large.

    It appends, so that what a dying interpreter writes to standard error stands
    beside the log's own lines; with `standard_error` that descriptor follows it.
    """

    def __init__(
        self,
        path: Path,
        *,
        limit: int = ROTATE_BYTES,
        kept: int = KEPT_FILES,
        standard_error: bool = False,
    ) -> None:
        self._path = path
        self._limit = limit
        self._kept = kept
        self._standard_error = standard_error
        self._descriptor = -1
        # Threads log too, and a signal may come while a line is written.
        self._one_at_a_time = threading.RLock()
        self._open()

    def _open(self) -> None:
        self._descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._size = os.fstat(self._descriptor).st_size
        if self._standard_error:
            os.dup2(self._descriptor, sys.__stderr__.fileno() if sys.__stderr__ else 2)

    def write(self, text: str) -> None:
        """Append; a line is never cut in two by a rotation. Raises `OSError`."""
        data = text.encode("utf-8", "backslashreplace")
        with self._one_at_a_time:
            if self._size and self._size + len(data) > self._limit:
                self._rotate()
            while data:
                written = os.write(self._descriptor, data)
                self._size += written
                data = data[written:]

    def flush(self) -> None:
        """Nothing is held back."""

    def close(self) -> None:
        """Let go of the file."""
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def _rotate(self) -> None:
        names = [self._path, *(self._numbered(n) for n in range(1, self._kept + 1))]
        for older, newer in zip(reversed(names[1:]), reversed(names[:-1]), strict=True):
            if newer.exists():
                newer.replace(older)
        self.close()
        self._open()

    def _numbered(self, number: int) -> Path:
        return self._path.with_name(f"{self._path.name}.{number}")


def _predicate() -> LogLevelFilterPredicate:
    """What the log has: of ours from info up, of libraries' from warnings up."""
    predicate = LogLevelFilterPredicate(LogLevel.info)
    for chatty in ("twisted", "autobahn", "log_legacy"):
        predicate.setLogLevelForNamespace(chatty, LogLevel.warn)
    return predicate


def log_line(secrets: Iterable[str]) -> Callable[[LogEvent], str | None]:
    """Answers the line the log has for an event, without its newline; None where it has none."""
    predicate = _predicate()

    def line(event: LogEvent) -> str | None:
        if predicate(event) is PredicateResult.no:
            return None
        return format_line(event, secrets).rstrip("\n")

    return line


def observer(file: IO[Any] | BoundedFile, secrets: Iterable[str]) -> ILogObserver:
    """A log observer that writes lines to `file`: ours from info up, libraries' from warnings up."""
    writer = FileLogObserver(cast("IO[Any]", file), lambda event: format_line(event, secrets))
    return cast("ILogObserver", FilteringLogObserver(writer, [_predicate()]))
