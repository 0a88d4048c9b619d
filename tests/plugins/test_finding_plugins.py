"""Plugins are found by their entries, and nothing of theirs is imported for it."""

import sys

import attrs
import pytest

from ahpd.plugins.finding import find
from ahpd.plugins.skipped import Skipped

from .made import APPLY, entry, finder, install, install_editable, manifest, write

#: The body of a module that must not run.
TRAP = "raise RuntimeError('it was imported')\n"


def refused(found_by, named, **keys):
    with pytest.raises(Skipped) as caught:
        found_by.find(entry(named, **keys))
    assert "\n" not in caught.value.line
    assert caught.value.entry.source == str(named)
    return caught.value


@pytest.fixture
def site(tmp_path):
    folder = tmp_path / "site"
    folder.mkdir()
    return folder


@pytest.fixture(autouse=True)
def _nothing_imported():
    before = {name for name in sys.modules if name.startswith(("acme", "_ahpd_plugin_"))}
    yield
    after = {name for name in sys.modules if name.startswith(("acme", "_ahpd_plugin_"))}
    assert after == before


# -- distributions ---------------------------------------------------------------------


def acme(site, **more):
    files = {
        "acme_bot/__init__.py": TRAP,
        "acme_bot/plugin.py": TRAP,
        "acme_bot/plugin.yaml": manifest(description="Talks."),
    }
    return install(site, "Acme.Bot", {"bot": "acme_bot.plugin"}, files, version="2.5", **more)


@pytest.mark.parametrize("named", ["acme-bot", "Acme.Bot", "acme_bot", "bot"])
def test_a_distribution_is_found_by_its_name_and_by_its_entry_points(tmp_path, site, named):
    found = finder(tmp_path, site=[acme(site)]).find(entry(named))
    assert (found.id, found.kind, found.module) == ("bot", "distribution", "acme_bot.plugin")
    assert found.file == site / "acme_bot" / "plugin.py"
    assert found.folder == site / "acme_bot"
    assert (found.distribution, found.title, found.version) == ("Acme.Bot", "Acme.Bot", "2.5")
    assert found.manifest.description == "Talks."
    assert found.undeclared


def test_one_entry_is_found_on_its_own(tmp_path, site):
    acme(site)
    found = find(
        entry("bot"), working_directory=tmp_path, config_dir=tmp_path, version="1", site=[site]
    )
    assert found.id == "bot"


def test_a_manifest_may_say_a_distributions_title_and_not_its_version(tmp_path, site):
    acme(site)
    write(site, {"acme_bot/plugin.yaml": "title: Bot\nversion: 9.9.9\nid: bot\n"})
    found = finder(tmp_path, site=[site]).find(entry("bot"))
    assert (found.title, found.version) == ("Bot", "2.5")


def test_a_package_itself_may_be_the_module(tmp_path, site):
    files = {"acme/__init__.py": TRAP, "acme/plugin.yaml": ""}
    install(site, "acme", {"acme": "acme"}, files)
    assert finder(tmp_path, site=[site]).find(entry("acme")).file == site / "acme" / "__init__.py"


def test_a_namespace_package_is_looked_through(tmp_path, site):
    files = {"acme_ns/bot/__init__.py": TRAP, "acme_ns/bot/plugin.yaml": ""}
    install(site, "acme-bot", {"bot": "acme_ns.bot"}, files)
    found = finder(tmp_path, site=[site]).find(entry("bot"))
    assert (found.file, found.root) == (site / "acme_ns/bot/__init__.py", site)


def test_a_distribution_with_several_plugins_is_refused_naming_them(tmp_path, site):
    files = {"acme/__init__.py": TRAP, "acme/a.py": TRAP, "acme/b.py": TRAP, "acme/plugin.yaml": ""}
    install(site, "acme-many", {"first": "acme.a", "second": "acme.b"}, files)
    found_by = finder(tmp_path, site=[site])
    assert refused(found_by, "acme-many").why == (
        "the distribution acme-many has several plugins: name one of first, second"
    )
    assert found_by.find(entry("second")).module == "acme.b"


