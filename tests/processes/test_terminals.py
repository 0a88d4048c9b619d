"""A program in a terminal has a real one: job control, sizes, signals, or pipes in its place."""

import contextlib
import os
import signal
import sys
from pathlib import Path

import pytest
import pytest_twisted
from zope.interface.verify import verifyObject

from ahpd.interfaces import (
    ITerminalProcess,
    ITerminals,
    TerminalExit,
    TerminalFailure,
    TerminalProgram,
)
from ahpd.processes import ptys
from ahpd.processes.guard import read_process
from ahpd.processes.terminals import LocalTerminals

#: A shell as a person has it, with a prompt of its own.
SHELL = ["bash", "--norc", "--noprofile", "-i"]
PLAIN = {"PS1": "ready> ", "HISTFILE": None}


def python(code):
    return [sys.executable, "-I", "-S", "-c", code]


@pytest_twisted.ensureDeferred
async def test_the_ports_are_as_declared(start, supervisor):
    terminal, screen = start("true")
    verifyObject(ITerminalProcess, terminal)
    verifyObject(ITerminals, LocalTerminals(supervisor))
    await screen.end()


@pytest_twisted.ensureDeferred
async def test_input_and_output_and_errors_are_one_terminal(start):
    terminal, screen = start("tty; for f in 0 1 2; do test -t $f && echo $f is; done; exit 7")
    assert terminal.is_pty
    assert await screen.end() == TerminalExit(7)
    lines = bytes(screen.output).decode().split("\r\n")
    assert lines[0].startswith("/dev/pts/") or lines[0].startswith("/dev/tty")
    assert lines[1:] == ["0 is", "1 is", "2 is", ""]


@pytest_twisted.ensureDeferred
async def test_it_leads_its_session_and_the_terminal_controls_it(start, identify):
    terminal, screen = start("echo here > /dev/tty; read x")
    await screen.until(rb"here")
    process = read_process(terminal.pid)
    assert process.session == process.group == terminal.pid
    assert process.parent == os.getpid()
    device, front = terminal_of(terminal.pid)
    assert device not in (0, terminal_of(os.getpid())[0])
    assert front == terminal.pid
    await terminal.end()


@pytest_twisted.ensureDeferred
async def test_what_is_typed_is_echoed_and_a_character_erased_whole(start):
    terminal, screen = start("read line; echo got $line | od -An -tx1 -v")
    terminal.write("aé".encode() + b"\x7fz\n")
    await screen.end()
    assert "aé".encode() in screen.output
    assert b"67 6f 74 20 61 7a 0a" in screen.output


@pytest_twisted.ensureDeferred
async def test_a_password_is_not_echoed_where_the_program_says_so(start):
    terminal, screen = start("stty -echo; echo ready; read word; stty echo; echo got $word")
    await screen.until(rb"ready")
    terminal.write(b"hush\n")
    await screen.end()
    assert bytes(screen.output).count(b"hush") == 1


@pytest_twisted.ensureDeferred
async def test_job_control_works(start):
    terminal, screen = start(SHELL, env=PLAIN)
    await screen.until(rb"ready> ")
    terminal.write(b"sleep 600\n")
    first = await foreground_of_another(screen, terminal.pid)
    terminal.write(b"\x1a")
    await screen.until(rb"Stopped +sleep 600")
    terminal.write(b"fg\n")
    assert await foreground_of_another(screen, terminal.pid) == first
    terminal.write(b"\x03")
    terminal.write(b"echo code $?\n")
    await screen.until(rb"code 130")
    terminal.write(b"exit 0\n")
    assert await screen.end() == TerminalExit(0)


async def foreground_of_another(screen, pid, program="sleep"):
    """The terminal's foreground group once `program` runs in it, which is not the shell `pid`.

    Between fork and exec a job still ignores what its shell does, ^C and ^Z.
    """
    for _ in range(2000):
        front = terminal_of(pid)[1]
        with contextlib.suppress(OSError):
            if front != pid and comm(front) == program:
                return front
        await screen.turn()
    raise AssertionError(bytes(screen.output))


