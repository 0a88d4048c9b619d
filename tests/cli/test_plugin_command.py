"""`ahpd plugin` without a daemon: the file, the plugin root and the listing, as a person sees them."""

import fcntl
import json
import os
import pathlib
import stat
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).parents[2]
SCHEMA = """\
optionsSchema:
  type: object
  properties:
    model: {type: string, enum: [fast, careful]}
    retries: {type: integer}
    apiKey: {type: string, writeOnly: true}
  required: [model]
"""


@pytest.fixture
def making():
    """`make_wheel` of the plugins' tests."""
    sys.path.insert(0, str(ROOT))
    from tests.plugins.wheel_making import make_wheel

    yield make_wheel
    sys.path.remove(str(ROOT))


@pytest.fixture
def wheels(command, tmp_path):
    """The folder pip finds wheels in, and nothing else."""
    folder = tmp_path / "wheels"
    folder.mkdir()
    command.environ |= {
        "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_NO_CACHE_DIR": "1",
    }  # fmt: skip
    return folder


def standalone(command, name="notes", more=""):
    folder = command.work / name
    folder.mkdir()
    (folder / "plugin.yaml").write_text(f"id: {name}\nmain: ./main.py\ntitle: Mine\n{more}")
    (folder / "main.py").write_text("raise RuntimeError('a listing imports nothing')\n")
    return folder


def file_of(command):
    return (command.config / "config.yaml").read_text()


def test_nothing_is_listed_where_nothing_is_configured(command):
    assert command.run("plugin", "list", status=0).stdout == "no plugins are configured\n"
    assert command.answer("plugin", "list") == []


def test_each_entry_is_a_line_with_its_state(command):
    standalone(command, more=SCHEMA)
    standalone(command, "two")
    command.write(
        "plugins:\n- source: ./notes\n  options: {model: fast}\n- {source: ./two, enabled: false}\n"
        "- ./gone\n"
    )
    lines = command.run("plugin", "list", status=0).stdout.splitlines()
    folder = command.work
    assert lines[:2] == [
        f"ready notes (./notes) -> {folder}/notes/main.py (notes, Mine)",
        f"disabled two (./two) -> {folder}/two/main.py (two, Mine)",
    ]
    assert lines[2].startswith("missing ./gone -> - (not resolved): Plugin ./gone is not there")
    rows = command.answer("plugin", "list")
    assert [(row["id"], row["state"], row["enabled"]) for row in rows] == [
        ("notes", "ready", True), ("two", "disabled", False), ("./gone", "missing", True),
    ]  # fmt: skip


def test_flags_are_listed_as_a_start_would_take_them(command):
    standalone(command, more=SCHEMA)
    standalone(command, "two")
    command.write("plugins: [./two]\n")
    (row,) = command.answer("plugin", "list", "--no-plugins", "--plugin", "./notes")
    assert (row["id"], row["state"]) == ("notes", "unconfigured")
    assert row["problem"] == "plugins.notes.options.model must be set"
    said = command.run(
        *("plugin", "list", "--no-plugins", "--plugin", "./notes"),
        *("--plugin-option", "notes.model=fast", "--plugin-option", "nobody.x=1"),
        status=0,
    )
    assert said.stdout.startswith("ready notes")
    assert "--plugin-option nobody.x: there is no plugin nobody" in said.stderr


def test_a_plugin_is_turned_off_and_on_by_its_id_or_its_source(command):
    standalone(command)
    command.write("# mine\nplugins:\n  - ./notes # n\n")
    said = command.run("plugin", "disable", "notes", status=0)
    assert said.stdout == "disabled notes\n"
    assert said.stderr == "it applies at the next start\n"
    assert file_of(command) == "# mine\nplugins:\n  - source: ./notes # n\n    enabled: false\n"
    said = command.run("plugin", "disable", "notes", status=0)
    assert said.stdout == "notes is disabled already\n"
    assert command.answer("plugin", "enable", "./notes") == {"id": "./notes", "changed": True}
    assert file_of(command) == "# mine\nplugins:\n  - source: ./notes # n\n"


