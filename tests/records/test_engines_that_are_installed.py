"""Engines are found by their names and imported when one is asked for."""

import sys

import pytest
from twisted.logger import formatEvent, globalLogPublisher

from ahpd.interfaces.engines import IEngine, RecordFailure
from ahpd.records.engines import Engines

from .conftest import MODULE


@pytest.fixture
def logged():
    lines = []

    def observe(event):
        lines.append(formatEvent(event))

    globalLogPublisher.addObserver(observe)
    yield lines
    globalLogPublisher.removeObserver(observe)


def test_names_are_read_and_nothing_is_imported(world):
    assert world.engines.names() == ("demo", "fake")
    assert MODULE not in sys.modules
    assert world.engines.get("fake").title == "Fake"
    assert MODULE in sys.modules


def test_what_is_installed_is_found_on_the_path_of_this_process(world):
    engines = Engines({})
    assert "fake" in engines.names()
    assert "demo" not in engines.names()
    assert MODULE not in sys.modules
    assert engines.get("fake").title == "Fake"


def test_a_host_without_such_records_imports_no_engine(world):
    agents, problems = world.open({"engine": "demo"})
    assert (list(agents), problems) == (["agent-0"], [])
    assert MODULE not in sys.modules


@pytest.mark.parametrize("attribute", ["FakeEngine", "make", "INSTANCE"])
def test_it_is_an_engine_or_what_makes_one(world, attribute):
    world.install("another-dist", {"fake": f"{MODULE}:{attribute}"})
    world.fresh()
    engine = world.engines.get("fake")
    assert IEngine.providedBy(engine)
    assert world.engines.get("fake") is engine


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (f"{MODULE}:NoEngine", "is no engine: "),
        (f"{MODULE}:Nameless", "calls itself 'other', not 'bad'"),
        (f"{MODULE}:breaks", "cannot be loaded: not today"),
        (f"{MODULE}:leaves", "cannot be loaded: 3"),
        (f"{MODULE}:IMPORTED", "cannot be loaded: TypeError: "),
        (f"{MODULE}:Absent", "cannot be loaded: AttributeError: "),
        ("no_such_module_at_all:x", "cannot be loaded: No module named"),
    ],
)
def test_one_that_does_not_work_is_said_in_a_line_each_time(world, value, words):
    world.install("bad-dist", {"bad": value})
    world.fresh()
    for _ in range(2):
        with pytest.raises(RecordFailure) as caught:
            world.engines.get("bad")
        assert words in str(caught.value)
        assert value in str(caught.value)
        assert "\n" not in str(caught.value)
    assert world.engines.get("fake").name == "fake"


def test_one_that_is_not_here_is_said_with_what_is(world):
    with pytest.raises(RecordFailure) as caught:
        world.engines.get("other")
    assert str(caught.value) == 'there is no engine "other" here; installed: demo, fake'


@pytest.mark.parametrize("name", ["acp", "openai"])
def test_one_this_project_publishes_is_said_with_how_to_install_it(world, name):
    with pytest.raises(RecordFailure) as caught:
        world.engines.get(name)
    assert str(caught.value) == (
        f'the engine "{name}" is not installed; pip install ahpd-agent-{name} installs it'
    )


def test_of_two_with_one_name_the_first_counts_and_the_other_is_said(world, logged):
    world.install("zzz-dist", {"fake": f"{MODULE}:breaks"})
    world.fresh()
    assert world.engines.get("fake").title == "Fake"
    assert logged == ["the engine fake of zzz-dist is left out: it has a name fake-dist has"]


def test_one_that_is_installed_twice_is_one(world, logged):
    world.install("zzz-dist", {"fake": f"{MODULE}:FakeEngine"})
    world.fresh()
    assert world.engines.names() == ("demo", "fake")
    assert logged == []


@pytest.mark.parametrize("name", ["demo", "Not-A-Slug"])
def test_a_name_that_is_taken_or_no_name_is_left_out(world, logged, name):
    world.install("zzz-dist", {name: f"{MODULE}:breaks"})
    world.fresh()
    assert world.engines.names() == ("demo", "fake")
    assert world.engines.get("demo").title == "Demo"
    assert logged == [f"the engine {name} of zzz-dist is left out: it has a name it cannot have"]
