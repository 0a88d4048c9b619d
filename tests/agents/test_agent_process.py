"""A program that speaks lines of JSON: what it says, and what is said of how it fails."""

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred

from ahpd.agents.process import MAX_BATCH, start_agent
from ahpd.interfaces import AgentFailure
from ahpd.processes.pipes import READ_SIZE


@pytest.fixture
def start(reactor, supervisor, program):
    def start(code, **options):
        return start_agent(
            reactor, supervisor, program(code), what="The test agent", name="test", **options
        )

    return start


async def all_lines(process):
    """What it said, and the failure that ended it."""
    lines = []
    try:
        while True:
            lines += await process.lines()
    except AgentFailure as failure:
        return lines, failure


@pytest_twisted.ensureDeferred
async def test_values_go_both_ways(start):
    process = start("while True: say(got=read())")
    process.send({"word": "grüße", "n": [1, 2.5, None]})
    (line,) = await process.lines()
    assert process.decode(line) == {"got": {"word": "grüße", "n": [1, 2.5, None]}}
    await process.end()


@pytest_twisted.ensureDeferred
async def test_many_lines_come_in_order_in_batches_others_run_between(start, reactor):
    process = start("for n in range(5000): say(n=n)")
    turns = []
    lines = []
    while len(lines) < 5000:
        batch = await process.lines()
        assert 0 < len(batch) <= MAX_BATCH
        lines += batch
        reactor.callLater(0, turns.append, len(lines))
    assert [process.decode(line)["n"] for line in lines] == list(range(5000))
    assert len(turns) > 5000 // MAX_BATCH - 2, "nobody else had a turn of the reactor"
    await process.end()


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("say(a=1); sys.exit(7)", "The test agent exited with code 7"),
        ("say(a=1); os.kill(os.getpid(), 9)", "The test agent was ended by SIGKILL"),
        ("say(a=1); os.write(1, b'{\"half'); sys.exit(0)", "in the middle of a line"),
        (
            "say(a=1); os.close(1); signal.pause()",
            "The test agent closed its output and went on running",
        ),
    ],
)
@pytest_twisted.ensureDeferred
async def test_the_end_of_a_program_is_told_in_words_after_what_it_said(start, code, words):
    process = start(code)
    lines, failure = await all_lines(process)
    assert lines == [b'{"a": 1}']
    assert words in failure.message
    assert failure.error_type == "agentExited"
    assert not process.alive
    await process.end(0.05)


@pytest_twisted.ensureDeferred
async def test_a_line_past_the_limit_ends_the_reading(start):
    process = start("say(a=1)\nread()\nos.write(1, b'x' * 5000)\nsignal.pause()", max_line=1000)
    assert await process.lines() == [b'{"a": 1}']
    process.send({})
    lines, failure = await all_lines(process)
    assert lines == []
    assert failure.message == "The test agent wrote a line of more than 1000 bytes"
    assert failure.error_type == "agentBrokeProtocol"
    await process.end(0.05)


@pytest_twisted.ensureDeferred
async def test_a_line_past_the_limit_is_dropped_where_somebody_is_told_of_it(start):
    told = []
    process = start(
        "say(a=1)\nread()\nos.write(1, b'{\"id\": 7,' + b'x' * 5000 + b'\\n')\nsay(b=2)\nread()",
        max_line=1000,
        too_long=told.append,
    )
    assert await process.lines() == [b'{"a": 1}']
    process.send({})
    assert await process.lines() == [b'{"b": 2}']
    (line,) = told
    assert line.limit == 1000
    assert line.head.startswith(b'{"id": 7,xxx')
    assert process.alive
    await process.end()


@pytest_twisted.ensureDeferred
async def test_the_last_of_its_errors_is_kept_as_far_as_its_owner_wants(start):
    process = start("os.write(2, b'x' * 500 + b'the end'); sys.exit(3)", keep_errors=10)
    _, failure = await all_lines(process)
    assert process.last_errors == b"xxxthe end"
    assert process.exit.code == 3
    assert "code 3" in failure.message
    process = start("os.write(2, b'unheard'); sys.exit(3)")
    await all_lines(process)
    assert process.last_errors == b""
    await process.end()


@pytest_twisted.ensureDeferred
async def test_its_exit_is_waited_for_as_long_as_its_owner_says(start):
    code = "os.close(1); time.sleep(0.7); os._exit(5)"
    _, failure = await all_lines(start(code, exit_grace=5))
    assert "exited with code 5" in failure.message
    process = start(code, exit_grace=0.05)
    _, failure = await all_lines(process)
    assert "closed its output and went on running" in failure.message
    await process.end(0.05)


