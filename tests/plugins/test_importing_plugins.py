"""A plugin's module is imported, looked at, and let go of so that new code takes its place."""

import gc
import importlib
import linecache
import os
import sys
import weakref

import pytest
from twisted.logger import LogLevel, globalLogPublisher

from ahpd.plugins.modules import import_plugin, purge
from ahpd.plugins.skipped import Skipped

from .made import APPLY, entry, finder, install, install_editable, manifest, write


@pytest.fixture(autouse=True)
def _as_it_was():
    """Whatever a test imports is gone after it, and the path is as it was."""
    before, path = set(sys.modules), list(sys.path)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("acme", "_ahpd_plugin_")):
            del sys.modules[name]
    assert [one for one in sys.path if one not in path] == []


@pytest.fixture(autouse=True)
def _compiled(_as_it_was, monkeypatch):
    """What is imported is compiled to files, as it is where nobody says otherwise."""
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    monkeypatch.setattr(sys, "pycache_prefix", None)


@pytest.fixture
def site(tmp_path, monkeypatch):
    folder = tmp_path / "site"
    folder.mkdir()
    monkeypatch.syspath_prepend(str(folder))
    return folder


def notes(tmp_path, text, *, folder="notes", name="notes", helper=""):
    """A standalone plugin whose module is `text`, with a `helper` beside it."""
    said = manifest(id=name, main="notes.py", title="Notes")
    files = {"plugin.yaml": said, "notes.py": text, "helper.py": helper}
    write(tmp_path / "here" / folder, files)
    return finder(tmp_path).find(entry(f"./{folder}"))


def bot(tmp_path, site, text=APPLY, **more):
    files = {
        "acme_bot/__init__.py": "",
        "acme_bot/plugin.py": text,
        "acme_bot/plugin.yaml": "title: Bot",
        **more,
    }
    install(site, "acme-bot", {"bot": "acme_bot.plugin"}, files)
    return finder(tmp_path, site=[site]).find(entry("bot"))


def refused(found):
    with pytest.raises(Skipped) as caught:
        import_plugin(found)
    assert "\n" not in caught.value.line
    assert caught.value.plugin == found.id
    assert caught.value.found is found
    return caught.value.why


# -- what a module exports ----------------------------------------------------------------


def test_what_a_module_exports_is_handed_back(tmp_path):
    text = "name = 'notes'\ntitle = 'My notes'\ndefaults = {'model': 'fast'}\n" + APPLY
    imported = import_plugin(notes(tmp_path, text))
    assert imported.apply is imported.module.apply
    assert imported.defaults == {"model": "fast"}
    assert (imported.title, imported.name) == ("My notes", "notes")
    purge(imported)


def test_apply_alone_is_required(tmp_path):
    imported = import_plugin(notes(tmp_path, APPLY))
    assert (imported.defaults, imported.title, imported.name) == ({}, "Notes", None)
    purge(imported)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "does not export an apply function"),
        ("apply = 3\n", "does not export an apply function"),
        ("def Apply(host, options): ...\n", "does not export an apply function"),
        (f"name = 'other'\n{APPLY}", "exports the name 'other', and its id is 'notes'"),
        (f"name = '@acme/x'\n{APPLY}", "exports the name '@acme/x', and its id is 'notes'"),
        (f"title = 3\n{APPLY}", "exports a title that is no text"),
        (f"defaults = ['a']\n{APPLY}", "exports defaults that are no mapping of options"),
        (f"defaults = {{1: 'a'}}\n{APPLY}", "exports defaults that are no mapping of options"),
    ],
)
def test_a_module_that_is_no_plugin_is_refused_in_words(tmp_path, text, words):
    found = notes(tmp_path, text)
    assert refused(found) == f"{found.file} {words}"
    assert not [name for name in sys.modules if name.startswith("_ahpd_plugin_")]


@pytest.mark.parametrize("name", ["options_schema", "optionsSchema", "manifest"])
def test_a_module_that_exports_what_its_manifest_says_is_refused_with_where_to_write_it(
    tmp_path, name
):
    found = notes(tmp_path, f"{name} = {{}}\n{APPLY}")
    why = refused(found)
    assert why.startswith(f"{found.file} exports {name}, which is not read: ")
    assert why.endswith(f"in {tmp_path}/here/notes/plugin.yaml")


