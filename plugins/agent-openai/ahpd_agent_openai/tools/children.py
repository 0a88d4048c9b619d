"""A program run to its end for what it prints, ended when nobody waits for it any more."""

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
from twisted.internet.defer import Deferred

from ahpd_agent_openai.tools.values import ToolProblem


@attrs.frozen
class Ended:
    """How a child ended: by itself or by its time's end."""

    code: int | None
    words: str
    in_time: bool


class _Events:
    """What the supervisor tells of a child (`IChildEvents`)."""

    def __init__(self, received: Callable[[bytes], None]) -> None:
        self.output_received = received
        self.over: Deferred[None] = Deferred()
        self.how: Any = None
        self._closed = False

    def output_ended(self) -> None:
        """It prints no more."""
        self._closed = True
        self._finish()

    def exited(self, how: Any) -> None:
        """It exited; what it printed may still come."""
        self.how = how
        self._finish()

    def _finish(self) -> None:
        if self._closed and self.how is not None and not self.over.called:
            self.over.callback(None)


async def run_child(
    reactor: Any,
    supervisor: Any,
    argv: Sequence[str],
    *,
    given: bytes,
    received: Callable[[bytes], None],
    seconds: float,
    env: Mapping[str, str | None] | None = None,
    cwd: str | None = None,
    name: str,
) -> Ended:
    """Run a program, `given` on its input; everything it started is gone when this returns.

    `received` gets what it prints. Past `seconds` it is killed. Cancelled, it is killed too,
    and this returns once it is gone. Raises `ToolProblem` where it cannot be started.
    """
    events = _Events(received)
    try:
        child = supervisor.spawn(events, argv, env, cwd, name)
    except Exception as failure:  # SpawnFailure, whose module is the host's own
        raise ToolProblem(f"it could not be started: {failure}") from None
    child.write(given)
    child.close_input()
    late = reactor.callLater(seconds, _cut, child, events)
    cancelled: Exception | None = None
    try:
        await events.over
    except Exception as error:
        cancelled = error
    in_time = bool(late.active())
    if in_time:
        late.cancel()
    child.kill()
    await child.gone.wait()
    if cancelled is not None:
        raise cancelled
    return Ended(getattr(events.how, "code", None), str(events.how), in_time)


def _cut(child: Any, events: _Events) -> None:
    child.kill()
    if not events.over.called:
        events.over.callback(None)


def shell_path(environ: Mapping[str, str]) -> str:
    """The shell commands are written for: bash where there is one, else `/bin/sh`."""
    if Path("/bin/bash").exists():
        return "/bin/bash"
    return shutil.which("bash", path=environ.get("PATH", "")) or "/bin/sh"