@pytest_twisted.ensureDeferred
async def test_the_end_of_its_input_and_a_signal_have_a_time_each(start, reactor):
    deaf = (
        "signal.signal(signal.SIGTERM, lambda *_: (time.sleep(0.4), os._exit(0)))\n"
        "say(a=1)\nwhile True: time.sleep(9)"
    )
    process = start(deaf)
    await process.lines()
    begun = reactor.seconds()
    await process.end(grace=5, patience=0.05)
    assert reactor.seconds() - begun < 4
    assert process.exit.code == 0, "it was not let end by itself"


@pytest_twisted.ensureDeferred
async def test_garbage_is_told_without_repeating_it(start):
    process = start("os.write(1, b'my secret garbage\\n')\nread()")
    (line,) = await process.lines()
    with pytest.raises(AgentFailure) as failure:
        process.decode(line)
    assert failure.value.message.startswith("The test agent wrote a line that is not JSON")
    assert "secret" not in failure.value.message
    assert not process.alive
    await process.end()


@pytest_twisted.ensureDeferred
async def test_a_missing_program_is_an_agent_failure(reactor, supervisor):
    with pytest.raises(AgentFailure, match="could not be started: there is no such") as failure:
        start_agent(reactor, supervisor, ["no-such-agent"], what="It", name="it")
    assert failure.value.error_type == "agentStartFailed"


@pytest_twisted.ensureDeferred
async def test_a_program_that_does_not_read_is_given_up(start, monkeypatch):
    monkeypatch.setattr("ahpd.agents.process.MAX_PENDING_INPUT", 1_000_000)
    process = start("signal.pause()")
    for _ in range(11):
        process.send("x" * 100_000)
    with pytest.raises(AgentFailure, match="does not read its input"):
        process.send("x" * 100_000)
    assert not process.alive
    await process.end(0.05)


@pytest.mark.parametrize("size", [10, 1_000_000])
@pytest_twisted.ensureDeferred
async def test_a_program_that_closes_its_input_is_given_up(start, size):
    process = start("os.close(0)\nsay(a=1)\nsignal.pause()", exit_grace=0.1)
    await process.lines()
    process.send("x" * size)
    lines, failure = await all_lines(process)
    assert failure.message == "The test agent closed its input and went on running"
    assert (lines, failure.error_type) == ([], "agentNotReading")
    assert not process.alive
    await process.end(0.05)


@pytest_twisted.ensureDeferred
async def test_a_program_that_closes_its_input_as_it_exits_exited(start):
    process = start("os.close(0)\nsay(a=1)\ntime.sleep(0.1)\nsys.exit(3)", exit_grace=5)
    await process.lines()
    process.send("x")
    _, failure = await all_lines(process)
    assert failure.message == "The test agent exited with code 3"
    await process.end(0.05)


@pytest_twisted.ensureDeferred
async def test_one_large_line_is_no_sign_of_a_program_that_does_not_read(start, monkeypatch):
    monkeypatch.setattr("ahpd.agents.process.MAX_PENDING_INPUT", 1_000_000)
    process = start("line = sys.stdin.readline()\nprint(len(line), flush=True)\nsignal.pause()")
    process.send("x" * 3_000_000)
    assert await process.lines() == [b"3000003"]
    await process.end(0.05)


@pytest_twisted.ensureDeferred
async def test_a_flood_nobody_reads_stays_in_the_pipe(start, pause):
    process = start("line = b'x' * 99 + b'\\n'\nwhile True: os.write(1, line * 100)")
    await process.lines()
    await pause(0.2)
    held = sum(len(line) + 1 for line in process._lines) + process._reader.held
    assert held <= READ_SIZE
    seen = 0
    for _ in range(200):
        seen += len(await process.lines())
    assert seen > 10_000, "reading did not go on"
    await process.end(0.05)


@pytest_twisted.ensureDeferred
async def test_ending_it_fails_whoever_waits_for_its_lines(start):
    process = start("signal.pause()")
    waiting = Deferred.fromCoroutine(process.lines())
    await process.end(0.05)
    with pytest.raises(AgentFailure, match=r"^The test agent was ended$"):
        await waiting


@pytest_twisted.ensureDeferred
async def test_two_readers_are_a_bug_that_shows(start):
    process = start("read()")
    first = Deferred.fromCoroutine(process.lines())
    with pytest.raises(RuntimeError, match="two coroutines"):
        await process.lines()
    await process.end()
    with pytest.raises(AgentFailure):
        await first
