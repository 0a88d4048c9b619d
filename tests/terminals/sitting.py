"""Somebody sits in a real shell: on a pseudo-terminal, in a home of their own, started as the
host starts it. What it prints is read by `OutputReader`."""

import contextlib
import fcntl
import os
import select
import shutil
import signal
import struct
import termios
import time

import pytest

from ahpd.terminals.marks import CommandFinished, CommandStarted, PromptStarted
from ahpd.terminals.output import OutputReader
from ahpd.terminals.shells import integration_folder, launch_of

#: Seconds after which a shell that does not do what is waited for never will.
PATIENCE = 30


def program(name):
    """The path of a program on this machine; skips the test where there is none."""
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


class Sitting:
    """A shell that runs. `events` is all it said, `raw` every byte of it."""

    def __init__(self, name, home, env=None, command=None, scripts=None):
        shell = program(name)
        if name == "fish":  # it makes completions of all manuals where there is no such folder
            made = home / ".local/share/fish/generated_completions"
            made.mkdir(parents=True, exist_ok=True)
        environment = {
            "HOME": str(home),
            "PATH": os.environ["PATH"],
            "TERM": "xterm-256color",
            "LANG": "C.UTF-8",
            "SHELL": shell,
            **(env or {}),
        }
        launch = launch_of(shell, command, environment, scripts=scripts or integration_folder())
        for key, value in launch.env.items():
            environment.pop(key, None)
            if value is not None:
                environment[key] = value
        self.home = home
        self.events = []
        self.raw = b""
        self.reader = OutputReader()
        self.mark = 0
        self.pid, self.fd = os.forkpty()
        if self.pid == 0:
            try:
                os.chdir(home)
                os.execve(launch.argv[0], launch.argv, environment)
            finally:
                os._exit(127)
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 200, 0, 0))

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        os.close(self.fd)
        for kill in (os.kill, os.killpg):
            with contextlib.suppress(ProcessLookupError):
                kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)

    # -- what it says -------------------------------------------------------------------

    def new(self):
        """The events since `mark` was set."""
        return self.events[self.mark :]

    def text(self):
        """What was shown since `mark` was set."""
        return "".join(event for event in self.new() if isinstance(event, str))

    def all_text(self):
        return "".join(event for event in self.events if isinstance(event, str))

    def until(self, done):
        """Reads on until `done(new events)`; what that answered."""
        deadline = time.monotonic() + PATIENCE
        while not (answer := done(self.new())):
            left = deadline - time.monotonic()
            assert left > 0, f"waited in vain; said since: {self.new()!r}\nall: {self.raw!r}"
            if not select.select([self.fd], [], [], left)[0]:
                continue
            if not self._read():
                answer = done(self.new())
                assert answer, f"it ended; said since: {self.new()!r}"
                return answer
        return answer

    def _read(self):
        try:
            data = os.read(self.fd, 65536)
        except OSError:  # its last holder is gone
            data = b""
        self.raw += data
        self.events += self.reader.feed(data) if data else self.reader.finish()
        return bool(data)

    def shows(self, words):
        """Reads on until `words` were shown since `mark` was set."""
        return self.until(lambda _: words in self.text())

    def prints(self, words):
        """Reads on until the command that runs printed `words`."""

        def printed(new):
            started = [n for n, event in enumerate(new) if isinstance(event, CommandStarted)]
            return started and words in "".join(e for e in new[started[-1] :] if isinstance(e, str))

        self.until(printed)

    def rest(self):
        """Reads on until nothing comes: what a person waits for before the next key. A shell
        may lose its place in what is typed into its redrawing."""
        while select.select([self.fd], [], [], 0.3)[0]:
            self._read()

    def prompt(self):
        """Reads on until a prompt is drawn, and looks no further back from here on."""
        self.until(lambda new: any(isinstance(event, PromptStarted) for event in new))
        events = self.new()
        number = next(n for n, event in enumerate(events) if isinstance(event, PromptStarted))
        self.mark += number + 1
        return events[:number]

    # -- what is done with it -----------------------------------------------------------

    def type(self, keys):
        os.write(self.fd, keys.encode())

    def run(self, line):
        """Types a line and waits for the prompt after it: what was said of commands meanwhile,
        as (line, output, code) of each."""
        self.type(line + "\r")
        return commands(self.prompt())

    def plainly(self, line, words):
        """Types a line to a shell that marks nothing, and waits for what it prints."""
        self.mark = len(self.events)
        self.type(line + "\r")
        self.shows(words)


def commands(events):
    """(line, output, code) of each command in `events`, which are well formed."""
    found, running = [], None
    for event in events:
        if isinstance(event, CommandStarted):
            assert running is None
            running = (event.line, [])
        elif isinstance(event, CommandFinished):
            assert running is not None
            found.append((running[0], "".join(running[1]), event.code))
            running = None
        elif isinstance(event, str) and running is not None:
            running[1].append(event)
    assert running is None
    return found
