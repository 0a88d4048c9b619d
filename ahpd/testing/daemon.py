"""The real program in a process of its own, with clients that judge it over real sockets.

A `Daemon` has a home directory, a configuration and a token nobody else has. `check`
holds it to the promises of the wire: every frame fits the strict shapes, and what each
client was told makes the state a late subscriber reads. Its end holds it to the
promises of a process: its exit status, no stack and no secret said, no process left behind.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TypeVar

from twisted.internet.endpoints import HostnameEndpoint, UNIXClientEndpoint, wrapClientTLS
from twisted.internet.interfaces import IStreamClientEndpoint
from twisted.internet.ssl import Certificate, optionsForClientTLS
from twisted.internet.task import deferLater

from ahpd.testing.client import ProbeClient
from ahpd.testing.daemon_net import DaemonNet
from ahpd.testing.processes import descendants, marks, processes, read
from ahpd.transports.stdio import Descriptors, StdioTransport
from ahpd.transports.websocket_client import connect

T = TypeVar("T")

#: The program: `-P`, because the directory it works in is no place for modules.
AHPD: Final = (sys.executable, "-P", "-m", "ahpd")

#: For anything that happens by itself, in seconds. A machine may be slow and loaded.
PATIENCE: Final = 60.0

_INHERITED: Final = ("PATH", "PYTHONPATH", "LANG", "VIRTUAL_ENV")
_STEP: Final = 0.02


class Daemon:
    """One `ahpd` process. Leaving it as an asynchronous context checks and stops it.

    One that has ended may be started again: its home, and what it keeps there, stay. Its
    output is then that of its newest life; that of each before is in a file beside it.

    `directory` is empty and the daemon's alone. `arguments` are its command line,
    `settings` the keys of its configuration file. `program` may be another way to the
    same host, and `preset` more of its environment: `SHELL`, which it has none of by itself,
    or another `HOME` than `home`. `trust` is the certificate of a TLS endpoint. `clients`
    are all that were made here, `secrets` what its output may not hold: its token, and more
    of a test's. A planted secret may stand in the files `net.may_hold` alone.
    """

    def __init__(
        self,
        reactor: Any,
        directory: Path,
        *arguments: str,
        settings: Mapping[str, Any] | None = None,
        program: Sequence[str] = AHPD,
        preset: Mapping[str, str] | None = None,
        pass_fds: Sequence[int] = (),
        trust: Path | None = None,
    ) -> None:
        self.reactor = reactor
        self.directory = directory
        self.home = directory / "home"
        self.work = directory / "work"
        self.config = self.home / "config" / "ahpd"
        self.clients: list[ProbeClient] = []
        self.secrets: list[str] = []
        self.net = DaemonNet(directory, (self.home, self.work), self.config / "vault.json")
        self.url: str | None = None
        self.patience = PATIENCE
        self._command = [*program, *arguments]
        self._piped = "--stdio" in arguments
        self._pass_fds = tuple(pass_fds)
        self._trust = trust
        self._preset = dict(preset or {})
        self._process: subprocess.Popen[bytes] | None = None
        self._family: dict[int, str] = {}
        self._signalled = False
        self._killed = False
        self._judged = False
        for made in (self.home, self.work, self.config):
            made.mkdir(parents=True, mode=0o700)
        if settings:
            (self.config / "config.json").write_text(json.dumps(settings), encoding="utf-8")

    # -- the process ------------------------------------------------------------------

    async def start(self) -> Self:
        """Run it, and wait until it listens; one that serves stdio alone listens nowhere."""
        self.spawn()
        if not self._piped:
            self.url = await self.until(self._listening, "where it listens")
        return self

    def spawn(self) -> None:
        """Run it, and wait for nothing. One that has ended runs again, on what it had kept."""
        assert not self.running, "it runs already"
        self.url = None
        self._signalled = self._killed = self._judged = False
        self._put_aside("stdout", "stderr")
        with self._file("stdout").open("wb") as out, self._file("stderr").open("wb") as err:
            self._process = subprocess.Popen(  # noqa: S603 - the program under test
                self._command,
                env=self.environment(),
                cwd=self.work,
                stdin=subprocess.PIPE if self._piped else subprocess.DEVNULL,
                stdout=subprocess.PIPE if self._piped else out,
                stderr=err,
                pass_fds=self._pass_fds,
            )

    def run(self, *arguments: str, given: str = "") -> "subprocess.CompletedProcess[str]":
        """Run another `ahpd` command with the same home to its end; `given` is what it reads."""
        done = subprocess.run(  # noqa: S603 - the program under test
            [*AHPD, *arguments],
            env=self.environment(),
            cwd=self.work,
            input=given,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return self.net.printed(arguments, done)

    @property
    def process(self) -> "subprocess.Popen[bytes]":
        """The process, once it was started."""
        assert self._process is not None, "the daemon was not started"
        return self._process

    @property
    def pid(self) -> int:
        """The process id."""
        return self.process.pid

    @property
    def running(self) -> bool:
        """Whether the process was started and has not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def token(self) -> str | None:
        """The connection token it made or was given a file with; None where it has none."""
        path = self.config / "token"
        return path.read_text(encoding="ascii").strip() if path.exists() else None

    @property
    def log(self) -> str:
        """What it wrote to standard error: its log, but under twistd."""
        return self._file("stderr").read_text(encoding="utf-8", errors="replace")

    @property
    def output(self) -> str:
        """What it printed; empty where standard output is the protocol's."""
        return self._file("stdout").read_text(encoding="utf-8", errors="replace")

    def children(self) -> list[int]:
        """The processes that descend from it now."""
        return sorted(descendants(self.pid))

    @staticmethod
    def command_line(pid: int) -> bytes:
        """The command of a process, its arguments apart by NULs; empty when it is gone."""
        return read(pid, "cmdline")

    @staticmethod
    def environment_of(pid: int) -> list[bytes]:
        """The environment of a process, as `NAME=VALUE`; empty when it is gone."""
        return read(pid, "environ").split(b"\0")

    @staticmethod
    def send_signal_to(pid: int, number: signal.Signals) -> None:
        """Signal one of its children."""
        os.kill(pid, number)

    def descriptors(self) -> int:
        """How many files and sockets it has open."""
        return len(list(Path(f"/proc/{self.pid}/fd").iterdir()))

    def memory(self, field: str = "VmRSS") -> int:
        """Bytes of memory, as `/proc/PID/status` counts them: `VmHWM` for the most so far."""
        status = Path(f"/proc/{self.pid}/status").read_text(encoding="ascii", errors="replace")
        (line,) = (line for line in status.splitlines() if line.startswith(f"{field}:"))
        return int(line.split()[1]) * 1024

    def environment(self) -> dict[str, str]:
        """The environment it runs in, for another command with the same home."""
        environ = {name: os.environ[name] for name in _INHERITED if name in os.environ}
        environ["HOME"] = str(self.home)
        for kind in ("config", "state", "cache", "data", "runtime"):
            name = "XDG_RUNTIME_DIR" if kind == "runtime" else f"XDG_{kind.upper()}_HOME"
            environ[name] = str(self.home / kind)
        return {**environ, **self._preset}

    def _file(self, name: str) -> Path:
        return self.directory / name

    def _put_aside(self, *names: str) -> None:
        for name in names:
            if self._file(name).exists():
                number = len(list(self.directory.glob(f"{name}.*")))
                self._file(name).rename(self._file(f"{name}.{number}"))

    def _listening(self) -> str | None:
        for line in self.output.splitlines(keepends=True):
            head, found, url = line.partition("listening on ")
            if found and not head and url.endswith("\n"):
                return url.rstrip("\n")
        if not self.running:
            raise AssertionError(
                f"it ended with status {self.process.returncode}: {self.output}{self.log}"
            )
        return None

    # -- waiting ----------------------------------------------------------------------

    async def until(
        self, predicate: Callable[[], T | None], what: str, seconds: float | None = None
    ) -> T:
        """Wait until `predicate()` is true; what it returned. `patience` where no time is named."""
        seconds = self.patience if seconds is None else seconds
        end = self.reactor.seconds() + seconds
        while not (found := predicate()):
            self.net.look(self._process)
            if self.reactor.seconds() > end:
                raise AssertionError(f"{what}: not within {seconds:g} seconds\n{self.log}")
            await deferLater(self.reactor, _STEP, lambda: None)
        return found

    async def logged(self, words: str) -> str:
        """Wait for a line of the log that holds `words`; the line."""

        def find() -> str | None:
            return next((line for line in self.log.splitlines() if words in line), None)

        return await self.until(find, f"{words!r} in the log")

    # -- clients ----------------------------------------------------------------------

    def client(self, client_id: str) -> ProbeClient:
        """A client that is not connected yet."""
        probe = ProbeClient(client_id, self.reactor, timeout=PATIENCE)
        self.clients.append(probe)
        return probe

    async def attach(self, probe: ProbeClient) -> None:
        """Open a connection for `probe`, which then sends `initialize` or `reconnect`."""
        assert self.url is not None, "it listens nowhere"
        url, endpoint = self._route(self.url)
        await connect(self.reactor, url, probe, self.token, PATIENCE, endpoint=endpoint)

    async def connect(self, client_id: str, *subscriptions: str, **initialize: Any) -> ProbeClient:
        """A client that is connected, introduced and subscribed."""
        probe = self.client(client_id)
        await self.attach(probe)
        await probe.initialize(subscriptions=subscriptions, **initialize)
        return probe

    async def pipe(self, client_id: str) -> ProbeClient:
        """The client at the other end of the process's standard input and output."""
        read, write = self.process.stdout, self.process.stdin
        assert read is not None, "it was not started with --stdio"
        assert write is not None, "a pipe"
        probe = self.client(client_id)
        # The pipes are the transport's from here on, and it closes them.
        ours = Descriptors(os.dup(read.fileno()), os.dup(write.fileno()))
        read.close()
        write.close()
        StdioTransport(self.reactor, probe, ours).startService()
        return probe

    def _route(self, url: str) -> tuple[str, IStreamClientEndpoint | None]:
        if url.startswith("ws+unix:"):
            path = url.removeprefix("ws+unix:")
            return "ws://localhost/", UNIXClientEndpoint(self.reactor, path)
        if self._trust is not None:
            host, _, port = url.removeprefix("wss://").rpartition(":")
            authority = Certificate.loadPEM(self._trust.read_bytes())
            plain = HostnameEndpoint(self.reactor, host, int(port))
            options = optionsForClientTLS("localhost", trustRoot=authority)
            return f"wss://localhost:{port}", wrapClientTLS(options, plain)
        return url, None

    # -- the promises of the wire -----------------------------------------------------

    async def check(self) -> None:
        """Raise `AssertionError` where a frame or a state was not what it has to be.

        Every channel that a connected client watches is subscribed to anew, over a new
        connection that speaks the client's version.
        """
        watching = [probe for probe in self.clients if probe.connected and probe.subscriptions]
        if self.running and self.url is not None:
            for version in sorted({probe.version or "" for probe in watching}):
                late = await self.connect(f"late-{version}-{len(self.clients)}", versions=[version])
                for probe in watching:
                    if probe.version == version:
                        await probe.assert_late_subscriber_agrees(late)
                late.close()
        for probe in self.clients:
            probe.check()
        self.net.check(self._process)

    # -- its end ----------------------------------------------------------------------

    def signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        """Signal the process; what it had started is remembered, to be looked for at the end."""
        self._signalled = True
        self._family.update(marks(descendants(self.pid)))
        self.process.send_signal(number)

    async def ended(self, seconds: float | None = None) -> int:
        """Wait for the process's end; its exit status."""
        await self.until(lambda: not self.running, "the end of the process", seconds)
        return self.process.returncode

    async def stop(self) -> None:
        """Check it, ask it to stop unless it was asked already, and judge how it ended."""
        if not self._signalled:
            await self.check()
            self.signal()
        await self.ended()
        await self.judge()

    async def kill(self) -> None:
        """End it as the system would when memory is short, and judge what it left."""
        self.signal(signal.SIGKILL)
        self._killed = True
        await self.ended()
        await self.judge()

    async def judge(self, status: int = 0) -> None:
        """Raise `AssertionError` for a process that did not end as it should.

        Its exit status is `status`, its output holds no stack and no secret, and nothing
        it started is left.
        """
        self._judged = True
        expected = -signal.SIGKILL if self._killed else status
        said = self.output + self.log
        assert self.process.returncode == expected, f"status {self.process.returncode}: {said}"
        assert "Traceback" not in said, said
        for secret in filter(None, [self.token, *self.secrets]):
            assert secret not in said, f"a secret was said:\n{said}"
        self.net.check(self._process)
        await self.until(lambda: not self.left(), "the end of all it had started")
        for probe in self.clients:
            probe.check()

    def left(self) -> list[int]:
        """Processes it had started that are there although it has ended.

        Those that descended from it when it was told to end, and any with its home.
        """
        mine = f"HOME={self.environment()['HOME']}".encode()
        homed = (pid for pid in processes() if mine in self.environment_of(pid))
        there = marks([*self._family, *homed])
        return [pid for pid, mark in there.items() if self._family.get(pid, mark) == mark]

    async def leave(self, *, judged: bool = True) -> None:
        """Stop it if it runs, else judge its end, unless that was done. Leaves no process."""
        try:
            if judged and self.running:
                await self.stop()
            elif judged and self._process is not None and not self._judged:
                await self.judge()
        finally:
            for probe in self.clients:
                probe.abort()
            if self._process is not None:
                await self._leave_nothing()

    async def _leave_nothing(self) -> None:
        if self.running:
            self.signal(signal.SIGKILL)
        self.process.wait()
        for pid in self.left():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        await self.until(lambda: not self.left(), "the end of what was killed")

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        # What a failed test left behind would fail too, and hide why.
        await self.leave(judged=kind is None)
