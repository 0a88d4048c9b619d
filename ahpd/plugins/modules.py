"""A plugin's module: imported, looked at, and let go of so that it can be imported anew.

Source: PLUGINS.txt, "The contract", "A change while the daemon runs".
"""

import importlib
import importlib.util
import linecache
import sys
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from traceback import walk_tb
from types import MappingProxyType, ModuleType
from typing import Any, Final

import attrs
from twisted.logger import Logger
from twisted.python.failure import Failure

from ahpd.bounded import words_of
from ahpd.plugins.belongings import Belongings, belongings, file_of, is_in, said_of
from ahpd.plugins.distributions import owner_of, takes_away
from ahpd.plugins.found import Found
from ahpd.plugins.module_files import file_on_path
from ahpd.plugins.own_frames import raised_in
from ahpd.plugins.skipped import Skipped
from ahpd.plugins.standalone import private_name
from ahpd.plugins.tree_path import TreePath, open_tree

log = Logger(namespace="ahpd.plugin")

#: Seconds within which a change may leave the time stamp of a folder as it was.
_SAME_STAMP: Final = 2.0

#: What a module does not export, because its manifest says it; what to write there.
_IN_MANIFEST: Final = {
    "options_schema": "its options are declared as optionsSchema",
    "optionsSchema": "its options are declared as optionsSchema",
    "manifest": "what a manifest says is written",
}


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Imported:
    """A plugin's module, and what it exports."""

    found: Found
    module: ModuleType
    apply: Callable[..., Any]
    """`apply(host, options)`, sync or async."""
    defaults: Mapping[str, Any]
    title: str
    """What the module says it is called, or else its manifest."""
    name: str | None
    """The id it exports, which is the plugin's."""
    belongs: Belongings = attrs.field(repr=False)
    _tree: TreePath | None = attrs.field(default=None, repr=False)
    """The source tree that was opened to import it."""
    at: float
    """When its import began, in seconds since the epoch."""


def import_plugin(found: Found) -> Imported:
    """Import a plugin's module. Raises `Skipped`; what is the plugin's own is gone again then."""
    belongs, at = belongings(found), time.time()
    # Another plugin of its distribution may run in these. Most imports succeed: a copy of the
    # mapping, which takes a tenth of what a set of its keys does, is enough until one fails.
    before = sys.modules.copy()
    tree = open_tree(found)
    _look_anew(found)
    module: ModuleType | None = None
    why, ran = None, set()
    try:
        module = _import(found)
        return _exports(found, module, belongs, tree, at)
    except Skipped as skipped:
        why = skipped.why
    except BaseException as error:  # a plugin that leaves ends no daemon
        why = f"{found.file} cannot be imported: {words_of(error)}{raised_in(error, found)}"
        ran = {frame.f_code.co_filename for frame, _ in walk_tb(error.__traceback__)}
        log.debug("plugin {id}: {trace}", id=found.id, trace=Failure().getTraceback())
    # Out of its handler, so that the error and the frames it holds are gone with it.
    del module
    names = frozenset(before)
    before.clear()
    gone = [name for name, _ in _let_go(belongs, tree, lambda name, _: name in names)]
    for file in ran:
        # One that fails is taken out of `sys.modules` by the import itself.
        if Path(file).is_relative_to(found.root):
            _uncompile(importlib.util.cache_from_source(file))
    raise Skipped(why, found.id, found=found, modules=gone)


def purge(imported: Imported, others: Collection[Imported] = ()) -> frozenset[str]:
    """Let go of a plugin's modules.

    They are in `sys.modules` no more, nor on what they were in; each is gone once nobody uses it.
    Modules of others stay, those it imported too, and what its distribution shares with one of
    `others`, which run on: what they import later is of one piece with what they hold then. Again
    is no error.

    Answers the names of those that none of `others` has too.
    """

    def is_others(name: str, module: ModuleType) -> bool:
        return any(other.belongs.has(name, module) for other in others)

    own = imported.found.module
    # What others are in is theirs as well.
    has_others = any(is_in(other.found.module, own) for other in others)

    def stays(name: str, module: ModuleType) -> bool:
        return (has_others or not is_in(name, own)) and is_others(name, module)

    gone = _let_go(imported.belongs, imported._tree, stays)
    return frozenset(name for name, module in gone if not is_others(name, module))


def purge_left(belongs: Belongings, others: Collection[Imported]) -> None:
    """Have the next import of a plugin that was let go of run what is on disk.

    What it shares with one of `others` is let go of where any of it changed since they imported
    it; they keep the modules they hold.
    """
    left = [one for one in list(sys.modules.items()) if belongs.has(*one)]
    sharing = [other.at for other in others if any(other.belongs.has(*one) for one in left)]
    since = min(sharing, default=0.0)
    if any(_changed_since(since, module) for _, module in left):
        _let_go(belongs, None)


def _changed_since(moment: float, module: ModuleType) -> bool:
    file = file_of(module)
    if file is None:
        return False
    try:  # what an installer writes may have any age, and says when it was written
        return Path(file).stat().st_ctime > moment
    except OSError:
        return True


def has_module(plugins: Collection[Imported], name: str) -> bool:
    """Whether the module that is imported as `name` is one of these plugins' own."""
    module = sys.modules.get(name)
    return any(one.belongs.has(name, module) for one in plugins)


# -- importing -----------------------------------------------------------------------