def test_the_plugin_that_is_called_as_its_distribution_is_meant_by_the_name(tmp_path, site):
    files = {"acme/__init__.py": TRAP, "acme/a.py": TRAP, "acme/plugin.yaml": ""}
    install(site, "acme", {"acme": "acme", "more": "acme.a"}, files)
    assert finder(tmp_path, site=[site]).find(entry("acme")).module == "acme"


def test_an_entry_point_that_two_distributions_have_is_refused_naming_them(tmp_path, site):
    for name in ("acme-one", "acme-two"):
        module = name.replace("-", "_")
        files = {f"{module}/__init__.py": TRAP, f"{module}/plugin.yaml": ""}
        install(site, name, {"bot": module}, files)
    found_by = finder(tmp_path, site=[site])
    assert refused(found_by, "bot").why == (
        "bot is an entry point of acme-one and acme-two: name the distribution"
    )
    assert found_by.find(entry("acme-two")).module == "acme_two"


def test_of_a_distribution_that_is_installed_twice_the_first_is_found(tmp_path, site):
    acme(site)
    other = acme(tmp_path / "other")
    found = finder(tmp_path, site=[other, site]).find(entry("bot"))
    assert found.root == other


def test_a_distribution_that_is_no_plugin_is_refused_in_words(tmp_path, site):
    install(site, "acme-lib", {}, {"acme_lib.py": TRAP})
    skipped = refused(finder(tmp_path, site=[site]), "acme-lib")
    assert skipped.line == (
        "plugin acme-lib skipped: the distribution acme-lib is no plugin: "
        "it has no entry point in the group ahpd.plugins"
    )
    assert skipped.state == "error"


def test_what_is_not_installed_says_what_installs_it(tmp_path, site):
    skipped = refused(finder(tmp_path, site=[site]), "acme-gone")
    assert skipped.why == "acme-gone is not installed; `ahpd plugin install acme-gone` installs it"
    assert skipped.state == "missing"


def test_a_folder_that_is_named_as_a_distribution_would_be_is_hinted_at(tmp_path):
    (tmp_path / "here" / "my-plugin").mkdir(parents=True)
    assert refused(finder(tmp_path), "my-plugin").why.endswith("; a folder is named ./my-plugin")


def test_a_distribution_without_a_manifest_is_refused_with_where_to_write_it(tmp_path, site):
    install(site, "acme-bot", {"bot": "acme_bot"}, {"acme_bot/__init__.py": TRAP})
    skipped = refused(finder(tmp_path, site=[site]), "acme-bot")
    assert skipped.line == (
        "plugin bot skipped: the distribution acme-bot has no manifest: it ships a plugin.yaml "
        f"beside {site}/acme_bot/__init__.py"
    )


def test_a_manifest_that_lies_beside_a_lone_module_by_chance_is_not_its_own(tmp_path, site):
    install(
        site, "acme-one", {"one": "acme_one"}, {"acme_one.py": TRAP, "plugin.yaml": "title: One"}
    )
    install(site, "acme-two", {"two": "acme_two"}, {"acme_two.py": TRAP})
    found_by = finder(tmp_path, site=[site])
    assert found_by.find(entry("one")).title == "One"
    assert "has no manifest" in refused(found_by, "two").why


@pytest.mark.parametrize("module", ["acme_bot.plugin", "acme_gone", "json.tool.nothing"])
def test_a_module_that_is_not_there_is_missing(tmp_path, site, module):
    install(site, "acme-bot", {"bot": module}, {"acme_bot/__init__.py": TRAP})
    skipped = refused(finder(tmp_path, site=[site]), "bot")
    assert skipped.state == "missing"
    assert skipped.why == f"the distribution acme-bot has no module {module}"


def test_an_entry_point_that_names_something_in_a_module_is_refused(tmp_path, site):
    install(site, "acme-bot", {"bot": "acme_bot:apply"}, {"acme_bot.py": TRAP})
    assert refused(finder(tmp_path, site=[site]), "bot").why == (
        "the entry point bot of the distribution acme-bot is 'acme_bot:apply', and names a module"
    )


def test_an_entry_point_whose_name_is_no_slug_is_skipped(tmp_path, site):
    install(site, "acme-bot", {"My_Bot": "acme_bot"}, {"acme_bot.py": TRAP})
    skipped = refused(finder(tmp_path, site=[site]), "acme-bot")
    assert skipped.line == (
        "plugin My_Bot skipped: its name is not a slug: the entry point 'My_Bot' of the "
        "distribution acme-bot is to be small letters, digits and dashes, at most 40, a letter first"
    )


