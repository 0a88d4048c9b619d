"""One child process: its pipes or its terminal, its exit, and its end with all it started."""

import signal
from collections.abc import Callable
from typing import Any, Final

import attrs
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from zope.interface import Interface

from ahpd.processes.diagnostics import Diagnostics
from ahpd.processes.guard import Family, Process, Table
from ahpd.processes.launch import Launched
from ahpd.processes.pipes import ExitWatch, ReadPipe, WritePipe
from ahpd.processes.waiting import Moment, sleep

log = Logger()

#: Seconds a child is given at each step of its end, unless the caller says otherwise.
GRACE: Final = 2.0

#: Seconds after the last step before a family that survives SIGKILL is given up.
_GIVE_UP: Final = 5.0


@attrs.frozen
class Exit:
    """How a process ended: `code` of its own, or the `signal` that ended it. The other is None."""

    code: int | None
    signal: int | None

    @classmethod
    def of(cls, returncode: int) -> "Exit":
        """From what `subprocess` calls a return code: a negative one is a signal's number."""
        return cls(None, -returncode) if returncode < 0 else cls(returncode, None)

    @property
    def signal_name(self) -> str | None:
        """The signal as `SIGKILL`, or as `signal 40` where the number has no name."""
        if self.signal is None:
            return None
        try:
            return signal.Signals(self.signal).name
        except ValueError:
            return f"signal {self.signal}"

    def __str__(self) -> str:
        if self.signal is None:
            return f"exited with code {self.code}"
        return f"was ended by {self.signal_name}"


@attrs.frozen
class Manner:
    """How a kind of child is read from and asked to go.

    `input_first`: the end of its input is how it is asked at first. `farewell`: the signals
    it and all it started get before SIGKILL. `at_once`: see `ReadPipe`.
    """

    input_first: bool
    farewell: tuple[signal.Signals, ...]
    at_once: Callable[[], int] | None


#: A program that serves: it reads until its input ends.
SERVING: Final = Manner(True, (signal.SIGTERM,), None)


def in_terminal(at_once: Callable[[], int]) -> Manner:
    """What sits in a terminal that hangs up.

    A shell people type into ignores SIGTERM, and what is stopped gets the news once it goes on.
    """
    return Manner(False, (signal.SIGHUP, signal.SIGCONT), at_once)


class IChildEvents(Interface):
    """What the owner of a child is told. Nothing here may block; what raises is logged."""

    def output_received(data: bytes) -> None:  # noqa: N805
        """A piece of its standard output, in order, cut anywhere."""

    def output_ended() -> None:
        """Its standard output is over: it closed it, or it exited and all was read."""

    def exited(how: Exit) -> None:  # noqa: N805
        """It exited. Output it left may still follow where reading is paused."""


class IChildErrors(IChildEvents):
    """The owner of a child that also reads what it says on its standard error."""

    def errors_received(data: bytes) -> None:  # noqa: N805
        """A piece of its standard error, which is written to the log as well."""


class IOwnErrors(IChildErrors):
    """The owner of a child whose standard error is its owner's alone, and no line of the log: it
    quotes addresses whole, say, and its owner tells what of it is to be told."""


class IChildInput(IChildEvents):
    """The owner of a child that has to hear what it is told."""

    def input_lost() -> None:
        """What was written last did not reach it: it closed its input, or is exiting."""