def test_a_module_of_its_package_is_no_export(tmp_path, site):
    files = {
        "acme_pack/__init__.py": "from . import manifest, name, title\n" + APPLY,
        "acme_pack/manifest.py": "",
        "acme_pack/name.py": "",
        "acme_pack/title.py": "",
        "acme_pack/plugin.yaml": "",
    }
    install(site, "acme-pack", {"pack": "acme_pack"}, files)
    imported = import_plugin(finder(tmp_path, site=[site]).find(entry("pack")))
    assert (imported.name, imported.title) == (None, "acme-pack")
    purge(imported)


# -- what fails ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("raise ValueError('of\\n two lines')\n", "ValueError: of two lines"),
        ("raise ValueError\n", "ValueError"),
        ("raise SystemExit(3)\n", "SystemExit: 3"),
        ("import acme_not_there\n", "ModuleNotFoundError: No module named 'acme_not_there'"),
        ("from . import gone\n", "ImportError: cannot import name 'gone' from "),
        ("def apply(:\n", "SyntaxError: "),
        ("1 / 0\n", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_module_that_fails_is_one_line_with_its_type_and_words(tmp_path, text, words):
    found = notes(tmp_path, text)
    assert refused(found).startswith(f"{found.file} cannot be imported: {words}")


def test_the_trace_is_in_the_log_for_those_who_look_for_it(tmp_path):
    events = []
    globalLogPublisher.addObserver(events.append)
    try:
        why = refused(notes(tmp_path, "1 / 0\n"))
    finally:
        globalLogPublisher.removeObserver(events.append)
    traces = [event["trace"] for event in events if "trace" in event]
    assert len(traces) == 1
    assert "1 / 0" in traces[0]
    assert {event["log_level"] for event in events} == {LogLevel.debug}
    assert "Traceback" not in why


def test_what_failed_is_gone_and_what_it_imported_of_others_stays(tmp_path, site):
    install(site, "acme-shared", {}, {"acme_shared.py": ""})
    text = "import acme_shared\nfrom . import helper\nraise ValueError\n"
    refused(bot(tmp_path, site, text, **{"acme_bot/helper.py": ""}))
    assert [name for name in sys.modules if name.startswith("acme")] == ["acme_shared"]


def test_a_plugin_that_fails_takes_no_modules_from_one_of_its_distribution_that_runs(
    tmp_path, site
):
    files = {
        "acme_two/__init__.py": "",
        "acme_two/good.py": f"from acme_two import shared\n{APPLY}",
        "acme_two/bad.py": "from acme_two import shared\nraise ValueError\n",
        "acme_two/shared.py": "",
        "acme_two/plugin.yaml": "",
    }
    install(site, "acme-two", {"good": "acme_two.good", "bad": "acme_two.bad"}, files)
    found_by = finder(tmp_path, site=[site])
    good = import_plugin(found_by.find(entry("good")))
    refused(found_by.find(entry("bad")))
    assert sys.modules["acme_two.shared"] is good.module.shared
    purge(good)


def test_what_is_let_go_of_is_named_but_for_what_another_that_runs_has_too(tmp_path, site):
    files = {
        "acme_pair/__init__.py": "",
        "acme_pair/shared.py": "",
        "acme_pair/one.py": f"from acme_pair import shared\n{APPLY}",
        "acme_pair/two.py": f"from acme_pair import shared\n{APPLY}",
        "acme_pair/plugin.yaml": "",
    }
    install(site, "acme-pair", {"one": "acme_pair.one", "two": "acme_pair.two"}, files)
    found_by = finder(tmp_path, site=[site])
    one, two = (import_plugin(found_by.find(entry(name))) for name in ("one", "two"))
    lone = import_plugin(notes(tmp_path, APPLY))
    assert purge(one, [two, lone]) == frozenset()
    one = import_plugin(found_by.find(entry("one")))
    assert purge(two, [lone]) == {f"acme_pair{one}" for one in ("", ".one", ".shared", ".two")}
    purge(one)
    assert purge(lone) == {"_ahpd_plugin_notes", "_ahpd_plugin_notes.notes"}


def test_what_goes_for_good_leaves_what_it_shares_to_one_that_runs_on(tmp_path, site):
    files = {
        "acme_kit/__init__.py": "",
        "acme_kit/shared.py": "",
        "acme_kit/one/__init__.py": f"from acme_kit import shared\n{APPLY}",
        "acme_kit/one/own.py": "",
        "acme_kit/one/plugin.yaml": "",
        "acme_kit/two.py": f"from acme_kit import shared\n{APPLY}",
        "acme_kit/plugin.yaml": "",
    }
    install(site, "acme-kit", {"one": "acme_kit.one", "two": "acme_kit.two"}, files)
    found_by = finder(tmp_path, site=[site])
    one, two = (import_plugin(found_by.find(entry(name))) for name in ("one", "two"))
    importlib.import_module("acme_kit.one.own")
    assert purge(one, [two]) == frozenset()
    assert sorted(name for name in sys.modules if name.startswith("acme_kit")) == [
        "acme_kit", "acme_kit.shared", "acme_kit.two"
    ]  # fmt: skip
    assert sys.modules["acme_kit.shared"] is two.module.shared
    assert purge(two) == {"acme_kit", "acme_kit.shared", "acme_kit.two"}


def test_a_failed_import_that_imports_a_module_of_others_anew_is_let_go_of_all_the_same(tmp_path):
    other = import_plugin(notes(tmp_path, APPLY, folder="other", name="other"))
    found = notes(
        tmp_path,
        "import sys\n"
        "from . import helper\n"
        "module = sys.modules.pop('_ahpd_plugin_other')\n"
        "sys.modules['_ahpd_plugin_other'] = module\n"
        "helper.go()\n" + APPLY,
        helper="def go():\n    raise ValueError\n",
    )
    refused(found)
    assert not [name for name in sys.modules if name.startswith("_ahpd_plugin_notes")]
    write(tmp_path / "here" / "notes", {"helper.py": "def go():\n    pass\n"})
    purge(import_plugin(found))
    purge(other)


#: A module that puts another one in its place.
OF_A_CLASS = """
    import sys, types

    class Plugin(types.ModuleType):
        title = "Of a class"

        def apply(self, host, options):
            return "applied"

    sys.modules[__name__] = Plugin(__name__)
"""


@pytest.mark.parametrize("kind", ["standalone", "distribution"])
def test_a_module_may_put_another_one_in_its_place(tmp_path, site, kind):
    if kind == "standalone":
        found, package = notes(tmp_path, OF_A_CLASS), "_ahpd_plugin_notes"
    else:
        found, package = bot(tmp_path, site, OF_A_CLASS), "acme_bot"
    imported = import_plugin(found)
    assert (imported.title, imported.apply(None, {})) == ("Of a class", "applied")
    purge(imported)
    assert not [name for name in sys.modules if name.startswith(package)]


def test_a_package_that_others_are_in_stays_with_them(tmp_path, site):
    files = {
        "acme_base/__init__.py": APPLY,
        "acme_base/shared.py": "",
        "acme_base/extra.py": f"from acme_base import shared\n{APPLY}",
        "acme_base/plugin.yaml": "",
    }
    install(site, "acme-base", {"base": "acme_base", "extra": "acme_base.extra"}, files)
    found_by = finder(tmp_path, site=[site])
    base, extra = (import_plugin(found_by.find(entry(name))) for name in ("base", "extra"))
    assert purge(base, [extra]) == frozenset()
    assert sys.modules["acme_base"] is base.module
    assert sys.modules["acme_base.shared"] is extra.module.shared
    purge(extra)
    assert not [name for name in sys.modules if name.startswith("acme_base")]


def test_a_failed_import_names_what_it_let_go_of(tmp_path):
    with pytest.raises(Skipped) as caught:
        import_plugin(notes(tmp_path, "from . import helper\nraise ValueError\n", helper=""))
    assert "_ahpd_plugin_notes.helper" in caught.value.modules


def test_what_failed_is_let_go_of(tmp_path):
    found = notes(
        tmp_path,
        "import sys\nclass Held: pass\nsys.acme_held.append(Held)\nraise ValueError\n",
    )
    sys.acme_held = held = []
    try:
        with pytest.raises(Skipped) as caught:
            import_plugin(found)
    finally:
        del sys.acme_held
    gone = weakref.ref(held.pop())
    gc.collect()
    assert gone() is None
    assert caught.value.why.endswith("cannot be imported: ValueError (notes.py:4)")


def test_a_module_that_failed_may_be_mended_within_the_same_second(tmp_path):
    found = notes(tmp_path, "from . import helper\n" + APPLY, helper="raise ValueError(1)\n")
    assert refused(found).endswith("ValueError: 1 (helper.py:1)")
    changed_in_place(found.folder / "helper.py", "answer = 3")
    imported = import_plugin(found)
    assert imported.module.helper.answer == 3
    purge(imported)


def test_another_module_of_the_name_is_not_taken_for_the_plugin(tmp_path, site, monkeypatch):
    found = bot(tmp_path, site)
    other = write(tmp_path / "other", {"acme_bot/__init__.py": "", "acme_bot/plugin.py": APPLY})
    monkeypatch.syspath_prepend(str(other))
    assert refused(found) == (
        f"acme_bot.plugin is {other}/acme_bot/plugin.py here, and the plugin's is "
        f"{found.file}: another module has its name"
    )


# -- standalone plugins ------------------------------------------------------------------------


def test_a_standalone_plugin_imports_what_is_beside_it_and_meets_no_other(tmp_path):
    text = "from . import helper\nfrom .helper import who\n" + APPLY
    one = import_plugin(notes(tmp_path, text, folder="a", name="one", helper="who = 'one'\n"))
    two = import_plugin(notes(tmp_path, text, folder="b", name="two", helper="who = 'two'\n"))
    assert (one.module.who, two.module.who) == ("one", "two")
    assert one.module.helper is not two.module.helper
    assert not {"notes", "helper"} & set(sys.modules)
    purge(one)
    assert two.module.helper.__name__ in sys.modules
    purge(two)
    assert not [name for name in sys.modules if name.startswith("_ahpd_plugin_")]


def test_a_package_folder_is_a_package(tmp_path):
    files = {
        "plugin.yaml": manifest(id="pack", main="pack"),
        "pack/__init__.py": "from .deep.down import answer\n" + APPLY,
        "pack/deep/__init__.py": "",
        "pack/deep/down.py": "from .. import up\nanswer = up.value\n",
        "pack/up.py": "value = 42\n",
    }
    write(tmp_path / "here" / "p", files)
    imported = import_plugin(finder(tmp_path).find(entry("./p")))
    assert imported.module.answer == 42
    purge(imported)
    assert not [name for name in sys.modules if name.startswith("_ahpd_plugin_")]


def test_a_folder_that_is_a_package_itself_is_run_as_one(tmp_path):
    text = "from . import shared\nseen = shared\n" + APPLY
    found = notes(tmp_path, text)
    write(found.folder, {"__init__.py": "shared = 'from the package'\n"})
    imported = import_plugin(found)
    assert imported.module.seen == "from the package"
    purge(imported)


def test_a_file_whose_name_is_no_identifier_is_imported(tmp_path):
    files = {"plugin.yaml": manifest(id="my-notes", main="my-notes.py"), "my-notes.py": APPLY}
    write(tmp_path / "here" / "n", files)
    imported = import_plugin(finder(tmp_path).find(entry("./n")))
    purge(imported)
    assert not [name for name in sys.modules if name.startswith("_ahpd_plugin_")]


# -- letting go ------------------------------------------------------------------------------


def gone_after(imported):
    """Purge, and answer whether each of the plugin's modules was let go of."""
    own = [
        weakref.ref(module)
        for name, module in list(sys.modules.items())
        if name.startswith((imported.found.module.partition(".")[0],))
    ]
    assert own
    purge(imported)
    purge(imported)
    return own


HOLDING = """
import abc
import functools
from typing import Generic, TypeVar

import attrs
from twisted.logger import Logger
from zope.interface import Interface, implementer

from . import helper

log = Logger()
T = TypeVar("T")


class IThing(Interface):
    pass


@implementer(IThing)
@attrs.define
class Thing(Generic[T]):
    held: int = 0


class Base(abc.ABC):
    @abc.abstractmethod
    def act(self): ...


@functools.lru_cache
def cached(value):
    return Thing(value)


IThing.providedBy(cached(3))
isinstance(cached(3), Base)


def apply(host, options):
    host.append(cached)
"""


def test_a_purged_standalone_plugin_is_gone_once_its_user_lets_go(tmp_path):
    imported = import_plugin(notes(tmp_path, HOLDING, helper="import json\n"))
    kept = []
    imported.apply(kept, {})
    own = gone_after(imported)
    assert kept[0](4).held == 4  # what still runs, runs on
    del imported
    kept.clear()
    gc.collect()
    assert [ref() for ref in own if ref() is not None] == []
    assert "json" in sys.modules


def test_a_purged_distribution_is_gone_and_what_it_imported_stays(tmp_path, site):
    files = {
        "acme_bot/helper.py": "from .deep import core\nimport acme_lib\n",
        "acme_bot/deep/__init__.py": "",
        "acme_bot/deep/core.py": "class Core: pass\n",
    }
    install(site, "acme-lib", {}, {"acme_lib/__init__.py": "", "acme_lib/bot.py": ""})
    imported = import_plugin(bot(tmp_path, site, HOLDING, **files))
    importlib.import_module("acme_lib.bot")
    own = gone_after(imported)
    assert len(own) == 5
    del imported
    gc.collect()
    assert [ref() for ref in own if ref() is not None] == []
    assert sys.modules["acme_lib"].bot is sys.modules["acme_lib.bot"]
    assert not [name for name in sys.modules if name.startswith("acme_bot")]


@pytest.mark.parametrize("lists_files", [True, False])
def test_a_shared_namespace_keeps_what_others_have_in_it(tmp_path, site, lists_files):
    for name in ("one", "two"):
        files = {
            f"acme_ns/{name}/__init__.py": f"from . import helper\n{APPLY}",
            f"acme_ns/{name}/helper.py": "",
            f"acme_ns/{name}/plugin.yaml": "",
        }
        install(site, f"acme-{name}", {name: f"acme_ns.{name}"}, files, lists_files=lists_files)
    found_by = finder(tmp_path, site=[site])
    one, two = (import_plugin(found_by.find(entry(name))) for name in ("one", "two"))
    namespace = sys.modules["acme_ns"]
    purge(one)
    assert not hasattr(namespace, "one")
    assert namespace.two is two.module
    assert sorted(name for name in sys.modules if name.startswith("acme_ns")) == [
        "acme_ns", "acme_ns.two", "acme_ns.two.helper",
    ]  # fmt: skip
    assert import_plugin(found_by.find(entry("one"))).module is not one.module
    purge(two)
    assert not hasattr(namespace, "two")


def test_what_is_installed_without_a_list_of_its_files_takes_no_neighbour_with_it(tmp_path, site):
    install(site, "acme-lib", {}, {"acme_lib.py": ""}, lists_files=False)
    files = {"acme_lone/__init__.py": f"import acme_lib\n{APPLY}", "acme_lone/plugin.yaml": ""}
    install(site, "acme-lone", {"lone": "acme_lone"}, files, lists_files=False)
    purge(import_plugin(finder(tmp_path, site=[site]).find(entry("lone"))))
    assert "acme_lone" not in sys.modules
    assert "acme_lib" in sys.modules


def test_an_editable_tree_goes_whole_and_what_is_installed_inside_of_it_stays(
    tmp_path, site, monkeypatch
):
    project = tmp_path / "project"
    nested = project / ".venv" / "lib"
    write(
        project,
        {
            "acme_ed/__init__.py": f"import acme_extra, acme_nested\n{APPLY}",
            "acme_ed/plugin.yaml": "",
            "acme_extra/__init__.py": "",
            ".venv/lib/acme_nested.py": "",
        },
    )
    monkeypatch.syspath_prepend(str(project))
    monkeypatch.syspath_prepend(str(nested))
    install_editable(site, "acme-ed", {"ed": "acme_ed"}, project, project)
    hook = write(site, {"acme_hook.py": ""}) / "acme_hook.py"
    with (site / "acme_ed-1.0.dist-info" / "RECORD").open("a") as listed:
        listed.write(f"{hook.name},,\n")
    importlib.import_module("acme_hook")  # as an editable installation's own finder is
    purge(import_plugin(finder(tmp_path, site=[site]).find(entry("ed"))))
    assert "acme_hook" in sys.modules
    assert not {"acme_ed", "acme_extra"} & set(sys.modules)
    assert "acme_nested" in sys.modules


def test_this_programs_own_modules_are_nobodys_to_take(tmp_path, site):
    import ahpd.plugins.ids

    files = {"acme_bot/__init__.py": "", "acme_bot/plugin.yaml": ""}
    imported = import_plugin(bot(tmp_path, site, **files))
    listed = frozenset({ahpd.plugins.ids.__file__, *imported.belongs.files()})
    import attrs

    greedy = attrs.evolve(imported, belongs=attrs.evolve(imported.belongs, files=lambda: listed))
    purge(greedy)
    assert sys.modules["ahpd.plugins.ids"] is ahpd.plugins.ids


TREE = """
[project]
name = "acme-tree"
[project.entry-points."ahpd.plugins"]
tree = "acme_tree.plugin"
"""


def test_a_source_tree_is_importable_while_it_is_loaded(tmp_path):
    files = {
        "pyproject.toml": TREE,
        "src/acme_tree/__init__.py": "",
        "src/acme_tree/late.py": "answer = 7\n",
        "src/acme_tree/plugin.py": (
            "def apply(host, options):\n    from acme_tree import late\n    return late.answer\n"
        ),
        "src/acme_tree/plugin.yaml": "",
    }
    folder = write(tmp_path / "here" / "tree", files)
    imported = import_plugin(finder(tmp_path).find(entry("./tree")))
    assert sys.path[-1] == str(folder / "src")
    assert imported.apply(None, {}) == 7
    purge(imported)
    assert str(folder / "src") not in sys.path
    assert not [name for name in sys.modules if name.startswith("acme_tree")]


def tree_and_copy(tmp_path, monkeypatch, text=APPLY, **of_copy):
    """A source tree, and the plugin root that holds a copy of it with one module more."""
    root = tmp_path / "root"
    files = {
        "acme_tree/__init__.py": "",
        "acme_tree/plugin.py": f"where = 'copy'\n{APPLY}",
        "acme_tree/plugin.yaml": "",
        "acme_tree/gone.py": "",
        "acme_gone.py": "",
        "acme_space/of_tree.py": "where = 'copy'\n",
        **of_copy,
    }
    install(root, "acme-tree", {"tree": "acme_tree.plugin"}, files)
    monkeypatch.setattr(sys, "path", [*sys.path, str(root)])
    held = {
        "pyproject.toml": TREE,
        "acme_tree/__init__.py": "",
        "acme_tree/plugin.py": f"where = 'tree'\n{text}",
        "acme_tree/plugin.yaml": "",
        "acme_space/of_tree.py": "where = 'tree'\n",
    }
    write(tmp_path / "here" / "tree", held)
    return finder(tmp_path, site=[root])


def test_a_source_tree_that_is_named_wins_over_its_copy_in_the_plugin_root_and_back(
    tmp_path, monkeypatch
):
    found_by, finders = tree_and_copy(tmp_path, monkeypatch), list(sys.meta_path)
    for _ in range(2):
        for source, where in (("./tree", "tree"), ("acme-tree", "copy")):
            imported = import_plugin(found_by.find(entry(source)))
            assert imported.module.where == where
            space = importlib.import_module("acme_space.of_tree")
            assert space.where == where
            purge(imported)
            del space
            sys.modules.pop("acme_space.of_tree", None)
    assert sys.meta_path == finders


@pytest.mark.parametrize("name", ["acme_tree.gone", "acme_gone"])
def test_nothing_of_the_copy_is_imported_while_its_tree_is_loaded(tmp_path, monkeypatch, name):
    found_by = tree_and_copy(tmp_path, monkeypatch, text=f"import {name}\n{APPLY}")
    assert f"No module named '{name}'" in refused(found_by.find(entry("./tree")))


def test_a_tree_takes_no_module_of_another_distribution_from_it(tmp_path, monkeypatch):
    found_by = tree_and_copy(tmp_path, monkeypatch, text=f"import acme_gone\n{APPLY}")
    write(tmp_path / "here" / "tree", {"acme_else.py": "", "acme_gone.py": "where = 'tree'\n"})
    other = {"acme_else.py": "where = 'else'\n"}
    install(tmp_path / "root", "acme-else", {}, other)
    imported = import_plugin(found_by.find(entry("./tree")))
    assert imported.module.acme_gone.where == "tree"
    assert importlib.import_module("acme_else").where == "else"
    purge(imported)
    purge(imported)


def test_a_tree_whose_module_the_environment_has_is_refused_with_what_takes_that_away(
    tmp_path, site, monkeypatch
):
    found_by = tree_and_copy(tmp_path, monkeypatch)
    files = {"acme_tree/__init__.py": "", "acme_tree/plugin.py": APPLY}
    install(site, "acme-taken", {}, files)
    why = refused(found_by.find(entry("./tree")))
    assert "another module has its name (it is of acme-taken: `" in why
    assert why.endswith("-m pip uninstall acme-taken`)")


# -- the code that is on disk then ---------------------------------------------------------------


def changed_in_place(path, text):
    """Write other code of the same size under the same time stamp."""
    stamp = path.stat()
    assert len(text) <= stamp.st_size
    path.write_text(text.ljust(stamp.st_size - 1) + "\n")
    assert path.stat().st_size == stamp.st_size
    os.utime(path, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))