def test_an_entry_for_a_distribution_carries_no_manifest(tmp_path, site):
    skipped = refused(
        finder(tmp_path, site=[acme(site)]), "bot", manifest={"id": "bot"}, place="plugins[1]"
    )
    assert skipped.why.startswith("plugins[1] carries a manifest, and bot is a distribution")


@pytest.mark.parametrize("layout", ["", "src"])
def test_an_editable_installation_is_followed_to_its_tree(tmp_path, site, layout):
    project = tmp_path / "project"
    root = project / layout
    write(root, {"acme_ed/__init__.py": TRAP, "acme_ed/plugin.yaml": "title: Ed"})
    install_editable(site, "acme-ed", {"ed": "acme_ed"}, project, root)
    found = finder(tmp_path, site=[site]).find(entry("ed"))
    assert (found.title, found.file) == ("Ed", root / "acme_ed" / "__init__.py")


def test_an_editable_installation_that_hangs_on_a_finder_is_asked_of_it(
    tmp_path, site, monkeypatch
):
    project = write(
        tmp_path / "project", {"acme_hook/__init__.py": TRAP, "acme_hook/sub/__init__.py": TRAP,
                               "acme_hook/sub/plugin.yaml": ""},
    )  # fmt: skip

    class Hook:
        @staticmethod
        def find_spec(name, path=None, target=None):
            from importlib.util import spec_from_file_location

            if name == "acme_hook":
                return spec_from_file_location(name, project / "acme_hook" / "__init__.py")
            return None

    monkeypatch.setattr(sys, "meta_path", [*sys.meta_path, Hook])
    install_editable(site, "acme-hook", {"hook": "acme_hook.sub"}, project, project, pth=False)
    found = finder(tmp_path, site=[site]).find(entry("hook"))
    assert found.file == project / "acme_hook" / "sub" / "__init__.py"


@pytest.mark.parametrize("layout", ["", "src"])
def test_an_editable_installation_whose_finder_does_not_run_yet_is_looked_for_in_its_project(
    tmp_path, site, layout
):
    project = tmp_path / "a project"
    write(project / layout, {"acme_ed/__init__.py": TRAP, "acme_ed/plugin.yaml": ""})
    install_editable(site, "acme-ed", {"ed": "acme_ed"}, project, project, pth=False)
    found = finder(tmp_path, site=[site]).find(entry("ed"))
    assert found.file == project / layout / "acme_ed" / "__init__.py"


def test_what_is_installed_is_read_once_for_all_plugins(tmp_path, site, monkeypatch):
    import importlib.metadata

    for number in range(20):
        name = f"acme_p{number}"
        files = {f"{name}/__init__.py": TRAP, f"{name}/plugin.yaml": ""}
        install(site, name, {f"p{number}": name}, files)
    asked = []
    real = importlib.metadata.distributions

    def counted(**by):
        asked.append(by)
        return real(**by)

    monkeypatch.setattr(importlib.metadata, "distributions", counted)
    found_by = finder(tmp_path, site=[site])
    assert asked == []
    results = found_by.find_all(entry(f"p{number}") for number in range(20))
    assert [found.id for found in results] == [f"p{number}" for number in range(20)]
    assert len(asked) == 1


# -- files and folders -------------------------------------------------------------------

NOTES = manifest(id="notes", title="Notes", version="1.0.0", main="./notes.py")


def test_a_folder_is_found_through_its_manifest(tmp_path):
    folder = write(tmp_path / "here" / "notes", {"plugin.yaml": NOTES, "notes.py": TRAP})
    found = finder(tmp_path).find(entry("./notes"))
    assert (found.id, found.kind, found.title, found.version) == (
        "notes", "standalone", "Notes", "1.0.0",
    )  # fmt: skip
    assert (found.file, found.folder, found.distribution) == (folder / "notes.py", folder, None)


