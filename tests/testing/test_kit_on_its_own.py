"""The kit, used by a distribution of its own: nothing of this repository's tests, no pytest."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import ahpd.testing
from ahpd.testing.installed_engines import install_distribution

KIT = Path(ahpd.testing.__file__).parent

AGENT = """
from twisted.internet.defer import CancelledError, Deferred
from zope.interface import implementer

from ahpd.interfaces import AgentAbilities, AgentFailure, IAgent, IAgentChat, IEngine


@implementer(IAgentChat)
class Chat:
    running = turn_id = None
    closed = False

    async def run(self, turn, output):
        if self.closed:
            raise AgentFailure("It is closed")
        part = {"kind": "markdown", "id": turn.turn_id + ":1", "content": "Yes."}
        # Before a word is said, at which it may be stopped.
        self.running, self.turn_id = Deferred(), turn.turn_id
        output.emit({"type": "chat/responsePart", "part": part})
        if turn.text == "for ever":
            try:
                await self.running
            except CancelledError:
                raise AgentFailure("It was stopped") from None
            finally:
                self.running = None

    async def stop(self, turn_id):
        if self.running is not None and self.turn_id == turn_id:
            self.running.cancel()

    async def close(self):
        self.closed = CLOSES
        await self.stop(self.turn_id)


@implementer(IAgent)
class Agent:
    abilities = AgentAbilities()

    def __init__(self, provider):
        self.provider = provider

    def info(self):
        model = {"id": "m", "provider": self.provider, "name": "M"}
        about = {"provider": self.provider, "displayName": "Yes", "description": "Agrees"}
        return {**about, "models": [model], "capabilities": {}}

    def config_schema(self, working_directory, values):
        return {"type": "object", "properties": {}}

    async def open_chat(self, start):
        return Chat()


@implementer(IEngine)
class Engine:
    name, title, description, host_only, key_variables = "yes", "Yes", "Agrees", (), ()

    def schema(self):
        return {"type": "object", "properties": {}}

    def templates(self):
        return ()

    def open(self, record, ports):
        assert ports.supervisor.children == ()
        return Agent(record.id)

    async def check(self, record, ports):
        return ()


ENGINE = Engine()
"""

CHECK = """
import sys
from importlib.metadata import entry_points
from pathlib import Path

from twisted.internet.defer import ensureDeferred
from twisted.internet.task import react

from ahpd.interfaces import AgentRecord
from ahpd.testing import AgentContract, SignIn, check_agent, engine_ports, files_of

assert "pytest" not in sys.modules, "the kit imports pytest"
assert "twisted.internet.reactor" not in sys.modules, "the kit installs a reactor"


async def check(reactor):
    (found,) = [each for each in entry_points(group="ahpd.engines") if each.name == "yes"]
    ports = engine_ports(reactor, Path.cwd())
    record = AgentRecord(id="yes", engine="yes", name="Yes")
    contract = AgentContract(reactor=reactor, endless="for ever", supervisor=ports.supervisor)
    try:
        await check_agent(lambda: found.load().open(record, ports), contract)
    finally:
        await ports.supervisor.stopService()


react(lambda reactor: ensureDeferred(check(reactor)))
"""


@pytest.mark.parametrize("closes", [True, False])
def test_a_distribution_checks_its_agent_with_the_kit_alone(tmp_path, closes):
    installed = install_distribution(
        tmp_path / "installed",
        "ahpd-yes",
        {"yes": "ahpd_yes:ENGINE"},
        {"ahpd_yes": AGENT.replace("CLOSES", repr(closes))},
    )
    work = tmp_path / "work"
    work.mkdir()
    done = subprocess.run(
        [sys.executable, "-P", "-c", CHECK],
        cwd=work,
        env={"PYTHONPATH": str(installed), "PATH": "/usr/bin:/bin", "HOME": str(work)},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if closes:
        assert done.returncode == 0, done.stderr
    else:
        assert done.returncode == 1
        assert "AssertionError: a closed chat took a turn" in done.stderr + done.stdout
    assert list(work.iterdir()) == []


def test_the_names_that_are_public_are_there():
    assert {"AgentContract", "check_agent", "engine_ports"} <= set(ahpd.testing.__all__)
    assert all(hasattr(ahpd.testing, name) for name in ahpd.testing.__all__)


@pytest.mark.parametrize("path", sorted(KIT.rglob("*.py")), ids=lambda path: path.stem)
def test_no_module_of_the_kit_needs_a_test_runner_or_a_test(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [node.module or ""]
        for name in names:
            assert name.partition(".")[0] not in {"pytest", "pytest_twisted", "tests"}


@pytest.mark.parametrize("field", ["reactor", "endless"])
def test_a_contract_says_what_it_cannot_do_without(field):
    fields = {"reactor": object(), "endless": "for ever"}
    del fields[field]
    with pytest.raises(TypeError, match=field):
        ahpd.testing.AgentContract(**fields)


def test_every_field_of_a_contract_says_what_it_is_for():
    source = (KIT / "agent_contract" / "contract.py").read_text(encoding="utf-8")
    (declared,) = (
        node
        for node in ast.parse(source).body
        if isinstance(node, ast.ClassDef) and node.name == "AgentContract"
    )
    for field, words in zip(declared.body, [*declared.body[1:], None], strict=True):
        if isinstance(field, ast.AnnAssign):
            said = isinstance(words, ast.Expr) and isinstance(words.value, ast.Constant)
            assert said, f"{field.target.id} has no words"
