"""Plugins a client wrote: staged, swapped in whole, read back as they were written."""

import stat
from pathlib import Path

import pytest
import yaml
from pytest_twisted import ensureDeferred

from ahpd.plugins.failures import InstallFailure
from ahpd.plugins.manifest_files import read_manifest
from ahpd.plugins.root import PluginRoot
from ahpd.plugins.written import WrittenPlugins

SOURCE = "def apply(host, options):\n    host.log('é')\n"


class Installs:
    """Stands for the installer: notes what it was asked for, and what was there by then."""

    def __init__(self):
        self.asked = []
        self.seen = []
        self.failure = None
        self.folder = None

    async def install_requirements(self, requirements):
        self.asked.append(requirements)
        self.seen.append(sorted(path.name for path in self.folder.iterdir()))
        if self.failure is not None:
            raise self.failure


@pytest.fixture
def installs():
    return Installs()


@pytest.fixture
def written(tmp_path, installs):
    root = PluginRoot(tmp_path, None, {})
    installs.folder = root.plugins
    return WrittenPlugins(root, installs)


def files(folder):
    return sorted(path.name for path in Path(folder).iterdir())


@ensureDeferred
async def test_a_plugin_is_its_module_and_its_manifest(written, tmp_path):
    folder = await written.write("notes", SOURCE, {"description": "Notes."})
    assert folder == tmp_path / "plugins" / "notes"
    assert files(folder) == ["plugin.py", "plugin.yaml"]
    assert (folder / "plugin.py").read_text() == SOURCE
    manifest = read_manifest(folder / "plugin.yaml", "notes")
    assert (manifest.id, manifest.main, manifest.description) == ("notes", "./plugin.py", "Notes.")
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert files(folder.parent) == ["notes"]
    assert written.has("notes")


@ensureDeferred
async def test_what_was_written_is_read_back_as_it_was(written):
    text = "# mine\nid: notes\nmain: ./notes.py  # here\n"
    await written.write("notes", SOURCE, text)
    assert await written.source("notes") == (SOURCE, text)


@pytest.mark.parametrize(
    ("given", "after"),
    [
        ("# c\ntitle: N # n\n", "# c\ntitle: N # n\nid: notes\nmain: ./plugin.py\n"),
        ("", "id: notes\nmain: ./plugin.py\n"),
        ('{"title": "N"}', "title: N\nid: notes\nmain: ./plugin.py\n"),
        ("id: null\n", "id: notes\nmain: ./plugin.py\n"),
        ({}, "id: notes\nmain: ./plugin.py\n"),
        ({"main": "other.py"}, "main: other.py\nid: notes\n"),
    ],
)
@ensureDeferred
async def test_the_manifest_is_completed(written, given, after):
    folder = await written.write("notes", SOURCE, given)
    assert (folder / "plugin.yaml").read_text() == after


@ensureDeferred
async def test_what_it_needs_is_installed_before_it_takes_its_place(written, installs):
    await written.write("notes", "A = 1\n", {"dependencies": ["humanize>=4", "x"]})
    assert installs.asked == [["humanize>=4", "x"]]
    assert installs.seen == [[".notes.new"]]
    await written.write("notes", "A = 2\n", {})
    assert installs.seen[1] == [".notes.new", "notes"]
    assert (await written.source("notes"))[0] == "A = 2\n"


@ensureDeferred
async def test_a_write_that_fails_leaves_the_plugin_as_it_was(written, installs):
    folder = await written.write("notes", "A = 1\n", {"title": "One"})
    installs.failure = InstallFailure("no such distribution")
    with pytest.raises(InstallFailure, match="no such distribution"):
        await written.write("notes", "A = 2\n", {"title": "Two", "dependencies": ["gone"]})
    assert (await written.source("notes"))[0] == "A = 1\n"
    assert files(folder.parent) == ["notes"]


