"""What an operator manages: rules that no session, window or grant takes back.

`parse_managed` reads the daemon's `managedSettingsPermissions`, and refuses the whole of it
for one rule that cannot be read, as the programs that are handed it do. Source: PLUGINS.txt,
"A question about a tool call".
"""

import re
from collections.abc import Mapping
from typing import Any, Final

import attrs

from ahpd.permissions.paths import matcher
from ahpd.permissions.rules import DOMAIN, EDIT, READ, SHELL, Rule
from ahpd.permissions.urls import host_of_rule, normal_host

_KEYS: Final = ("deny", "ask", "disableBypassPermissionsMode", "limitTo")
#: The families of the managed grammar, and those of a session's rules they are checked as.
_FAMILIES: Final[Mapping[str, str]] = {
    "Shell": SHELL, "Read": READ, "Write": EDIT, "Edit": EDIT, "Domain": DOMAIN,
}  # fmt: skip
_RULE: Final = re.compile(r"([A-Za-z]+)(?:\(([^)\n]*)\))?")
_SUBSTITUTES: Final = ("$(", "${", "`")


@attrs.frozen(kw_only=True)
class ManagedPermissions:
    """An operator's rules, read."""

    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()
    bypass_disabled: bool = False
    """Allow All is taken away from every session."""
    limit_to: tuple[str, ...] | None = None
    """The hosts that may be fetched from, as `normal_host` writes them; None is any."""
    document: Mapping[str, Any] = attrs.field(factory=dict)
    """What it was read from, to be handed to backends as it is."""


def parse_managed(document: Any, where: str = "managedSettingsPermissions") -> ManagedPermissions:
    """Read an operator's document. Raises `ValueError` naming the place and what is wrong there."""
    if not isinstance(document, Mapping):
        raise ValueError(f"{where}: found {document!r}, expected an object")
    for key in document:
        if key not in _KEYS:
            raise ValueError(f"{where}.{key}: is no key of it ({', '.join(_KEYS)})")
    lock = document.get("disableBypassPermissionsMode")
    if lock not in (None, "disable"):
        raise ValueError(
            f"{where}.disableBypassPermissionsMode: found {lock!r}, expected 'disable'"
        )
    limits = document.get("limitTo")
    return ManagedPermissions(
        deny=_rules(document.get("deny", ()), f"{where}.deny"),
        ask=_rules(document.get("ask", ()), f"{where}.ask"),
        bypass_disabled=lock == "disable",
        limit_to=None if limits is None else _limits(limits, f"{where}.limitTo"),
        document=dict(document),
    )


def _strings(value: Any, where: str) -> list[str]:
    if not isinstance(value, list | tuple):
        raise ValueError(f"{where}: found {value!r}, expected a list of rules")
    for place, each in enumerate(value):
        if not isinstance(each, str):
            raise ValueError(f"{where}[{place}]: found {each!r}, expected a rule")
    return list(value)


def _rules(value: Any, where: str) -> tuple[Rule, ...]:
    return tuple(
        _rule(text, f"{where}[{place}]") for place, text in enumerate(_strings(value, where))
    )


def _rule(text: str, where: str) -> Rule:
    found = _RULE.fullmatch(text)
    family = None if found is None else _FAMILIES.get(found[1])
    if found is None or family is None:
        raise ValueError(
            f"{where}: {text!r} is no rule of the managed grammar "
            f"({', '.join(_FAMILIES)}, alone or with what it is about in parentheses)"
        )
    argument = found[2]
    if argument is not None:
        problem = _problem(family, argument)
        if problem is not None:
            raise ValueError(f"{where}: {text!r} {problem}")
    if argument == "*" and family == SHELL:
        argument = None
    if family in (READ, EDIT) and argument is not None:
        argument = argument.replace("\\", "/")
    return Rule(text, family, argument)


def _problem(family: str, argument: str) -> str | None:
    """What is wrong with what a rule is about; None where nothing is."""
    if not argument.strip():
        return "is about nothing"
    if family == SHELL:
        return "names no command" if argument.endswith(" *") and not argument[:-2].strip() else None
    if family in (READ, EDIT):
        if argument.startswith("!"):
            return "negates a path, and no rule does"
        if matcher(argument if argument.startswith(("/", "**")) else f"/{argument}") is None:
            return "has a path pattern that nobody can read"
        return None
    if any(each in argument for each in _SUBSTITUTES):
        return "has something a shell would replace"
    if argument.strip() == "*":
        return "names no host; Domain alone is every host"
    return None if host_of_rule(argument) is not None else "names no host"


def _limits(value: Any, where: str) -> tuple[str, ...]:
    hosts: list[str] = []
    for place, text in enumerate(_strings(value, where)):
        if text == "Domain":
            hosts.append("*")
            continue
        found = _RULE.fullmatch(text)
        host = found[2] if found is not None and found[1] == "Domain" else None
        if host is None or host == "*" or normal_host(host) != host:
            raise ValueError(
                f"{where}[{place}]: found {text!r}, expected Domain or Domain(<host>) with the "
                "host in lower case and without a port"
            )
        hosts.append(host)
    return tuple(hosts)