@pytest.mark.parametrize("named", ["notes/plugin.yaml", "./notes/notes.py", "notes/../notes"])
def test_a_file_of_it_may_be_named_instead(tmp_path, named):
    folder = write(tmp_path / "here" / "notes", {"plugin.yaml": NOTES, "notes.py": TRAP})
    found = finder(tmp_path).find(entry(named))
    assert (found.id, found.file, found.folder) == ("notes", folder / "notes.py", folder)


def test_main_may_be_a_package(tmp_path):
    files = {"plugin.yaml": manifest(id="notes", main="notes"), "notes/__init__.py": TRAP}
    folder = write(tmp_path / "here" / "n", files)
    found = finder(tmp_path).find(entry("./n"))
    assert (found.file, found.folder) == (folder / "notes" / "__init__.py", folder)


def test_a_module_may_be_named_whose_manifest_names_none(tmp_path):
    write(tmp_path / "here", {"plugin.yaml": manifest(id="notes"), "notes.py": TRAP})
    assert finder(tmp_path).find(entry("notes.py")).file == tmp_path / "here" / "notes.py"


def test_a_manifest_that_names_another_module_than_the_source_is_refused_naming_both(tmp_path):
    here = write(tmp_path / "here", {"plugin.yaml": NOTES, "notes.py": TRAP, "other.py": TRAP})
    assert refused(finder(tmp_path), "./other.py").why == (
        f"{here}/plugin.yaml: main is ./notes.py, and the source names {here}/other.py"
    )


def test_the_working_directory_comes_before_the_configurations(tmp_path):
    files = {"plugin.yaml": NOTES, "notes.py": TRAP}
    there = write(tmp_path / "config" / "notes", files)
    found_by = finder(tmp_path)
    assert found_by.find(entry("./notes")).folder == there
    here = write(tmp_path / "here" / "notes", files)
    assert found_by.find(entry("./notes")).folder == here
    assert found_by.find(entry(there)).folder == there


def test_a_path_to_nothing_is_missing_and_says_where_it_was_looked_for(tmp_path):
    skipped = refused(finder(tmp_path), "./gone")
    assert skipped.line == (
        f"plugin ./gone skipped: Plugin ./gone is not there: tried {tmp_path}/here/gone "
        f"and {tmp_path}/config/gone"
    )
    assert skipped.state == "missing"


def test_an_entry_may_carry_the_manifest(tmp_path):
    write(tmp_path / "here", {"notes.py": TRAP})
    carried = {"id": "notes", "version": "1.0.0", "description": "Adds notes."}
    found = finder(tmp_path).find(entry("./notes.py", manifest=carried, name="Notes"))
    assert (found.id, found.title, found.version) == ("notes", "Notes", "1.0.0")
    assert found.manifest.description == "Adds notes."


def test_an_entrys_own_manifest_is_the_one_that_counts(tmp_path):
    write(tmp_path / "here" / "n", {"plugin.yaml": NOTES, "notes.py": TRAP, "b.py": TRAP})
    found = finder(tmp_path).find(entry("./n", manifest={"id": "mine", "main": "b.py"}))
    assert (found.id, found.file.name) == ("mine", "b.py")


def test_an_entrys_own_manifest_that_is_wrong_names_the_entry(tmp_path):
    write(tmp_path / "here", {"notes.py": TRAP})
    carried = {"id": "notes", "colour": "red"}
    skipped = refused(finder(tmp_path), "./notes.py", manifest=carried, place="plugins[3]")
    assert skipped.line.startswith("plugin notes skipped: plugins[3]: colour is an unknown key")


@pytest.mark.parametrize("named", ["./lone.py", "./lone"])
def test_a_plugin_without_a_manifest_is_told_how_to_write_one(tmp_path, named):
    write(tmp_path / "here", {"lone.py": APPLY, "lone/lone.py": APPLY})
    assert refused(finder(tmp_path), named).why == (
        f"{named} has no manifest: a standalone plugin writes one in a plugin.yaml, with an id "
        "and a main, or in its configuration entry, which carries one when it has an id"
    )


