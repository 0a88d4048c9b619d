"""A distribution with engines, on the path of this process for one test."""

import sys
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path

import pytest
from twisted.internet.task import Clock
from twisted.logger import formatEvent, globalLogPublisher

from ahpd.config.records import Records
from ahpd.interfaces.engines import EnginePorts
from ahpd.records.demo import BUILT_IN
from ahpd.records.engines import GROUP, Engines
from ahpd.records.opening import open_record
from ahpd.testing.installed_engines import install_distribution

MODULE = "ahpd_fake_engines_for_tests"
SOURCE = (Path(__file__).parent / "fake_engine.py").read_text()


class World:
    """Opens records on engines that are installed in a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.clock = Clock()
        self.environ = {"FROM_HERE": "value-from-here", "EMPTY": ""}
        self.defaults = {}
        self.fresh()

    def fresh(self):
        """Look anew at what is installed in the folder, whatever else this machine has."""
        self.engines = Engines(BUILT_IN, self.found)

    def found(self):
        return [
            point
            for each in distributions(path=[str(self.folder)])
            for point in each.entry_points
            if point.group == GROUP
        ]

    def install(self, name="fake-dist", engines=None, modules=None):
        engines = {"fake": f"{MODULE}:FakeEngine"} if engines is None else engines
        install_distribution(self.folder, name, engines, modules or {})

    def records(self, *rows):
        rows = [{"id": f"agent-{i}", "engine": "fake", **row} for i, row in enumerate(rows)]
        return Records().check(rows, self.folder)

    def ports(self, record):
        async def run(function, *arguments):
            return function(*arguments)

        return EnginePorts(
            reactor=self.clock,
            supervisor=None,
            now=lambda: datetime.now(UTC),
            ids=lambda: "id",
            run_blocking=run,
            environ=self.environ,
            default_directory=self.folder,
        )

    def open(self, *rows):
        """Agents by provider, and the words of what was left out."""
        agents, problems = {}, []
        for record in self.records(*rows):
            opened = open_record(record, self.ports, self.engines, self.defaults)
            if opened.agent is not None:
                agents[record.id] = opened.agent
            problems += [f"{record.place} ({record.id}): {each.words}" for each in opened.problems]
        return agents, problems


@pytest.fixture
def world(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    folder.mkdir()
    (folder / f"{MODULE}.py").write_text(SOURCE)
    monkeypatch.syspath_prepend(str(folder))
    made = World(folder)
    made.install()
    yield made
    sys.modules.pop(MODULE, None)


@pytest.fixture
def logged_lines():
    """The lines that are logged while a test runs."""
    lines = []

    def observe(event):
        lines.append(formatEvent(event))

    globalLogPublisher.addObserver(observe)
    yield lines
    globalLogPublisher.removeObserver(observe)
