"""The engines as clients list them, imported when somebody looks and not before."""

import sys

import pytest

from ahpd.interfaces import Owned
from ahpd.records.demo import BUILT_IN
from ahpd.records.engine_rows import EngineRows
from ahpd.records.engines import Engines

from .conftest import MODULE
from .record_desk import VIEW, Handle, MadeEngine, caller


def read(rows, who=None):
    return {
        row["name"]: row
        for row in rows.channel.snapshot("x-ahpd-engines://", who or caller())["rows"]
    }


@pytest.fixture
def icons():
    """What is known of the icons of engines, by name."""
    return {}


@pytest.fixture
def rows(world, icons):
    made = EngineRows(
        world.engines,
        plugin_icons=lambda plugin: [{"src": f"data:{plugin}"}],
        engine_icons=lambda engine: icons.get(engine, ()),
    )
    made.attach(Handle())
    return made


def test_nothing_is_imported_until_somebody_looks(world, rows):
    world.engines.contributed({})
    rows.refresh()
    assert MODULE not in sys.modules
    assert list(read(rows)) == ["demo", "fake"]
    assert MODULE in sys.modules


def test_a_row_says_what_a_form_needs(rows):
    row = read(rows)["fake"]
    assert (row["title"], row["distribution"], "plugin" in row) == ("Fake", "fake-dist", False)
    assert row["schema"]["properties"]["apiKey"]["writeOnly"] is True
    assert (row["hostOnly"], row["keyVariables"]) == (["command"], ["FAKE_KEY"])
    assert row["templates"][0] == {
        "id": "shell",
        "name": "Shell Agent",
        "config": {"command": "sh", "env": {"FAKE_KEY": "", "MODE": "quiet"}},
    }
    assert read(rows)["demo"]["distribution"] == "ahpd"


def test_a_plugins_engine_joins_and_goes(world, rows, icons):
    read(rows)
    engine = MadeEngine(capabilities=(VIEW,))
    world.engines.contributed({"made": Owned("acme", engine)})
    rows.refresh()
    row = read(rows)["made"]
    assert (row["plugin"], row["icons"]) == ("acme", [{"src": "data:acme"}])
    assert row["capabilities"] == [{"type": "view", "name": "main", "title": "Plan"}]
    assert [each.get("model") for each in row["templates"]] == [None, "m2"]
    engine.icons = [{"src": "./own.svg"}]
    rows.refresh()
    assert read(rows)["made"]["icons"] == [{"src": "data:acme"}]
    icons["made"] = [{"src": "data:own"}]
    rows.refresh()
    assert read(rows)["made"]["icons"] == [{"src": "data:own"}]
    world.engines.contributed({})
    rows.refresh()
    assert "made" not in read(rows)


def test_what_moves_is_said_and_what_does_not_is_not(world):
    handle, choices = Handle(), []
    rows = EngineRows(world.engines, stamped=lambda schema: {**schema, "choices": list(choices)})
    rows.attach(handle)
    rows.refresh()
    assert handle.said == []
    read(rows)
    handle.said.clear()
    rows.refresh()
    assert handle.said == []
    choices.append("work")
    rows.refresh()
    assert [action["type"] for action in handle.heard()] == ["x-ahpd-engines/changed"] * 2
    assert read(rows)["fake"]["schema"]["choices"] == ["work"]


@pytest.mark.logs_failures
def test_an_engine_that_cannot_be_imported_costs_itself_alone(world):
    world.install("broken", {"broken": f"{MODULE}:breaks"})
    world.fresh()
    rows = EngineRows(world.engines)
    rows.attach(Handle())
    assert list(read(rows)) == ["demo", "fake"]


# -- which engine a name is -------------------------------------------------------------


def test_an_engine_that_is_installed_stands_before_a_plugins_of_its_name(world):
    theirs = MadeEngine("fake")
    world.engines.contributed({"fake": Owned("acme", theirs)})
    assert world.engines.get("fake") is not theirs
    assert world.engines.registrant("fake") is None
    assert list(world.engines.names()) == ["demo", "fake"]


def test_a_collision_is_said_once(world, logged_lines):
    theirs = {"fake": Owned("acme", MadeEngine("fake"))}
    world.engines.contributed(theirs)
    world.engines.contributed({**theirs, "made": Owned("acme", MadeEngine())})
    said = [line for line in logged_lines if "is left out" in line]
    assert said == [
        "the engine fake of the plugin acme is left out: an engine that is installed has its name"
    ]


def test_what_moved_is_named():
    engines = Engines(BUILT_IN, list)
    first, second = MadeEngine(), MadeEngine()
    assert engines.contributed({"made": Owned("a", first)}) == {"made"}
    assert not engines.contributed({"made": Owned("a", first)})
    assert engines.contributed({"made": Owned("a", second)}) == {"made"}
    assert engines.get("made") is second
    assert engines.contributed({}) == {"made"}
    with pytest.raises(Exception, match='there is no engine "made" here'):
        engines.get("made")
