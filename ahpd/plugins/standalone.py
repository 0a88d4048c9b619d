"""Plugins that are a file or a folder, with a manifest of their own.

Source: PLUGINS.txt, "The manifest", "Where a spec is resolved".
"""

from pathlib import Path
from typing import Final, Literal

import attrs

from ahpd.config.plugins import PluginEntry
from ahpd.plugins.found import Found
from ahpd.plugins.manifest import Manifest
from ahpd.plugins.manifest_fields import manifest_of
from ahpd.plugins.manifest_files import HOW, NAMES, manifest_file, read_manifest
from ahpd.plugins.skipped import Skipped

#: What a `main` outside of its plugin's folder is.
Outside = Literal["refuse", "warn"]

#: Begins the names its modules are imported under: no module of anybody's is called so.
_PRIVATE: Final = "_ahpd_plugin_"


def standalone(entry: PluginEntry, path: Path, outside: Outside) -> Found:
    """The plugin at `path`: a folder, its manifest, or its module. Raises `Skipped`."""
    called = entry.source
    folder = path if path.is_dir() else path.parent
    manifest = _manifest(entry, folder, called)
    if manifest is None:
        raise Skipped(f"{called} has no manifest: {HOW}", called)
    named = None if path.is_dir() or path.name in NAMES else path
    main = _main(manifest, folder, named)
    warnings = _inside(manifest, main, folder, outside)
    file = main / "__init__.py" if main.is_dir() else main
    if not file.is_file() or file.suffix != ".py":
        what = "is no package: it has no __init__.py" if main.is_dir() else "is no Python module"
        raise Skipped(f"{manifest.place}: main {main} {what}", manifest.id)
    module, root = private_name(manifest.id), file.parent
    return Found(
        entry=entry,
        id=manifest.id,
        manifest=manifest,
        kind="standalone",
        module=module if file.name == "__init__.py" else f"{module}.{file.stem}",
        file=file,
        folder=folder,
        root=root,
        warnings=warnings,
    )


def private_name(plugin: str) -> str:
    """The package that a standalone plugin's modules are imported in, by the plugin's id."""
    return _PRIVATE + plugin.replace("-", "_")


def _manifest(entry: PluginEntry, folder: Path, called: str) -> Manifest | None:
    """The entry's own manifest, or the one in the folder."""
    if entry.manifest is not None:
        manifest = manifest_of(entry.manifest, entry.place or called, called=called)
        if manifest.title is None and entry.name is not None:
            manifest = attrs.evolve(manifest, title=entry.name)
        return manifest
    file = manifest_file(folder, called)
    return None if file is None else read_manifest(file, called)


def _main(manifest: Manifest, folder: Path, named: Path | None) -> Path:
    """What to import: `main`, or the module that the source names; one where both say so."""
    if manifest.main is None:
        if named is not None:
            return named
        raise Skipped(
            f"{manifest.place}: main is missing: the module to run, such as main: notes.py",
            manifest.id,
        )
    main = folder / Path(manifest.main)
    if named is not None and main.resolve() != named.resolve():
        raise Skipped(
            f"{manifest.place}: main is {manifest.main}, and the source names {named}", manifest.id
        )
    if not main.exists():
        raise Skipped(f"{manifest.place}: main {manifest.main} is not there", manifest.id)
    return main


def _inside(manifest: Manifest, main: Path, folder: Path, outside: Outside) -> tuple[str, ...]:
    """What to warn of; raises `Skipped` for a `main` that leaves the folder, by a link too."""
    if main.resolve().is_relative_to(folder.resolve()):
        return ()
    words = f"{manifest.place}: main {manifest.main or main.name} is outside of the plugin's folder"
    if outside == "warn":
        return (words,)
    raise Skipped(words, manifest.id)