def comm(pid):
    return Path(f"/proc/{pid}/comm").read_text().strip()


def terminal_of(pid):
    """A process's controlling terminal, and the group that is in its foreground."""
    stat = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(stat[4]), int(stat[5])


@pytest_twisted.ensureDeferred
async def test_an_interrupt_is_for_the_group_in_front_and_not_for_the_shell(start):
    terminal, screen = start(SHELL, env=PLAIN)
    await screen.until(rb"ready> ")
    for code, interrupt in ((b"1", lambda: terminal.write(b"\x03")), (b"2", terminal.interrupt)):
        terminal.write(b"sleep 600; true\n")
        await foreground_of_another(screen, terminal.pid)
        interrupt()
        terminal.write(b"echo code $? " + code + b"\n")
        await screen.until(rb"code 130 " + code)
    terminal.write(b"exit 3\n")
    assert await screen.end() == TerminalExit(3)
    terminal.interrupt()  # after its end it is nothing


@pytest_twisted.ensureDeferred
async def test_the_size_is_there_from_the_start(start):
    _, screen = start("stty size; echo $COLUMNS $LINES", cols=132, rows=43)
    await screen.end()
    assert bytes(screen.output) == b"43 132\r\n132 43\r\n"


@pytest_twisted.ensureDeferred
async def test_another_size_is_told_to_the_program(start):
    terminal, screen = start(
        "trap 'stty size; exit' WINCH; echo ready; while :; do sleep 0.05; done"
    )
    await screen.until(rb"ready")
    terminal.resize(100, 50)
    await screen.until(rb"50 100")
    await screen.end()
    terminal.resize(10, 10)  # after its end it is nothing


@pytest.mark.parametrize(
    ("asked", "is_"), [((0, -5), b"1 1"), ((70_000, 10**12), b"65535 65535"), ((2, 1), b"1 2")]
)
@pytest_twisted.ensureDeferred
async def test_no_size_is_too_odd(start, asked, is_):
    cols, rows = asked
    terminal, screen = start("read x; stty size", cols=cols, rows=rows)
    terminal.resize(cols, rows)
    terminal.write(b"\n")
    await screen.end()
    assert is_ + b"\r\n" in screen.output


@pytest_twisted.ensureDeferred
async def test_a_signal_that_ended_it_is_named(start):
    _, screen = start("kill -SEGV $$")
    assert await screen.end() == TerminalExit(None, "SIGSEGV")


@pytest_twisted.ensureDeferred
async def test_nothing_the_host_has_open_is_open_in_it(start):
    inherited = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(inherited, True)
    try:
        for pty in (True, False):
            _, screen = start("ls /proc/self/fd", pty=pty)
            await screen.end()
            # The fourth is what `ls` reads.
            assert bytes(screen.output).split() == [b"0", b"1", b"2", b"3"]
    finally:
        os.close(inherited)


@pytest.mark.parametrize("pty", [True, False])
@pytest_twisted.ensureDeferred
async def test_signals_the_host_ignores_are_not_ignored_in_it(start, pty):
    numbers = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE, signal.SIGTSTP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        _, screen = start("grep -E 'Sig(Ign|Blk)' /proc/self/status", pty=pty)
        still = [signal.getsignal(number) for number in numbers]
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    await screen.end()
    assert [int(mask, 16) for mask in bytes(screen.output).split()[1::2]] == [0, 0]
    assert still == [signal.SIG_IGN] * len(numbers), "the host's own were changed"


# -- pipes in its place -----------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_pipes_keep_the_order_of_both_outputs_and_change_no_byte(start):
    terminal, screen = start("for n in 1 2 3; do echo o$n; echo e$n >&2; done", pty=False)
    assert not terminal.is_pty
    assert await screen.end() == TerminalExit(0)
    assert bytes(screen.output) == b"o1\ne1\no2\ne2\no3\ne3\n"


