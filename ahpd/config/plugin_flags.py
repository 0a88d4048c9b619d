"""What the command line says of plugins, and how it goes together with the file."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from ahpd.config import redaction
from ahpd.config.errors import WrongValue
from ahpd.config.json_values import check_json
from ahpd.config.kinds import Structured, describe
from ahpd.config.plugins import PluginEntry, check_source

FLAG: Final = "--plugin"


@attrs.frozen
class PluginSources:
    """Sources of plugins, one for each time the flag is said."""

    allowed: str = "the source of a plugin, which begins with no dash"
    metavar: str = "SOURCE"

    def check(self, value: object, base: Path) -> tuple[str, ...]:
        """It stands in no file: `plugins` does."""
        raise WrongValue(describe(value), self.allowed)

    def parse(self, text: str, base: Path) -> tuple[str, ...]:
        try:
            return (check_source(text, ""),)
        except WrongValue as wrong:
            raise WrongValue(wrong.found, self.allowed) from None


@attrs.frozen(kw_only=True)
class PluginOption:
    """One option of one plugin, as the command line says it."""

    plugin: str
    """The plugin's id, or its source as it is written."""
    key: str
    value: Any = attrs.field(repr=False)


@attrs.frozen
class PluginOptions(Structured):
    """Options of plugins, one for each time the flag is said."""

    allowed: str = "<id>.<key>=<value>, the value being JSON where it can be read as such"
    metavar: str = "ID.KEY=VALUE"

    def check(self, value: object, base: Path) -> tuple[PluginOption, ...]:
        """It stands in no file: `plugins` does."""
        raise WrongValue(describe(value), self.allowed)

    def parse(self, text: str, base: Path) -> tuple[PluginOption, ...]:
        # What is behind the sign may be a secret, and is not quoted.
        name, sign, value = text.partition("=")
        plugin, dot, key = name.rpartition(".")
        if not (sign and dot and plugin and key) or "/" in key:
            raise WrongValue(describe(name), self.allowed)
        checked = check_json(option_value(value), "")
        return (PluginOption(plugin=plugin, key=key, value=checked),)

    def shown(self, value: tuple[PluginOption, ...]) -> list[str]:
        return [f"{option.plugin}.{option.key}={redaction.SET}" for option in value]

    def secrets(self, value: tuple[PluginOption, ...]) -> list[str]:
        return [
            text for option in value for text in redaction.secrets_of({option.key: option.value})
        ]


def option_value(text: str) -> Any:
    """What a text on the command line means: JSON where it is JSON, else itself."""
    try:
        value = json.loads(text, parse_constant=_not_json)
    except (ValueError, RecursionError):
        return text
    # A number that would be written otherwise is an id or a version: it stays as it was typed.
    return value if not isinstance(value, int | float) or json.dumps(value) == text else text


def _not_json(word: str) -> Any:
    raise ValueError(word)


def merged(
    listed: Sequence[PluginEntry], sources: Iterable[str], *, without_listed: bool = False
) -> tuple[PluginEntry, ...]:
    """The plugins a host is started with: the file's, then those flags name.

    One that the file lists as well takes the file's options and grants, and is on; one that it
    lists by another source is told by who finds it (`ahpd.plugins.flagged`). With `without_listed`
    only those are there that a flag names.
    """
    by_source: dict[str, PluginEntry] = {}
    for entry in listed:
        by_source.setdefault(entry.source, entry)
    named = [
        attrs.evolve(by_source[source], enabled=True)
        if source in by_source
        else PluginEntry(
            source=source, place=FLAG, left_out=tuple(listed) if without_listed else ()
        )
        for source in dict.fromkeys(sources)
    ]
    if without_listed:
        return tuple(named)
    again = {entry.source: entry for entry in named}
    kept = [again.pop(entry.source, entry) for entry in listed]
    return (*kept, *again.values())


def with_options(
    entry: PluginEntry, identifier: str, options: Iterable[PluginOption]
) -> PluginEntry:
    """The entry of the plugin `identifier` with what flags say of its options."""
    said: dict[str, Any] = {
        option.key: option.value
        for option in options
        if option.plugin in (identifier, entry.source, entry.listed_as)
    }
    return attrs.evolve(entry, options={**entry.options, **said}) if said else entry


def unclaimed(
    options: Iterable[PluginOption], known: Mapping[str, str] | Iterable[tuple[str, str]]
) -> list[str]:
    """Warnings of options for plugins that are not there; `known` is ids and their sources."""
    pairs = known.items() if isinstance(known, Mapping) else known
    names = {name for pair in pairs for name in pair}
    return [
        f"--plugin-option {option.plugin}.{option.key}: there is no plugin {option.plugin}"
        for option in options
        if option.plugin not in names
    ]
