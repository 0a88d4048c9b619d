"""Stopping, closing, slow clients, and a program that breaks every rule."""

import os

import pytest
import pytest_twisted
from twisted.internet.defer import Deferred

from ahpd.agents.demo.agent import DemoAgent
from ahpd.interfaces import AgentFailure, ChatStart, TurnRequest
from ahpd.processes.guard import read_process
from ahpd.testing.agents import Gate, RecordedOutput

START = ChatStart(session="ahp-session:/s", chat="ahp-chat:/c", working_directories=(), config={})


def request(turn_id, text="x"):
    return TurnRequest(turn_id=turn_id, message={"text": text, "origin": {"kind": "user"}})


@pytest_twisted.async_yield_fixture
async def open_chat(reactor, supervisor):
    """Opens chats; `command` runs another program in the demo agent's place."""
    chats = []

    async def open_chat(command=None, stop_grace=0.2):
        agent = DemoAgent(reactor, supervisor, pace_ms=0, command=command, stop_grace=stop_grace)
        chats.append(await agent.open_chat(START))
        return chats[-1]

    yield open_chat
    for chat in chats:
        await chat.close()


class Running:
    """A turn that was begun."""

    def __init__(self, chat, turn_id, text, room=None):
        self.chat = chat
        self.output = RecordedOutput(turn_id, room)
        self.ends = []
        self.done = Deferred.fromCoroutine(chat.run(request(turn_id, text), self.output))
        self.done.addBoth(lambda result: self.ends.append(result) or result)


@pytest.fixture
def begin(pause):
    """Begins a turn and waits until it has said something."""

    async def begin(chat, text, turn_id="t1", room=None):
        running = Running(chat, turn_id, text, room)
        while not running.output.actions and not running.ends:
            await pause(0.005)
        return running

    return begin


# -- stopping -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["/say a\n/sleep 600000", "/stream 10000000 1", "/say a\n/stream 10000000 70000"]
)
@pytest_twisted.ensureDeferred
async def test_a_stop_ends_the_turn_at_once_and_the_same_process_goes_on(
    open_chat, begin, reactor, text
):
    chat = await open_chat(stop_grace=5)
    running = await begin(chat, text)
    pid = chat.pid
    begun = reactor.seconds()
    await chat.stop("t1")
    assert await running.done is None
    assert reactor.seconds() - begun < 2
    said = len(running.output.actions)
    following = RecordedOutput("t2")
    await chat.run(request("t2", "/say b"), following)
    assert following.text() == "b"
    assert chat.pid == pid
    assert len(running.output.actions) == said
    assert len(running.ends) == 1


@pytest_twisted.ensureDeferred
async def test_nothing_is_said_after_a_stop(open_chat, begin):
    chat = await open_chat()
    running = await begin(chat, "/stream 10000000 1")
    stopping = chat.stop("t1")
    said = None
    emit = running.output.emit

    def counted(action):
        assert said is None, "an action after the stop"
        emit(action)

    running.output.emit = counted
    await stopping
    said = len(running.output.actions)
    await running.done
    assert len(running.output.actions) == said


@pytest_twisted.ensureDeferred
async def test_a_stop_of_a_turn_that_does_not_run_does_nothing(open_chat, begin):
    chat = await open_chat()
    await chat.stop("t1")
    running = await begin(chat, "/say a\n/sleep 50\n/say b")
    await chat.stop("another")
    await running.done
    assert running.output.text() == "ab"
    await chat.stop("t1")


@pytest_twisted.ensureDeferred
async def test_a_stop_reaches_a_turn_whose_clients_have_no_room(open_chat, begin):
    chat = await open_chat(stop_grace=5)
    room = Gate()
    running = await begin(chat, "/stream 10000000", room=room)
    await room.reached()
    pid = chat.pid
    await chat.stop("t1")
    await running.done
    assert chat.pid == pid


