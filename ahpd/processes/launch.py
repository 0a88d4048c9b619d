"""Starting a program: its own session, pipes or a pseudo-terminal, and words when it fails.

`subprocess` does this in C with vfork: about a millisecond however large the host has
grown, any working directory, and a program that cannot be run is known at once.
Twisted's own `spawnProcess` starts no session, forks the whole host where a working
directory is given, and tells of a missing program through the child's exit code. A
launcher that called `setsid` would cost an interpreter's start, 13 ms, for each child.

A pseudo-terminal needs one call more in the child, after `setsid`: it takes the slave
as its controlling terminal. `subprocess` can make it through `preexec_fn` alone, and
forks for that: 2 ms in a host of 50 MB and 7 in one of 500, where pipes take 0.2
whatever its size. `posix_spawn` would cost no more than pipes, since a session leader
gets the terminal it opens, but knows no working directory and closes nothing; the
program `setsid --ctty` and a shell as launchers tell of a missing program by an exit
code. A person opens a terminal now and then, so the milliseconds are what is paid. What
runs in the fork is one `ioctl`, which takes no lock that another thread might hold.
"""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import attrs

from ahpd.processes.ptys import open_pty, own_terminal

#: The signals a shell, `nohup` or a service manager may have had the host ignore.
#: `subprocess` itself resets those that Python ignores.
_MAYBE_IGNORED: Final = (
    signal.SIGHUP,
    signal.SIGINT,
    signal.SIGQUIT,
    signal.SIGTERM,
    signal.SIGALRM,
    signal.SIGCHLD,
    signal.SIGTSTP,
    signal.SIGTTIN,
    signal.SIGTTOU,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


class SpawnFailure(Exception):
    """A program that could not be started; its words name the program and the reason."""


@attrs.frozen
class Launched:
    """A program that is running. The host's ends are non-blocking and not inherited.

    `stderr` is None where its errors come with its output. On a pseudo-terminal `stdin`
    and `stdout` are the master twice, each to be closed on its own.
    """

    process: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: int | None = None


#: Runs `argv` with an environment, in a folder (None: the host's own), as the leader of a
#: new session. Raises `SpawnFailure`.
Launcher = Callable[[Sequence[str], Mapping[str, str], str | None], Launched]


def launch(argv: Sequence[str], environment: Mapping[str, str], cwd: str | None) -> Launched:
    """A `Launcher` with three pipes."""
    with _Ends(argv, cwd) as ends:
        stdin, stdout, stderr = ends.to_child(), ends.from_child(), ends.from_child()
        process = _start(argv, environment, cwd, (stdin, stdout, stderr))
        return Launched(process, *ends.keep())


def launch_merged(argv: Sequence[str], environment: Mapping[str, str], cwd: str | None) -> Launched:
    """A `Launcher` with two pipes: what it prints on either output comes in one order."""
    with _Ends(argv, cwd) as ends:
        stdin, stdout = ends.to_child(), ends.from_child()
        process = _start(argv, environment, cwd, (stdin, stdout, stdout))
        return Launched(process, *ends.keep())


def launch_on_pty(
    cols: int, rows: int, argv: Sequence[str], environment: Mapping[str, str], cwd: str | None
) -> Launched:
    """A `Launcher`, once the size is given, with a pseudo-terminal. Also raises `NoPty`."""
    with _Ends(argv, cwd) as ends:
        pty = open_pty(cols, rows)
        ends.theirs.append(pty.slave)
        ends.ours.append(pty.master)
        ends.ours.append(os.dup(pty.master))
        process = _start(argv, environment, cwd, (pty.slave,) * 3, own_terminal)
        return Launched(process, *ends.keep())


class _Ends:
    """The descriptors of one launch: the child's are closed after it, and where it failed
    the host's are too, and the failure becomes a `SpawnFailure`."""

    def __init__(self, argv: Sequence[str], cwd: str | None) -> None:
        self.ours: list[int] = []
        self.theirs: list[int] = []
        self._argv = argv
        self._cwd = cwd

    def to_child(self) -> int:
        """The child's end of a pipe the host writes to."""
        read, write = os.pipe()
        self.ours.append(write)
        self.theirs.append(read)
        return read

    def from_child(self) -> int:
        """The child's end of a pipe the host reads from."""
        read, write = os.pipe()
        self.ours.append(read)
        self.theirs.append(write)
        return write

    def keep(self) -> list[int]:
        """The host's ends, non-blocking, now the caller's to close."""
        for fd in self.ours:
            os.set_blocking(fd, False)
        ours, self.ours = self.ours, []
        return ours

    def __enter__(self) -> "_Ends":
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _where: object) -> None:
        for fd in self.theirs + self.ours:
            os.close(fd)
        if isinstance(error, OSError | ValueError | subprocess.SubprocessError):
            raise SpawnFailure(_words(self._argv, self._cwd, error)) from None


def _start(
    argv: Sequence[str],
    environment: Mapping[str, str],
    cwd: str | None,
    ends: tuple[int, int, int],
    in_child: Callable[[], None] | None = None,
) -> subprocess.Popen[bytes]:
    stdin, stdout, stderr = ends
    with _nothing_ignored():
        return subprocess.Popen(  # noqa: S603 - no shell; what to run is the caller's to say
            list(argv),
            stdin=stdin,
            stdout=stdout,
            stderr=stderr,
            cwd=cwd,
            env=dict(environment),
            start_new_session=True,
            close_fds=True,
            preexec_fn=in_child,  # noqa: PLW1509 - the module says why
        )


@contextmanager
def _nothing_ignored() -> Iterator[None]:
    """Within this, what the host ignores it catches and does nothing about.

    A program inherits what is ignored, and starts with what was caught at its default. A
    host that was begun with `nohup`, or behind a script's `&`, would else have shells that
    no hangup ends and commands that no ^C stops. Caught, a signal still does the host no
    harm. Handlers are the main thread's to set: on another one all stays as it is.
    """
    ignored = []
    if threading.current_thread() is threading.main_thread():
        ignored = [n for n in _MAYBE_IGNORED if signal.getsignal(n) == signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, lambda *_: None)
    try:
        yield
    finally:
        for number in ignored:
            signal.signal(number, signal.SIG_IGN)


def _words(argv: Sequence[str], cwd: str | None, error: Exception) -> str:
    program = argv[0] if argv else "a program without a name"
    if not isinstance(error, OSError):  # a NUL in an argument or a variable
        return f"{program} could not be started: {error}"
    if cwd is not None and error.filename == cwd:
        return f"{program} could not be started in {cwd}: {error.strerror}"
    if isinstance(error, FileNotFoundError):
        return f"{program} could not be started: there is no such program"
    return f"{program} could not be started: {error.strerror}"
