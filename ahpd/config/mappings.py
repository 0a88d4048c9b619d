"""The kinds of keys that hold mappings: engines' defaults, MCP servers, tools, managed rules.

They stand in the file alone; no flag takes one. A mapping that is empty in the file (`engines:`
with nothing behind it) is an empty one.
"""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import attrs

from ahpd.config import redaction
from ahpd.config.errors import WrongValue
from ahpd.config.json_values import (
    check_json,
    check_keys,
    check_mapping,
    check_secret_text,
    check_text,
)
from ahpd.config.kinds import Structured, describe
from ahpd.config.records import SLUG_WORDS, is_slug

#: What a mapping nobody wrote is.
EMPTY: Final[Mapping[str, Any]] = MappingProxyType({})


@attrs.frozen
class FileMapping(Structured):
    """A mapping; `_entry` checks each of its values, and answers what is kept of it."""

    allowed: str = "a mapping"
    metavar: str = ""

    def check(self, value: object, base: Path) -> Mapping[str, Any]:
        if value is None:
            return EMPTY
        held = check_mapping(value, self.allowed, "")
        return {key: self._entry(key, item, f".{key}", base) for key, item in held.items()}

    def parse(self, text: str, base: Path) -> Any:
        """No flag takes a mapping."""
        raise WrongValue(describe(text), self.allowed)

    def shown(self, value: Mapping[str, Any]) -> Any:
        """The value without its secrets."""
        return redaction.shown(value)

    def secrets(self, value: Mapping[str, Any]) -> list[str]:
        """What no log may hold."""
        return list(redaction.secrets_of(value))

    def _entry(self, key: str, value: object, at: str, base: Path) -> Any:
        raise NotImplementedError


@attrs.frozen
class EngineDefaults(FileMapping):
    """By engine, what is laid under the `config` of each of its records."""

    allowed: str = "a mapping of engines to fields of their records"

    def _entry(self, key: str, value: object, at: str, base: Path) -> Any:
        if not is_slug(key):
            raise WrongValue(describe(key), f"the name of an engine: {SLUG_WORDS}")
        if value is None:
            return {}
        return check_json(check_mapping(value, "a mapping of the engine's fields", at), at)


@attrs.frozen
class ToolSwitches(FileMapping):
    """By tool, true or false."""

    allowed: str = "a mapping of tools to true or false"

    def _entry(self, key: str, value: object, at: str, base: Path) -> bool:
        if not isinstance(value, bool):
            raise WrongValue(describe(value), "true or false", at)
        return value


#: By transport, the keys of a server's entry that may be there.
_SERVER_KEYS: Final = {
    "stdio": ("type", "command", "args", "env", "cwd"),
    "http": ("type", "url", "headers"),
}


@attrs.frozen
class McpServers(FileMapping):
    """By the name a person gave it, how an MCP server is reached.

    Source: PLUGINS.txt, "The MCP servers a session is offered". An entry without a `type` is
    told by its `command` or `url`, as other programs' files have them.
    """

    allowed: str = "a mapping of names to MCP servers, each with a command or a url"

    def _entry(self, key: str, value: object, at: str, base: Path) -> Any:
        if not key.strip():
            raise WrongValue(describe(key), "a name")
        entry = check_mapping(value, "a mapping with command, or with url", at)
        kind = entry.get("type", "http" if "url" in entry else "stdio")
        if not isinstance(kind, str) or kind not in _SERVER_KEYS:
            raise WrongValue(describe(kind), "stdio or http", f"{at}.type")
        check_keys(entry, _SERVER_KEYS[kind], at)
        checked = {"type": kind, **entry}
        if kind == "http":
            _check_url(entry.get("url"), at)
            if "headers" in entry:
                checked["headers"] = _texts(entry["headers"], f"{at}.headers")
            return checked
        if "command" not in entry:
            raise WrongValue("no command", "a program to run", at)
        check_text(entry["command"], f"{at}.command")
        args = entry.get("args", [])
        if not isinstance(args, list):
            raise WrongValue(describe(args), "a list of texts", f"{at}.args")
        for index, item in enumerate(args):
            check_secret_text(item, f"{at}.args[{index}]")
        if "env" in entry:
            checked["env"] = _texts(entry["env"], f"{at}.env")
        if "cwd" in entry:
            folder = Path(check_text(entry["cwd"], f"{at}.cwd")).expanduser()
            checked["cwd"] = str(base / folder)
        return checked


def _check_url(value: object, at: str) -> None:
    if value is None:
        raise WrongValue("no url", "an http: or https: URL", at)
    if not isinstance(value, str) or not value.lower().startswith(("http://", "https://")):
        found = "text" if isinstance(value, str) else describe(value)
        raise WrongValue(found, "an http: or https: URL", f"{at}.url")


def _texts(value: object, at: str) -> Mapping[str, Any]:
    held = check_mapping(value, "a mapping of names to texts", at)
    return {key: check_secret_text(item, f"{at}.{key}") for key, item in held.items()}


_PERMISSION_KEYS: Final = ("deny", "ask", "limitTo", "disableBypassPermissionsMode")


@attrs.frozen
class ManagedPermissions(FileMapping):
    """What the operator manages. That its rules can be read is checked by who knows rules.

    Source: PLUGINS.txt, "A question about a tool call".
    """

    allowed: str = "a mapping with deny, ask, limitTo or disableBypassPermissionsMode"

    def check(self, value: object, base: Path) -> Mapping[str, Any]:
        if value is not None:
            check_keys(check_mapping(value, self.allowed, ""), _PERMISSION_KEYS, "")
        return FileMapping.check(self, value, base)

    def _entry(self, key: str, value: object, at: str, base: Path) -> Any:
        if key == "disableBypassPermissionsMode":
            if value != "disable":
                raise WrongValue(describe(value), "disable", at)
            return value
        if not isinstance(value, list):
            raise WrongValue(describe(value), "a list of rules", at)
        return [check_text(rule, f"{at}[{index}]") for index, rule in enumerate(value)]