@pytest.mark.parametrize(
    ("plugin", "source", "manifest", "words"),
    [
        ("Notes", SOURCE, {}, "'Notes' is no id of a plugin"),
        ("../x", SOURCE, {}, "'../x' is no id"),
        ("", SOURCE, {}, "'' is no id"),
        (3, SOURCE, {}, "3 is no id"),
        ("notes", "", {}, "source must be the text of a Python module"),
        ("notes", None, {}, "source must be the text"),
        ("notes", "def apply(:\n", {}, "source is no Python, line 1: invalid syntax"),
        ("notes", "a = '\0'\n", {}, "source is no Python"),
        ("notes", SOURCE, 3, "manifest must be a mapping, or its text"),
        ("notes", SOURCE, "a: b: c\n", "plugin.yaml:1: not YAML"),
        ("notes", SOURCE, "- a\n", "plugin.yaml: found a list"),
        ("notes", SOURCE, {"id": "other"}, "plugin.yaml: id is other, and the plugin is written as notes"),
        ("notes", SOURCE, {"titel": "x"}, "titel is an unknown key (did you mean title?)"),
        ("notes", SOURCE, {"main": "../x.py"}, "main must be a module in the plugin's own folder"),
        ("notes", SOURCE, {"main": "./a/b.py"}, "main must be a module"),
        ("notes", SOURCE, {"main": "plugin.yaml"}, "main must be a module"),
        ("notes", SOURCE, {"dependencies": ["not a requirement"]}, "dependencies[0]"),
        ("notes", SOURCE, {"title": {1, 2}}, "must be text"),
    ],
)  # fmt: skip
@ensureDeferred
async def test_what_cannot_be_a_plugin_is_refused_and_nothing_has(
    written, installs, tmp_path, plugin, source, manifest, words
):
    with pytest.raises(InstallFailure) as caught:
        await written.write(plugin, source, manifest)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)
    assert caught.value.asked
    assert not installs.asked
    assert not (tmp_path / "plugins").exists()


@ensureDeferred
async def test_a_plugin_that_nobody_wrote_has_no_source(written):
    for plugin in ("notes", "other"):
        with pytest.raises(InstallFailure, match=f"{plugin} was not written in a client"):
            await written.source(plugin)
    assert not written.has("../etc")


@ensureDeferred
async def test_a_plugin_is_removed_with_its_folder(written, tmp_path):
    await written.write("notes", SOURCE, {})
    assert await written.remove("notes")
    assert files(tmp_path / "plugins") == []
    assert not await written.remove("notes")


@ensureDeferred
async def test_what_a_process_that_died_left_is_put_right(written, tmp_path):
    folder = await written.write("notes", "A = 1\n", {})
    # It had moved the old one away, and not the new one in.
    folder.rename(folder.parent / ".notes.old")
    (folder.parent / ".notes.new").mkdir()
    assert (await written.source("notes"))[0] == "A = 1\n"
    # It had moved the new one in, and not taken the old one away.
    (folder.parent / ".notes.old").mkdir()
    await written.write("notes", "A = 2\n", {})
    assert (await written.source("notes"))[0] == "A = 2\n"
    assert files(folder.parent) == ["notes"]


@ensureDeferred
async def test_a_folder_that_cannot_take_its_place_is_no_loss(written, monkeypatch):
    folder = await written.write("notes", "A = 1\n", {})
    rename = Path.rename

    def refuse(self, target):
        if self.name == ".notes.new":
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", refuse)
    with pytest.raises(OSError, match="No space"):
        await written.write("notes", "A = 2\n", {})
    assert (await written.source("notes"))[0] == "A = 1\n"
    assert files(folder.parent) == ["notes"]


@ensureDeferred
async def test_links_in_the_place_of_leftovers_are_not_followed(written, tmp_path):
    precious = tmp_path / "precious"
    precious.mkdir()
    (precious / "file").write_text("kept")
    folder = tmp_path / "plugins"
    folder.mkdir()
    (folder / "notes").mkdir()
    (folder / "notes" / "plugin.yaml").write_text(yaml.safe_dump({"id": "notes"}))
    (folder / ".notes.gone").symlink_to(precious)
    assert await written.remove("notes")
    assert (precious / "file").read_text() == "kept"
