"""From defaults, the configuration file and flags to `Settings`, each value with its source.

Flags win over the file, and the file over the defaults. Options that stand for one
another (the three ways to name a token; an endpoint, or a host and a port) are
one choice: a flag of such a group puts aside what the file says of all of it.
"""

import contextlib
import difflib
import os
import stat
from collections.abc import Callable, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

import attrs

from ahpd.config import document, places, token
from ahpd.config.document import Document
from ahpd.config.errors import ConfigError, WrongValue
from ahpd.config.kinds import Structured, visible
from ahpd.config.plugin_flags import merged
from ahpd.config.redaction import SHORTEST_SECRET
from ahpd.config.references import Unresolved, resolve
from ahpd.config.settings import BY_KEY, BY_NAME, OPTIONS, Settings, plain

_TOKEN_GROUP: Final = ("connection_token", "connection_token_file", "without_connection_token")
_LISTEN_GROUP: Final = ("listen", "host", "port")
_GROUPS: Final = (_TOKEN_GROUP, _LISTEN_GROUP)


class Source(StrEnum):
    """Who said a value."""

    DEFAULT = "default"
    FILE = "file"
    FLAG = "flag"


@attrs.frozen
class Value:
    """A value in force and who said it."""

    value: Any
    source: Source


@attrs.frozen(kw_only=True)
class Configuration:
    """What is in force, before anything on disk was made for it."""

    file: Path
    """The file that is read, or would be if it were there."""
    found: bool
    values: Mapping[str, Value]
    """By the option's name (`delta_window_ms`), every option."""
    warnings: tuple[str, ...] = ()
    directory: Path
    """The configuration directory, for the token file that is made."""
    environ: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    """What references in the configuration are read from."""

    def get(self, name: str) -> Any:
        """The value in force of the option `name`."""
        return self.values[name].value

    def place(self, name: str) -> str:
        """Where the value of `name` came from, for words: its flag, or the file and key."""
        chosen, declared = self.values[name], BY_NAME[name]
        if chosen.source is Source.FLAG:
            return f"--{declared.flag}"
        return f"{self.file}: {declared.key}" if chosen.source is Source.FILE else declared.key

    @property
    def listens(self) -> bool:
        """Whether a WebSocket listener is opened: over stdio only when one is named."""
        named = any(self.values[name].source is not Source.DEFAULT for name in _LISTEN_GROUP)
        return named or not self.get("stdio")

    @property
    def token_file(self) -> Path | None:
        """The file the token comes from, or None when it comes from elsewhere or none is asked."""
        if self.get("connection_token") is not None or self.get("without_connection_token"):
            return None
        named: Path | None = self.get("connection_token_file")
        if named is None and self.listens:
            return self.directory / places.TOKEN_FILE
        return named

    def settings(self) -> tuple[Settings, list[str]]:
        """The settings, with the token read or its file made; and warnings about that.

        Raises `ConfigError` when the token file cannot be used.
        """
        values = {name: chosen.value for name, chosen in self.values.items()}
        warnings: list[str] = []
        if (path := self.token_file) is not None:
            values["connection_token"], warnings = token.read_or_make(path)
            values["connection_token_file"] = path
        return (
            Settings(
                **values,
                listens=self.listens,
                config_file=self.file,
                config_directory=self.directory,
                variable_secrets=self._variable_secrets(),
            ),
            warnings,
        )

    def _variable_secrets(self) -> tuple[str, ...]:
        """What references read from variables: each may be a credential, and none is logged."""
        read: list[str] = []
        written = [record.config for record in self.get("agents")]
        written += [*self.get("engines").values(), *self.get("mcp_servers").values()]
        written += [entry.options for entry in self.get("plugins")]
        written += [option.value for option in self.get("plugin_option")]
        for value in written:
            with contextlib.suppress(Unresolved):  # said when it is used
                resolve(value, self.environ, "", read)
        return tuple(text for text in dict.fromkeys(read) if len(text) >= SHORTEST_SECRET)


def load(
    flags: Mapping[str, Any],
    *,
    config_file: Path | None = None,
    environ: Mapping[str, str],
    directory: Path,
    managed: Callable[[Mapping[str, Any]], object] | None = None,
) -> Configuration:
    """Read the configuration. `flags` holds checked values by option name, those given alone.

    `directory` is where the process was started: the default of `paths`. `managed` raises
    `ValueError` for permissions whose rules cannot be read, in words that name the rule
    (`deny[0]: ...`). Raises `ConfigError`.
    """
    path, found = (config_file, True) if config_file else places.find_file(environ)
    values = {declared.name: Value(declared.default, Source.DEFAULT) for declared in OPTIONS}
    values["paths"] = Value((directory,), Source.DEFAULT)
    values["data_directory"] = Value(places.data_directory(environ), Source.DEFAULT)
    warnings: list[str] = []
    if found:
        from_file, warnings = _check(document.read(path))
        for group in _GROUPS:
            if any(_chosen(flags.get(name)) for name in group):
                from_file = {name: value for name, value in from_file.items() if name not in group}
        values |= {name: Value(value, Source.FILE) for name, value in from_file.items()}
    values |= {name: Value(value, Source.FLAG) for name, value in flags.items()}
    _name_plugins(values)
    configuration = Configuration(
        file=path,
        found=found,
        values=values,
        warnings=tuple(warnings),
        directory=places.config_directory(environ),
        environ=environ,
    )
    _agree(configuration)
    if managed is not None:
        _check_managed(configuration, managed)
    return configuration