@pytest.mark.parametrize(
    ("main", "words"),
    [
        (None, "main is missing: the module to run, such as main: notes.py"),
        ("gone.py", "main gone.py is not there"),
        ("notes.txt", "notes.txt is no Python module"),
        ("sub", "sub is no package: it has no __init__.py"),
    ],
)
def test_a_main_that_is_no_module_is_refused(tmp_path, main, words):
    keys = {"id": "notes"} if main is None else {"id": "notes", "main": main}
    files = {"plugin.yaml": manifest(**keys), "notes.txt": "", "sub/x.py": ""}
    write(tmp_path / "here" / "n", files)
    assert refused(finder(tmp_path), "./n").why.endswith(words)


@pytest.mark.parametrize("main", ["../other.py", "{}/other.py", "link.py"])
def test_a_main_outside_of_the_folder_is_refused_unless_it_is_let_through(tmp_path, main):
    write(tmp_path / "here", {"other.py": TRAP})
    text = manifest(id="notes", main=main.format(tmp_path / "here"))
    folder = write(tmp_path / "here" / "n", {"plugin.yaml": text})
    (folder / "link.py").symlink_to(tmp_path / "here" / "other.py")
    skipped = refused(finder(tmp_path), "./n")
    assert "is outside of the plugin's folder" in skipped.why
    found = finder(tmp_path, outside="warn").find(entry("./n"))
    assert "is outside of the plugin's folder" in found.warnings[0]
    assert found.file.resolve() == tmp_path / "here" / "other.py"


# -- source trees --------------------------------------------------------------------------

PROJECT = """
[project]
name = "acme-tree"
version = "3.1"
dependencies = ["ahpd>=0.1"]

[project.entry-points."ahpd.plugins"]
tree = "acme_tree.plugin"
"""


@pytest.mark.parametrize("layout", ["", "src/"])
def test_a_source_tree_is_found_through_its_entry_point(tmp_path, layout):
    files = {
        "pyproject.toml": PROJECT,
        f"{layout}acme_tree/__init__.py": TRAP,
        f"{layout}acme_tree/plugin.py": TRAP,
        f"{layout}acme_tree/plugin.yaml": "title: Tree",
    }
    folder = write(tmp_path / "here" / "tree", files)
    found = finder(tmp_path).find(entry("./tree"))
    assert (found.id, found.kind, found.module) == ("tree", "tree", "acme_tree.plugin")
    assert (found.title, found.version, found.distribution) == ("Tree", "3.1", "acme-tree")
    assert found.root == folder / layout


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, "names the module acme_tree.plugin, and "),
        ({"acme_tree/plugin.py": TRAP}, "has no manifest: write a plugin.yaml beside "),
        (
            {"pyproject.toml": PROJECT + 'second = "acme_tree.other"\n'},
            "has several plugins: second, tree; install it, and name one",
        ),
        ({"pyproject.toml": "[project"}, "pyproject.toml cannot be read: "),
        (
            {"pyproject.toml": "[project]\nname = 'x'\n"},
            "is of no plugin: it has no entry point in the",
        ),
        (
            {"pyproject.toml": PROJECT.replace("tree =", '"-tree" =')},
            "tree/pyproject.toml is to be small letters, digits and dashes, at most 40, a letter",
        ),
    ],
)
def test_a_tree_that_is_no_plugin_is_refused_in_words(tmp_path, files, words):
    write(tmp_path / "here" / "tree", {"pyproject.toml": PROJECT, **files})
    assert words in refused(finder(tmp_path), "./tree").why


def test_a_standalone_plugin_may_have_a_pyproject_of_its_own(tmp_path):
    said = manifest(id="notes", main="notes.py")
    files = {"pyproject.toml": "[tool.ruff]\n", "plugin.yaml": said, "notes.py": TRAP}
    write(tmp_path / "here" / "notes", files)
    assert finder(tmp_path).find(entry("./notes")).kind == "standalone"


# -- what is no source, and what is there twice ---------------------------------------------


@pytest.mark.parametrize(
    ("named", "words"),
    [
        ("https://example.com/x.tar.gz", "is an address"),
        ("git+ssh://example.com/x.git", "is an address"),
        ("acme @ https://example.com/x.whl", "is an address"),
        ("acme-bot>=1", "says a version or extras"),
        ("acme-bot[all]", "says a version or extras"),
        ("@acme/bot:1", "tried "),
        ("-rf", "is neither the name of a distribution nor a path"),
        ("", "is neither the name of a distribution nor a path"),
    ],
)
def test_what_is_neither_a_name_nor_a_path_is_refused(tmp_path, named, words):
    assert words in refused(finder(tmp_path), named).why


