"""The `plugins:` list of a configuration file, as entries nobody has looked up yet."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import attrs

from ahpd.config import redaction
from ahpd.config.errors import WrongValue
from ahpd.config.json_values import check_json, check_keys, check_mapping, check_text
from ahpd.config.kinds import Structured, describe, visible

_OWN_KEYS: Final = ("source", "options", "enabled", "grants", "name")
#: What a standalone plugin's manifest says; an entry that has an `id` may say it as well.
MANIFEST_KEYS: Final = (
    "id", "version", "main", "title", "description", "categories", "links", "contracts", "icons",
    "optionsSchema", "i18n", "requires", "dependencies",
)  # fmt: skip

#: A subject and one of its operations, either of which may be all of them.
_GRANT: Final = re.compile(
    r"(?:\*|[A-Za-z][A-Za-z0-9_-]*(?:\.[A-Za-z0-9_-]+)*):(?:\*|[A-Za-z][A-Za-z0-9_-]*)"
)
_CONTROLS: Final = re.compile(r"[\x00-\x1f\x7f\x80-\x9f\u2028\u2029]")


def is_grant(text: str) -> bool:
    """Whether a text names a subject and an operation: `session:write`."""
    return bool(_GRANT.fullmatch(text))


@attrs.frozen(kw_only=True)
class PluginEntry:
    """One plugin as the configuration names it."""

    source: str
    """A distribution, an entry point's name, a folder or a file."""
    options: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    """As they are written: references are not read."""
    enabled: bool = True
    grants: Sequence[str] = ()
    """What the plugin's own connection may do: `session:write`."""
    name: str | None = None
    """What a listing prints in place of the id."""
    manifest: Mapping[str, Any] | None = None
    """The manifest the entry itself carries: it has an `id` then."""
    place: str = ""
    """Where it stands, for words: `plugins[2]`, or `--plugin`."""
    dropped: Sequence[str] = ()
    """Grants that name no operation, and so grant nothing."""
    listed_as: str | None = None
    """The source of the file's entry it stands in place of, where a flag names it by another."""
    left_out: "Sequence[PluginEntry]" = attrs.field(default=(), repr=False)
    """Of one a flag names: what the file lists and is not started, for what it says of the same."""

    def shown(self) -> Any:
        """The entry as it may be shown to anybody.

        Which of its options are secret only the plugin's schema says, and nobody read that: all
        are `<set>` but for references, which say where a value is and not what it is.
        """
        row: dict[str, Any] = {"source": self.source}
        if self.name is not None:
            row["name"] = self.name
        if not self.enabled:
            row["enabled"] = False
        if self.grants:
            row["grants"] = list(self.grants)
        if self.options:
            row["options"] = all_set(self.options)
        if self.manifest is not None:
            row.update(redaction.shown(self.manifest))
        return row if len(row) > 1 else self.source


def all_set(value: Any) -> Any:
    """A JSON value of which nothing is known: each text and number in it is `<set>`."""
    if redaction.is_reference(value):
        return dict(value)
    if isinstance(value, Mapping):
        return {key: all_set(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [all_set(item) for item in value]
    return value if value is None or isinstance(value, bool) else redaction.SET


@attrs.frozen
class Plugins(Structured):
    """A list of plugins; it comes out as `PluginEntry`s in the file's order."""

    allowed: str = "a list of plugins, each a source or a mapping with one"
    metavar: str = ""

    def check(self, value: object, base: Path) -> tuple[PluginEntry, ...]:
        if value is None:  # the key is there with nothing behind it
            return ()
        if not isinstance(value, list | tuple):
            raise WrongValue(describe(value), self.allowed)
        return tuple(_entry(item, f"[{index}]") for index, item in enumerate(value))

    def parse(self, text: str, base: Path) -> Any:
        """No flag takes entries; `--plugin` takes sources."""
        raise WrongValue(describe(text), self.allowed)

    def shown(self, value: tuple[PluginEntry, ...]) -> list[Any]:
        return [entry.shown() for entry in value]

    def secrets(self, value: tuple[PluginEntry, ...]) -> list[str]:
        return [text for entry in value for text in redaction.secrets_of(entry.options)]

    def warnings(self, value: tuple[PluginEntry, ...]) -> list[str]:
        return [
            f"{entry.place}.grants: {visible(grant)!r} names no operation and is dropped; "
            "a grant is <subject>:<operation>, such as session:read"
            for entry in value
            for grant in entry.dropped
        ]


def check_source(value: object, at: str) -> str:
    """`value` where it can name a plugin. Raises `WrongValue`."""
    text = check_text(value, at)
    if text.startswith("-") or _CONTROLS.search(text):
        raise WrongValue(describe(text), "the source of a plugin, which begins with no dash", at)
    return text


def _entry(item: object, at: str) -> PluginEntry:
    place = f"plugins{at}"
    if isinstance(item, str):
        return PluginEntry(source=check_source(item, at), place=place)
    fields = check_mapping(item, "a source, or a mapping with one", at)
    carries = "id" in fields
    check_keys(fields, (*_OWN_KEYS, *(MANIFEST_KEYS if carries else ("id",))), at)
    source, name = fields.get("source"), fields.get("name")
    if source is None and name is not None and not carries:
        source, name = name, None  # as entries were written before there was `source`
        at_source = f"{at}.name"
    else:
        at_source = f"{at}.source"
    if source is None:
        raise WrongValue("no source", "a mapping with the source of a plugin", at)
    grants, dropped = _grants(fields.get("grants"), f"{at}.grants")
    return PluginEntry(
        source=check_source(source, at_source),
        options=_options(fields.get("options"), f"{at}.options"),
        enabled=_enabled(fields.get("enabled", True), f"{at}.enabled"),
        grants=grants,
        name=None if name is None else check_text(name, f"{at}.name"),
        manifest=_manifest(fields, at) if carries else None,
        place=place,
        dropped=dropped,
    )


def _enabled(value: object, at: str) -> bool:
    if not isinstance(value, bool):
        raise WrongValue(describe(value), "true or false", at)
    return value


def _options(value: object, at: str) -> Mapping[str, Any]:
    if value is None:
        return {}
    checked: Mapping[str, Any] = check_json(
        check_mapping(value, "a mapping of the plugin's options", at), at
    )
    return checked


def _grants(value: object, at: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The grants, and those that name no operation."""
    if value is None:
        return (), ()
    if not isinstance(value, list):
        raise WrongValue(describe(value), "a list of grants, such as session:read", at)
    texts = [check_text(item, f"{at}[{index}]") for index, item in enumerate(value)]
    unique = dict.fromkeys(texts)
    return tuple(filter(is_grant, unique)), tuple(text for text in unique if not is_grant(text))


def _manifest(fields: Mapping[str, Any], at: str) -> Mapping[str, Any]:
    """What of the entry is its manifest; that it holds is checked by who reads manifests."""
    check_text(fields["id"], f"{at}.id")
    held = {key: item for key, item in fields.items() if key == "name" or key in MANIFEST_KEYS}
    checked: Mapping[str, Any] = check_json(held, at)
    return checked
