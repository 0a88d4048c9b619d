"""What passes through a terminal arrives whole, at the pace of whoever is slower."""

import hashlib
import random
import sys
from pathlib import Path

import pytest
import pytest_twisted

from ahpd.interfaces import TerminalExit
from ahpd.processes.pipes import READ_SIZE
from ahpd.processes.terminals import MAX_INPUT
from ahpd.processes.turns import AT_EASE

#: Leaves every byte as it is on its way out, and what is typed too.
RAW = "import os, sys, tty\ntty.setraw(0)\n"


def python(code):
    return [sys.executable, "-I", "-c", code]


@pytest.mark.parametrize("pty", [True, False])
@pytest_twisted.ensureDeferred
async def test_every_byte_comes_out_as_it_was_printed(start, pty):
    code = "import os\nfor n in range(256): os.write(1, bytes([n]) * 3)"
    _, screen = start(python((RAW if pty else "") + code), pty=pty)
    assert await screen.end() == TerminalExit(0)
    assert bytes(screen.output) == b"".join(bytes([n]) * 3 for n in range(256))


@pytest_twisted.ensureDeferred
async def test_text_of_many_bytes_a_character_comes_whole(start):
    text = "zwölf Boxkämpfer 走る 🚗\u200d👩" * 2000
    code = f"import sys\nsys.stdout.reconfigure(encoding='utf-8')\nprint({text!r}, end='')"
    _, screen = start(python(code))
    await screen.end()
    assert screen.output.decode() == text


@pytest.mark.parametrize("pty", [True, False])
@pytest_twisted.ensureDeferred
async def test_twenty_megabytes_come_whole_in_big_pieces(start, pty):
    code = """
import hashlib, os, random
block = random.Random(1).randbytes(1_000_000).replace(b"\\n", b"x")
for n in range(20):
    block = block[1:] + block[:1]
    view = memoryview(block)
    while view:
        view = view[os.write(1, view):]
"""
    _, screen = start(python((RAW if pty else "") + code), pty=pty)
    assert await screen.end(60) == TerminalExit(0)
    assert len(screen.output) == 20_000_000
    assert hashlib.sha256(screen.output).hexdigest() == expected()
    assert max(screen.pieces) < AT_EASE + READ_SIZE


def expected():
    digest = hashlib.sha256()
    block = random.Random(1).randbytes(1_000_000).replace(b"\n", b"x")
    for _ in range(20):
        block = block[1:] + block[:1]
        digest.update(block)
    return digest.hexdigest()


@pytest.mark.parametrize("pty", [True, False])
@pytest_twisted.ensureDeferred
async def test_last_words_are_all_there_though_something_holds_the_terminal(start, identify, pty):
    for _ in range(8):
        _, screen = start(
            "trap '' HUP; sleep 600 & echo $!; trap - HUP;"
            " i=0; while [ $i -lt 3000 ]; do echo line-$i; i=$((i+1)); done; echo last words",
            pty=pty,
            grace=0.02,
        )
        assert await screen.end() == TerminalExit(0)
        lines = bytes(screen.output).decode().split()
        assert lines[1:] == [f"line-{n}" for n in range(3000)] + ["last", "words"]
        holder = lines[0]
        await screen.terminal.end()
        with pytest.raises(AssertionError, match="to begin with"):
            identify(holder)


@pytest.mark.parametrize("pty", [True, False])
@pytest_twisted.ensureDeferred
async def test_a_program_nobody_reads_waits(start, pause, pty):
    code = "import os\nwhile True: os.write(1, b'y' * 1000)"
    terminal, screen = start(python(code), pause_after_each=True, pty=pty)
    await screen.until(rb"y")
    held = len(screen.output)
    await pause(0.2)
    assert len(screen.output) == held, "it was read while paused"
    before = cpu(terminal.pid)
    await pause(0.3)
    assert cpu(terminal.pid) - before <= 2, "it runs on"
    terminal.resume_output()
    await screen.more()
    assert len(screen.output) > held
    await terminal.end()


