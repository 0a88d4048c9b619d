"""Finding plugins by their entries, without importing any.

Source: PLUGINS.txt, "The id", "Where a spec is resolved", "What happens when a plugin fails".
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import attrs

from ahpd.config import document
from ahpd.config.document import Document
from ahpd.config.plugins import PluginEntry
from ahpd.plugins.compatible import check_compatible
from ahpd.plugins.distributions import Distributions, Point, module_file
from ahpd.plugins.flagged import in_their_places
from ahpd.plugins.found import Found
from ahpd.plugins.ids import is_id, not_a_slug
from ahpd.plugins.manifest_files import manifest_file, read_manifest
from ahpd.plugins.module_files import root_of
from ahpd.plugins.read_manifests import ReadManifests
from ahpd.plugins.skipped import MISSING, Skipped
from ahpd.plugins.source_tree import check_no_tree, source_tree, tree_project
from ahpd.plugins.specs import is_path, places_of, spec_of
from ahpd.plugins.standalone import Outside, standalone


class Finder:
    """Finds plugins; what is installed is read once in its life, so it is made for each load.

    `site` are folders distributions are looked for in besides `sys.path`: the plugin root's
    site-packages. `version` is the one of this program that runs. `outside` is the setting
    `plugin_entry_outside`, `manifests` what keeps the manifests of installed plugins.
    """

    def __init__(
        self,
        *,
        working_directory: Path,
        config_dir: Path,
        version: str,
        site: Sequence[Path] = (),
        outside: Outside = "refuse",
        manifests: ReadManifests | None = None,
    ) -> None:
        self._working_directory = working_directory
        self._config_dir = config_dir
        self._version = version
        self._outside: Outside = outside
        self._distributions = Distributions(site)
        self._manifests = manifests

    def find(self, entry: PluginEntry) -> Found:
        """The plugin an entry names, for the version that runs. Raises `Skipped`, which has it."""
        try:
            if spec_of(entry.source).kind == "name":
                found = self._installed(entry)
            else:
                found = self._at(entry, self._path(entry.source))
            check_compatible(found, self._version)
        except Skipped as skipped:
            skipped.entry = entry
            raise
        return found

    def find_all(
        self, entries: Iterable[PluginEntry], before: Mapping[str, str] = MappingProxyType({})
    ) -> list[Found | Skipped]:
        """What each entry names, in their order; of two with one id the second is skipped.

        What a flag names takes the place of what the file lists of the same plugin; `before` are
        the ids by their sources that were read earlier.
        """
        results: list[Found | Skipped] = []
        first: dict[str, Found] = {}
        tried = [self._tried(entry) for entry in entries]
        for result in in_their_places(tried, self._tried, self._is_one_place, before):
            found = result if isinstance(result, Found) else result.found
            if found is None or found is first.setdefault(found.id, found):
                results.append(result)
            else:
                results.append(_second(found, first[found.id]))
        if self._manifests is not None:
            self._manifests.keep()
        return results

    def _tried(self, entry: PluginEntry) -> Found | Skipped:
        try:
            return self.find(entry)
        except Skipped as skipped:
            return skipped.with_traceback(None)

    def _is_one_place(self, one: PluginEntry, other: PluginEntry) -> bool:
        """Whether two entries are paths that lead to one place."""
        if not (is_path(one.source) and is_path(other.source)):
            return False
        try:
            return self._path(one.source).samefile(self._path(other.source))
        except (Skipped, OSError):
            return False

    def _path(self, source: str) -> Path:
        places = places_of(source, self._working_directory, self._config_dir)
        for place in places:
            if place.exists():
                return place
        tried = " and ".join(map(str, places))
        raise Skipped(f"Plugin {source} is not there: tried {tried}", source, state=MISSING)

    def _at(self, entry: PluginEntry, path: Path) -> Found:
        if path.is_dir() and entry.manifest is None:
            project = tree_project(path, entry.source)
            if project is not None:
                found = source_tree(entry, path, project)
                copy = self._distributions.in_site(found.distribution or found.id)
                return attrs.evolve(found, copy=copy)
            check_no_tree(path, entry.source)
        return standalone(entry, path, self._outside)

    def _installed(self, entry: PluginEntry) -> Found:
        name = entry.source
        if entry.manifest is not None:
            raise Skipped(
                f"{entry.place or name} carries a manifest, and {name} is a distribution, which "
                "has its own: an entry that carries one names a file or a folder",
                name,
            )
        try:
            point = self._distributions.point(name)
        except Skipped as skipped:
            if skipped.state == MISSING and (self._working_directory / name).exists():
                raise Skipped(
                    f"{skipped.why}; a folder is named ./{name}", name, state=MISSING
                ) from None
            raise
        reader = document.read if self._manifests is None else self._manifests.read
        try:
            return _found_installed(entry, point, reader)
        except Skipped as skipped:
            skipped.distribution = point.distribution
            raise


def _found_installed(entry: PluginEntry, point: Point, reader: Callable[[Path], Document]) -> Found:
    name, module = point.name, point.module
    whose = f"the distribution {point.distribution}"
    if not is_id(name):
        raise Skipped(not_a_slug(f"the entry point {name!r} of {whose}"), name)
    if not all(part.isidentifier() for part in module.split(".")):
        raise Skipped(f"the entry point {name} of {whose} is {module!r}, and names a module", name)
    file = module_file(point)
    if file is None:
        raise Skipped(f"{whose} has no module {module}", name, state=MISSING)
    manifest_path = _manifest_beside(file, module, point)
    if manifest_path is None:
        raise Skipped(f"{whose} has no manifest: it ships a plugin.yaml beside {file}", name)
    manifest = read_manifest(
        manifest_path, name, id_if_none=name, reader=reader, version=point.version
    )
    return Found(
        entry=entry,
        id=name,
        manifest=manifest,
        kind="distribution",
        module=module,
        file=file,
        folder=file.parent,
        root=root_of(file, module),
        distribution=point.distribution,
        installed=point.installed,
        requirements=point.requirements,
    )


def _manifest_beside(file: Path, module: str, point: Point) -> Path | None:
    """The manifest of an installed plugin; of one without a package, only what is its own."""
    path = manifest_file(file.parent, point.name)
    if path is None or "." in module or file.name == "__init__.py":
        return path
    # What lies beside it is everybody's: it is its own where the distribution lists it.
    listed = point.installed.files
    if listed is None:
        return path
    own = {Path(str(point.installed.locate_file(each))).resolve() for each in listed}
    linked = file.resolve() not in own  # an editable installation lists none of its modules
    return path if linked or path.resolve() in own else None


def _second(found: Found, first: Found) -> Skipped:
    one, two = found.entry, first.entry
    names = " and ".join(
        f"{each.source} ({each.place})" if each.place else each.source for each in (two, one)
    )
    skipped = Skipped(
        f"{names} have one id, {found.id}; only the first is loaded", found.id, found=found
    )
    skipped.entry = one
    return skipped


def find(
    entry: PluginEntry,
    *,
    working_directory: Path,
    config_dir: Path,
    version: str,
    site: Sequence[Path] = (),
) -> Found:
    """The plugin one entry names; see `Finder.find`."""
    finder = Finder(
        working_directory=working_directory, config_dir=config_dir, version=version, site=site
    )
    return finder.find(entry)
