"""Commands: in the host's terminals, and on pipes where it has none."""

import os
from pathlib import Path

import pytest
import pytest_twisted
from twisted.internet.defer import CancelledError, Deferred
from twisted.internet.task import Clock

from ahpd.interfaces import RpcError, TerminalExit
from ahpd.protocol.check import check_strict
from ahpd.protocol.shapes.tool_calls import ToolCallResult
from ahpd.testing.processes import fields_of
from ahpd_agent_openai.tools import printed, shell
from ahpd_agent_openai.tools.children import shell_path
from ahpd_agent_openai.tools.paths import Workspace
from ahpd_agent_openai.tools.printed import Kept, bounded, plain
from ahpd_agent_openai.tools.testing import ToolsBench

ensure = pytest_twisted.ensureDeferred


@pytest_twisted.async_yield_fixture
async def bench(tmp_path):
    from twisted.internet import reactor

    made = ToolsBench(reactor, tmp_path)
    await made.start()
    yield made
    await made.stop()


@pytest.fixture(params=["terminals", "pipes"])
def box(bench, request):
    if request.param == "terminals":
        return bench.box()
    return bench.box(ports={"terminals": None})


async def pause(bench, seconds=0.02):
    over = Deferred()
    bench.ports.reactor.callLater(seconds, over.callback, None)
    await over


async def until(bench, condition, seconds=10):
    for _ in range(int(seconds / 0.02)):
        if condition():
            return
        await pause(bench)
    raise AssertionError("it did not happen")


# -- what a command is told to be ---------------------------------------------------------


@ensure
async def test_a_command_is_described_by_its_bare_line(bench):
    described = bench.box().describe("shell_exec", {"command": "rm -rf /tmp/x"})
    assert described.tool_input == "rm -rf /tmp/x"
    assert described.meta == {"toolKind": "terminal"}
    assert (described.permission.kind, described.permission.command) == ("shell", "rm -rf /tmp/x")
    assert described.permission.language == "bash"
    assert described.effects.destructive
    assert not described.inside


@ensure
async def test_a_call_without_a_command_is_drawn_as_a_terminal_all_the_same(bench):
    described = bench.box().describe("shell_exec", {})
    assert described.meta == {"toolKind": "terminal"}
    assert "`command` is missing" in described.problem


# -- running ---------------------------------------------------------------------------------


@ensure
async def test_a_command_runs_in_the_first_folder_and_is_told_with_its_exit_code(bench, box):
    good = await bench.run(box, "shell_exec", command="pwd; echo err >&2; [[ -d . ]] && echo bash")
    assert good.success
    assert good.text.split("\n") == [str(bench.workspace), "err", "bash"]
    bad = await bench.run(box, "shell_exec", command="echo no; exit 3")
    assert not bad.success
    assert bad.text == "no\n[the command exited with code 3]"
    assert bad.past_tense == "Ran echo no; exit 3, which exited with code 3"
    quiet = await bench.run(box, "shell_exec", command="true")
    assert quiet.text == "[it printed nothing]"
    for outcome in (good, bad, quiet):
        check_strict(outcome.result(), ToolCallResult, "result")


@ensure
async def test_a_command_is_not_read_twice(bench, box):
    command = "printf '%s\\n' \"a'b\" '$HOME' \"$(echo '`x`')\" \\\\"
    outcome = await bench.run(box, "shell_exec", command=command)
    assert outcome.text.split("\n") == ["a'b", "$HOME", "`x`", "\\"]


@ensure
async def test_a_command_has_no_input_and_no_pager(bench, box):
    outcome = await bench.run(
        box, "shell_exec", command="cat; echo $PAGER $GIT_PAGER; test -t 1 || echo none"
    )
    assert outcome.text == "cat cat\nnone"


@pytest.mark.parametrize("ports", [{}, {"terminals": None}])
@ensure
async def test_a_command_sees_no_variable_that_holds_a_key(bench, ports):
    """`HOME` is one that every child has; here it stands for one with a key in it."""
    seen = await bench.run(bench.box(ports=ports), "shell_exec", command="env")
    hidden = await bench.run(bench.box(ports=ports, hidden=["HOME"]), "shell_exec", command="env")
    assert "\nHOME=" in "\n" + seen.text
    assert "\nHOME=" not in "\n" + hidden.text


@ensure
async def test_a_signal_is_told(bench, box):
    outcome = await bench.run(box, "shell_exec", command="kill -KILL $$")
    assert not outcome.success
    assert outcome.text.endswith("was ended by SIGKILL]")


