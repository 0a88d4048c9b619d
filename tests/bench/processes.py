"""The processes a bench starts, and what the kernel says they used."""

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from report import NotMeasured

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
_TICK = os.sysconf("SC_CLK_TCK")


class Program:
    """A child process whose standard output is read by the line."""

    def __init__(
        self, arguments: Sequence[str], env: dict[str, str] | None = None, cwd: Path = HERE
    ) -> None:
        self.name = " ".join(Path(word).name for word in arguments[:2])
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 - closed by `stop`
        self._held = b""
        self.process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            # What is timed runs from bytecode, whatever the shell has a developer's runs write.
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "PYTHONDONTWRITEBYTECODE": "",
                **(env or {}),
            },
            cwd=cwd,
        )

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    def line(self, timeout: float) -> str:
        """The next line it prints. Raises `NotMeasured` with what it said on its error output."""
        out = self.process.stdout
        assert out is not None
        while b"\n" not in self._held:
            if not select.select([out], [], [], timeout)[0]:
                raise NotMeasured(f"{self.name} said nothing for {timeout:g} s: {self.errors()}")
            data = os.read(out.fileno(), 65536)
            if not data:
                raise NotMeasured(f"{self.name} ended: {self.errors().splitlines()[-1]}")
            self._held += data
        line, _, self._held = self._held.partition(b"\n")
        return line.decode()

    def say(self, line: str) -> None:
        """One line on its standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def errors(self) -> str:
        """The end of its error output."""
        self._errors.seek(0)
        return self._errors.read()[-2000:].decode(errors="replace").strip() or "(no words)"

    def stop(self) -> None:
        """Ask it to end, then make it."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(10)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self._errors.close()


@contextlib.contextmanager
def program(
    arguments: Sequence[str], env: dict[str, str] | None = None, cwd: Path = HERE
) -> Iterator[Program]:
    """A `Program` that is gone at the end of the block."""
    running = Program(arguments, env, cwd)
    try:
        yield running
    finally:
        running.stop()


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far, its ended children left out."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def resident_bytes(pid: int) -> int:
    """What a process holds in memory now."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    raise NotMeasured(f"/proc/{pid}/status has no VmRSS")


class Readers:
    """A reader process (`reader.py`) with its connections open."""

    def __init__(self, task: dict[str, Any]) -> None:
        self._program = Program([sys.executable, str(HERE / "reader.py")])
        self._timeout = task.get("timeout", 20.0) + 60.0
        self._program.say(json.dumps(task))
        try:
            if self._program.line(120) != "ready":
                raise NotMeasured("the reader did not get ready")
        except BaseException:
            self._program.stop()
            raise

    def start(self, text: str) -> None:
        """Have its first connection send `text`; the task says `starts`."""
        self._program.say(text)

    def result(self) -> dict[str, Any]:
        """What it saw, once every connection has had its frames. Raises `NotMeasured`."""
        try:
            seen: dict[str, Any] = json.loads(self._program.line(self._timeout))
        finally:
            self._program.stop()
        if seen["walked"] != seen["walkedCounted"]:
            raise NotMeasured(
                f"the reader counted {seen['walkedCounted']} marks in {seen['walked']} frames"
            )
        return seen
