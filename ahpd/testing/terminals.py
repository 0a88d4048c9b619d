"""Terminals without programs: a test prints, exits and fails in place of one.

`ScriptedTerminals` is an `ITerminals` for hosts under test. What it started is in
`started`, oldest first; each is a `ScriptedProgram` the test speaks for.
"""

import itertools
from collections.abc import Awaitable

from twisted.internet.defer import Deferred, succeed
from zope.interface import implementer

from ahpd.interfaces import (
    ITerminalEvents,
    ITerminalProcess,
    ITerminals,
    TerminalExit,
    TerminalFailure,
    TerminalProgram,
)


@implementer(ITerminalProcess)
class ScriptedProgram:
    """A program in a terminal that does what the test says.

    What it was given is in `written`, `sizes` and `interrupts`. A `stubborn` one that is
    ended goes when the test has it exit.
    """

    def __init__(
        self, pid: int, program: TerminalProgram, events: ITerminalEvents, pty: bool, stubborn: bool
    ) -> None:
        self.pid = pid
        self.is_pty = pty
        self.program = program
        self.stubborn = stubborn
        self.written: list[bytes] = []
        self.sizes: list[tuple[int, int]] = []
        self.interrupts = 0
        self.paused = False
        #: How often it was told to end.
        self.ends = 0
        self._events = events
        self._waiting: list[bytes] = []
        self._exit: TerminalExit | None = None
        self._over = False
        self._ending: list[Deferred[None]] = []

    # -- the test's side --------------------------------------------------------

    @property
    def typed(self) -> bytes:
        """All it was sent."""
        return b"".join(self.written)

    @property
    def runs(self) -> bool:
        """Whether it has not exited."""
        return self._exit is None

    def prints(self, data: bytes | str) -> None:
        """It prints `data`, received at once or when its output is read again."""
        assert self._exit is None, "a program that exited prints nothing"
        data = data.encode() if isinstance(data, str) else data
        if self.paused:
            self._waiting.append(data)
        else:
            self._events.output_received(data)

    def exits(self, code: int | None = 0, signal: str | None = None) -> None:
        """It is over; that is told once all it printed was received."""
        assert self._exit is None, "it exited already"
        self._exit = TerminalExit(None if signal is not None else code, signal)
        self._drain()

    def _drain(self) -> None:
        while self._waiting and not self.paused:
            self._events.output_received(self._waiting.pop(0))
        if self._exit is None or self._waiting or self._over:
            return
        self._over = True
        self._events.ended(self._exit)
        ending, self._ending = self._ending, []
        for each in ending:
            each.callback(None)

    # -- the host's side ----------------------------------------------------------

    def write(self, data: bytes) -> None:
        """See `ITerminalProcess.write`."""
        if self._exit is None:
            self.written.append(data)

    def interrupt(self) -> None:
        """See `ITerminalProcess.interrupt`."""
        if self._exit is None:
            self.interrupts += 1

    def resize(self, cols: int, rows: int) -> None:
        """See `ITerminalProcess.resize`."""
        if self._exit is None:
            self.sizes.append((cols, rows))

    def pause_output(self) -> None:
        """See `ITerminalProcess.pause_output`."""
        self.paused = True

    def resume_output(self) -> None:
        """See `ITerminalProcess.resume_output`."""
        self.paused = False
        self._drain()

    def end(self) -> Awaitable[None]:
        """See `ITerminalProcess.end`: at once, of SIGHUP, unless it is stubborn."""
        self.ends += 1
        if self._over:
            return succeed(None)
        done: Deferred[None] = Deferred()
        self._ending.append(done)
        if not self.stubborn:
            self.paused = False
            if self._exit is None:
                self._exit = TerminalExit(None, "SIGHUP")
            self._drain()
        return done


@implementer(ITerminals)
class ScriptedTerminals:
    """Starts scripted programs. `pty` says whether there are pseudo-terminals to be had.

    `failure`, where it is not None, are the words no program can be started for. `stubborn`
    programs do not go when they are ended.
    """

    def __init__(self, pty: bool = True) -> None:
        self.pty = pty
        self.failure: str | None = None
        self.stubborn = False
        self.started: list[ScriptedProgram] = []
        self._pids = itertools.count(1000)

    @property
    def last(self) -> ScriptedProgram:
        """The program that was started last."""
        return self.started[-1]

    @property
    def running(self) -> list[ScriptedProgram]:
        """Those that have not exited, oldest first."""
        return [program for program in self.started if program.runs]

    def start(self, program: TerminalProgram, events: ITerminalEvents) -> ITerminalProcess:
        """See `ITerminals.start`."""
        if not program.argv:
            raise TerminalFailure("no program was named")
        if self.failure is not None:
            raise TerminalFailure(self.failure)
        pty = self.pty and program.pty
        started = ScriptedProgram(next(self._pids), program, events, pty, self.stubborn)
        self.started.append(started)
        return started
