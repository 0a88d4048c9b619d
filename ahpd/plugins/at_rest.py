"""Plugins while no daemon runs: what a command does to the file and the plugin root by itself.

What it changes applies at the next start. Where a daemon runs it is asked instead, and does the
same (`ahpd.plugins.commands`).
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import attrs

from ahpd.config.plugin_flags import PluginOption, option_value, unclaimed, with_options
from ahpd.config.plugins import PluginEntry
from ahpd.config.plugins_file import PluginsFile
from ahpd.plugins.failures import InstallFailure
from ahpd.plugins.finding import Finder
from ahpd.plugins.installing import Installed, Installer, Updated
from ahpd.plugins.states import Listed, listed
from ahpd.plugins.taking_out import take_out
from ahpd.plugins.written import WrittenPlugins
from ahpd.protocol.errors import RpcError


@attrs.define(eq=False, repr=False)
class PluginsAtRest:
    """The plugins that `entries` name. Everything raises `InstallFailure`, in words."""

    file: PluginsFile
    installer: Installer
    written: WrittenPlugins
    finder: Finder
    entries: Sequence[PluginEntry]
    options: Sequence[PluginOption] = ()
    """What flags say of options; it is listed, and never written."""

    def rows(self, before: Mapping[str, str] = MappingProxyType({})) -> list[Listed]:
        """A row for each entry, in their order; `before` as for `listed`."""
        rows = listed(self.entries, self.finder, before)
        if not self.options:
            return rows
        laid = [with_options(row.entry, row.id, self.options) for row in rows]
        return listed(laid, self.finder, before)

    def warnings(self) -> list[str]:
        """What flags say of plugins that are not there."""
        known = [(row.id, row.entry.source) for row in listed(self.entries, self.finder)]
        return unclaimed(self.options, known)

    def named(self, name: str) -> Listed:
        """The plugin with this id, or this source."""
        rows = listed(self.entries, self.finder)
        for row in (*(row for row in rows if row.id == name), *rows):
            if name in (row.id, row.entry.source):
                return row
        raise InstallFailure(f"there is no plugin {name}", asked=True)

    async def install(self, source: str, base: Path) -> tuple[Installed, bool]:
        """Install a source and list it: what was installed, and whether it is listed anew."""
        installed = await self.installer.install(source, base)
        # One with several plugins is named by each of them.
        names = [installed.distribution] if len(installed.ids) == 1 else installed.ids
        added = [self.file.add(name) for name in names]
        return installed, any(added)

    async def remove(self, name: str, *, keep: bool) -> tuple[bool, str | None]:
        """Take a plugin out of the list, and uninstall it unless it is to be kept: see
        `take_out`."""
        row = self.named(name)
        self.file.remove(self._own(row))
        if keep:
            return False, None
        rows = listed(self.entries, self.finder)
        others = [other for other in rows if other.entry.source != row.entry.source]
        return await take_out(row, others, self.installer, self.written)

    async def update(self, name: str) -> Updated:
        """Move a plugin's distribution to the newest version that admits this host."""
        row = self.named(name)
        if row.distribution is None:
            why = row.problem or "it is named by its path, and what is there is what runs"
            raise InstallFailure(f"{name} is not updated: {why}")
        return await self.installer.update(row.distribution)

    def updatable(self) -> list[str]:
        """The ids of what is installed in the plugin root."""
        return [
            row.id
            for row in self.rows()
            if row.distribution is not None
            and self.installer.distribution(row.distribution) is not None
        ]

    def switch(self, name: str, enabled: bool) -> bool:
        """Turn a plugin on or off; False where it was."""
        return self.file.switch(self._own(self.named(name)), enabled)

    def set_option(self, name: str, key: str, value: Any) -> bool:
        """Set one option, held to the plugin's schema; None takes it out. False where it was so."""
        from ahpd.plugins.commands import checked_option  # noqa: PLC0415 - knows a whole host
        from ahpd.plugins.named import Named  # noqa: PLC0415

        row = self.named(name)
        source = self._own(row)
        if value is not None:
            result = self.finder.find_all([row.entry])[0]
            try:
                value = checked_option(Named(row.id, row.entry, result), key, value)
            except RpcError as error:
                raise InstallFailure(error.message, asked=True) from None
        if value is None:
            return self.file.unset_option(source, key)
        return self.file.set_option(source, key, value)

    def meant(self, name: str, key: str, text: str) -> Any:
        """What a text on the command line means for an option: JSON where it is JSON, and the text
        as it was typed where the plugin's schema takes that alone."""
        value, schema = option_value(text), self.schema(name)
        if value is None or isinstance(value, str) or schema is None or _fits(schema, key, value):
            return value
        return text if _fits(schema, key, text) else value

    def schema(self, name: str) -> Mapping[str, Any] | None:
        """The schema of a plugin's options; None for one that says nothing of them."""
        found = self.named(name).found
        return None if found is None else found.manifest.options_schema

    def unknown(self, name: str, key: str) -> bool:
        """Whether a plugin's schema knows nothing of the option `key`."""
        from ahpd.schemas import unknown_keys  # noqa: PLC0415

        schema = self.schema(name)
        return schema is not None and bool(unknown_keys(schema, {key: None}))

    def shown(self, name: str) -> dict[str, Any]:
        """A plugin's options as they may be shown: what its schema marks as secret is `<set>`."""
        from ahpd.schemas import hidden  # noqa: PLC0415

        row = self.named(name)
        entry = with_options(row.entry, row.id, self.options)
        shown: dict[str, Any] = hidden(self.schema(name), dict(entry.options))
        return shown

    def _own(self, row: Listed) -> str:
        """The source of an entry that stands in the file."""
        source = row.entry.listed_as or row.entry.source
        if source not in [entry.source for entry in self.file.read().entries]:
            raise InstallFailure(
                f"{row.id} is named by {row.entry.place or 'a flag'}, and {self.file.path} does "
                "not list it",
                asked=True,
            )
        return source


def _fits(schema: Mapping[str, Any], key: str, value: Any) -> bool:
    from ahpd.plugins.options import of_keys  # noqa: PLC0415 - where there is a plugin
    from ahpd.schemas import Misfit, check_value  # noqa: PLC0415

    try:
        check_value(of_keys(schema), {key: value}, key, references=True)
    except Misfit:
        return False
    return True