def test_options_are_shown_set_and_taken_out(command):
    standalone(command, more=SCHEMA)
    command.write("plugins:\n- {source: ./notes, options: {model: fast, apiKey: sk-012345678}}\n")
    assert command.run("plugin", "config", "notes", status=0).stdout == (
        "model: fast\napiKey: <set>\nretries: -\n"
    )
    assert command.answer("plugin", "config", "notes", "model") == "fast"
    assert command.run("plugin", "config", "notes", "retries", "3", status=0).stdout == (
        "notes: retries is set\n"
    )
    command.run("plugin", "config", "notes", "apiKey", '{"$secret": "host:x"}', status=0)
    command.run("plugin", "config", "notes", "model", "--unset", status=0)
    # A text that is a number besides is what was typed where a text is wanted.
    command.run("plugin", "config", "notes", "apiKey", "12345", status=0)
    listed = yaml.safe_load(file_of(command))["plugins"]
    assert listed[0]["options"] == {"apiKey": "12345", "retries": 3}
    command.run("plugin", "config", "notes", "apiKey", '{"$secret": "host:x"}', status=0)
    assert command.answer("plugin", "config", "notes") == {
        "apiKey": {"$secret": "host:x"},
        "retries": 3,
    }
    assert yaml.safe_load(file_of(command)) == {
        "plugins": [
            {"source": "./notes", "options": {"apiKey": {"$secret": "host:x"}, "retries": 3}}
        ]
    }


@pytest.mark.parametrize(
    ("arguments", "words", "status"),
    [
        (("config", "notes", "retries", "many"), "plugins.notes.options.retries", 2),
        (("config", "notes", "model", "slow"), "plugins.notes.options.model", 2),
        (("config", "notes", "apiKey", "<set>"), "plugins.notes.options.apiKey is <set> and", 2),
        (("config", "notes", "retries"), "notes: retries is not set", 1),
        (("config", "gone"), "there is no plugin gone", 2),
        (("config", "notes", "--unset"), "--unset takes the option's name", 2),
        (("config", "notes", "a", "b", "--unset"), "--unset takes the option's name", 2),
        (("enable", "gone"), "there is no plugin gone", 2),
        (("remove", "gone"), "there is no plugin gone", 2),
        (("update", "gone"), "there is no plugin gone", 2),
        (("update", "notes"), "notes is not updated: it is named by its path", 1),
        (("apply",), "no daemon runs with this configuration", 1),
        (("reload", "notes"), "no daemon runs with this configuration", 1),
        (("install", "--", "-x"), "begins with a dash", 2),
        (("install", "./notes"), "is a folder without a pyproject.toml", 2),
        (("install", "http://x/y.whl"), "is no address to install from", 2),
    ],
)
def test_what_cannot_be_done_is_said_in_words(command, arguments, words, status):
    standalone(command, more=SCHEMA)
    before = command.write("plugins:\n- {source: ./notes, options: {model: fast}}\n").read_text()
    said = command.run("plugin", *arguments, status=status)
    assert words in said.stderr
    assert file_of(command) == before
    assert not (command.config / "plugin-root" / "pyvenv.cfg").exists()


def test_what_a_flag_names_is_not_changed_in_the_file(command):
    standalone(command)
    command.write("port: 1\n")
    said = command.run("--plugin", "./notes", "plugin", "disable", "notes", status=2)
    assert "notes is named by --plugin, and " in said.stderr
    assert file_of(command) == "port: 1\n"


def test_the_options_of_a_plugin_without_a_schema_are_all_set(command):
    standalone(command)
    command.write("plugins:\n- {source: ./notes, options: {a: x, b: {$env: N}}}\n")
    assert command.answer("plugin", "config", "notes") == {"a": "<set>", "b": {"$env": "N"}}
    said = command.run("config", status=0).stdout
    assert "./notes" in said


