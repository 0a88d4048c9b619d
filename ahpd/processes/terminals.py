"""Programs in terminals on this machine: the default `ITerminals`.

Each is a child like any other, of the same supervisor and guard, on a pseudo-terminal or
on two pipes. What differs is said by its launcher (`launch.py`) and its manner
(`child.in_terminal`): read in pieces that `turns` says, and hung up rather than terminated.
"""

from collections.abc import Awaitable
from functools import partial
from pathlib import Path
from signal import SIGINT
from typing import Final

from twisted.internet.defer import Deferred
from twisted.logger import Logger
from zope.interface import implementer

from ahpd.interfaces import (
    ITerminalEvents,
    ITerminalProcess,
    ITerminals,
    TerminalExit,
    TerminalFailure,
    TerminalProgram,
)
from ahpd.processes.child import Child, Exit, IChildEvents, in_terminal
from ahpd.processes.launch import SpawnFailure, launch_merged, launch_on_pty
from ahpd.processes.ptys import NoPty, set_size, signal_foreground
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.processes.terminal_environment import terminal_environment
from ahpd.processes.turns import Turns

log = Logger()

#: Seconds between a hangup and SIGKILL.
HANGUP_GRACE: Final = 1.0

#: Bytes of input a program may leave unread. What comes while as many wait is dropped whole,
#: so what is kept is never more than this and one message.
MAX_INPUT: Final = 4 * 1024 * 1024


@implementer(ITerminalProcess, IChildEvents)
class LocalTerminal:
    """A program in a terminal of this machine. Made by `LocalTerminals.start`."""

    def __init__(
        self, child_name: str, events: ITerminalEvents, is_pty: bool, grace: float, turns: Turns
    ) -> None:
        self.is_pty = is_pty
        self._name = child_name
        self._events = events
        self._grace = grace
        self._turns = turns
        self._child: Child
        self._drained = False
        self._how: Exit | None = None
        self._dropping = False

    def attach(self, child: Child) -> None:
        """Its process, once; nothing is told before the reactor's next turn."""
        self._child = child

    @property
    def pid(self) -> int:
        """See `ITerminalProcess`."""
        return self._child.pid

    # -- what its owner does ----------------------------------------------------

    def write(self, data: bytes) -> None:
        """See `ITerminalProcess.write`. Dropped as well while `MAX_INPUT` bytes wait."""
        self._turns.typed(self)
        if self._child.pending_input < MAX_INPUT:
            self._dropping = False
            self._child.write(data)
        elif not self._dropping:
            self._dropping = True
            log.warn("{name} does not read what is typed: it is dropped", name=self._name)

    def interrupt(self) -> None:
        """See `ITerminalProcess.interrupt`; with a pseudo-terminal to the group in front."""
        if not self.is_pty:
            self._child.interrupt()
            return
        master = self._child.input_fileno()
        if master == -1:
            return
        try:
            signal_foreground(master, SIGINT)
        except OSError:  # not Linux: as if it was typed, which a program may read as a byte
            self._child.write(b"\x03")

    def resize(self, cols: int, rows: int) -> None:
        """See `ITerminalProcess.resize`. The size is clamped; pipes have none."""
        master = self._child.input_fileno()
        if not self.is_pty or master == -1:
            return
        try:
            set_size(master, cols, rows)
        except OSError as error:
            log.warn("{name} could not be resized: {error}", name=self._name, error=error)

    def pause_output(self) -> None:
        """See `ITerminalProcess.pause_output`."""
        self._child.pause_output()

    def resume_output(self) -> None:
        """See `ITerminalProcess.resume_output`. May hand on output before it returns."""
        self._child.resume_output()

    def end(self) -> Awaitable[None]:
        """See `ITerminalProcess.end`. It is under way when this returns, awaited or not."""
        return Deferred.fromCoroutine(self._end())

    async def _end(self) -> None:
        await self._child.end(self._grace)

    # -- what its process says --------------------------------------------------

    def output_received(self, data: bytes) -> None:
        """See `IChildEvents`."""
        self._events.output_received(data)

    def output_ended(self) -> None:
        """See `IChildEvents`."""
        self._drained = True
        self._tell_end()

    def exited(self, how: Exit) -> None:
        """See `IChildEvents`."""
        self._how = how
        self._tell_end()

    def _tell_end(self) -> None:
        # Each of the two comes once, so the second is the end.
        if self._drained and self._how is not None:
            self._turns.left(self)
            self._events.ended(TerminalExit(self._how.code, self._how.signal_name))


@implementer(ITerminals)
class LocalTerminals:
    """Starts programs in terminals as children of `supervisor`, gone when the host is.

    `grace` is the seconds a program has between the hangup and SIGKILL.
    """

    def __init__(self, supervisor: ProcessSupervisor, grace: float = HANGUP_GRACE) -> None:
        self._supervisor = supervisor
        self._grace = grace
        self._turns = Turns(supervisor.clock)

    def start(self, program: TerminalProgram, events: ITerminalEvents) -> LocalTerminal:
        """See `ITerminals.start`."""
        if not program.argv:
            raise TerminalFailure("no program was named")
        if program.pty:
            try:
                return self._start(program, events, pty=True)
            except NoPty as error:
                log.warn(
                    "{program} runs on pipes, for there is no pseudo-terminal: {error}",
                    program=program.argv[0],
                    error=error,
                )
        return self._start(program, events, pty=False)

    def _start(
        self, program: TerminalProgram, events: ITerminalEvents, *, pty: bool
    ) -> LocalTerminal:
        cols, rows = program.cols, program.rows
        environment = terminal_environment(
            self._supervisor.environment,
            program.env,
            cwd=program.cwd,
            cols=cols,
            rows=rows,
            pty=pty,
        )
        launcher = partial(launch_on_pty, cols, rows) if pty else launch_merged
        name = Path(program.argv[0]).name
        terminal = LocalTerminal(name, events, pty, self._grace, self._turns)
        manner = in_terminal(partial(self._turns.size, terminal))
        try:
            child = self._supervisor.spawn(
                terminal, program.argv, environment, program.cwd, name, launcher, manner
            )
        except SpawnFailure as failure:
            raise TerminalFailure(str(failure)) from None
        terminal.attach(child)
        return terminal
