"""The `ahpd` command as a person runs it: a process, in a home directory of its own."""

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SECONDS = 30.0


class Process:
    """A host in the foreground; what it printed so far, by line."""

    def __init__(self, arguments, environ, directory, **options):
        self.popen = subprocess.Popen(
            arguments,
            env=environ,
            cwd=directory,
            stdin=options.pop("stdin", subprocess.DEVNULL),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            **options,
        )

    def line(self):
        """The next line on standard output; fails with what was said instead."""
        with selectors.DefaultSelector() as selector:
            selector.register(self.popen.stdout, selectors.EVENT_READ)
            until = time.monotonic() + SECONDS
            data = b""
            while not data.endswith(b"\n"):
                assert selector.select(until - time.monotonic()), "nothing was printed"
                piece = os.read(self.popen.stdout.fileno(), 1)
                if not piece:
                    pytest.fail(f"it ended: {self.popen.stderr.read().decode()}")
                data += piece
        return data.decode().rstrip("\n")

    def url(self):
        """Where it says that it listens."""
        head, _, url = self.line().rpartition(" ")
        assert head == "listening on"
        return url

    def end(self, number=signal.SIGTERM):
        """Signal it and wait: (status, the rest of its output, its error output)."""
        if number is not None:
            self.popen.send_signal(number)
        out, err = self.popen.communicate(timeout=SECONDS)
        return self.popen.returncode, out.decode(), err.decode()


class Command:
    """Runs `ahpd` with a configuration, a state and a working directory of the test's own."""

    program = (sys.executable, "-P", "-m", "ahpd")

    def __init__(self, home: Path):
        self.home = home
        self.work = home / "work"
        self.work.mkdir(parents=True)
        self.config = home / ".config" / "ahpd"
        self.state = home / ".local" / "state" / "ahpd"
        kept = ("PATH", "PYTHONPATH", "LANG", "VIRTUAL_ENV")
        self.environ = {name: os.environ[name] for name in kept if name in os.environ}
        self.environ["HOME"] = str(home)
        self.started = []

    def write(self, text):
        self.config.mkdir(parents=True, exist_ok=True)
        path = self.config / "config.yaml"
        path.write_text(text)
        path.chmod(0o600)
        return path

    def run(self, *arguments, program=None, status=None, **environ):
        """Run it to its end. No outcome of any kind shows a stack."""
        done = subprocess.run(
            [*(program or self.program), *arguments],
            env={**self.environ, **environ},
            cwd=self.work,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS * 2,
            check=False,
        )
        assert "Traceback" not in done.stdout + done.stderr
        if status is not None:
            assert done.returncode == status, done.stderr
        return done

    def answer(self, *arguments, status=0, **environ):
        """Run it with `--json`; what it answered."""
        done = self.run(*arguments, "--json", status=status, **environ)
        assert done.stdout.count("\n") == 1
        return json.loads(done.stdout)

    def serve(self, *arguments, program=None, environ=None, **options):
        """Run it until the test ends it."""
        process = Process(
            [*(program or self.program), *arguments],
            {**self.environ, **(environ or {})},
            self.work,
            **options,
        )
        self.started.append(process)
        return process

    def record(self):
        return json.loads((self.state / "daemon.json").read_text())

    def close(self):
        for process in self.started:
            if process.popen.poll() is None:
                process.popen.kill()
            process.popen.communicate()
        if (self.state / "daemon.json").exists():
            with contextlib.suppress(ProcessLookupError, ValueError, KeyError):
                if self.answer("status", status=None).get("running"):
                    os.kill(self.record()["pid"], signal.SIGKILL)


@pytest.fixture(scope="session")
def run_command():
    """Makes commands with a home directory each; what they started is ended at the very end."""
    made = []

    def make(home):
        made.append(Command(home))
        return made[-1]

    yield make
    for each in made:
        each.close()


@pytest.fixture
def command(tmp_path):
    made = Command(tmp_path / "home")
    yield made
    made.close()


@pytest.fixture
def taken_port():
    """A port on loopback that somebody else listens on."""
    import socket

    with socket.socket() as holder:
        holder.bind(("127.0.0.1", 0))
        holder.listen()
        yield holder.getsockname()[1]
