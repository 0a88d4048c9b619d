"""The value of the configuration key `permissions`: rules by `allow`, `deny` and `ask`.

Sessions and the host have one each (AHP.txt, `session/configChanged` and `root/configChanged`).
A value that is not lists of rules is no rules.
"""

from collections.abc import Sequence
from typing import Any, Final

from ahpd.protocol import State

KEY: Final = "permissions"
_NAMES: Final = ("allow", "deny", "ask")


def declared(description: str) -> State:
    """The key as a schema declares it (schema: ConfigPropertySchema)."""
    return {
        "type": "object",
        "title": "Permissions",
        "description": description,
        "properties": {
            "allow": _list_of_rules("Allowed tools"),
            "deny": _list_of_rules("Refused tools"),
            "ask": _list_of_rules("Tools that ask"),
        },
        "default": {"allow": [], "deny": []},
    }


def _list_of_rules(title: str) -> State:
    return {"type": "array", "title": title, "items": {"type": "string", "title": "Rule"}}


def rules_of(value: Any) -> dict[str, list[str]]:
    """The rules by name; of a value with anything wrong in it, none."""
    if isinstance(value, dict):
        rules = {name: value.get(name, []) for name in _NAMES}
        if all(_is_list_of_strings(held) for held in rules.values()):
            return rules
    return {name: [] for name in _NAMES}


def with_allowed(value: Any, rules: Sequence[str]) -> State | None:
    """The value with `rules` allowed besides; None where they are already.

    Of a value that is no rules the lists that are right come back into force with it, so that
    what was refused in words stays refused.
    """
    held: State = dict(value) if isinstance(value, dict) else {}
    for name in _NAMES:
        if name in held and not _is_list_of_strings(held[name]):
            del held[name]
    allowed = held.get("allow", [])
    new = [rule for rule in dict.fromkeys(rules) if rule not in allowed]
    if not new:
        return None
    return {"deny": [], **held, "allow": [*allowed, *new]}


def _is_list_of_strings(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)
