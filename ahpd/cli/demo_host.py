"""The host of `ahpd demo`: a real process in a private place, gone when the demo is."""

import os
import shutil
import signal
import stat
import sys
import tempfile
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from twisted.internet.defer import Deferred
from twisted.internet.error import ProcessDone, ProcessExitedAlready
from twisted.internet.protocol import ProcessProtocol
from twisted.python.failure import Failure

#: Seconds a host has to say where it listens, and to end once it is asked to.
START_LIMIT: Final = 30.0
STOP_LIMIT: Final = 15.0

_KEPT_LINES: Final = 200
_SAYS: Final = "listening on "

# Runs a program in a session of its own, so that Ctrl-C in the terminal reaches the demo
# alone and the host ends when the demo says so. On Linux the host is also asked to end
# when the demo dies without a word (1 is PR_SET_PDEATHSIG, 15 SIGTERM).
_IN_OWN_SESSION: Final = """\
import os, sys
os.setsid()
if sys.platform == "linux":
    try:
        import ctypes
        ctypes.CDLL(None).prctl(1, 15)
    except Exception:
        pass
os.execv(sys.argv[1], sys.argv[1:])
"""


class HostFailure(Exception):
    """The host did not do what was expected of it; words for a person."""


class DemoPlace:
    """A directory for one demo: the host's configuration, state, token and workspace."""

    def __init__(self) -> None:
        self.path = Path(tempfile.mkdtemp(prefix="ahpd-demo-"))  # 0700
        self.workspace = self.path / "workspace"
        self.workspace.mkdir()
        self.token_file = self.path / "token"

    def environment(self, environ: Mapping[str, str]) -> dict[str, str]:
        """`environ` with every file of the host's kept in here."""
        # A service manager's own variables are about the demo, not about its child.
        own = {k: v for k, v in environ.items() if not k.startswith(("NOTIFY_", "LISTEN_"))}
        for name in ("config", "state", "data", "cache"):
            own[f"XDG_{name.upper()}_HOME"] = str(self.path / name)
        return own

    def token(self) -> str:
        """The token clients bring. Raises `HostFailure` where others could read it."""
        try:
            mode = stat.S_IMODE(self.token_file.stat().st_mode)
            token = self.token_file.read_text().strip()
        except OSError as error:
            raise HostFailure(f"the token file cannot be read: {error.strerror}") from None
        if mode != 0o600:
            raise HostFailure(f"the token file has mode {mode:04o}, expected 0600")
        return token

    def remove(self) -> None:
        """Leave nothing behind."""
        shutil.rmtree(self.path, ignore_errors=True)


class DemoHost(ProcessProtocol):
    """The host's process. `reactor` starts it and counts the time it takes.

    `program` is what to run, the flags of `ahpd` follow it.
    """

    def __init__(
        self,
        reactor: Any,
        place: DemoPlace,
        program: Sequence[str] = (sys.executable, "-m", "ahpd"),
    ) -> None:
        self.url = ""
        self.ended: str | None = None
        """How the process ended; None while it runs."""
        self.log: deque[str] = deque(maxlen=_KEPT_LINES)
        self._reactor = reactor
        self._place = place
        self._program = program
        self._rest = {1: b"", 2: b""}
        self._listening: Deferred[str] = Deferred()
        self._waiting_for_end: list[Deferred[str]] = []
        self._process: Any = None

    @property
    def pid(self) -> int:
        """Its process id."""
        pid: int = self._process.pid
        return pid

    # -- the beginning ----------------------------------------------------------------

    async def start(self) -> str:
        """Run the host; where it listens. Raises `HostFailure`."""
        place = self._place
        program = [*self._program, *self._flags()]
        try:
            self._process = self._reactor.spawnProcess(
                self,
                sys.executable,
                [sys.executable, "-I", "-S", "-c", _IN_OWN_SESSION, *program],
                env=place.environment(os.environ),
            )
        except OSError as error:
            raise HostFailure(f"the host could not be started: {error.strerror}") from None
        timer = self._reactor.callLater(START_LIMIT, self._too_late)
        try:
            self.url = await self._listening
        finally:
            if timer.active():
                timer.cancel()
        return self.url

    def _flags(self) -> list[str]:
        return [
            *("--host", "127.0.0.1", "--port", "0"),
            *("--connection-token-file", str(self._place.token_file)),
            *("--path", str(self._place.workspace)),
            *("--sessions", "memory"),
            "--demo",
        ]

    def _too_late(self) -> None:
        if not self._listening.called:
            words = f"the host did not say where it listens within {START_LIMIT:g} seconds"
            self._listening.errback(HostFailure(words))

    # -- what it says -------------------------------------------------------------------

    def outReceived(self, data: bytes) -> None:
        """Its standard output."""
        self._read(1, data)

    def errReceived(self, data: bytes) -> None:
        """Its log."""
        self._read(2, data)

    def _read(self, stream: int, data: bytes) -> None:
        *lines, self._rest[stream] = (self._rest[stream] + data).split(b"\n")
        for raw in lines:
            line = raw.decode("utf-8", "replace")
            self.log.append(line)
            if stream == 1 and line.startswith(_SAYS) and not self._listening.called:
                self._listening.callback(line.removeprefix(_SAYS).strip())

    # -- the end ------------------------------------------------------------------------

    def processEnded(self, reason: Failure) -> None:
        """It is gone, and all it said was read."""
        for rest in self._rest.values():
            if rest:
                self.log.append(rest.decode("utf-8", "replace"))
        self.ended = _words(reason.value)
        if not self._listening.called:
            self._listening.errback(HostFailure(f"the host {self.ended} before it listened"))
        waiting, self._waiting_for_end = self._waiting_for_end, []
        for one in waiting:
            one.callback(self.ended)

    def when_ended(self) -> Deferred[str]:
        """Fires when the process is gone, with how it ended."""
        ended: Deferred[str] = Deferred()
        if self.ended is not None:
            ended.callback(self.ended)
        else:
            self._waiting_for_end.append(ended)
        return ended

    async def stop(self) -> None:
        """Ask it to end, make it end where it does not, and wait until it has."""
        if self._process is None:
            return
        if self.ended is None:
            with suppress(ProcessExitedAlready):
                self._process.signalProcess("TERM")
        timer = self._reactor.callLater(STOP_LIMIT, self.kill)
        try:
            await self.when_ended()
        finally:
            if timer.active():
                timer.cancel()

    def kill(self) -> None:
        """End it and its children now, without a word."""
        if self._process is None or self.ended is not None:
            return
        with suppress(OSError):
            os.killpg(self.pid, signal.SIGKILL)  # it leads its own session
        with suppress(ProcessExitedAlready):
            self._process.signalProcess("KILL")


def _words(end: BaseException | None) -> str:
    if isinstance(end, ProcessDone):
        return "ended"
    number = getattr(end, "signal", None)
    if number is not None:
        return f"was ended by {signal.Signals(number).name}"
    return f"ended with exit code {getattr(end, 'exitCode', '?')}"
