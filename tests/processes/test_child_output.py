"""What a child says reaches its owner whole and in order, at the owner's pace."""

import sys
import time

import pytest
import pytest_twisted

from ahpd.processes import diagnostics
from ahpd.processes.launch import SpawnFailure
from ahpd.processes.pipes import READ_SIZE


def python(code):
    return [sys.executable, "-I", "-S", "-c", code]


@pytest_twisted.ensureDeferred
async def test_input_comes_back_through_cat(supervisor, recorder):
    events = recorder()
    child = supervisor.spawn(events, ["cat"])
    big = b"x" * 1_000_000 + b"\n"
    child.write(b"hello\n")
    child.write(big)  # more than a pipe holds, so the rest waits for room
    assert child.pending_input > 0
    child.write(b"bye\n")
    child.close_input()
    await events.ended.wait()
    await child.gone.wait()
    assert events.output == b"hello\n" + big + b"bye\n"
    assert str(child.exit) == "exited with code 0"


@pytest_twisted.ensureDeferred
async def test_what_was_said_before_an_exit_is_read_though_another_process_holds_the_pipe(
    supervisor, recorder
):
    events = recorder()
    child = supervisor.spawn(events, ["sh", "-c", "sleep 60 & echo last words; exit 3"])
    await child.gone.wait()
    await events.ended.wait()
    assert events.output == b"last words\n"
    assert str(child.exit) == "exited with code 3"
    assert events.order[-1] in ("ended", "exited")


@pytest_twisted.ensureDeferred
async def test_a_paused_child_waits_and_nothing_is_lost(supervisor, recorder, pause):
    events = recorder(pause_after_each=True)
    count = 400_000
    code = f"import os\nfor n in range({count // 1000}): os.write(1, b'y' * 1000)"
    child = events.child = supervisor.spawn(events, python(code))
    while not events.output:
        await pause(0.01)
    held = len(events.output)
    await pause(0.1)
    assert len(events.output) == held <= READ_SIZE
    assert child.exit is None, "it was not held back"
    while not events.ended.happened:
        child.resume_output()
        await pause(0)
    assert events.output == b"y" * count


@pytest_twisted.ensureDeferred
async def test_an_exit_is_known_while_output_waits_to_be_read(supervisor, recorder, pause):
    events = recorder(pause_after_each=True)
    child = events.child = supervisor.spawn(events, ["sh", "-c", "echo one; read x; echo two"])
    await events.line()
    child.write(b"go\n")
    await child.exited.wait()
    assert events.output == b"one\n"
    assert not events.ended.happened
    child.resume_output()
    assert events.output == b"one\ntwo\n"
    child.resume_output()
    assert events.ended.happened


@pytest_twisted.ensureDeferred
async def test_writing_to_a_child_that_is_gone_is_no_error(supervisor, recorder):
    child = supervisor.spawn(recorder(), ["true"])
    await child.gone.wait()
    child.write(b"anybody?\n")
    child.close_input()
    await child.end()
    assert child.pending_input == 0


@pytest.mark.logs_failures
@pytest_twisted.ensureDeferred
async def test_an_owner_that_raises_is_logged_and_costs_nothing(supervisor, recorder):
    class Broken(recorder):
        def output_received(self, data):
            raise ValueError("broken")

    events = Broken()
    child = supervisor.spawn(events, ["echo", "x"])
    await child.gone.wait()
    assert events.exit is not None


@pytest_twisted.ensureDeferred
async def test_a_signal_is_named(supervisor, recorder):
    child = supervisor.spawn(recorder(), ["sh", "-c", "kill -SEGV $$"])
    await child.gone.wait()
    assert str(child.exit) == "was ended by SIGSEGV"


@pytest.mark.parametrize(
    ("argv", "cwd", "words"),
    [
        (["no-such-program"], None, "no-such-program could not be started: there is no such"),
        (["/etc/passwd"], None, "/etc/passwd could not be started: Permission denied"),
        (["true"], "/no/such/place", "true could not be started in /no/such/place: No such file"),
        (["true", "a\0b"], None, "true could not be started: embedded null byte"),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_cannot_be_started_is_told_in_words(supervisor, recorder, argv, cwd, words):
    with pytest.raises(SpawnFailure, match="could not be started") as failure:
        supervisor.spawn(recorder(), argv, cwd=cwd)
    assert str(failure.value).startswith(words)
    assert supervisor.children == ()


@pytest_twisted.ensureDeferred
async def test_the_working_directory_is_the_childs(supervisor, recorder, tmp_path):
    events = recorder()
    supervisor.spawn(events, ["pwd"], cwd=str(tmp_path))
    assert await events.line() == [str(tmp_path.resolve())]


@pytest_twisted.ensureDeferred
async def test_standard_error_is_drained_while_output_is_paused(supervisor, recorder, pause):
    events = recorder(pause_after_each=True)
    code = "import os\nos.write(1, b'a\\n')\nfor n in range(300): os.write(2, b'e' * 1000)\nos.write(1, b'b\\n')"
    child = events.child = supervisor.spawn(events, python(code))
    await child.exited.wait()
    child.resume_output()
    child.resume_output()
    assert events.output == b"a\nb\n"


class _Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def said(monkeypatch):
    """The lines that reach the log, and a clock."""
    lines = []

    class Log:
        def info(self, words, **fields):
            lines.append(words.format(**fields))

        warn = info

    monkeypatch.setattr(diagnostics, "log", Log())
    return lines


def test_each_line_of_standard_error_is_one_of_the_log(said):
    errors = diagnostics.Diagnostics("agent", 7, _Clock())
    errors.received(b"one\ntw")
    errors.received(b"o\n\n  \nthree")
    assert said == ["agent [7] says: one", "agent [7] says: two"]
    errors.ended()
    assert said[-1] == "agent [7] says: three"


def test_a_long_line_is_cut_and_its_rest_dropped(said):
    errors = diagnostics.Diagnostics("agent", 7, _Clock())
    for _ in range(10):
        errors.received(b"x" * 1000)
    errors.received(b"\nnext\n")
    assert [len(line) for line in said] == [len("agent [7] says: ") + 2000 + 4, 20]
    assert said[1] == "agent [7] says: next"


def test_control_characters_do_not_reach_the_log(said):
    errors = diagnostics.Diagnostics("agent", 7, _Clock())
    errors.received(b"\x1b[31mred\xff\x07\n")
    assert said == ["agent [7] says: \ufffd[31mred\ufffd\ufffd"]


def test_a_flood_is_counted_instead_of_written(said):
    clock = _Clock()
    errors = diagnostics.Diagnostics("agent", 7, clock)
    errors.received(b"line\n" * 1000)
    assert len(said) == diagnostics.MAX_LINES
    clock.now += diagnostics.WINDOW
    errors.received(b"later\n")
    assert said[-2:] == [
        "agent [7] said 900 more lines, which are left out",
        "agent [7] says: later",
    ]


def test_unfinished_lines_are_not_gathered_without_bound(said):
    errors = diagnostics.Diagnostics("agent", 7, _Clock())
    begun = time.perf_counter()
    for _ in range(2000):
        errors.received(b"x" * 10_000)
    assert time.perf_counter() - begun < 5
    assert len(errors._rest) <= diagnostics.MAX_LINE
    assert len(said) == 1
