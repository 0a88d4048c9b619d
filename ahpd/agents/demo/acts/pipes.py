"""The host at the other side of the pipes, and what it tells of the turn that runs."""

from __future__ import annotations

import json
import os
import select
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: Bytes gathered before they are written: `/stream` is not to cost a system call a delta.
WRITE_SIZE = 16 * 1024


class Stopped(Exception):
    """The host asked for the running turn to stop."""


class WorkerStopped(Exception):
    """The host asked for a worker of the running turn to stop."""

    def __init__(self, call: str) -> None:
        super().__init__(call)
        self.call = call


class Host:
    """The other side of the pipes."""

    def __init__(self) -> None:
        self._rest = b""
        self._runs: list[dict[str, Any]] = []
        self._told: list[dict[str, Any]] = []
        self._out = bytearray()

    def next_run(self) -> dict[str, Any]:
        """The next turn to run; waits for it. Raises `EOFError` when the host is done."""
        while not self._runs:
            self._read()
        return self._runs.pop(0)

    def told(self, seconds: float) -> list[dict[str, Any]]:
        """What it tells of a running turn, waiting up to `seconds` for something."""
        if not self._told and select.select([0], [], [], seconds)[0]:
            self._read()
        told, self._told = self._told, []
        return told

    def _read(self) -> None:
        data = os.read(0, 65536)
        if not data:
            raise EOFError
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            command = json.loads(line)
            (self._runs if command["type"] == "run" else self._told).append(command)

    def put(self, line: bytes) -> None:
        """Gather one line, and write what is gathered once it is enough."""
        self._out += line
        if len(self._out) >= WRITE_SIZE:
            self.flush()

    def flush(self) -> None:
        """Write what is gathered; waits for the host to take it."""
        out = memoryview(bytes(self._out))
        self._out.clear()
        while out:
            out = out[os.write(1, out) :]


class Signals:
    """What the host has told of one turn. `pace` is seconds before each word of an answer."""

    def __init__(self, host: Host, turn_id: str, pace: float) -> None:
        self.pace = pace
        self.steered = False
        """Whether there are messages to ask for (`steering`)."""
        self._host = host
        self._turn_id = turn_id
        self._stopped_workers: set[str] = set()
        self._answers: dict[int, Any] = {}
        self._asked = 0

    def listen(self, seconds: float, workers: tuple[str, ...]) -> None:
        """Hear it out, for up to `seconds`; returns once it told something.

        Raises `Stopped`, and `WorkerStopped` for one of `workers`, the calls whose workers
        the listener is.
        """
        for command in self._host.told(max(0.0, seconds)):
            if command["turnId"] == self._turn_id:
                self._heed(command)
        for call in workers:
            if call in self._stopped_workers:
                raise WorkerStopped(call)

    def _heed(self, command: dict[str, Any]) -> None:
        kind = command["type"]
        if kind == "stop":
            raise Stopped
        if kind == "steered":
            self.steered = True
        elif kind == "stopWorker":
            self._stopped_workers.add(command["call"])
        elif kind == "pace":
            self.pace = command["ms"] / 1000
        elif kind == "answer":
            self._answers[command["id"]] = command["value"]

    def rest(self, seconds: float, workers: tuple[str, ...]) -> None:
        """Do nothing for `seconds` but listen."""
        deadline = time.monotonic() + seconds
        while True:
            left = deadline - time.monotonic()
            self.listen(left, workers)
            if left <= 0:
                return

    def rest_for_a_word(self, workers: tuple[str, ...]) -> None:
        """Rest as long as the pace is, also one that changes meanwhile."""
        begun = time.monotonic()
        while True:
            left = begun + self.pace - time.monotonic()
            self.listen(left, workers)
            if left <= 0:
                return

    def next_question(self) -> int:
        """A number for something that is asked of the host."""
        self._asked += 1
        return self._asked

    def answer(self, number: int, workers: tuple[str, ...]) -> Any:
        """The answer to question `number`, waited for."""
        while number not in self._answers:
            self.listen(3600.0, workers)
        return self._answers.pop(number)


def json_line(value: dict[str, Any]) -> bytes:
    """One value as a line."""
    return (
        json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
        + b"\n"
    )
