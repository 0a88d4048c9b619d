"""Names of secrets, and whose work may read each.

Source: PLUGINS.txt, "Naming a secret instead of holding one", "Reading a secret".
"""

from typing import Any, Final, Literal, cast

import attrs

from ahpd.interfaces.vault import SecretFailure

FORMS: Final = "host:<name>, team:<team>/<name> or user:<id>/<name>"
_LONGEST: Final = 1024


@attrs.frozen
class SecretName:
    """A name in its parts: `host:<name>`, `team:<of>/<name>`, `user:<of>/<name>`."""

    scope: Literal["host", "team", "user"]
    of: str
    """The team's or the person's id; empty for the host's."""
    name: str


def parse(name: Any) -> SecretName:
    """The parts of a name. Raises `SecretFailure` with the three forms.

    What is no name is not repeated: it may be a secret that was written in a name's place.
    """
    scope, colon, rest = name.partition(":") if isinstance(name, str) else ("", "", "")
    of, slash, inner = ("", "/", rest) if scope == "host" else rest.partition("/")
    whole = colon and slash and inner and (of or scope == "host")
    if scope not in ("host", "team", "user") or not whole or not _is_word(name):
        raise SecretFailure(f"a secret's name is {FORMS}")
    return SecretName(cast("Any", scope), of, inner)


def refusal(name: SecretName, *, team: str | None, owner: str | None) -> str | None:
    """Why the work of `team` or `owner` (`user:<id>`) may not read a name; None where it may."""
    match name.scope:
        case "team" if team != name.of:
            return f"it is the team {name.of}'s, and is read for that team's work alone"
        case "user" if owner != f"user:{name.of}":
            return f"it is the person {name.of}'s, and is read for that person's work alone"
    return None


def _is_word(name: str) -> bool:
    return (
        len(name) <= _LONGEST
        and name == name.strip()
        and not any(character < " " or 0x7F <= ord(character) < 0xA0 for character in name)
        and not any(0xD800 <= ord(character) < 0xE000 for character in name)
    )