class Child:
    """A running child. Made by `ProcessSupervisor.spawn`.

    Output is handed on as it comes, and left in the pipe while paused, so that a
    child that outruns its reader waits. Standard error that is apart from it is drained
    into the log. A pseudo-terminal is both its input and its output.
    """

    def __init__(
        self,
        reactor: Any,
        name: str,
        launched: Launched,
        family: Family,
        events: Any,
        table: Callable[[], Table],
        reap: Callable[["Child"], None],
        manner: Manner = SERVING,
    ) -> None:
        self.name = name
        self.pid = launched.process.pid
        self.exit: Exit | None = None
        self.exited = Moment()
        self.gone = Moment()
        self._reactor = reactor
        self._process = launched.process
        self._family = family
        self._events = events
        self._table = table
        self._manner = manner
        self._grace = self._patience = GRACE
        self._asked: float | None = None
        self._ending = False
        self._discarding = False
        self._stdin = WritePipe(reactor, launched.stdin, f"stdin of {name}", self._input_lost)
        self._stdout = ReadPipe(
            reactor,
            launched.stdout,
            f"stdout of {name}",
            self._received,
            self._output_ended,
            manner.at_once,
        )
        self._stderr: ReadPipe | None = None
        if launched.stderr is not None:
            errors = Diagnostics(name, self.pid, reactor.seconds)
            self._errors = errors
            self._stderr = ReadPipe(
                reactor, launched.stderr, f"stderr of {name}", self._complained, errors.ended
            )
        self._watch = ExitWatch(reactor, self._process, lambda: reap(self))

    def __repr__(self) -> str:
        return f"<Child {self.name} {self.pid} {self.exit or 'running'}>"

    # -- input and output -------------------------------------------------------

    @property
    def pending_input(self) -> int:
        """Bytes written and not taken by the child yet."""
        return self._stdin.pending

    def input_fileno(self) -> int:
        """The host's end of its standard input; -1 once that is closed.

        Of a pseudo-terminal it is the master, which takes its size and its signals.
        """
        return self._stdin.fileno()

    def write(self, data: bytes) -> None:
        """Send `data` to its standard input, in order; dropped where that is closed."""
        self._stdin.write(data)

    def close_input(self) -> None:
        """Close its standard input once everything is written."""
        self._stdin.close()

    def pause_output(self) -> None:
        """Leave its standard output in the pipe for now."""
        if not self._discarding:
            self._stdout.pause()

    def resume_output(self) -> None:
        """Read on. May call `output_received` before it returns once the child has exited."""
        self._stdout.resume()

    def _received(self, data: bytes) -> None:
        if not self._discarding:
            self._tell(self._events.output_received, data)

    def _complained(self, data: bytes) -> None:
        if not IOwnErrors.providedBy(self._events):
            self._errors.received(data)
        if IChildErrors.providedBy(self._events):
            self._tell(self._events.errors_received, data)

    def _input_lost(self) -> None:
        if not self._discarding and IChildInput.providedBy(self._events):
            self._tell(self._events.input_lost)

    def _output_ended(self) -> None:
        self._tell(self._events.output_ended)

    def _tell(self, event: Callable[..., None], *what: Any) -> None:
        try:
            event(*what)
        except Exception:
            log.failure("what follows an event of {name} failed", name=self.name)

    # -- the end ----------------------------------------------------------------

    async def end(self, grace: float = GRACE, patience: float | None = None) -> Exit:
        """End it, and everything it started; returns when all of that is gone.

        It is asked as its `Manner` says: its input is closed, and where it has not exited
        after `patience` seconds (`grace` where it is None) it gets SIGTERM, or in a terminal
        SIGHUP at once. After `grace` seconds it gets SIGKILL. What it says from here on is
        dropped. May be called any number of times, also after it exited.
        """
        self._grace = grace
        self._patience = grace if patience is None else patience
        self._discarding = True
        self._stdout.resume()
        if not self._ending and self.exit is None:
            self._ending = True
            self._in_background(self._end())
        await self.gone.wait()
        assert self.exit is not None
        return self.exit

    async def _end(self) -> None:
        if self._manner.input_first:
            self._look()  # what it started is known by parentage only as long as it runs
            self._stdin.close()
            if await self.exited.within(self._reactor, self._patience):
                return
        self._asked = self._reactor.seconds()
        self._ask(self._look())
        if await self.exited.within(self._reactor, self._grace):
            return
        self._signal(signal.SIGKILL)

    def kill(self) -> None:
        """SIGKILL it and everything it started, now; `gone` says when they are."""
        self._grace = 0.0
        if self.exit is None:
            self._signal(signal.SIGKILL)

    def interrupt(self) -> None:
        """SIGINT to its group, unless it exited: the group's number is its own until then."""
        if self._family.anchored:
            self._family.signal([], signal.SIGINT)

    def _look(self) -> list[Process]:
        return self._family.look(self._table())

    def _ask(self, members: list[Process]) -> None:
        for number in self._manner.farewell:
            self._family.signal(members, number)

    def _signal(self, number: int) -> None:
        self._family.signal(self._look(), number)

    def reap(self, table: Table) -> None:
        """It exited, and `table` was read after that. Called by the supervisor, once."""
        # Until it is reaped the group's number is its own, and the family can be found.
        left = self._family.look(table)
        self.exit = Exit.of(self._process.wait())
        self._family.anchored = False
        self._stdin.connectionLost(None)
        self._stdout.finish()
        if self._stderr is not None:
            self._stderr.finish()
        self._tell(self._events.exited, self.exit)
        self.exited.fire()
        if left:
            self._in_background(self._sweep(left))
        else:
            self.gone.fire()

    async def _sweep(self, left: list[Process]) -> None:
        """End what the child left behind, then say that everything is gone."""
        # What was asked to go with the child has had a part of its grace.
        begun = self._reactor.seconds() if self._asked is None else self._asked
        pause = 0.005
        signalled: set[int] = set()
        while left:
            late = self._reactor.seconds() - begun
            if late >= self._grace + _GIVE_UP:
                log.error(
                    "{name} left processes that cannot be ended: {pids}",
                    name=self.name,
                    pids=", ".join(str(process.pid) for process in left),
                )
                break
            if late >= self._grace:
                self._family.signal(left, signal.SIGKILL)
            else:
                fresh = [process for process in left if process.pid not in signalled]
                self._ask(fresh)
                signalled.update(process.pid for process in fresh)
            await sleep(self._reactor, pause)
            pause = min(2 * pause, 0.1)
            left = self._look()
        self.gone.fire()

    def _in_background(self, work: Any) -> None:
        Deferred.fromCoroutine(work).addErrback(
            lambda failure: log.failure("ending {name} failed", failure, name=self.name)
        )