def test_of_two_entries_with_one_id_both_are_named_and_the_first_is_kept(tmp_path):
    for folder in ("a", "b", "c"):
        text = manifest(id="notes" if folder != "c" else "other", main="notes.py")
        write(tmp_path / "here" / folder, {"plugin.yaml": text, "notes.py": TRAP})
    entries = [
        entry("./a", enabled=False, place="plugins[0]"),
        entry("./gone"),
        entry("./b", place="plugins[2]"),
        entry("./c"),
    ]
    first, gone, second, other = finder(tmp_path).find_all(entries)
    assert (first.id, other.id, gone.state) == ("notes", "other", "missing")
    assert second.line == (
        "plugin notes skipped: ./a (plugins[0]) and ./b (plugins[2]) have one id, notes; "
        "only the first is loaded"
    )
    assert second.entry is entries[2]
    assert second.found.folder.name == "b"


# -- what a flag names ------------------------------------------------------------------------


def flag(source):
    return entry(source, place="--plugin")


@pytest.mark.parametrize("spelled", ["{here}/notes/", "{here}/notes/notes.py", "./notes/../notes"])
def test_a_flag_that_spells_the_files_source_otherwise_is_the_files_entry_turned_on(
    tmp_path, spelled
):
    here = tmp_path / "here"
    write(here / "notes", {"plugin.yaml": manifest(id="notes", main="notes.py"), "notes.py": TRAP})
    listed = entry(
        here / "notes", enabled=False, options={"a": 1}, grants=("a:b",), place="plugins[0]"
    )
    found_by, said = finder(tmp_path), flag(spelled.format(here=here))
    (found,) = found_by.find_all([listed, said])
    assert found.entry == attrs.evolve(listed, enabled=True)
    # The same where the file's list is left out.
    (found,) = found_by.find_all([attrs.evolve(said, left_out=(listed,))])
    assert found.entry == attrs.evolve(listed, enabled=True)


@pytest.mark.parametrize("installed", [True, False])
def test_a_flag_that_names_another_copy_takes_the_entrys_place_options_and_grants(
    tmp_path, site, installed
):
    tree = {"acme_tree/plugin.py": TRAP, "acme_tree/plugin.yaml": ""}
    if installed:
        install(site, "acme-tree", {"tree": "acme_tree.plugin"}, tree)
    write(tmp_path / "here" / "tree", {"pyproject.toml": PROJECT, **tree})
    write(tmp_path / "here" / "z", {"plugin.yaml": manifest(id="z", main="z.py"), "z.py": TRAP})
    listed = entry("acme-tree", options={"a": 1}, grants=("a:b",), place="plugins[0]")
    last = entry("./z", place="plugins[1]")
    found, other = finder(tmp_path, site=[site]).find_all([listed, last, flag("./tree")])
    assert (found.kind, found.entry.source, found.entry.place) == ("tree", "./tree", "--plugin")
    assert (found.entry.options, found.entry.grants) == ({"a": 1}, ("a:b",))
    assert found.entry.listed_as == "acme-tree"
    assert other.id == "z"
    # What was found so is looked up again as it is.
    (again,) = finder(tmp_path, site=[site]).find_all([found.entry])
    assert again.entry == found.entry


def test_a_flag_whose_manifest_cannot_be_read_now_stands_where_it_stood(tmp_path, site):
    """Else the copy of it that the file lists would be loaded."""
    tree = {"acme_tree/plugin.py": TRAP, "acme_tree/plugin.yaml": ""}
    install(site, "acme-tree", {"tree": "acme_tree.plugin"}, tree)
    write(tmp_path / "here" / "tree", {"pyproject.toml": PROJECT, **tree})
    entries = [entry("acme-tree", options={"a": 1}, place="plugins[0]"), flag("./tree")]
    (found,) = finder(tmp_path, site=[site]).find_all(entries)
    write(tmp_path / "here" / "tree", {"acme_tree/plugin.yaml": "titel: Tree"})
    (skipped,) = finder(tmp_path, site=[site]).find_all(entries, {"./tree": "tree"})
    assert isinstance(skipped, Skipped)
    assert skipped.entry == found.entry
    assert "titel" in skipped.why