def _look_anew(found: Found) -> None:
    """Have the plugin's own folders be listed anew, where they changed just now.

    A folder that was looked into is not again while its time stamp is the one it had then, and a
    file may come within that. Who looks for plugins has all other folders listed anew.
    """
    for folder in {found.folder, found.root}:
        finder: Any = sys.path_importer_cache.get(str(folder))
        if finder is not None and time.time() - folder.stat().st_mtime < _SAME_STAMP:
            finder.invalidate_caches()


def _import(found: Found) -> ModuleType:
    if found.kind == "standalone":
        return _import_private(found)
    module = importlib.import_module(found.module)
    file = file_of(module)
    if file is None and (there := file_on_path(found.module)) is not None:
        file = str(there)  # it put another module in its place
    if file is None or not _is_one_file(file, found.file):
        raise Skipped(
            f"{found.module} is {file or 'a module without a file'} here, and the plugin's is "
            f"{found.file}: another module has its name{_whose(file)}",
            found.id,
        )
    return module


def _whose(file: str | None) -> str:
    """Whose a module is that is in the way, and what takes it away; empty where none lists it."""
    owner = None if file is None else owner_of(file)
    return "" if owner is None else f" (it is of {owner.name}: `{takes_away(owner)}`)"


def _is_one_file(file: str, wanted: Path) -> bool:
    """Whether `file` is `wanted`. Following links asks after every folder above: where the two
    are written alike, which is nearly always, there is nothing to ask."""
    return file == str(wanted) or Path(file).resolve() == wanted.resolve()


def _import_private(found: Found) -> ModuleType:
    """Import a standalone plugin's module in a package that is its own.

    The package is the folder the module is in, so it imports what is beside it with
    `from . import helper`.
    """
    name = private_name(found.id)
    beside = found.file.with_name("__init__.py")
    if found.module == name or beside.is_file():
        package = _execute(name, beside, [str(found.root)])
    else:
        spec = importlib.util.spec_from_loader(name, None, is_package=True)
        assert spec is not None, "made without looking anywhere"
        spec.submodule_search_locations = [str(found.root)]
        package = sys.modules[name] = importlib.util.module_from_spec(spec)
    if found.module == name:
        return package
    if found.module in sys.modules:  # its package imported it
        return sys.modules[found.module]
    module = _execute(found.module, found.file, None)
    setattr(package, found.file.stem, module)
    return module


def _execute(name: str, file: Path, inside: list[str] | None) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, file, submodule_search_locations=inside)
    assert spec is not None, "a Python file has a loader"
    assert spec.loader is not None, "a Python file has a loader"
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return sys.modules.get(name, module)  # a module may put another one in its place


def _exports(
    found: Found, module: ModuleType, belongs: Belongings, tree: TreePath | None, at: float
) -> Imported:
    """What a module exports, checked. Raises `Skipped`."""
    where = str(found.file)

    def exported(name: str) -> Any:
        value = getattr(module, name, None)
        return None if isinstance(value, ModuleType) else value  # a submodule is no export

    for name, words in _IN_MANIFEST.items():
        if exported(name) is not None:
            raise Skipped(
                f"{where} exports {name}, which is not read: {words} in {found.manifest.place}",
                found.id,
            )
    name, title, defaults = exported("name"), exported("title"), exported("defaults")
    if name is not None and name != found.id:
        raise Skipped(f"{where} exports the name {name!r}, and its id is {found.id!r}", found.id)
    if title is not None and not (isinstance(title, str) and title.strip()):
        raise Skipped(f"{where} exports a title that is no text", found.id)
    if defaults is not None and not _is_options(defaults):
        raise Skipped(f"{where} exports defaults that are no mapping of options", found.id)
    apply = exported("apply")
    if not callable(apply):
        raise Skipped(f"{where} does not export an apply function", found.id)
    return Imported(
        found=found,
        module=module,
        apply=apply,
        defaults=MappingProxyType({} if defaults is None else defaults),
        title=found.title if title is None else " ".join(title.split()),
        name=name,
        belongs=belongs,
        tree=tree,
        at=at,
    )


def _is_options(value: object) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


# -- letting go ----------------------------------------------------------------------


def _let_go(
    belongs: Belongings,
    tree: TreePath | None,
    stays: Callable[[str, ModuleType], bool] = lambda name, module: False,
) -> Sequence[tuple[str, ModuleType]]:
    """Take a plugin's modules out, but for what `stays`; what they were."""
    gone = [
        (name, module)
        for name, module in list(sys.modules.items())
        if belongs.has(name, module) and not stays(name, module)
    ]
    for name, module in gone:
        del sys.modules[name]
        _unhold(name, module)
        _uncache(module)
    if tree is not None:
        tree.close()
    importlib.invalidate_caches()
    return gone


def _unhold(name: str, module: ModuleType) -> None:
    """Take a module off the package it is in."""
    parent, _, last = name.rpartition(".")
    held = sys.modules.get(parent)
    if held is not None and vars(held).get(last) is module:
        delattr(held, last)


def _uncache(module: ModuleType) -> None:
    """Drop what stands for a module's source: it may have changed within its time stamp."""
    for folder in said_of(module, "__path__") or ():
        sys.path_importer_cache.pop(folder, None)
    file = file_of(module)
    if file is None:
        return
    linecache.cache.pop(file, None)
    spec = said_of(module, "__spec__")
    if spec is not None and spec.cached is not None and spec.cached != file:
        _uncompile(spec.cached)


def _uncompile(cached: str) -> None:
    """Take away what a source file was compiled to: a time stamp of seconds may match again."""
    try:
        Path(cached).unlink(missing_ok=True)
    except OSError as error:
        # Whoever may not write there has not written it: an installer did, with its source.
        log.debug("{file} stays: {why}", file=cached, why=error.strerror)
