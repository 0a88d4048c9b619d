"""An agent that is a program speaking newline-delimited JSON over its standard streams.

The owner *pulls* lines. While nobody pulls, the program's output is left in its pipe,
so an agent that outruns the clients is slowed at its source and the host holds at most
one reading of the pipe and one unfinished line. What goes wrong with the program is an
`AgentFailure` in words that say what happened to which program.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from twisted.internet.defer import Deferred
from zope.interface import implementer

from ahpd.interfaces import AgentFailure
from ahpd.processes.child import GRACE, Child, Exit, IChildErrors, IChildInput
from ahpd.processes.launch import SpawnFailure
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.processes.waiting import sleep
from ahpd.wire.codec import decode, encode
from ahpd.wire.lines import LineReader, LineTooLong

#: The longest line taken, unless the owner says otherwise.
MAX_LINE: Final = 8 * 1024 * 1024

#: How many lines are handed over at once; everybody else has a turn of the reactor between.
MAX_BATCH: Final = 64

#: How many bytes may wait for a program that does not read its input.
MAX_PENDING_INPUT: Final = 16 * 1024 * 1024

#: Seconds the end of a program's output waits for its exit, unless the owner says otherwise.
EXIT_GRACE: Final = 0.5

START_FAILED: Final = "agentStartFailed"
EXITED: Final = "agentExited"
BROKE_PROTOCOL: Final = "agentBrokeProtocol"
NOT_READING: Final = "agentNotReading"


@implementer(IChildErrors, IChildInput)
class AgentProcess:
    """One running agent program. Made by `start_agent`; `what` is its name in a sentence.

    `too_long` is told of a line past `max_line`, which is dropped; where it is None such a
    line ends the reading. `keep_errors` is how many bytes of its standard error are kept, and
    `exit_grace` how many seconds the end of its output waits for the exit that says why.
    """

    def __init__(
        self,
        reactor: Any,
        what: str,
        max_line: int,
        too_long: Callable[[LineTooLong], None] | None = None,
        keep_errors: int = 0,
        exit_grace: float = EXIT_GRACE,
    ) -> None:
        self.what = what
        self._reactor = reactor
        self._child: Child
        self._reader = LineReader(max_line)
        self._too_long = too_long
        self._keep_errors = keep_errors
        self._errors = bytearray()
        self._exit_grace = exit_grace
        self._lines: list[bytes] = []
        self._waiting: Deferred[None] | None = None
        self._failure: AgentFailure | None = None
        self._output_over = False
        self._exit: Exit | None = None
        self._more = False

    @property
    def pid(self) -> int:
        """The program's process id."""
        return self._child.pid

    @property
    def alive(self) -> bool:
        """Whether it is running and still able to say something."""
        return self._exit is None and self._failure is None and not self._output_over

    @property
    def exit(self) -> Exit | None:
        """How it exited; None while it runs."""
        return self._exit

    @property
    def last_errors(self) -> bytes:
        """The last it said on its standard error, as much as is kept."""
        return bytes(self._errors)

    def attach(self, child: Child) -> None:
        """`child` is the program's process."""
        self._child = child

    # -- to the program -----------------------------------------------------------

    def send(self, value: Any) -> None:
        """Write one JSON value as a line. Raises `AgentFailure` where the input piles up.

        What waits before this line counts, so that one large line is no sign of a
        program that does not read.
        """
        if self._child.pending_input > MAX_PENDING_INPUT:
            raise self._fail(f"{self.what} does not read its input", NOT_READING)
        self._child.write(encode(value) + b"\n")

    # -- from the program ---------------------------------------------------------

    async def lines(self) -> list[bytes]:
        """The next lines it said, one to `MAX_BATCH` of them; waits for the first.

        Raises `AgentFailure` once it has said all it will: it exited, closed its
        output, wrote a line that is too long where nobody is told of those, or was
        ended. One coroutine at a time may wait here.
        """
        if self._more:
            await sleep(self._reactor, 0)
        while not self._lines:
            if self._failure is not None:
                raise self._failure
            if self._output_over:
                raise await self._explain_end()
            await self._wait_for_output()
        batch = self._lines[:MAX_BATCH]
        del self._lines[:MAX_BATCH]
        self._more = bool(self._lines)
        return batch

    def decode(self, line: bytes) -> Any:
        """The JSON value of one line. Raises `AgentFailure` for a line that is none."""
        try:
            return decode(line)
        except ValueError as error:
            raise self.broke_protocol(f"wrote a line that is not JSON ({error})") from None

    def broke_protocol(self, how: str) -> AgentFailure:
        """The failure to raise for something it must not say; nothing more is read of it."""
        return self._fail(f"{self.what} {how}", BROKE_PROTOCOL)

    def _fail(self, words: str, error_type: str) -> AgentFailure:
        if self._failure is None:
            self._failure = AgentFailure(words, error_type)
        self._lines.clear()
        self._wake()
        return self._failure

    async def _wait_for_output(self) -> None:
        if self._waiting is not None:
            raise RuntimeError(f"two coroutines read the lines of {self.what}")
        waiting = self._waiting = Deferred()
        self._child.resume_output()
        try:
            await waiting
        finally:
            self._waiting = None

    async def _explain_end(self) -> AgentFailure:
        # It usually exits as it closes its output; then how it exited says more.
        await self._child.exited.within(self._reactor, self._exit_grace)
        if self._child.exit is None:
            return self._fail(f"{self.what} closed its output and went on running", EXITED)
        cut = " in the middle of a line" if self._reader.held else ""
        return self._fail(f"{self.what} {self._child.exit}{cut}", EXITED)

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.called:
            self._waiting.callback(None)

    def output_received(self, data: bytes) -> None:
        """A piece of its output; reading stops until what it completed is taken."""
        for line in self._reader.feed(data):
            if isinstance(line, LineTooLong):
                if self._too_long is not None:
                    self._too_long(line)
                    continue
                self._child.pause_output()
                self._fail(
                    f"{self.what} wrote a line of more than {line.limit} bytes", BROKE_PROTOCOL
                )
                return
            self._lines.append(line)
        if self._lines:
            self._child.pause_output()
            self._wake()

    def errors_received(self, data: bytes) -> None:
        """A piece of its standard error: the last of it is kept."""
        if self._keep_errors:
            self._errors += data
            del self._errors[: -self._keep_errors]

    def input_lost(self) -> None:
        """It hears nothing more: unless it is exiting, that is its end."""
        Deferred.fromCoroutine(self._explain_deafness())

    async def _explain_deafness(self) -> None:
        await self._child.exited.within(self._reactor, self._exit_grace)
        if self._child.exit is None:
            self._fail(f"{self.what} closed its input and went on running", NOT_READING)

    def output_ended(self) -> None:
        """It will say nothing more."""
        self._output_over = True
        self._wake()

    def exited(self, how: Exit) -> None:
        """It exited; what it said before is still to be taken."""
        self._exit = how

    # -- the end --------------------------------------------------------------------

    async def end(self, grace: float = GRACE, patience: float | None = None) -> None:
        """End it with everything it started; whoever waits for lines gets an `AgentFailure`.

        `grace` and `patience` are those of `Child.end`.
        """
        self._fail(f"{self.what} was ended", EXITED)
        await self._child.end(grace, patience)

    def kill(self, why: str) -> None:
        """SIGKILL it now; `why` completes a sentence that begins with its name."""
        self._fail(f"{self.what} {why}", EXITED)
        self._child.kill()


def start_agent(
    reactor: Any,
    supervisor: ProcessSupervisor,
    argv: Sequence[str],
    *,
    what: str,
    name: str,
    env: Mapping[str, str | None] | None = None,
    cwd: str | None = None,
    max_line: int = MAX_LINE,
    too_long: Callable[[LineTooLong], None] | None = None,
    keep_errors: int = 0,
    exit_grace: float = EXIT_GRACE,
) -> AgentProcess:
    """Start an agent program. Raises `AgentFailure` when it cannot be started.

    `what` names it in words for a person ("the demo agent's process"), `name` in the log;
    for the last three see `AgentProcess`.
    """
    process = AgentProcess(reactor, what, max_line, too_long, keep_errors, exit_grace)
    try:
        process.attach(supervisor.spawn(process, argv, env, cwd, name))
    except SpawnFailure as failure:
        raise AgentFailure(str(failure), START_FAILED) from None
    return process
