"""Where a module's file is, found without importing it or what it is in."""

import os
import sys
from collections.abc import Iterable
from importlib.machinery import ModuleSpec
from pathlib import Path


def file_under(root: Path | str, module: str) -> Path | None:
    """The file of `module` (`pkg.plugin`) where `root` is a folder modules are imported from."""
    # Told by texts: a path object for each file that is not there takes longer than to ask for it.
    base = f"{root}/{module.replace('.', '/')}"
    for path in (f"{base}/__init__.py", f"{base}.py"):
        if os.path.isfile(path):  # noqa: PTH113
            return Path(path)
    return None


def file_on_path(module: str) -> Path | None:
    """The file of `module` as an import would find it; None where it would find none.

    An editable installation may hang on a finder of its own, which is asked as an import asks.
    """
    top, *below = module.split(".")
    spec = _spec(top, None)
    for name in below:
        if spec is None or spec.submodule_search_locations is None:
            return None
        top = f"{top}.{name}"
        spec = _spec(top, list(spec.submodule_search_locations))
    if spec is None or spec.origin is None or not spec.has_location:
        return None
    return Path(spec.origin)


def _spec(name: str, path: Iterable[str] | None) -> ModuleSpec | None:
    for finder in sys.meta_path:
        find = getattr(finder, "find_spec", None)
        spec: ModuleSpec | None = find(name, path) if find is not None else None
        if spec is not None:
            return spec
    return None


def root_of(file: Path, module: str) -> Path:
    """The folder `module` is imported from, where `file` is its file."""
    levels = len(module.split("."))
    return file.parents[levels if file.name == "__init__.py" else levels - 1]


def own_package(root: Path, module: str) -> str:
    """The outermost package of `module` that is nobody else's: what is above has no file.

    `root` is the folder it is imported from.
    """
    parts = module.split(".")
    folder = str(root)
    for count, part in enumerate(parts[:-1], 1):
        folder = f"{folder}/{part}"
        if os.path.isfile(f"{folder}/__init__.py"):  # noqa: PTH113
            return ".".join(parts[:count])
    return module