@pytest_twisted.ensureDeferred
async def test_a_program_that_ignores_a_stop_is_killed(open_chat, begin, program, reactor):
    chat = await open_chat(
        program(
            "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
            "run = read()\n"
            "say(type='chat/usage', turnId=run['turnId'], usage={})\n"
            "while True: signal.pause()"
        ),
        stop_grace=0.1,
    )
    running = await begin(chat, "x")
    pid = chat.pid
    begun = reactor.seconds()
    await chat.stop("t1")
    await running.done
    assert 0.09 < reactor.seconds() - begun < 2
    await chat.close()
    process = read_process(pid)
    assert process is None or process.zombie or process.parent != os.getpid()
    assert len(running.ends) == 1


# -- slow clients -------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_a_flood_waits_at_its_source_while_clients_have_no_room(open_chat, begin, pause):
    chat = await open_chat()
    room = Gate()
    running = await begin(chat, "/stream 20000 1000", room=room)
    await room.reached()
    said = len(running.output.actions)
    await pause(0.3)
    assert len(running.output.actions) == said < 200
    process = chat._process
    assert sum(map(len, process._lines)) + process._reader.held < 256 * 1024
    room.open()
    await running.done
    assert len(running.output.actions) == 20001
    numbers = [int(a["content"].rstrip(".")) for a in running.output.actions[1:]]
    assert numbers == list(range(20000))


@pytest_twisted.ensureDeferred
async def test_a_host_that_fails_to_wait_fails_the_turn_and_the_chat_goes_on(open_chat):
    chat = await open_chat()

    class Broken(RecordedOutput):
        async def drained(self):
            raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        await chat.run(request("t1", "/stream 10000"), Broken("t1"))
    output = RecordedOutput("t2")
    await chat.run(request("t2", "/say on"), output)
    assert output.text() == "on"


# -- closing ------------------------------------------------------------------------


@pytest_twisted.ensureDeferred
async def test_closing_fails_the_running_turn_and_leaves_no_process(open_chat, begin, supervisor):
    chat = await open_chat()
    running = await begin(chat, "/say a\n/sleep 600000")
    done = running.done.addErrback(lambda failure: failure.value)
    await chat.close()
    failure = await done
    assert isinstance(failure, AgentFailure)
    assert failure.message == "The demo agent's process was ended"
    assert supervisor.children == ()
    with pytest.raises(AgentFailure, match="closed"):
        await chat.run(request("t2"), RecordedOutput("t2"))
    await chat.close()


@pytest_twisted.ensureDeferred
async def test_a_chat_that_never_ran_closes(open_chat):
    await (await open_chat()).close()


@pytest_twisted.ensureDeferred
async def test_a_supervisor_that_stops_fails_the_turn(open_chat, begin, supervisor):
    chat = await open_chat()
    running = await begin(chat, "/say a\n/sleep 600000")
    done = running.done.addErrback(lambda failure: failure.value)
    await supervisor.stopService()
    failure = await done
    assert failure.message == "The demo agent's process exited with code 0"
    with pytest.raises(AgentFailure, match="the host is stopping"):
        await chat.run(request("t2"), RecordedOutput("t2"))


# -- a program that misbehaves --------------------------------------------------------