@ensure
async def test_of_much_output_the_beginning_and_the_end_are_told(bench, box):
    outcome = await bench.run(box, "shell_exec", command="echo first; seq 1 20000; echo last")
    assert outcome.text.startswith("first\n1\n2\n")
    assert outcome.text.endswith("\n20000\nlast")
    assert "output left out here" in outcome.text
    assert len(outcome.text) < printed.HEAD + printed.TAIL + 200


@ensure
async def test_the_beginning_is_told_of_output_no_terminal_keeps(bench, box):
    outcome = await bench.run(
        box, "shell_exec", command="echo first; sleep 0.6; seq 1 200000; echo last"
    )
    assert outcome.text.startswith("first\n")
    assert outcome.text.endswith("\nlast")


@ensure
async def test_a_command_that_takes_too_long_is_ended_with_all_it_started(bench, box):
    outcome = await bench.run(
        box, "shell_exec", command="echo before; sleep 77 & echo $!; sleep 77", timeout_seconds=1
    )
    assert not outcome.success
    before, pid, notice = outcome.text.split("\n")
    assert before == "before"
    assert notice == "[ended after 1 s, with everything it had started]"
    # A kill is on its way for as long as the machine is busy.
    await until(bench, lambda: fields_of(int(pid)) == [])
    check_strict(outcome.result(), ToolCallResult, "result")


@ensure
async def test_what_a_command_leaves_running_is_ended(bench, box):
    outcome = await bench.run(box, "shell_exec", command="sleep 77 >/dev/null & echo $!")
    pid = int(outcome.text)
    await until(bench, lambda: fields_of(pid) == [])


@ensure
async def test_a_cancelled_command_is_gone_when_that_is_told(bench, box):
    pids = bench.workspace / "pids"
    work = bench.begin(
        box,
        "shell_exec",
        command=f"sleep 77 & echo $! $$ > {pids}.part; mv {pids}.part {pids}; wait",
    )
    await until(bench, pids.exists)
    work.cancel()
    with pytest.raises(CancelledError):
        await work
    assert [fields_of(int(pid)) for pid in pids.read_text().split()] == [[], []]


@ensure
async def test_closing_the_toolbox_ends_what_runs(bench, box):
    started = bench.workspace / "started"
    work = bench.begin(box, "shell_exec", command=f"touch {started}; sleep 77")
    ended = []
    work.addErrback(lambda failure: ended.append(failure.check(CancelledError)))
    await until(bench, started.exists)
    await box.close()
    assert ended == [CancelledError]
    again = await bench.run(box, "shell_exec", command="true")
    assert again.text == "the session is closed"


@ensure
async def test_a_folder_that_is_not_there_is_told(bench, tmp_path):
    for ports in ({}, {"terminals": None}):
        box = bench.box(tmp_path / "nowhere", ports=ports)
        outcome = await bench.run(box, "shell_exec", command="true")
        assert not outcome.success
        assert "nowhere" in outcome.text


# -- terminals ---------------------------------------------------------------------------------


@ensure
async def test_clients_are_shown_the_terminal_while_the_command_runs(bench):
    box = bench.box()
    work = bench.begin(box, "shell_exec", command="echo now; sleep 0.3; echo then")
    await until(bench, lambda: bench.shown)
    (block,) = bench.shown[0]
    terminal = bench.host.terminals.find(block["resource"])
    assert block == {
        "type": "terminal", "resource": terminal.uri, "title": "Terminal", "isPty": False,
    }  # fmt: skip
    assert terminal.state()["claim"] == {
        "kind": "session", "session": "ahp-session:/s", "chat": "ahp-chat:/c", "turnId": "t1",
        "toolCallId": "call-1",
    }  # fmt: skip
    outcome = await work
    assert outcome.content == [
        {**block, "result": {"exitCode": 0, "preview": "now\nthen\n", "truncated": False}},
        {"type": "text", "text": "now\nthen"},
    ]
    assert terminal.state()["lifecycle"] == {"status": "exited", "exitCode": 0}


@ensure
async def test_terminals_of_old_commands_are_taken_away(bench):
    box = bench.box()
    uris = []
    for _ in range(shell.KEPT_OPEN + 2):
        outcome = await bench.run(box, "shell_exec", command="true")
        uris.append(outcome.content[0]["resource"])
    open_now = [uri for uri in uris if bench.host.terminals.find(uri) is not None]
    assert open_now == uris[2:]
    await box.close()
    assert all(bench.host.terminals.find(uri) is None for uri in uris)


