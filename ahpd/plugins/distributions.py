"""Plugins that are installed: entry points of the group `ahpd.plugins`, read once.

An entry point's name is the plugin's id, and its value is the module.
"""

import importlib
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final
from urllib.parse import unquote, urlsplit

import attrs

from ahpd.plugins.module_files import file_on_path, file_under
from ahpd.plugins.skipped import MISSING, Skipped
from ahpd.plugins.specs import normalized

if TYPE_CHECKING:
    from importlib.metadata import Distribution

GROUP: Final = "ahpd.plugins"

#: Where in a project its packages are.
_ROOTS: Final = (".", "src", "lib")


@attrs.frozen(eq=False, repr=False)
class Point:
    """One entry point, and the distribution that has it."""

    name: str
    module: str
    distribution: str
    version: str
    requirements: Sequence[str]
    installed: "Distribution"


class Distributions:
    """What is installed for this process, and in the folders `site` besides.

    It is read when the first name is asked for, and once: what is installed later is another
    object's to find.
    """

    def __init__(self, site: Sequence[Path] = ()) -> None:
        self._site = list(map(str, site))
        self._path = list(dict.fromkeys([*sys.path, *self._site]))

    def point(self, name: str) -> Point:
        """The plugin that `name` is: a distribution's only one, or an entry point by its name.

        Raises `Skipped`.
        """
        own = self._by_distribution.get(normalized(name), ())
        called = [point for point in own or self._points if point.name == name]
        if len(own) == 1 or len(called) == 1:
            return called[0] if len(called) == 1 else own[0]
        if called:
            whose = " and ".join(sorted(point.distribution for point in called))
            raise Skipped(f"{name} is an entry point of {whose}: name the distribution", name)
        if own:
            names = ", ".join(sorted(point.name for point in own))
            raise Skipped(
                f"the distribution {name} has several plugins: name one of {names}",
                name,
                distribution=own[0].distribution,
            )
        if self._is_installed(name):
            raise Skipped(
                f"the distribution {name} is no plugin: it has no entry point in the group {GROUP}",
                name,
                distribution=name,
            )
        raise Skipped(
            f"{name} is not installed; `ahpd plugin install {name}` installs it",
            name,
            state=MISSING,
        )

    @cached_property
    def _by_distribution(self) -> Mapping[str, Sequence[Point]]:
        by_name: dict[str, list[Point]] = {}
        for point in self._points:
            by_name.setdefault(normalized(point.distribution), []).append(point)
        return by_name

    @cached_property
    def _points(self) -> Sequence[Point]:
        # Reading what is installed takes some milliseconds, which a host without plugins saves.
        from importlib.metadata import distributions  # noqa: PLC0415

        importlib.invalidate_caches()
        points: list[Point] = []
        seen: set[str] = set()
        for installed in distributions(path=self._path):
            found = list(_points_of(installed))
            # Of two installations the first on the path is what an import would find.
            if found and (key := normalized(found[0].distribution)) not in seen:
                seen.add(key)
                points += found
        return points

    def in_site(self, name: str) -> "Distribution | None":
        """The distribution `name` where it is in one of the folders `site`."""
        from importlib.metadata import distributions  # noqa: PLC0415

        return next(iter(distributions(name=name, path=self._site)), None) if self._site else None

    def _is_installed(self, name: str) -> bool:
        from importlib.metadata import distributions  # noqa: PLC0415

        return any(distributions(name=name, path=self._path))


def text_of(installed: "Distribution", name: str) -> str | None:
    """A file of a distribution's metadata; None where there is none.

    It is what `read_text` answers. That makes a path object and a text stream for each, which
    takes several times what reading does, and a start reads hundreds: where the metadata is a
    folder, its file is read plainly.
    """
    folder = getattr(installed, "_path", None)
    if not isinstance(folder, Path):
        return installed.read_text(name)
    try:
        with open(f"{folder}/{name}", "rb", buffering=0) as file:  # noqa: PTH123
            return file.read().decode()
    except (FileNotFoundError, IsADirectoryError, NotADirectoryError, PermissionError):
        return None


def _points_of(installed: "Distribution") -> Iterator[Point]:
    # The one file tells most distributions apart, without their metadata being parsed.
    text = text_of(installed, "entry_points.txt") or ""
    if GROUP not in text:
        return
    name, version, requirements = _about(installed)
    for called, module in _entry_points(text):
        yield Point(
            name=called,
            module=module,
            distribution=name,
            version=version,
            requirements=requirements,
            installed=installed,
        )