def test_a_flag_that_names_another_plugin_adds_it_behind_the_files(tmp_path):
    for name in ("one", "two"):
        files = {"plugin.yaml": manifest(id=name, main="m.py"), "m.py": TRAP}
        write(tmp_path / "here" / name, files)
    listed = entry("./one", options={"a": 1}, place="plugins[0]")
    left_out = attrs.evolve(flag("./two"), left_out=(listed,))
    (found,) = finder(tmp_path).find_all([left_out])
    assert (found.id, found.entry) == ("two", flag("./two"))
    found = finder(tmp_path).find_all([listed, flag("./two")])
    assert [one.entry for one in found] == [listed, flag("./two")]


# -- the version that runs --------------------------------------------------------------------


def notes_for(tmp_path, requires):
    text = manifest(id="notes", main="notes.py", requires=requires)
    write(tmp_path / "here" / "n", {"plugin.yaml": text, "notes.py": TRAP})


def test_a_plugin_for_another_version_is_incompatible(tmp_path):
    notes_for(tmp_path, "ahpd>=0.2")
    skipped = refused(finder(tmp_path, version="0.1.7"), "./n")
    assert skipped.line == "plugin notes skipped: it needs ahpd >=0.2, and this is ahpd 0.1.7"
    assert skipped.state == "incompatible"
    assert skipped.found.id == "notes"
    assert finder(tmp_path, version="0.2.0").find(entry("./n")).id == "notes"


def test_a_version_before_a_release_is_compared_as_what_it_is(tmp_path):
    notes_for(tmp_path, "ahpd>=0.1,<0.3")
    assert finder(tmp_path, version="0.2.0.dev3").find(entry("./n")).id == "notes"


@pytest.mark.parametrize(
    ("wanted", "state"),
    [
        ("ahpd<0.1", "incompatible"),
        ("AHPD (<0.1)", "incompatible"),
        ("ahpd>=0.1,<0.2", None),
        ("ahpd", None),
        ("ahpd-agent-acp<0.1", None),
        ("ahpd<0.1; extra == 'test'", None),
        ("ahpd<0.1; python_version < '3'", None),
        ("ahpd<0.1; python_version > '3'", "incompatible"),
        ("ahpd @ file:///x", None),
        ("ahpd >> 1", "error"),
        ("ahpd<0.1; nonsense == 'x'", "error"),
        ("other >> 1", None),
    ],
)
def test_what_a_distribution_requires_of_this_program_is_compared(tmp_path, site, wanted, state):
    acme(site, requires=["attrs>=1", wanted])
    found_by = finder(tmp_path, site=[site])
    if state is None:
        assert found_by.find(entry("bot")).id == "bot"
    else:
        skipped = refused(found_by, "bot")
        assert skipped.state == state
        if state == "error":
            assert f"the distribution Acme.Bot requires {wanted!r}, which cannot be read" in (
                skipped.why
            )


def test_what_a_tree_requires_is_compared(tmp_path):
    files = {
        "pyproject.toml": PROJECT.replace("ahpd>=0.1", "ahpd>=5"),
        "acme_tree/plugin.py": TRAP,
        "acme_tree/plugin.yaml": "",
    }
    write(tmp_path / "here" / "tree", files)
    assert refused(finder(tmp_path), "./tree").state == "incompatible"


def test_entry_points_are_read_as_the_standard_library_reads_them(tmp_path):
    from importlib.metadata import Distribution

    from ahpd.plugins.distributions import Distributions

    info = tmp_path / "odd-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n")
    text = "[console_scripts]\r\na = b:c\r\n\r\n[ahpd.plugins]\r\n# x = y\r\none=odd.one\r\n"
    text += "  two = odd.two:plugin [extra]\r\n[other]\r\nthree = odd.three\r\n"
    (info / "entry_points.txt").write_bytes(text.encode())
    expected = Distribution.at(info).entry_points.select(group="ahpd.plugins")
    found = [Distributions([tmp_path]).point(name) for name in ("one", "two")]
    assert [(each.name, each.module) for each in found] == [(e.name, e.value) for e in expected]
    assert [each.version for each in found] == ["1.0", "1.0"]