def test_importing_again_runs_a_standalone_plugins_new_code(tmp_path):
    text = "from .helper import answer\n" + APPLY
    found = notes(tmp_path, text, helper="answer = 1\n")
    for number in range(2, 6):
        imported = import_plugin(found)
        assert imported.module.answer == number - 1
        assert list((found.folder / "__pycache__").glob("helper.*.pyc"))
        purge(imported)
        changed_in_place(found.folder / "helper.py", f"answer = {number}")


def test_importing_again_runs_a_distributions_new_code(tmp_path, site):
    found = bot(
        tmp_path,
        site,
        "from acme_bot.helper import answer\n" + APPLY,
        **{"acme_bot/helper.py": "answer = 1\n"},
    )
    for number in range(2, 6):
        imported = import_plugin(found)
        assert imported.module.answer == number - 1
        purge(imported)
        changed_in_place(site / "acme_bot" / "helper.py", f"answer = {number}")


def test_a_file_that_was_not_there_before_is_found_at_once(tmp_path):
    found = notes(tmp_path, APPLY)
    purge(import_plugin(found))
    write(found.folder, {"notes.py": "from . import added\n" + APPLY, "added.py": "here = True\n"})
    imported = import_plugin(found)
    assert imported.module.added.here
    purge(imported)


def test_a_package_that_was_installed_since_is_found_at_once(tmp_path, site):
    found = bot(tmp_path, site)
    purge(import_plugin(found))
    stamp = site.stat()
    write(site, {"acme_bot/plugin.py": "import acme_added\n" + APPLY, "acme_added.py": ""})
    os.utime(site, ns=(stamp.st_atime_ns, stamp.st_mtime_ns))
    purge(import_plugin(found))
    assert "acme_added" in sys.modules


def test_no_cache_of_imports_names_what_was_purged(tmp_path):
    found = notes(tmp_path, HOLDING)
    imported = import_plugin(found)
    assert linecache.getline(str(found.file), 2) == "import abc\n"
    assert str(found.root) in sys.path_importer_cache
    purge(imported)
    cached = [*sys.path_importer_cache, *linecache.cache]
    assert [name for name in cached if name.startswith(str(found.root))] == []


def test_reloading_often_leaves_nothing_behind(tmp_path):
    found = notes(tmp_path, HOLDING, helper="big = bytearray(1_000_000)\n")
    refs = []
    for _ in range(10):
        imported = import_plugin(found)
        refs.append(weakref.ref(imported.module))
        imported.apply([], {})
        purge(imported)
        del imported
    gc.collect()
    assert [ref() for ref in refs if ref() is not None] == []
