"""Which of the modules of this process are one plugin's own."""

from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

import attrs

from ahpd.plugins.distributions import editable_project, text_of
from ahpd.plugins.found import Found
from ahpd.plugins.module_files import own_package
from ahpd.plugins.standalone import private_name

if TYPE_CHECKING:
    from importlib.metadata import Distribution

#: This program's own modules belong to no plugin, whatever folder they are in.
OURS: Final = "ahpd"


@attrs.frozen(kw_only=True, eq=False, repr=False)
class Belongings:
    """What tells a plugin's own modules from everybody else's."""

    package: str
    """Its outermost package that is nobody else's."""
    private: bool = False
    """Whether no other module can have a name in that package."""
    root: str = ""
    """The folder that package is imported from."""
    files: Callable[[], frozenset[str]] = frozenset
    """What its distribution lists, where it is installed as a copy."""
    tree: bool = False
    """Whether everything that is imported from `root` is its distribution's."""

    def has(self, name: str, module: ModuleType | None) -> bool:
        """Whether the module that is imported as `name` is the plugin's."""
        if module is None or not isinstance(name, str):  # anybody may put anything there
            return False
        if name == "__main__" or name.partition(".")[0] == OURS:
            return False
        inside = is_in(name, self.package)
        file = file_of(module)
        if file is None or self.private:  # a folder that is a package has no file
            return inside
        if file in self.files():
            return True
        return (inside or self.tree) and _is_imported_from(self.root, name, file)


def belongings(found: Found) -> Belongings:
    """What is `found`'s own. It is asked before the plugin is imported, and kept: what a
    distribution lists is another thing once another version of it is installed."""
    if found.kind == "standalone":
        return Belongings(package=private_name(found.id), private=True)
    files: Callable[[], frozenset[str]] = frozenset
    tree, installed = found.kind == "tree", found.installed
    project = None if installed is None else editable_project(installed)
    if project is not None:
        # Of any other folder modules are imported from, most of what is in it is not its own.
        # What an editable installation lists is what leads to the tree, and stays.
        tree = found.root.resolve().is_relative_to(project.resolve())
    elif installed is not None:
        files = _listed(installed)
    return Belongings(
        package=own_package(found.root, found.module),
        root=str(found.root),
        files=files,
        tree=tree,
    )


def _listed(installed: "Distribution") -> Callable[[], frozenset[str]]:
    """The files a distribution lists now; read plainly, because each is made a path otherwise.

    The list is read here, and told apart into its lines where one is asked for: few plugins are
    let go of.
    """
    record = text_of(installed, "RECORD")
    if not record or '"' in record:  # another kind of list, or a name with a comma
        files = frozenset(str(installed.locate_file(file)) for file in installed.files or ())
        return lambda: files
    return cache(partial(_lines, installed, record))


def _lines(installed: "Distribution", record: str) -> frozenset[str]:
    folder = str(installed.locate_file(""))
    return frozenset(f"{folder}/{line.split(',', 1)[0]}" for line in record.splitlines())


def file_of(module: ModuleType) -> str | None:
    """The file a module was read from; None for one without."""
    file = said_of(module, "__file__")
    return file if isinstance(file, str) else None


def is_in(name: str, package: str) -> bool:
    """Whether a module of that name is a package, or in it."""
    return name == package or name.startswith(f"{package}.")


def said_of(module: object, name: str) -> Any:
    """What a module holds under a name; None for nothing.

    Read past the module's own code: one that is imported when it is first used would be now, and
    what another plugin left in `sys.modules` may raise.
    """
    try:
        held = object.__getattribute__(module, "__dict__")
    except AttributeError:
        return None
    return held.get(name) if isinstance(held, dict) else None


def _is_imported_from(root: str, name: str, file: str) -> bool:
    """Whether `file` is where a module called `name` is when it is imported from `root`."""
    expected = Path(root, *name.split("."))
    path = Path(file)
    return path.parent == expected or (
        path.parent == expected.parent and path.name.partition(".")[0] == expected.name
    )