def _name_plugins(values: dict[str, Value]) -> None:
    """Have `plugins` be what the host is started with: the file's, and those flags name."""
    sources, without = values["plugin"].value, values["no_plugins"].value
    if sources or without:
        listed = values["plugins"].value
        values["plugins"] = Value(merged(listed, sources, without_listed=without), Source.FLAG)


def _check(read: Document) -> tuple[dict[str, Any], list[str]]:
    values: dict[str, Any] = {}
    warnings: list[str] = []
    base = read.path.parent.resolve()
    for key, value in read.values.items():
        declared = BY_KEY.get(key)
        if declared is None:
            warnings.append(f"{read.place(key)}: unknown key {key!r}, ignored{_near(key)}")
            continue
        try:
            values[declared.name] = declared.kind.check(value, base)
        except WrongValue as wrong:
            raise ConfigError(
                f"{read.place(key, wrong.at)}: {key}{visible(wrong.at)}: found {wrong.found}, "
                f"allowed: {wrong.allowed}"
            ) from None
    for name, value in values.items():
        kind = BY_NAME[name].kind
        if isinstance(kind, Structured):
            warnings += [f"{read.path}: {words}" for words in kind.warnings(value)]
    held = _credentials(values)
    if held and _readable_by_others(read.path):
        warnings.append(f"{read.path}: holds {held} and can be read by others; run chmod 600 on it")
    return values, warnings


def _credentials(values: Mapping[str, Any]) -> str | None:
    """The first key that holds a credential in plain text."""
    if "connection_token" in values:
        return "connectionToken"
    for name, value in values.items():
        kind = BY_NAME[name].kind
        if isinstance(kind, Structured) and kind.secrets(value):
            return f"credentials in {BY_NAME[name].key}"
    return None


def _near(key: str) -> str:
    by_spelling = {plain(known): known for known in BY_KEY}
    matches = difflib.get_close_matches(plain(key), by_spelling, n=1, cutoff=0.7)
    return f"; did you mean {by_spelling[matches[0]]!r}?" if matches else ""


def _readable_by_others(path: Path) -> bool:
    try:
        return bool(stat.S_IMODE(os.stat(path).st_mode) & 0o077)  # noqa: PTH116
    except OSError:
        return False


def _agree(configuration: Configuration) -> None:
    """Refuse what contradicts itself, and what would listen to strangers without a token."""
    token_ways = [name for name in _TOKEN_GROUP if _chosen(configuration.get(name))]
    if len(token_ways) > 1:
        places_said = " and ".join(configuration.place(name) for name in token_ways)
        raise ConfigError(
            f"{places_said}: found {len(token_ways)} answers to which token clients bring, "
            "allowed: one of connectionToken, connectionTokenFile and withoutConnectionToken"
        )
    if _chosen(configuration.get("listen")):
        beside = [
            name
            for name in ("host", "port")
            if configuration.values[name].source is not Source.DEFAULT
        ]
        if beside:
            raise ConfigError(
                f"{configuration.place('listen')} and {configuration.place(beside[0])}: found an "
                f"endpoint and a {beside[0]}, allowed: either listen, or host and port"
            )
    bare = Settings(**{name: configuration.get(name) for name in _LISTEN_GROUP})
    if configuration.listens and configuration.get("without_connection_token") and not bare.local:
        name = "listen" if bare.listen is not None else "host"
        raise ConfigError(
            f"{configuration.place('without_connection_token')}: found true while "
            f"{configuration.place(name)} is {configuration.get(name)}, which other machines may "
            "reach; allowed: no token on loopback (127.0.0.1, ::1, localhost) alone"
        )
    if configuration.get("routes") is not None and not configuration.listens:
        raise ConfigError(
            f"{configuration.place('routes')} and {configuration.place('stdio')}: found a listener "
            "for a host on standard input and output alone, allowed: one of them"
        )
    for record in configuration.get("agents"):
        if record.id == "demo" and record.mode != "disabled" and configuration.get("demo"):
            raise ConfigError(
                f"{configuration.place('demo')} and {configuration.file}: {record.place}.id: found "
                "two agents called demo, allowed: another id, or demo: false"
            )


def _check_managed(
    configuration: Configuration, managed: Callable[[Mapping[str, Any]], object]
) -> None:
    name = "managed_settings_permissions"
    if not configuration.get(name):
        return
    try:
        managed(configuration.get(name))
    except ValueError as wrong:
        raise ConfigError(f"{configuration.place(name)}: {wrong}") from None


def _chosen(value: object) -> bool:
    # 0 is a port somebody chose; False says that another member of the group is meant.
    return value is not None and value is not False