USAGE = "say(type='chat/usage', turnId=run['turnId'], usage={})\n"


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("run = read()\nsys.exit(3)", "The demo agent's process exited with code 3"),
        ("sys.exit(3)", "The demo agent's process exited with code 3"),
        ("run = read()\nos.kill(os.getpid(), 9)", "The demo agent's process was ended by SIGKILL"),
        ("run = read()\nos.close(1)\nsignal.pause()", "closed its output and went on running"),
        ("run = read()\nos.write(1, b'garbage\\n')\nread()", "wrote a line that is not JSON"),
        ("run = read()\nos.write(1, b'\\xff\\xfe\\n')\nread()", "wrote a line that is not JSON"),
        ("run = read()\nos.write(1, b'[1]\\n')\nread()", "wrote a line that is no object"),
        (
            "run = read()\nos.write(1, b'{\"type\": 1}\\n')\nread()",
            "wrote a line that is no object",
        ),
        ("run = read()\nos.write(1, b'[' * 100000 + b'\\n')\nread()", "is not JSON"),
        ("run = read()\nos.write(1, b'x' * 9000000)\nread()", "wrote a line of more than 8388608"),
        (
            "run = read()\nsay(type='chat/turnComplete', turnId=run['turnId'])\nread()",
            "said chat/turnComplete, which no turn may say",
        ),
        (
            "run = read()\nsay(type='x' * 500, turnId=run['turnId'])\nread()",
            "which no turn may say",
        ),
        (
            'run = read()\nos.write(1, b\'{"type": "demo/e\')\nsys.exit(1)',
            "in the middle of a line",
        ),
    ],
)
@pytest_twisted.ensureDeferred
async def test_what_it_does_wrong_ends_the_turn_once_in_words(
    open_chat, program, pause, code, words
):
    chat = await open_chat(program(code))
    running = Running(chat, "t1", "x")
    done = running.done.addErrback(lambda failure: failure.value)
    failure = await done
    assert isinstance(failure, AgentFailure)
    assert words in failure.message
    assert len(failure.message) < 250
    assert len(running.ends) == 1
    assert chat.pid is None, "it would be given another turn"


@pytest_twisted.ensureDeferred
async def test_an_end_said_twice_ends_one_turn(open_chat, program):
    chat = await open_chat(
        program(
            "run = read()\n" + USAGE + "say(type='demo/end', turnId=run['turnId'])\n"
            "say(type='demo/failed', turnId=run['turnId'], message='late', errorType='x')\n"
            "say(type='chat/usage', turnId=run['turnId'], usage={})\n"
            "run = read()\n" + USAGE + "say(type='demo/end', turnId=run['turnId'])\nread()"
        )
    )
    first, second = RecordedOutput("t1"), RecordedOutput("t2")
    await chat.run(request("t1"), first)
    await chat.run(request("t2"), second)
    assert len(first.actions) == len(second.actions) == 1


@pytest_twisted.ensureDeferred
async def test_what_is_said_of_another_turn_is_dropped(open_chat, program):
    chat = await open_chat(
        program(
            "run = read()\nsay(type='demo/end', turnId='other')\n"
            "say(type='chat/usage', turnId='other', usage={})\nsay(type='chat/usage', usage={})\n"
            "say(type='nonsense', turnId='other')\n"
            + USAGE
            + "say(type='demo/end', turnId=run['turnId'])\nread()"
        )
    )
    output = RecordedOutput("t1")
    await chat.run(request("t1"), output)
    assert [action["turnId"] for action in output.actions] == ["t1"]


@pytest_twisted.ensureDeferred
async def test_the_process_after_a_bad_one_is_a_new_one(open_chat, program, tmp_path):
    # Each process leaves a mark, so that the second one knows to behave.
    chat = await open_chat(
        program(
            f"mark = {str(tmp_path / 'mark')!r}\n"
            "again = os.path.exists(mark)\nopen(mark, 'w').close()\nrun = read()\n"
            "if not again: os.write(1, b'garbage\\n'); read()\n"
            "say(type='demo/end', turnId=run['turnId'])\nread()"
        )
    )
    with pytest.raises(AgentFailure, match="not JSON"):
        await chat.run(request("t1"), RecordedOutput("t1"))
    await chat.run(request("t2"), RecordedOutput("t2"))


@pytest_twisted.ensureDeferred
async def test_a_second_turn_at_the_same_time_is_a_bug_that_shows(open_chat, begin):
    chat = await open_chat()
    running = await begin(chat, "/say a\n/sleep 100")
    with pytest.raises(RuntimeError, match="running already"):
        await chat.run(request("t2"), RecordedOutput("t2"))
    await running.done
