"""What tests of the engine share: a fake endpoint, and agents whose tools a test writes."""

import itertools
from datetime import UTC, datetime
from pathlib import Path

import attrs
import pytest
import pytest_twisted
from twisted.internet.defer import ensureDeferred
from twisted.internet.threads import deferToThread

from ahpd.interfaces import (
    AgentRecord,
    ChatStart,
    EnginePorts,
    Permission,
    ToolEffects,
    TurnRequest,
)
from ahpd.testing.agents import RecordedHost, RecordedOutput
from ahpd_agent_openai.engine import OpenAIEngine
from ahpd_agent_openai.testing import FakeEndpoint
from ahpd_agent_openai.tools.values import Described, ToolOutcome

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


class WrittenTools:
    """A toolbox whose tools are functions of a test's, by name: arguments in, words out."""

    def __init__(self, tools, effects):
        self.tools = tools
        self.effects = effects
        self.ran = []
        self.closed = False
        self.memory = None

    def definitions(self):
        return [
            {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
            for name in self.tools
        ]

    def describe(self, name, arguments):
        return Described(
            display_name=name.title(),
            invocation_message=f"Do {name}",
            permission=Permission(kind="shell" if name == "shell" else "custom-tool"),
            effects=self.effects.get(name, ToolEffects()),
            tool_input=str(arguments.get("command", dict(arguments))),
            meta={"drawn": name},
        )

    async def run(self, name, arguments, call):
        self.ran.append((name, dict(arguments)))
        found = self.tools[name](arguments, call)
        if hasattr(found, "__await__"):
            found = await found
        if isinstance(found, str):
            return ToolOutcome(text=found, past_tense=f"Did {name}")
        return found

    async def instructions(self):
        return self.memory

    async def close(self):
        self.closed = True


@pytest.fixture
def reactor():
    from twisted.internet import reactor

    return reactor


@attrs.define
class Bench:
    """An agent of one record on the fake endpoint, and what its chats are opened with."""

    reactor: object
    endpoint: FakeEndpoint
    folder: Path
    tools: dict = attrs.field(factory=dict)
    effects: dict = attrs.field(factory=dict)
    boxes: list = attrs.field(factory=list)
    agents: list = attrs.field(factory=list)
    environ: dict = attrs.field(factory=dict)
    ids: object = attrs.field(factory=lambda: map("conversation-{}".format, itertools.count(1)))
    clock: object = None

    def ports(self, **changed):
        ports = EnginePorts(
            reactor=self.clock or self.reactor,
            supervisor=None,
            now=lambda: START,
            ids=lambda: next(self.ids),
            run_blocking=deferToThread,
            environ=self.environ,
            default_directory=self.folder,
            data_directory=self.folder / "data",
        )
        return attrs.evolve(ports, **changed)

    def agent(self, *, id="openai", model="fake", base=True, **config):  # noqa: A002
        config.setdefault("idleTimeoutMs", 5000)
        if base:
            config.setdefault("baseUrl", self.endpoint.url)
        record = AgentRecord(id=id, engine="openai", name="Fake", model=model, config=config)
        agent = OpenAIEngine(self._opening).open(record, self.ports())
        self.agents.append(agent)
        return agent

    def _opening(self, settings, ports, folder):
        def opened(start):
            box = WrittenTools(self.tools, self.effects)
            self.boxes.append(box)
            return box

        return opened

    async def chat(self, agent=None, host=None, config=None, **start):
        agent = agent or self.agent()
        told = ChatStart(
            session="ahp-session:/s",
            chat="ahp-chat:/c",
            config=config or {},
            host=RecordedHost() if host is None else host,
            **{"working_directories": (), **start},
        )
        return await agent.open_chat(told)

    async def turn(self, chat, text="hello", turn_id="t1", output=None, **fields):
        """Run one turn to its end; what it said."""
        output = output or RecordedOutput(turn_id)
        await chat.run(request(turn_id, text, **fields), output)
        return output


def request(turn_id, text, **fields):
    message = {"text": text, "origin": {"kind": "user"}}
    return TurnRequest(turn_id=turn_id, message=message, **fields)


@pytest_twisted.async_yield_fixture
async def bench(reactor, tmp_path):
    endpoint = FakeEndpoint(reactor)
    endpoint.start()
    made = Bench(reactor, endpoint, tmp_path)
    yield made
    for agent in made.agents:
        await agent.close()
    await endpoint.stop()


@pytest.fixture
def running():
    """Begins a turn and answers its Deferred."""

    def begin(chat, output, text="hello", **fields):
        return ensureDeferred(chat.run(request(output.turn_id, text, **fields), output))

    return begin
