"""Starting a program: its own session, three pipes, and words when it cannot be done.

`subprocess` does this in C with vfork: about a millisecond however large the host has
grown, any working directory, and a program that cannot be run is known at once.
Twisted's own `spawnProcess` starts no session, forks the whole host where a working
directory is given, and tells of a missing program through the child's exit code. A
launcher that called `setsid` would cost an interpreter's start, 13 ms, for each child.
"""

import os
import subprocess
from collections.abc import Mapping, Sequence

import attrs


class SpawnFailure(Exception):
    """A program that could not be started; its words name the program and the reason."""


@attrs.frozen
class Launched:
    """A program that is running. The host's ends of its pipes are non-blocking."""

    process: subprocess.Popen[bytes]
    stdin: int
    stdout: int
    stderr: int


def launch(argv: Sequence[str], environment: Mapping[str, str], cwd: str | None) -> Launched:
    """Run `argv` as the leader of a new session. Raises `SpawnFailure`."""
    theirs: list[int] = []
    ours: list[int] = []
    try:
        for host_reads in (False, True, True):
            read, write = os.pipe()
            ours.append(read if host_reads else write)
            theirs.append(write if host_reads else read)
        process = subprocess.Popen(  # noqa: S603 - no shell; what to run is the caller's to say
            list(argv),
            stdin=theirs[0],
            stdout=theirs[1],
            stderr=theirs[2],
            cwd=cwd,
            env=dict(environment),
            start_new_session=True,
            close_fds=True,
        )
        for fd in ours:
            os.set_blocking(fd, False)
    except (OSError, ValueError) as error:
        for fd in ours:
            os.close(fd)
        raise SpawnFailure(_words(argv, cwd, error)) from None
    finally:
        for fd in theirs:
            os.close(fd)
    return Launched(process, *ours)


def _words(argv: Sequence[str], cwd: str | None, error: OSError | ValueError) -> str:
    program = argv[0] if argv else "a program without a name"
    if not isinstance(error, OSError):  # a NUL in an argument or a variable
        return f"{program} could not be started: {error}"
    if cwd is not None and error.filename == cwd:
        return f"{program} could not be started in {cwd}: {error.strerror}"
    if isinstance(error, FileNotFoundError):
        return f"{program} could not be started: there is no such program"
    return f"{program} could not be started: {error.strerror}"