def _entry_points(text: str) -> Iterator[tuple[str, str]]:
    """The name and the value of each entry point of the group, as `importlib.metadata` has them."""
    group = None
    for line in map(str.strip, text.splitlines()):
        if line.startswith("[") and line.endswith("]"):
            group = line[1:-1]
        elif group == GROUP and line and not line.startswith("#"):
            name, equals, value = line.partition("=")
            if equals:
                yield name.strip(), value.strip()


def _about(installed: "Distribution") -> tuple[str, str, tuple[str, ...]]:
    """The name, the version and the requirements of a distribution.

    Read off the lines where each field is one: what parses all there may be takes many times as
    long, and every plugin there is, is asked.
    """
    head = (text_of(installed, "METADATA") or "").partition("\n\n")[0].splitlines()
    fields: dict[str, list[str]] = {}
    for line in head:
        key, colon, value = line.partition(":")
        if not colon or key != key.strip():  # a field that goes on, or another form of file
            break
        fields.setdefault(key.lower(), []).append(value.strip())
    else:
        if "name" in fields and "version" in fields:
            requirements = tuple(fields.get("requires-dist", ()))
            return fields["name"][0], fields["version"][0], requirements
    metadata = installed.metadata
    return (
        metadata["Name"],
        metadata["Version"],
        tuple(metadata.get_all("Requires-Dist") or ()),
    )


def module_file(point: Point) -> Path | None:
    """The file of a plugin's module, found without importing anything.

    Beside the distribution's metadata as a wheel leaves it; in the folder an editable
    installation leads to; wherever the finders of this process say it is; or, of an editable
    installation whose finder is not one of this process yet, in its project.
    """
    installed = point.installed
    # The files of the distribution are listed only where it is not beside its metadata.
    found = file_under(str(installed.locate_file("")), point.module)
    found = found or _first(_linked(installed), point.module)
    found = found or file_on_path(point.module)
    project = editable_project(installed) if found is None else None
    return found if project is None else file_in_tree(project, point.module)


def file_in_tree(folder: Path, module: str) -> Path | None:
    """The file of `module` in the source tree of a distribution."""
    return _first((folder / root for root in _ROOTS), module)


def _first(roots: Iterable[Path], module: str) -> Path | None:
    return next(filter(None, (file_under(root, module) for root in roots)), None)


def editable_project(installed: "Distribution") -> Path | None:
    """The project that an editable installation leads to; None for a copy."""
    text = text_of(installed, "direct_url.json")
    if not text:
        return None
    try:
        said = json.loads(text)
        url = urlsplit(said["url"])
        editable = said["dir_info"]["editable"] is True and url.scheme == "file"
    except (ValueError, KeyError, TypeError):
        return None
    return Path(unquote(url.path)) if editable else None


def _linked(installed: "Distribution") -> Iterator[Path]:
    """The folders that a distribution's own `.pth` files put on the path."""
    for file in installed.files or ():
        if file.suffix != ".pth":
            continue
        place = Path(str(installed.locate_file(file)))
        try:
            lines = place.read_text(encoding="utf-8").splitlines()
        except (OSError, ValueError):
            continue
        for line in lines:
            if line.strip() and not line.startswith(("#", "import ", "import\t")):
                yield place.parent / line.strip()


def owner_of(file: str) -> "Distribution | None":
    """The distribution that lists the module in `file`, or whose editable tree it is in."""
    from importlib.metadata import distributions  # noqa: PLC0415 - of what cannot be loaded

    wanted = Path(file).resolve()
    for installed in distributions():
        project = editable_project(installed)
        if project is not None:
            held = wanted.is_relative_to(project.resolve())
        else:
            listed = [each for each in installed.files or () if each.name == wanted.name]
            held = any(Path(str(installed.locate_file(one))).resolve() == wanted for one in listed)
        if held:
            return installed
    return None


def takes_away(installed: "Distribution") -> str:
    """The command that uninstalls a distribution from the environment it is in."""
    folder = Path(str(installed.locate_file(""))).absolute()
    homes = (one for one in folder.parents if (one / "pyvenv.cfg").is_file())
    home = next(homes, None)
    python = sys.executable if home is None else str(home / "bin" / "python")
    return f"{python} -m pip uninstall {installed.name}"