def cpu(pid):
    """Clock ticks a process has had."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return int(fields[11]) + int(fields[12])


@pytest.mark.parametrize("pty", [True, False])
@pytest_twisted.ensureDeferred
async def test_the_end_waits_for_what_was_paused(start, pause, pty):
    terminal, screen = start("echo one; read x; echo two", pause_after_each=True, pty=pty)
    await screen.until(rb"one\r?\n")
    terminal.write(b"go\n")
    while terminal._how is None:
        await pause(0.01)
    assert b"two" not in screen.output
    assert not screen.over.happened
    while not screen.over.happened:
        terminal.resume_output()
    assert screen.output.rstrip().endswith(b"two")
    assert screen.ends == 1


@pytest_twisted.ensureDeferred
async def test_others_get_their_turn_beside_a_flood(start):
    floods = [start("yes") for _ in range(2)]
    terminal, screen = start(["cat"])
    for n in range(20):
        terminal.write(b"line %d\n" % n)
        await screen.until(rb"line %d\r\nline %d\r\n" % (n, n))
    for flood, _ in floods:
        await flood.end()
    await terminal.end()


@pytest_twisted.ensureDeferred
async def test_an_end_of_the_terminal_is_not_yet_the_end_of_the_program(start, pause):
    terminal, screen = start("echo bye; exec <&- >&- 2>&-; sleep 0.2; exit 4")
    assert await screen.end() == TerminalExit(4)
    assert bytes(screen.output) == b"bye\r\n"
    terminal.write(b"late")
    terminal.resize(1, 1)


# -- input ------------------------------------------------------------------------

SLOW_READER = (
    RAW
    + """
import hashlib, time
os.write(1, b"ready\\n")
digest, size = hashlib.sha256(), 0
while size < 1_000_000:
    piece = os.read(0, 20_000)
    digest.update(piece)
    size += len(piece)
    time.sleep(0.0005)
os.write(1, digest.hexdigest().encode())
"""
)


@pytest_twisted.ensureDeferred
async def test_a_big_paste_reaches_a_slow_reader_whole(start):
    paste = bytes(range(256)) * 4000
    paste = paste[:1_000_000]
    terminal, screen = start(python(SLOW_READER))
    await screen.until(rb"ready")
    terminal.write(paste)
    assert await screen.end(60) == TerminalExit(0)
    assert screen.output.endswith(hashlib.sha256(paste).hexdigest().encode())


@pytest_twisted.ensureDeferred
async def test_a_paste_of_lines_reaches_a_program_that_reads_lines(start):
    lines = b"".join(b"line %06d\n" % n for n in range(50_000))
    terminal, screen = start("stty -echo; echo ready; head -n 50000 | sha256sum")
    await screen.until(rb"ready")
    terminal.write(lines)
    await screen.end(60)
    assert hashlib.sha256(lines).hexdigest().encode() in screen.output


@pytest.mark.parametrize("pty", [True, False])
@pytest_twisted.ensureDeferred
async def test_what_is_never_read_is_dropped_past_a_bound_and_said_once(start, monkeypatch, pty):
    said = []

    class Log:
        def warn(self, words, **fields):
            said.append(words.format(**fields))

    monkeypatch.setattr("ahpd.processes.terminals.log", Log())
    terminal, screen = start(
        python((RAW if pty else "") + "import time\nprint('up', flush=True)\ntime.sleep(600)"),
        pty=pty,
    )
    await screen.until(rb"up")
    for _ in range(20):
        terminal.write(b"x" * 1_000_000)
    assert MAX_INPUT <= terminal._child.pending_input <= MAX_INPUT + 1_000_000
    assert len(said) == 1
    await terminal.end()
    terminal.write(b"late")
    assert terminal._child.pending_input == 0


@pytest.mark.parametrize("seed", range(5))
@pytest_twisted.ensureDeferred
async def test_whatever_is_typed_comes_back_from_a_raw_cat(start, seed):
    chance = random.Random(seed)
    pieces = [chance.randbytes(chance.choice([1, 7, 4095, 4096, 70_000])) for _ in range(12)]
    terminal, screen = start("stty raw -echo; echo ready; exec cat")
    await screen.until(rb"ready\r?\n")
    del screen.output[:]
    for piece in pieces:
        terminal.write(piece)
    data = b"".join(pieces)
    while len(screen.output) < len(data):
        await screen.more()
    assert bytes(screen.output) == data
    await terminal.end()