@pytest_twisted.ensureDeferred
async def test_on_pipes_it_leads_its_session_too(start):
    terminal, _ = start("read x", pty=False)
    process = read_process(terminal.pid)
    assert process.session == process.group == terminal.pid
    await terminal.end()


@pytest_twisted.ensureDeferred
async def test_an_interrupt_on_pipes_is_for_the_whole_group(start, identify):
    terminal, screen = start("trap 'echo caught; exit 9' INT; sleep 600 & echo $!; wait", pty=False)
    found = await screen.until(rb"(\d+)\n")
    (_, pid) = identify(terminal.pid, found[1])
    terminal.interrupt()
    await screen.until(rb"caught")
    assert await screen.end() == TerminalExit(9)
    await terminal.end()
    assert not pid.running
    terminal.interrupt()  # its group's number may be anybody's by now


@pytest_twisted.ensureDeferred
async def test_an_interrupt_on_pipes_after_the_end_is_sent_to_nobody(start, monkeypatch):
    terminal, screen = start("true", pty=False)
    await screen.end()
    sent = []
    monkeypatch.setattr("ahpd.processes.guard.os.kill", lambda *what: sent.append(what))
    terminal.interrupt()
    assert sent == []


@pytest_twisted.ensureDeferred
async def test_pipes_have_no_size_to_change(start):
    terminal, screen = start("read x; echo $x", pty=False)
    terminal.resize(10, 10)
    terminal.write(b"still here\n")
    await screen.end()
    assert bytes(screen.output) == b"still here\n"


@pytest_twisted.ensureDeferred
async def test_where_there_is_no_pseudo_terminal_it_runs_on_pipes(start, monkeypatch):
    said = []

    class Log:
        def warn(self, words, **fields):
            said.append(words.format(**fields))

    def none_left():
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(ptys.os, "openpty", none_left)
    monkeypatch.setattr("ahpd.processes.terminals.log", Log())
    terminal, screen = start("echo $TERM")
    assert not terminal.is_pty
    await screen.end()
    assert bytes(screen.output) == b"dumb\n"
    assert said == ["sh runs on pipes, for there is no pseudo-terminal: No space left on device"]


# -- what cannot be started -------------------------------------------------------


@pytest.mark.parametrize("pty", [True, False])
@pytest.mark.parametrize(
    ("argv", "cwd", "words"),
    [
        (["no-such-program"], "/", "no-such-program could not be started: there is no such"),
        (["/etc/passwd"], "/", "/etc/passwd could not be started: Permission denied"),
        (["true"], "/no/such/place", "true could not be started in /no/such/place: No such file"),
        (["true"], "/etc/passwd", "true could not be started in /etc/passwd: Not a directory"),
        (["true", "a\0b"], "/", "true could not be started: embedded null byte"),
        ([], "/", "no program was named"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_cannot_be_started_is_told_in_words(start, supervisor, argv, cwd, words, pty):
    start_of_all = open_descriptors()
    with pytest.raises(TerminalFailure) as failure:
        start(argv, cwd=cwd, pty=pty)
    assert str(failure.value).startswith(words)
    assert supervisor.children == ()
    guard = supervisor._guard  # it may have been started by this
    assert open_descriptors() - start_of_all <= (0 if guard is None else 4)


def open_descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest_twisted.ensureDeferred
async def test_a_host_that_stops_starts_nothing(start, supervisor):
    await supervisor.stopService()
    with pytest.raises(TerminalFailure, match="the host is stopping"):
        start("true")


@pytest_twisted.ensureDeferred
async def test_two_hundred_terminals_leave_no_descriptor_open(start, reactor, tmp_path):
    _, screen = start("true")  # brings the guard
    await screen.end()
    before = open_descriptors()
    for _ in range(20):
        screens = [start("echo x", pty=number % 5 > 0) for number in range(10)]
        for terminal, screen in screens:
            assert await screen.end() == TerminalExit(0)
            await terminal.end()
    assert open_descriptors() == before


def test_a_program_is_described_without_a_size():
    program = TerminalProgram(argv=["sh"], cwd="/")
    assert (program.cols, program.rows, program.pty) == (80, 24, True)
