"""Plugins that are written in a client: one module and its manifest, in a folder of their own.

Both are written beside the plugin that runs, what it needs is installed, and only then the folder
takes the other's place: a write that fails leaves the old plugin as it was. Source: PLUGINS.txt,
"Writing a plugin in a client".
"""

import contextlib
import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from ahpd.config import document
from ahpd.config.errors import ConfigError
from ahpd.plugins.failures import InstallFailure
from ahpd.plugins.ids import RULE, is_id
from ahpd.plugins.installing import Installer
from ahpd.plugins.manifest import Manifest
from ahpd.plugins.manifest_fields import manifest_of
from ahpd.plugins.root import PluginRoot
from ahpd.plugins.skipped import Skipped
from ahpd.private_folders import make_private
from ahpd.whole_files import keep_names, replace

_MANIFEST: Final = "plugin.yaml"
_MODULE: Final = "plugin.py"
_MAIN: Final = re.compile(r"(?:\./)?([A-Za-z_][A-Za-z0-9_]*\.py)")
_LARGEST: Final = 4 * 1024 * 1024


class WrittenPlugins:
    """The plugins of `<plugin root>/plugins`, each in the folder that is called as its id.

    Everything raises `InstallFailure` and `OSError`.
    """

    def __init__(self, root: PluginRoot, installer: Installer) -> None:
        self._folder = root.plugins
        self._installer = installer

    def folder(self, plugin: str) -> Path:
        """The folder of a plugin, which is what the configuration names it by."""
        _check_id(plugin)
        return self._folder / plugin

    def named_by(self, source: str) -> str | None:
        """The plugin whose folder `source` is; None for what is not one of these."""
        path = Path(source)
        return path.name if path.parent == self._folder and is_id(path.name) else None

    def has(self, plugin: str) -> bool:
        """Whether there is such a plugin here."""
        return is_id(plugin) and (self.folder(plugin) / _MANIFEST).is_file()

    async def write(self, plugin: str, source: str, manifest: Mapping[str, Any] | str) -> Path:
        """Write a plugin, in place of the one with its id; its folder.

        `manifest` is the mapping or its text as YAML or JSON; an `id` and a `main` are added
        where it has none.
        """
        _check_id(plugin)
        text, checked = _completed(plugin, manifest)
        module = _module(checked)
        _check_source(source, module)
        make_private(self._folder)
        self.recover(plugin)
        staging = self._folder / f".{plugin}.new"
        _clear(staging)
        try:
            staging.mkdir(mode=0o700)
            replace(staging / module, source.encode())
            replace(staging / _MANIFEST, text.encode())
            await self._installer.install_requirements(list(checked.dependencies))
            self._swap(staging, self._folder / plugin)
        finally:
            _clear(staging)
        return self._folder / plugin

    async def source(self, plugin: str) -> tuple[str, str]:
        """The text of a plugin's module and of its manifest, as they were written."""
        self.recover(plugin)
        if not self.has(plugin):
            raise InstallFailure(f"{plugin} was not written in a client", asked=True)
        folder = self.folder(plugin)
        manifest = (folder / _MANIFEST).read_text(encoding="utf-8")
        module = _module(_checked(plugin, manifest))
        return (folder / module).read_text(encoding="utf-8"), manifest

    async def remove(self, plugin: str) -> bool:
        """Delete a plugin's folder; False where there is none."""
        self.recover(plugin)
        if not self.folder(plugin).is_dir():
            return False
        gone = self._folder / f".{plugin}.gone"
        _clear(gone)
        # By one step out of the way: a half of it is no plugin anybody wrote.
        self.folder(plugin).rename(gone)
        _clear(gone)
        return True

    def recover(self, plugin: str) -> None:
        """Finish or take back what a process that died left half done."""
        _check_id(plugin)
        old, place = self._folder / f".{plugin}.old", self._folder / plugin
        if not old.exists():
            return
        if place.exists():
            _clear(old)
        else:
            old.rename(place)

    def _swap(self, staging: Path, place: Path) -> None:
        old = self._folder / f".{place.name}.old"
        there = place.exists()
        if there:
            place.rename(old)
        try:
            staging.rename(place)
        except OSError:
            if there:
                old.rename(place)
            raise
        keep_names(self._folder)
        _clear(old)


def _check_id(plugin: object) -> None:
    if not isinstance(plugin, str) or not is_id(plugin):
        raise InstallFailure(f"{plugin!r} is no id of a plugin, which is {RULE}", asked=True)


def _check_source(source: object, module: str) -> None:
    """Refuse a text that is no module, before it takes the place of one that is."""
    if not isinstance(source, str) or not source.strip():
        raise InstallFailure("source must be the text of a Python module", asked=True)
    if len(source) > _LARGEST:
        raise InstallFailure("source is larger than 4 MiB", asked=True)
    try:
        compile(source, module, "exec", dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        at = f", line {line}" if line else ""
        words = getattr(error, "msg", None) or str(error) or type(error).__name__
        raise InstallFailure(f"source is no Python{at}: {words}", asked=True) from None
    try:
        source.encode()
    except UnicodeEncodeError:
        raise InstallFailure("source holds half a character", asked=True) from None


def _completed(plugin: str, manifest: object) -> tuple[str, Manifest]:
    """The manifest's text with an id and a main, and what it says."""
    if isinstance(manifest, str):
        text, values = manifest, _values(manifest)
    elif isinstance(manifest, Mapping):
        text, values = _dumped(manifest), dict(manifest)
    else:
        raise InstallFailure("manifest must be a mapping, or its text", asked=True)
    missing = {
        key: value
        for key, value in (("id", plugin), ("main", f"./{_MODULE}"))
        if values.get(key) is None
    }
    wanted = {**values, **missing}
    if missing:
        added = f"{text.rstrip()}\n{_dumped(missing)}" if text.strip() else _dumped(missing)
        text = added if _values_or_none(added) == wanted else _dumped(wanted)
    return text, _checked(plugin, text)


def _checked(plugin: str, text: str) -> Manifest:
    try:
        manifest = manifest_of(_values(text), _MANIFEST, called=plugin)
    except Skipped as skipped:
        raise InstallFailure(skipped.why, asked=True) from None
    if manifest.id != plugin:
        raise InstallFailure(
            f"{_MANIFEST}: id is {manifest.id}, and the plugin is written as {plugin}", asked=True
        )
    return manifest


def _module(manifest: Manifest) -> str:
    found = _MAIN.fullmatch(manifest.main or "")
    if found is None:
        raise InstallFailure(
            f"{_MANIFEST}: main must be a module in the plugin's own folder, such as ./{_MODULE}",
            asked=True,
        )
    return found[1]


def _values(text: str) -> dict[str, Any]:
    try:
        return document.parse(Path(_MANIFEST), text).values
    except ConfigError as error:
        raise InstallFailure(str(error), asked=True) from None


def _values_or_none(text: str) -> dict[str, Any] | None:
    with contextlib.suppress(InstallFailure):
        return _values(text)
    return None


def _dumped(values: Mapping[str, Any]) -> str:
    import yaml  # noqa: PLC0415 - for those who write plugins

    try:
        dumped: str = yaml.safe_dump(dict(values), sort_keys=False, allow_unicode=True)
    except yaml.YAMLError:
        raise InstallFailure("manifest holds a value JSON cannot say", asked=True) from None
    return dumped


def _clear(folder: Path) -> None:
    """Delete a folder of ours; what is a link goes itself, and not what it leads to."""
    if folder.is_symlink() or folder.is_file():
        folder.unlink()
    elif os.path.lexists(folder):
        shutil.rmtree(folder)
