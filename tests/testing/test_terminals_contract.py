"""The contract of terminals: the scripted ones, those of this machine, and broken ones."""

import sys

import pytest
import pytest_twisted
from twisted.internet.task import deferLater
from zope.interface import implementer

from ahpd.interfaces import ITerminals, TerminalExit, TerminalFailure, TerminalProgram
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.processes.terminals import LocalTerminals
from ahpd.testing.terminals import ScriptedTerminals
from ahpd.testing.terminals_contract import FLOOD, PROGRAMS, check_terminals

CODE = {
    "says": "print('hello'); print('world', flush=True); sys.exit(3)",
    "dies": "print('ready', flush=True); os.kill(os.getpid(), 9)",
    "waits": "print('ready', flush=True); signal.pause()",
    "stubborn": "for n in (1, 2, 15): signal.signal(n, signal.SIG_IGN)\n"
    "print('ready', flush=True)\nwhile True: time.sleep(600)",
    "echoes": "print('ready', flush=True)\n"
    "for line in sys.stdin: print('got', line.strip(), flush=True)",
    "minds": "def heard(*_): print('interrupted', flush=True); os._exit(4)\n"
    "signal.signal(2, heard); print('ready', flush=True)\nwhile True: time.sleep(600)",
    "sized": "def told(*_):\n"
    "    cols, rows = os.get_terminal_size()\n"
    "    print(f'{cols}x{rows}', flush=True)\n"
    "signal.signal(signal.SIGWINCH, told); print('ready', flush=True)\n"
    "while True: time.sleep(600)",
    "floods": f"print(*range({FLOOD}), sep=chr(10), flush=True)",
}


class LocalBench:
    """Terminals of this machine, and scripts for them."""

    def __init__(self, reactor, terminals, folder):
        self.terminals = terminals
        self._reactor = reactor
        self._folder = str(folder)

    def program(self, name, *, pty):
        code = f"import os, signal, sys, time\n{CODE[name]}"
        argv = [sys.executable, "-I", "-S", "-c", code]
        return TerminalProgram(argv=argv, cwd=self._folder, pty=pty)

    def missing(self):
        return TerminalProgram(argv=["/no/such/program"], cwd=self._folder)

    async def passed(self):
        await deferLater(self._reactor, 0.02)


class ScriptedBench:
    """Scripted terminals, and a hand for each of their programs."""

    def __init__(self, terminals=None):
        self.terminals = ScriptedTerminals() if terminals is None else terminals
        self.terminals.start = self._starting(self.terminals.start)
        self._hands = []

    def _starting(self, start):
        def starting(program, events):
            if program.argv and program.argv[0] not in PROGRAMS:
                raise TerminalFailure(f"{program.argv[0]}: there is no such program")
            self.terminals.stubborn = bool(program.argv) and program.argv[0] == "stubborn"
            process = start(program, events)
            self._hands.append(self._hand(process, program.argv[0] if program.argv else "waits"))
            return process

        return starting

    def program(self, name, *, pty):
        return TerminalProgram(argv=[name], cwd="/", pty=pty)

    def missing(self):
        return TerminalProgram(argv=["no-such-program"], cwd="/")

    async def passed(self):
        for hand in list(self._hands):
            next(hand, None)

    def _hand(self, process, name):
        """What a program of this name does, a step at each moment."""
        first = {"says": "hello\nworld\n", "floods": ""}.get(name, "ready\n")
        yield
        if process.runs and first:
            process.prints(first)
        if name == "says":
            process.exits(3)
        elif name == "dies":
            process.exits(signal="SIGKILL")
        elif name == "floods":
            for number in range(FLOOD):
                process.prints(f"{number}\n")
                if number % 2000 == 0:
                    yield
            process.exits(0)
        else:
            yield from self._living(process, name)

    def _living(self, process, name):
        answered = sized = 0
        while process.runs:
            lines = process.typed.decode().split("\n")[:-1]
            if name == "echoes":
                for line in lines[answered:]:
                    process.prints(f"got {line}\n")
                answered = len(lines)
            elif name == "sized":
                for cols, rows in process.sizes[sized:]:
                    process.prints(f"{cols}x{rows}\n")
                sized = len(process.sizes)
            elif name == "minds" and process.interrupts:
                process.prints("interrupted\n")
                process.exits(4)
            elif name == "stubborn" and process.ends:
                process.exits(signal="SIGKILL")
            yield


@pytest_twisted.ensureDeferred
async def test_the_scripted_terminals_hold_it():
    await check_terminals(ScriptedBench())


@pytest_twisted.ensureDeferred
async def test_scripted_terminals_without_pseudo_terminals_hold_it():
    await check_terminals(ScriptedBench(ScriptedTerminals(pty=False)))


