"""The contract of an `ITerminals`, checked: what a host relies on, of real terminals and fake ones.

`check_terminals` starts programs through a `TerminalBench`, which knows how the terminals under
test come by them: a script for a real one, a test's hand for a scripted one.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final, Protocol

from twisted.internet.defer import Deferred, ensureDeferred
from zope.interface import implementer
from zope.interface.exceptions import Invalid
from zope.interface.verify import verifyObject

from ahpd.interfaces import (
    ITerminalEvents,
    ITerminalProcess,
    ITerminals,
    TerminalExit,
    TerminalFailure,
    TerminalProgram,
)

#: How often a bench is asked to let time pass before something is late.
_PATIENCE: Final = 500

#: What `floods` prints: so many lines, each its number.
FLOOD: Final = 20_000

#: What programs there are, and what each does. One that is to be ended waits for it.
PROGRAMS: Final = {
    "says": "prints `hello`, then `world`, and exits with code 3",
    "dies": "prints `ready` and is ended by SIGKILL",
    "waits": "prints `ready` and waits to be ended",
    "stubborn": "prints `ready`, and goes by nothing less than SIGKILL",
    "echoes": "prints `ready`, then `got <line>` for every line it is sent",
    "minds": "prints `ready`, then `interrupted` at SIGINT, and exits with code 4",
    "sized": "prints `ready`, then `<cols>x<rows>` whenever its terminal is resized",
    "floods": "prints `0` to `FLOOD - 1`, each a line, and exits with code 0",
}


class TerminalBench(Protocol):
    """Terminals under test, and the programs in `PROGRAMS` for them."""

    terminals: ITerminals

    def program(self, name: str, *, pty: bool) -> TerminalProgram:
        """One of the programs, to be handed to `ITerminals.start`."""

    def missing(self) -> TerminalProgram:
        """A program that cannot be started: there is none of its name."""

    async def passed(self) -> None:
        """Let a moment pass, in which programs do what they do."""


@implementer(ITerminalEvents)
class Heard:
    """What the owner of a program was told: `output` so far, and how it `exited`."""

    def __init__(self) -> None:
        self.output = b""
        self.exited: TerminalExit | None = None
        self.troubles: list[str] = []
        self.pieces = 0

    @property
    def lines(self) -> list[str]:
        """The whole lines so far; a terminal ends them in its own way."""
        return self.output.decode().replace("\r\n", "\n").split("\n")[:-1]

    def output_received(self, data: bytes) -> None:
        """Keep it."""
        self.pieces += 1
        if self.exited is not None:
            self.troubles.append("output was received after the end was told")
        if not data:
            self.troubles.append("an empty piece of output was received")
        self.output += data

    def ended(self, how: TerminalExit) -> None:
        """Keep it."""
        if self.exited is not None:
            self.troubles.append("the end was told twice")
        self.exited = how


async def check_terminals(bench: TerminalBench) -> None:
    """Raise `AssertionError` where the terminals of `bench` break the contract."""
    _provides(ITerminals, bench.terminals)
    for pty in (False, True):
        for check in (
            _check_output,
            _check_signal,
            _check_input,
            _check_interrupt,
            _check_size,
            _check_pause,
            _check_flood,
            _check_end,
            _check_stubborn,
            _check_end_while_paused,
            _check_several,
        ):
            await check(_Checked(bench, pty))
    await _check_failures(bench)


class _Checked:
    """One check: its programs, and what each said."""

    def __init__(self, bench: TerminalBench, pty: bool) -> None:
        self.bench = bench
        self.pty = pty

    def start(self, name: str) -> tuple[ITerminalProcess, Heard]:
        heard = Heard()
        process = self.bench.terminals.start(self.bench.program(name, pty=self.pty), heard)
        _expect(not heard.pieces and heard.exited is None, "events came before start() returned")
        _provides(ITerminalProcess, process)
        _expect(process.pid > 0, f"the process id is {process.pid}")
        _expect(self.pty or not process.is_pty, "a program on pipes says it has a terminal")
        return process, heard

    async def ready(self, name: str) -> tuple[ITerminalProcess, Heard]:
        process, heard = self.start(name)
        await self.until(lambda: "ready" in heard.lines, f"the first line of a program that {name}")
        return process, heard

    async def until(self, holds: Callable[[], bool], what: str) -> None:
        for _ in range(_PATIENCE):
            if holds():
                return
            await self.bench.passed()
        raise AssertionError(f"{what} did not come")

    async def over(self, heard: Heard, *expected: TerminalExit) -> None:
        await self.until(lambda: heard.exited is not None, "the end of a program")
        await self.settled(heard)
        if expected:
            _expect(heard.exited in expected, f"it ended as {heard.exited}, expected {expected[0]}")

    async def settled(self, heard: Heard) -> None:
        """Nothing strange is told, nor in a moment."""
        for _ in range(3):
            await self.bench.passed()
        _expect(not heard.troubles, "; ".join(heard.troubles))
        how = heard.exited
        if how is not None:
            _expect((how.code is None) is not (how.signal is None), f"{how} is both or neither")

    async def ended(self, process: ITerminalProcess, heard: Heard) -> None:
        """`end()` returns, and the end was told by then."""
        ending: Deferred[None] = ensureDeferred(_await(process.end()))
        await self.until(lambda: ending.called, "what end() waits for")
        await ending
        _expect(heard.exited is not None, "end() returned and the end was not told")
        await self.settled(heard)


async def _await(work: Awaitable[None]) -> None:
    await work


async def _check_output(checked: _Checked) -> None:
    """All it printed is received in order before its end, which says how."""
    process, heard = checked.start("says")
    await checked.over(heard, TerminalExit(3))
    _expect(heard.lines == ["hello", "world"], f"it printed {heard.lines}, expected hello, world")
    process.write(b"x\n")
    process.interrupt()
    process.resize(10, 10)
    process.pause_output()
    process.resume_output()
    await checked.ended(process, heard)
    await checked.ended(process, heard)


async def _check_signal(checked: _Checked) -> None:
    _, heard = checked.start("dies")
    await checked.over(heard, TerminalExit(None, "SIGKILL"))


async def _check_input(checked: _Checked) -> None:
    """What is typed arrives, in order and in one line however it is cut."""
    process, heard = await checked.ready("echoes")
    # One after the other: a terminal shows what is typed between what its program prints.
    for line in (b"one\n", b"two\n"):
        process.write(line[:2])
        process.write(line[2:])
        shown = f"got {line.decode().strip()}"
        await checked.until(lambda shown=shown: shown in heard.lines, "what was typed")  # type: ignore[misc]
    got = [line for line in heard.lines if line.startswith("got ")]
    _expect(got == ["got one", "got two"], f"what was typed arrived as {got}")
    await checked.ended(process, heard)


async def _check_interrupt(checked: _Checked) -> None:
    process, heard = await checked.ready("minds")
    process.interrupt()
    await checked.over(heard, TerminalExit(4))
    _expect("interrupted" in heard.lines, "a program that was interrupted did not hear of it")
    process.interrupt()
    await checked.ended(process, heard)


async def _check_size(checked: _Checked) -> None:
    """A pseudo-terminal's program learns its size; pipes have none, and that is no error."""
    process, heard = await checked.ready("sized")
    process.resize(101, 33)
    if process.is_pty:
        await checked.until(lambda: "101x33" in heard.lines, "the size it was given")
    await checked.ended(process, heard)