def test_a_distribution_is_installed_listed_updated_and_removed(command, wheels, making):
    manifest = {"h2_cli/plugin.yaml": "title: From a wheel\n"}
    making(wheels, "h2-cli", "1.0", points=["cliplug"], files=manifest, requires=["ahpd>=0.1"])
    said = command.answer("plugin", "install", "h2-cli")
    assert said == {
        "distribution": "h2-cli", "version": "1.0", "ids": ["cliplug"], "listed": True,
    }  # fmt: skip
    assert file_of(command).endswith("plugins:\n  - h2-cli\n")
    root = command.config / "plugin-root"
    assert stat.S_IMODE(root.stat().st_mode) == 0o700
    (row,) = command.answer("plugin", "list")
    assert (row["id"], row["state"], row["version"], row["title"]) == (
        "cliplug", "ready", "1.0", "From a wheel",
    )  # fmt: skip
    assert row["path"].startswith(str(root))
    again = command.run("plugin", "install", "h2-cli", status=0)
    assert again.stdout == "installed h2-cli 1.0; it is listed already\n"
    assert command.run("plugin", "update", status=0).stdout == "cliplug is the newest it can be\n"
    making(wheels, "h2-cli", "1.1", points=["cliplug"], files=manifest)
    assert command.run("plugin", "update", "cliplug", status=0).stdout == (
        "cliplug moved from 1.0 to 1.1\n"
    )
    assert command.answer("plugin", "remove", "cliplug") == {"id": "cliplug", "uninstalled": True}
    assert command.answer("plugin", "list") == []
    assert not list(root.rglob("h2_cli-*.dist-info"))
    # With --keep it stays installed, and may be listed again without pip.
    command.answer("plugin", "install", "h2-cli==1.0")
    assert command.answer("plugin", "remove", "h2-cli", "--keep") == {
        "id": "h2-cli", "uninstalled": False,
    }  # fmt: skip
    assert list(root.rglob("h2_cli-1.0.dist-info"))


def test_a_distribution_of_several_plugins_is_listed_by_each(command, wheels, making):
    files = {"h2_many/plugin.yaml": "title: Many\n"}
    making(wheels, "h2-many", points=["one", "two"], files=files)
    command.run("plugin", "install", "./h2_many-1.0-py3-none-any.whl", status=2)
    command.answer("plugin", "install", str(wheels / "h2_many-1.0-py3-none-any.whl"))
    assert [(row["id"], row["state"]) for row in command.answer("plugin", "list")] == [
        ("one", "ready"), ("two", "ready"),
    ]  # fmt: skip
    # What another entry needs is left installed.
    assert command.answer("plugin", "remove", "one")["uninstalled"] is False
    assert command.answer("plugin", "remove", "two")["uninstalled"] is True


def test_what_cannot_be_loaded_is_said_when_it_is_installed_and_uninstalled_all_the_same(
    command, wheels, making
):
    files = {"h2_wrong/plugin.yaml": "tilte: Wrong\n"}
    making(wheels, "h2-wrong", points=["wrong"], files=files)
    said = command.run("plugin", "install", "h2-wrong", status=1)
    assert said.stdout == "installed h2-wrong 1.0\n"
    assert said.stderr.startswith("ahpd: plugin wrong will be skipped: ")
    assert "tilte is an unknown key" in said.stderr
    assert command.answer("plugin", "remove", "wrong") == {"id": "wrong", "uninstalled": True}
    assert not list((command.config / "plugin-root").rglob("h2_wrong-*"))


def test_an_update_of_all_goes_on_where_one_source_is_gone(command, wheels, making, tmp_path):
    files = {"h2_first/plugin.yaml": "title: A\n"}
    gone = making(tmp_path / "elsewhere", "h2-first", points=["first"], files=files)
    command.answer("plugin", "install", str(gone))
    files = {"h2_second/plugin.yaml": "title: B\n"}
    making(wheels, "h2-second", points=["second"], files=files)
    command.answer("plugin", "install", "h2-second")
    gone.unlink()
    making(wheels, "h2-second", "1.1", points=["second"], files=files)
    said = command.run("plugin", "update", status=1)
    first, second = said.stdout.splitlines()
    assert first.startswith("first is not updated: ")
    assert second == "second moved from 1.0 to 1.1"


def test_pips_reason_is_the_commands(command, wheels):
    said = command.run("plugin", "install", "h2-there-is-none", status=1)
    assert said.stderr == "ahpd: No matching distribution found for h2-there-is-none\n"
    assert not (command.config / "config.yaml").exists()
    descriptor = os.open(command.config / "plugin-root" / ".lock", os.O_RDWR)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        said = command.run("plugin", "install", "h2-there-is-none", "--json", status=1)
        assert "another ahpd is installing" in json.loads(said.stdout)["error"]
    finally:
        os.close(descriptor)


def test_another_configuration_file_is_another_list(command):
    standalone(command)
    command.write("plugins: []\n")
    (command.work / "other.yaml").write_text("plugins: [../work/notes]\n")
    command.run("plugin", "disable", "notes", "--config-file", "other.yaml", status=0)
    assert file_of(command) == "plugins: []\n"
    said = yaml.safe_load((command.work / "other.yaml").read_text())
    assert said == {"plugins": [{"source": "../work/notes", "enabled": False}]}