@pytest_twisted.ensureDeferred
async def test_the_terminals_of_this_machine_hold_it(tmp_path):
    from twisted.internet import reactor

    supervisor = ProcessSupervisor(reactor, grace=0.3)
    supervisor.startService()
    try:
        await check_terminals(LocalBench(reactor, LocalTerminals(supervisor, 0.3), tmp_path))
        assert supervisor.children == ()
    finally:
        await supervisor.stopService()


# -- terminals that err ----------------------------------------------------------------------


def erring(**methods):
    """Terminals whose programs have these methods, each given the program and its own method."""

    @implementer(ITerminals)
    class ErringTerminals(ScriptedTerminals):
        def start(self, program, events):
            process = super().start(program, events)
            for name, make in methods.items():
                own = getattr(process, name)
                setattr(process, name, make(process, own))
            return process

    return ErringTerminals


def nothing(process, own):
    return lambda *arguments: None


def ends_at_once(process, own):
    async def end():
        process.ends += 1

    return end


def ends_without_a_word(process, own):
    process._events = Silent(process._events)
    return own


class Silent:
    """Events without the end."""

    def __init__(self, events):
        self.output_received = events.output_received
        self.ended = lambda how: None


class Twice(Silent):
    """The end is told twice."""

    def __init__(self, events):
        self.output_received = events.output_received

        def ended(how):
            events.ended(how)
            events.ended(how)

        self.ended = ended


class Backwards(Silent):
    """Pieces come the other way around."""

    def __init__(self, events):
        self.ended = events.ended
        self.output_received = lambda data: events.output_received(data[::-1])


class After(Silent):
    """Something comes behind the end."""

    def __init__(self, events):
        self.output_received = events.output_received

        def ended(how):
            events.ended(how)
            events.output_received(b"late")

        self.ended = ended


class Blind(Silent):
    """Every program ended well."""

    def __init__(self, events):
        self.output_received = events.output_received
        self.ended = lambda how: events.ended(TerminalExit(0))


class Both(Silent):
    """It exited, and a signal ended it."""

    def __init__(self, events):
        self.output_received = events.output_received
        self.ended = lambda how: events.ended(TerminalExit(3, "SIGHUP"))


def telling(events):
    @implementer(ITerminals)
    class Telling(ScriptedTerminals):
        def start(self, program, owner):
            return super().start(program, events(owner))

    return Telling


class Eager(ScriptedTerminals):
    """Programs that speak before they are there."""

    def start(self, program, events):
        events.output_received(b"hello")
        return super().start(program, events)


class SameNumber(ScriptedTerminals):
    def start(self, program, events):
        process = super().start(program, events)
        process.pid = 7
        return process


class LiesAboutPipes(ScriptedTerminals):
    def start(self, program, events):
        process = super().start(program, events)
        process.is_pty = True
        return process


class StartsNothing(ScriptedTerminals):
    def start(self, program, events):
        program = TerminalProgram(argv=program.argv or ["waits"], cwd="/", pty=program.pty)
        return super().start(program, events)


class Numberless(ScriptedTerminals):
    def start(self, program, events):
        process = super().start(program, events)
        process.pid = -1
        return process


def raises_late(process, own):
    def write(data):
        if not process.runs:
            raise ValueError("it has exited")
        own(data)

    return write


def to_all(process, own):
    everyone = to_all.__dict__.setdefault("everyone", [])
    everyone.append(own)
    return lambda data: [write(data) for write in everyone] and None


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (erring(pause_output=nothing), "output was received while it was paused"),
        (erring(resume_output=nothing), "the end of a program did not come"),
        (erring(write=nothing), "what was typed did not come"),
        (erring(write=raises_late), "it has exited"),
        (erring(write=to_all), "what was typed into one arrived in another|arrived as"),
        (erring(interrupt=nothing), "the end of a program did not come"),
        (erring(resize=nothing), "the size it was given did not come"),
        (erring(end=ends_at_once), "end.. returned and the end was not told"),
        (erring(end=ends_without_a_word), "did not come"),
        (telling(Silent), "the end of a program did not come"),
        (telling(Twice), "the end was told twice"),
        (telling(Backwards), "it printed"),
        (telling(After), "output was received after the end was told"),
        (telling(Blind), "expected TerminalExit.code=3"),
        (telling(Both), "is both or neither"),
        (Eager, "events came before start.. returned"),
        (SameNumber, "two programs have the process id 7"),
        (LiesAboutPipes, "a program on pipes says it has a terminal"),
        (StartsNothing, "a program that is not there was started"),
        (Numberless, "the process id is -1"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_terminals_that_err_are_found(make, words):
    to_all.__dict__.clear()
    with pytest.raises((AssertionError, ValueError), match=words):
        await check_terminals(ScriptedBench(make()))


def test_there_is_a_script_for_every_program():
    assert CODE.keys() == PROGRAMS.keys()
