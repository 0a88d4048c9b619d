"""What the tests of the ACP agents share: a scripted program, and a chat on it."""

import itertools
import json
import sys
from datetime import UTC, datetime
from pathlib import Path

import attrs
import pytest
import pytest_twisted
from twisted.internet.defer import Deferred
from twisted.internet.task import deferLater
from twisted.internet.threads import deferToThread
from twisted.logger import formatEvent, globalLogPublisher

from ahpd.interfaces import AgentFailure, AgentRecord, ChatStart, EnginePorts, TurnRequest
from ahpd.processes.supervisor import ProcessSupervisor
from ahpd.testing.agents import RecordedHost, RecordedOutput
from ahpd_agent_acp.engine import AcpEngine

PROGRAM = Path(__file__).with_name("scripted_agent.py")


@pytest.fixture(autouse=True)
def nothing_fails_in_the_log(request):
    """A failure that is logged fails the test, unless it is marked `logs_failures`."""
    failures = []

    def note(event):
        if "log_failure" in event:
            failures.append(formatEvent(event) + "\n" + event["log_failure"].getTraceback())

    globalLogPublisher.addObserver(note)
    yield
    globalLogPublisher.removeObserver(note)
    if request.node.get_closest_marker("logs_failures") is None:
        assert not failures, "\n".join(failures)


@pytest.fixture
def logged():
    """The lines that are logged while the test runs."""
    lines = []

    def note(event):
        lines.append(formatEvent(event))

    globalLogPublisher.addObserver(note)
    yield lines
    globalLogPublisher.removeObserver(note)


@pytest.fixture
def reactor():
    from twisted.internet import reactor

    return reactor


@pytest.fixture
def pause(reactor):
    return lambda seconds: deferLater(reactor, seconds)


@pytest_twisted.async_yield_fixture
async def supervisor(reactor):
    service = ProcessSupervisor(reactor, {"PATH": "/usr/bin:/bin"}, grace=0.3)
    service.startService()
    yield service
    left = service.children
    await service.stopService()
    assert left == (), "a test left a program running"


@pytest.fixture
def ports(reactor, supervisor, tmp_path):
    numbers = itertools.count(1)
    return EnginePorts(
        reactor=reactor,
        supervisor=supervisor,
        now=lambda: datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        ids=lambda: f"id-{next(numbers)}",
        run_blocking=deferToThread,
        environ={"PATH": "/usr/bin:/bin"},
        default_directory=tmp_path,
        data_directory=tmp_path / "data",
        version="1.2.3",
    )


def record(program=None, id="scripted", model=None, **config):  # noqa: A002
    """A record whose agent is the scripted program, as `program` tells it."""
    config = {
        "command": sys.executable,
        "args": ["-I", "-S", str(PROGRAM), json.dumps(program or {})],
        "killGraceMs": 300,
        "closeGraceMs": 300,
        **config,
    }
    return AgentRecord(id=id, engine="acp", name="Scripted", model=model, config=config)


@attrs.define
class Talk:
    """A chat and what was said in it."""

    agent: object
    chat: object
    host: RecordedHost
    turns: int = 0
    outputs: list = attrs.field(factory=list)

    def begin(self, *lines, **more):
        """Start a turn with this prompt; its output, and its end."""
        self.turns += 1
        output = RecordedOutput(f"t{self.turns}")
        self.outputs.append(output)
        message = {"text": "\n".join(lines), "origin": {"kind": "user"}}
        turn = TurnRequest(turn_id=output.turn_id, message=message, **more)
        return output, Deferred.fromCoroutine(self.chat.run(turn, output))

    async def say(self, *lines, **more):
        """Run a turn; what its agent said."""
        output, running = self.begin(*lines, **more)
        await running
        return output.text()

    async def fails(self, *lines, **more):
        """Run a turn that fails; how."""
        _, running = self.begin(*lines, **more)
        with pytest.raises(AgentFailure) as failed:
            await running
        return failed.value

    async def heard(self, output, text="tick"):
        """Wait until a turn has said that."""
        reactor = self.agent.ports.reactor
        for _ in range(2000):
            if text in output.text():
                return
            await deferLater(reactor, 0.005)
        raise AssertionError(f"{text!r} was not said, but {output.text()[:200]!r}")


@pytest_twisted.async_yield_fixture
async def acp(ports):
    """Makes agents of the scripted program; they are closed with their chats at the end."""
    talks, agents = [], []

    class Made:
        @staticmethod
        def agent(program=None, engine=None, ports=ports, **fields):
            made = (engine or AcpEngine()).open(record(program, **fields), ports)
            agents.append(made)
            return made

        @staticmethod
        async def talk(agent=None, start=None, host=None, **program):
            if agent is None or not hasattr(agent, "open_chat"):
                agent = Made.agent(program, **(agent or {}))
            host = RecordedHost() if host is None else host
            told = ChatStart(
                **{
                    "session": "ahp-session:/s",
                    "chat": f"ahp-chat:/c{len(talks)}",
                    "working_directories": (),
                    "config": {},
                    "host": host,
                    **(start or {}),
                }
            )
            talk = Talk(agent, await agent.open_chat(told), host)
            talks.append(talk)
            return talk

    yield Made
    for talk in talks:
        await talk.chat.close()
    for agent in agents:
        await agent.close()
