"""Starting a daemon behind the command, and ending it; no Twisted in this process.

The daemon is a process of its own (`ahpd.cli.child`) in a session of its own. It is
handed its launch as JSON on standard input, so that no token stands in a process
list, and answers one JSON line on standard output: `{"listening": URL}`, or
`{"error": WORDS, "status": N}`. Lines before that one, `{"at": WORDS}`, say what it is
at, and it is waited for on. Its standard error is the log file.
"""

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Final

import attrs

from ahpd.daemon import record
from ahpd.daemon.process import end, start_mark
from ahpd.daemon.record import Launch, Record

#: Seconds a start may say nothing of itself.
START_SECONDS: Final = 30.0
#: Longer than a daemon gives its own services to stop (`ahpd.daemon.lifecycle`).
STOP_SECONDS: Final = 30.0


class DaemonError(Exception):
    """A start or a stop that did not come about; `str()` is words, `status` an exit status."""

    def __init__(self, words: str, status: int = 1) -> None:
        super().__init__(words)
        self.status = status


@attrs.frozen
class Found:
    """What the record in a state directory says, and whether its process still runs."""

    record: Record | None
    running: bool


def find(directory: Path) -> Found:
    """Look for the daemon of a state directory. Raises `OSError`."""
    held = record.read(directory)
    return Found(held, held is not None and start_mark(held.pid) == held.start_time)


def start(directory: Path, launch: Launch, skipped: list[str], announced: list[str]) -> Record:
    """Start the daemon and wait until it listens. The state directory must be locked.

    What the daemon left out of its plugins goes to `skipped`, and what those say of it to
    `announced`, a line each.

    Raises `DaemonError`, with the daemon's own words where it said any, and `OSError`.
    """
    log = directory / record.LOG_FILE
    descriptor = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        child = subprocess.Popen(
            # -P: the directory it works in is somebody's project, not a place for modules.
            [sys.executable, "-P", "-m", "ahpd.cli.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=descriptor,
            cwd=launch.directory,
            start_new_session=True,
        )
    finally:
        os.close(descriptor)
    try:
        line, at = _ask(child, json.dumps(record.launch_to_json(launch)).encode() + b"\n")
    except BaseException:
        child.terminate()
        raise
    if line is None:
        child.kill()
        where = f"; it was {at}" if at else ""
        raise DaemonError(
            f"it did not listen, and said nothing for {START_SECONDS:.0f} seconds{where}; see {log}"
        )
    said = _said(line)
    if "error" in said:
        raise DaemonError(str(said["error"]), int(said.get("status", 1)))
    held = record.read(directory)
    for key, lines in (("skipped", skipped), ("said", announced)):
        lines.extend(str(line) for line in said.get(key, ()))
    if "listening" not in said or held is None or held.pid != child.pid:
        status = child.wait(STOP_SECONDS)
        raise DaemonError(
            f"it ended with status {status} before it listened{_last_words(log, size)}; see {log}"
        )
    return held


def _ask(child: "subprocess.Popen[bytes]", question: bytes) -> tuple[bytes | None, str]:
    """Hand the launch over and read the answer: up to its newline or the end; None in vain.

    And what the start was at when it last said it.
    """
    assert child.stdin is not None, "a pipe"
    assert child.stdout is not None, "a pipe"
    try:
        child.stdin.write(question)
        child.stdin.close()
    except BrokenPipeError:
        pass  # it died at once, and the end of its output says so
    said, at = b"", ""
    until = time.monotonic() + START_SECONDS
    while True:
        line, newline, rest = said.partition(b"\n")
        if newline and "at" not in _said(line):
            return line, at
        if newline:
            said, at = rest, str(_said(line)["at"])
            until = time.monotonic() + START_SECONDS
            continue
        left = until - time.monotonic()
        if left <= 0 or not select.select([child.stdout], [], [], left)[0]:
            return None, at
        piece = os.read(child.stdout.fileno(), 65536)
        if not piece:
            return said, at
        said += piece


def _said(line: bytes) -> dict[str, Any]:
    try:
        said = json.loads(line)
    except ValueError:
        return {}
    return said if isinstance(said, dict) else {}


def _last_words(log: Path, since: int) -> str:
    """The last line an interpreter that failed left in the log, for words."""
    try:
        with log.open("rb") as file:
            file.seek(since)
            lines = [line for line in file.read(65536).splitlines() if line.strip()]
    except OSError:
        return ""
    return f": {lines[-1].decode(errors='replace').strip()}" if lines else ""


def stop(directory: Path, held: Record, *, force: bool = False) -> None:
    """End the daemon and wait until it is gone. The state directory must be locked.

    It drains first. One that does not come to an end is left alone, unless `force`
    has it killed. Raises `DaemonError` and `OSError`.
    """
    gone = end(held.pid, held.start_time, signal.SIGTERM, STOP_SECONDS)
    if not gone and force:
        gone = end(held.pid, held.start_time, signal.SIGKILL, 5.0)
    if not gone:
        raise DaemonError(
            f"process {held.pid} still runs {STOP_SECONDS:.0f} seconds after it was asked to stop; "
            f"ahpd stop --force kills it (log: {held.log})"
        )
    record.remove(directory, held.pid)
