"""Rules as people and operators write them, and whether one names a question.

A rule is a tool's name, or a family with what it is about: `Shell`, `Read`, `Edit` or
`WebFetch` alone or as `Shell(...)`. Operators' rules have `Write` and `Domain` besides
(`ahpd/permissions/managed.py`). Source: PLUGINS.txt, "A question about a tool call".
"""

from collections.abc import Iterable, Mapping
from enum import Enum
from functools import lru_cache
from typing import Any, Final, Protocol

import attrs

from ahpd.permissions.patience import ENDLESS, Patience

SHELL: Final = "Shell"
READ: Final = "Read"
EDIT: Final = "Edit"
WEB_FETCH: Final = "WebFetch"
DOMAIN: Final = "Domain"

#: The kind of question each family is about.
KINDS: Final[Mapping[str, str]] = {
    SHELL: "shell", READ: "read", EDIT: "write", WEB_FETCH: "url", DOMAIN: "url",
}  # fmt: skip

PERMISSIONS: Final = "permissions"
_LISTS: Final = ("allow", "deny", "ask")


@attrs.frozen
class Rule:
    """One rule."""

    text: str
    """As it was written."""
    family: str | None = None
    """None where it is a tool's name."""
    argument: str | None = None
    """None where it names all its family is about."""


class Named(Enum):
    """Whether a rule that refuses or asks is about a question."""

    NO = 0
    MAYBE = 1
    """It cannot be told: what is asked for is known only when it is done."""
    YES = 2


@attrs.frozen
class RuleLists:
    """Rules of a scope, or of several."""

    allow: tuple[Rule, ...] = ()
    deny: tuple[Rule, ...] = ()
    ask: tuple[Rule, ...] = ()

    def joined(self, others: "RuleLists") -> "RuleLists":
        return RuleLists(self.allow + others.allow, self.deny + others.deny, self.ask + others.ask)


class Subject(Protocol):
    """What a question is about, as rules of its kind look at it."""

    def named_by(self, rule: Rule) -> Named:
        """Whether a rule with an argument that refuses or asks names it."""

    def allowed_by(self, rules: Iterable[Rule]) -> str | None:
        """The words of what approves it among rules of its family; None where nothing does."""


@lru_cache(maxsize=16384)
def parsed(text: str) -> Rule:
    """`text` as a rule. What is no family with an argument is a tool's name."""
    family, opened, rest = text.partition("(")
    if family not in (SHELL, READ, EDIT, WEB_FETCH):
        return Rule(text)
    if not opened:
        return Rule(text, family)
    if not rest.endswith(")") or not rest[:-1].strip():
        return Rule(text)
    return Rule(text, family, rest[:-1])


def rules_of(values: Mapping[str, Any], patience: Patience = ENDLESS) -> RuleLists:
    """The rules in a configuration's `permissions`; a value that is no lists of rules is none."""
    found = values.get(PERMISSIONS)
    if not isinstance(found, Mapping):
        return RuleLists()
    lists: list[tuple[Rule, ...]] = []
    for name in _LISTS:
        held = found.get(name, ())
        if not isinstance(held, list | tuple) or not all(isinstance(each, str) for each in held):
            return RuleLists()
        rules: list[Rule] = []
        for text in held:
            patience.left()
            rules.append(parsed(text))
        lists.append(tuple(rules))
    return RuleLists(*lists)


def named(
    rules: Iterable[Rule], tool: str, kind: str, subject: Subject | None
) -> tuple[Named, str]:
    """Whether any of `rules` names a call of `tool`, and the words of the one that does most."""
    most, words = Named.NO, ""
    for rule in rules:
        found = _named(rule, tool, kind, subject)
        if found is Named.YES:
            return found, rule.text
        if found is Named.MAYBE and most is Named.NO:
            most, words = found, rule.text
    return most, words


def _named(rule: Rule, tool: str, kind: str, subject: Subject | None) -> Named:
    if rule.text == tool:
        return Named.YES
    if rule.family is None or KINDS[rule.family] != kind:
        return Named.NO
    if rule.argument is None:
        return Named.YES
    # A question that does not say what it is about may be about what the rule names.
    return Named.MAYBE if subject is None else subject.named_by(rule)


def allowed(rules: Iterable[Rule], tool: str, kind: str, subject: Subject | None) -> str | None:
    """The words of what approves a call of `tool` among `rules`; None where nothing does."""
    about: list[Rule] = []
    for rule in rules:
        if rule.text == tool:
            return rule.text
        if rule.family is not None and KINDS[rule.family] == kind:
            if rule.argument is None:
                return rule.text
            about.append(rule)
    return None if subject is None else subject.allowed_by(about)