async def _check_pause(checked: _Checked) -> None:
    """While its output is not read nothing is told, the end no more than the output."""
    process, heard = checked.start("says")
    process.pause_output()
    process.pause_output()
    for _ in range(20):
        await checked.bench.passed()
    _expect(not heard.output, "output was received while it was paused")
    _expect(heard.exited is None, "the end was told ahead of output that was paused")
    process.resume_output()
    process.resume_output()
    await checked.over(heard, TerminalExit(3))
    _expect(heard.lines == ["hello", "world"], f"after a pause it printed {heard.lines}")


async def _check_flood(checked: _Checked) -> None:
    """Much comes whole and in order, whatever pauses there are."""
    process, heard = checked.start("floods")
    for _ in range(10):
        process.pause_output()
        await checked.bench.passed()
        held = len(heard.output)
        await checked.bench.passed()
        _expect(len(heard.output) == held, "output was received while it was paused")
        process.resume_output()
        await checked.bench.passed()
    await checked.over(heard, TerminalExit(0))
    _expect(heard.lines == [str(n) for n in range(FLOOD)], "a flood came out of order or in part")


async def _check_end(checked: _Checked) -> None:
    """One that waits is gone, and its end was told; again is no error, nor two at once."""
    process, heard = await checked.ready("waits")
    both = [ensureDeferred(_await(process.end())) for _ in range(2)]
    await checked.until(lambda: all(each.called for each in both), "what end() waits for")
    _expect(heard.exited is not None, "end() returned and the end was not told")
    how = heard.exited
    assert how is not None
    _expect(how.signal is not None, f"a program that was ended ended as {how}")
    await checked.ended(process, heard)


async def _check_stubborn(checked: _Checked) -> None:
    process, heard = await checked.ready("stubborn")
    await checked.ended(process, heard)
    await checked.over(heard, TerminalExit(None, "SIGKILL"))


async def _check_end_while_paused(checked: _Checked) -> None:
    """Nobody reads it any more: it is ended all the same, and that is told."""
    process, heard = await checked.ready("waits")
    process.pause_output()
    await checked.ended(process, heard)


async def _check_several(checked: _Checked) -> None:
    """What is done to one is done to no other."""
    first, heard = await checked.ready("echoes")
    second, other = await checked.ready("echoes")
    _expect(first.pid != second.pid, f"two programs have the process id {first.pid}")
    first.write(b"mine\n")
    await checked.until(lambda: "got mine" in heard.lines, "what was typed")
    await checked.ended(first, heard)
    second.write(b"yours\n")
    await checked.until(lambda: "got yours" in other.lines, "what was typed into another")
    _expect("got mine" not in other.lines, "what was typed into one arrived in another")
    _expect(other.exited is None, "the end of one was the end of another")
    await checked.ended(second, other)


async def _check_failures(bench: TerminalBench) -> None:
    """What cannot be started is a `TerminalFailure` in words, and nothing is told of it."""
    missing = bench.missing()
    for program, named in (
        (missing, missing.argv[0]),
        (TerminalProgram(argv=[], cwd=missing.cwd), None),
    ):
        heard = Heard()
        try:
            bench.terminals.start(program, heard)
        except TerminalFailure as failure:
            words = str(failure)
            _expect(bool(words), "a TerminalFailure has no words")
            _expect(named is None or named in words, f"{words!r} does not name {named}")
        else:
            raise AssertionError(f"a program that is not there was started: {program.argv}")
        for _ in range(3):
            await bench.passed()
        told = heard.pieces or heard.exited is not None
        _expect(not told, "something was told of a program that was not started")


def _provides(interface: Any, value: Any) -> None:
    try:
        verifyObject(interface, value)
    except Invalid as error:
        raise AssertionError(str(error)) from None


def _expect(holds: bool, words: str) -> None:
    if not holds:
        raise AssertionError(words)