@ensure
async def test_a_cancelled_commands_terminal_is_taken_away(bench):
    box = bench.box()
    work = bench.begin(box, "shell_exec", command="sleep 77")
    await until(bench, lambda: bench.shown)
    work.cancel()
    with pytest.raises(CancelledError):
        await work
    assert bench.host.terminals.find(bench.shown[0][0]["resource"]) is None


class SilentTerminal:
    """A terminal whose program does what the test says, and does not die of a kill."""

    uri = "ahp-terminal:/t"
    is_pty = False

    def __init__(self):
        self.printed = ""
        self.killed = self.disposed = False
        self.over = Deferred()

    def output(self):
        return self.printed

    async def exited(self):
        return await self.over

    def kill(self):
        self.killed = True

    async def dispose(self):
        self.disposed = True


class Opening:
    def __init__(self, terminal):
        self.terminal = terminal

    def open(self, start, uri=None):
        if isinstance(self.terminal, Exception):
            raise self.terminal
        return self.terminal


def scripted(bench, terminal, clock):
    runner = shell.TerminalRunner(clock, Opening(terminal), "/bin/sh", {})
    return shell.ShellExec(Workspace((), bench.workspace), runner)


@ensure
async def test_a_command_that_survives_its_kill_is_not_waited_for_for_long(bench):
    clock, terminal = Clock(), SilentTerminal()
    work = Deferred.fromCoroutine(
        scripted(bench, terminal, clock).run({"command": "x", "timeout_seconds": 5}, bench.call())
    )
    clock.pump([0.25] * 20)
    assert terminal.killed
    assert not work.called
    clock.pump([0.25] * 20)
    outcome = await work
    assert outcome.text.endswith("[ended after 5 s, with everything it had started]")
    assert clock.getDelayedCalls() == []


@ensure
async def test_the_head_is_what_was_there_before_the_terminal_cut_it_off(bench):
    clock, terminal = Clock(), SilentTerminal()
    work = Deferred.fromCoroutine(
        scripted(bench, terminal, clock).run({"command": "x"}, bench.call())
    )
    terminal.printed = "begun\n"
    clock.advance(0.3)
    terminal.printed = "cut off\nended\n"
    terminal.over.callback(TerminalExit(0))
    outcome = await work
    assert outcome.text == "begun\n[… some output left out here …]\nended"
    assert clock.getDelayedCalls() == []


@ensure
async def test_a_terminal_that_fails_leaves_nothing(bench):
    clock, terminal = Clock(), SilentTerminal()
    work = Deferred.fromCoroutine(
        scripted(bench, terminal, clock).run({"command": "x"}, bench.call())
    )
    terminal.over.errback(RuntimeError("broken"))
    with pytest.raises(RuntimeError):
        await work
    assert terminal.disposed
    assert clock.getDelayedCalls() == []


@ensure
async def test_a_terminal_that_cannot_be_opened_is_told(bench):
    refused = RpcError(-32603, "This host has 1000 terminals open, the most it has")
    box = bench.box(ports={"terminals": Opening(refused)})
    outcome = await bench.run(box, "shell_exec", command="true")
    assert "1000 terminals open" in outcome.text


# -- what was printed ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("10%\r50%\r100%\n", "100%"),
        ("\x1b]0;title\x07shown\r\n", "shown"),
        ("a\x00b\x08c\n\n", "abc"),
        ("keep\ttabs  \n", "keep\ttabs"),
    ],
)
def test_what_only_a_terminal_understands_is_left_out(given, text):
    assert plain(given) == text


def test_what_is_left_out_is_counted():
    text = "".join(f"{number:09}\n" for number in range(1000))
    cut = bounded(text, head=105, tail=105)
    head, _, rest = cut.partition("[… ")
    count, _, tail = rest.partition(" characters of output left out here …]\n")
    assert text.startswith(head)
    assert text.endswith(tail)
    assert len(head) + int(count) + len(tail) == len(text)


def test_the_first_and_the_last_of_any_stream_are_kept():
    for size in (1, 7, 100, 5000):
        kept = Kept(head=1000, tail=1000)
        data = b"".join(b"%05d\n" % number for number in range(5000))
        for at in range(0, len(data), size):
            kept.received(data[at : at + size])
        assert kept.text().startswith("00000\n00001\n")
        assert kept.text().endswith("\n04999")
        assert kept.dropped > 0


def test_bash_is_the_shell_where_there_is_one():
    found = shell_path({"PATH": os.environ["PATH"]})
    assert Path(found).name in ("bash", "sh")
