"""Real agents and real models, installed for these tests and served by real daemons."""

import os
import re
import subprocess
from pathlib import Path

import pytest
import pytest_twisted

from ahpd.testing.daemon import Daemon

from .coding_agents import CODING_AGENTS, KEY
from .fake_model import FakeModel
from .installing import Installer, NotInstalled
from .talking import Figures, talk_in

_FIGURES = pytest.StashKey[Figures]()


def pytest_configure(config):
    config.stash.setdefault(_FIGURES, Figures())


def pytest_terminal_summary(terminalreporter, config):
    lines = config.stash[_FIGURES].report()
    if lines:
        terminalreporter.section("how long real agents took")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.fixture(scope="session")
def figures(request):
    """How long things took; printed when the run is over."""
    return request.config.stash[_FIGURES]


@pytest.fixture(scope="session")
def reactor():
    from twisted.internet import reactor

    return reactor


@pytest.fixture(scope="session")
def installer(request, figures):
    """Installs programs for these tests alone."""
    cache = os.environ.get("XDG_CACHE_HOME")
    folder = Path(cache) / "ahpd-tests" if cache else request.config.cache.mkdir("ahpd-tests")
    return Installer(folder, figures.say)


@pytest.fixture(scope="session")
def installed():
    """What an installation made; the test is skipped where it could not be made."""

    def installed(install, *wanted):
        try:
            return install(*wanted)
        except NotInstalled as why:
            pytest.skip(str(why))

    return installed


@pytest_twisted.async_yield_fixture(scope="module")
async def model(reactor):
    """The model that does what it is told."""
    made = FakeModel(reactor)
    made.start()
    yield made
    await made.stop()


# -- coding agents ---------------------------------------------------------------------


class Serving:
    """One coding agent, and the daemons that serve it."""

    def __init__(self, agent, commands, model, reactor):
        self.agent = agent
        self.model = model
        self._commands = commands
        self._reactor = reactor

    def daemon(self, directory, **settings):
        """A daemon that is not started yet, its home furnished for the agent."""
        record = {
            "id": self.agent.id,
            "engine": "acp",
            "name": self.agent.id.title(),
            "config": {"env": self.agent.environment(self.model.url)},
        }
        path = os.pathsep.join([str(self._commands), os.environ["PATH"]])
        temporary = directory / "tmp"
        made = Daemon(
            self._reactor,
            directory,
            "--port",
            "0",
            settings={"agents": [record], **settings},
            preset={"PATH": path, "TMPDIR": str(temporary)},
        )
        temporary.mkdir()
        (made.config / "config.json").chmod(0o600)
        made.secrets.append(KEY)
        self.agent.furnish(made.home)
        return made


@pytest.fixture(scope="module", params=CODING_AGENTS, ids=lambda agent: agent.id)
def serving(request, installer, installed, model, reactor):
    """Each coding agent in turn, installed."""
    agent = request.param
    installed(_check_node, agent)
    commands = installed(installer.npm, agent.package, agent.version)
    return Serving(agent, commands, model, reactor)


def _check_node(agent):
    try:
        done = subprocess.run(["node", "--version"], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        raise NotInstalled(f"{agent.id} needs node, which is not here") from None
    version = int(re.match(r"v(\d+)", done.stdout).group(1))
    if version < agent.node:
        raise NotInstalled(f"{agent.id} needs node {agent.node}, and {version} is here")


@pytest_twisted.async_yield_fixture(scope="module")
async def served(serving, tmp_path_factory):
    """A daemon that offers the agent, for all tests of a module; held to its promises at the end."""
    daemon = serving.daemon(tmp_path_factory.mktemp(serving.agent.id) / "daemon")
    await daemon.start()
    yield daemon
    await daemon.leave()


@pytest_twisted.async_yield_fixture
async def talk(served, serving):
    """Makes sessions of the agent. At the end they are checked, and go with their programs."""
    talks = []

    async def talk(**params):
        probe = await served.connect(f"ann-{len(talks)}", "ahp-root://")
        made = await talk_in(served, probe, serving.agent.id, **params)
        talks.append(made)
        return made

    yield talk
    try:
        await served.check()
        for made in talks:
            await made.probe.request("disposeSession", channel=made.session)
        await served.until(lambda: len(served.children()) <= 1, "the end of the agents' programs")
    finally:
        for probe in served.clients:
            probe.abort()
        served.clients.clear()
