"""A distribution's source tree that is not installed, as a plugin."""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import attrs

from ahpd.config.plugins import PluginEntry
from ahpd.plugins.distributions import GROUP, file_in_tree
from ahpd.plugins.found import Found
from ahpd.plugins.ids import is_id, not_a_slug
from ahpd.plugins.manifest_files import manifest_file, read_manifest
from ahpd.plugins.module_files import root_of
from ahpd.plugins.skipped import Skipped


def tree_project(folder: Path, called: str) -> Mapping[str, Any] | None:
    """The `project` table of a tree that has plugins; None where `folder` is no such tree.

    Raises `Skipped` for a pyproject.toml that cannot be read.
    """
    path = folder / "pyproject.toml"
    try:
        project = tomllib.loads(path.read_text(encoding="utf-8")).get("project")
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise Skipped(f"{path} cannot be read: {' '.join(str(error).split())}", called) from None
    if not isinstance(project, Mapping) or not _points(project):
        return None
    return project


def check_no_tree(folder: Path, called: str) -> None:
    """Raise `Skipped` for a distribution's tree that has no entry point, and no manifest for one.

    What it would be told of manifests as a standalone plugin is not what it lacks.
    """
    where = folder / "pyproject.toml"
    if where.is_file() and manifest_file(folder, called) is None:
        raise Skipped(
            f"{where} is of no plugin: it has no entry point in the group {GROUP}, and no "
            "plugin.yaml beside it",
            called,
        )


def source_tree(entry: PluginEntry, folder: Path, project: Mapping[str, Any]) -> Found:
    """The plugin of the tree in `folder`. Raises `Skipped`."""
    where, called = folder / "pyproject.toml", entry.source
    points = _points(project)
    if len(points) > 1:
        names = ", ".join(sorted(points))
        raise Skipped(f"{where} has several plugins: {names}; install it, and name one", called)
    ((name, module),) = points.items()
    if not is_id(name):
        raise Skipped(not_a_slug(f"the entry point {name!r} in {where}"), name)
    file = file_in_tree(folder, module)
    if file is None:
        raise Skipped(f"{where} names the module {module}, and {folder} does not hold it", name)
    manifest_path = manifest_file(file.parent, name)
    if manifest_path is None:
        raise Skipped(f"{called} has no manifest: write a plugin.yaml beside {file}", name)
    manifest = read_manifest(manifest_path, name, id_if_none=name)
    version = project.get("version")
    needs = project.get("dependencies")
    return Found(
        entry=entry,
        id=manifest.id,
        manifest=attrs.evolve(manifest, version=version if isinstance(version, str) else None),
        kind="tree",
        module=module,
        file=file,
        folder=file.parent,
        root=root_of(file, module),
        distribution=str(project.get("name", name)),
        requirements=tuple(map(str, needs)) if isinstance(needs, list) else (),
    )


def _points(project: Mapping[str, Any]) -> Mapping[str, str]:
    """The entry points of the group: module by name."""
    groups = project.get("entry-points")
    points = groups.get(GROUP) if isinstance(groups, Mapping) else None
    return points if isinstance(points, Mapping) else {}
