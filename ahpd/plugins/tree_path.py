"""What has the modules of a source tree be imported: behind everybody else's, but for its own copy.

A tree is at the end of the path, so that what it holds beside its plugin takes nobody's name. Where
the plugin root holds a copy of the same distribution, the tree is what was named: while it is open
each module that the copy lists is the tree's, and what the tree does not hold is not there.
"""

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import TYPE_CHECKING

import attrs

from ahpd.plugins.found import Found

if TYPE_CHECKING:
    from importlib.metadata import Distribution


@attrs.frozen(eq=False, repr=False)
class TreePath:
    """A source tree that is open; `close` is called once its modules are let go of."""

    _root: str | None
    _finder: "_InPlaceOfCopy | None"

    def close(self) -> None:
        """Have its modules be found no more. Again is no error."""
        if self._root is not None and self._root in sys.path:
            sys.path.remove(self._root)
        if self._finder is not None and self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)


def open_tree(found: Found) -> TreePath | None:
    """Have a source tree's modules be found; None for what is no tree."""
    if found.kind != "tree":
        return None
    root = str(found.root)
    added = None if root in sys.path else root
    if added is not None:
        sys.path.append(added)
    finder = None if found.copy is None else _InPlaceOfCopy(root, _modules_of(found.copy))
    if finder is not None:
        sys.meta_path.insert(0, finder)
    return TreePath(added, finder)


@attrs.frozen(eq=False, repr=False)
class _InPlaceOfCopy:
    """Answers an import that would find a module of the copy with the tree's.

    `modules` are the copy's by their names, each with its file, of which links were followed.
    """

    root: str
    modules: Mapping[str, str]

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """See `importlib.abc.MetaPathFinder`. Raises `ModuleNotFoundError`."""
        if name not in self.modules:
            return None
        found = PathFinder.find_spec(name, path, target)
        if found is None or found.origin is None:
            return None
        if os.path.realpath(found.origin) != self.modules[name]:
            return None  # another's, which comes first
        place = Path(self.root, *name.split(".")[:-1])
        own = PathFinder.find_spec(name, [str(place)], target)
        if own is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return own


def _modules_of(installed: "Distribution") -> Mapping[str, str]:
    return dict(_listed(installed))


def _listed(installed: "Distribution") -> Iterator[tuple[str, str]]:
    """The modules a distribution lists: the name of each, and its file."""
    for file in installed.files or ():
        path = PurePosixPath(file)
        if path.suffix not in {".py", ".so"} or path.is_absolute() or ".." in path.parts:
            continue
        last = path.name.partition(".")[0]
        names = [*path.parent.parts, *([] if last == "__init__" else [last])]
        if names:
            yield ".".join(names), os.path.realpath(str(installed.locate_file(file)))
