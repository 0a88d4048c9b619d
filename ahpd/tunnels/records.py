"""Tunnels as they are kept.

A record is `{id, kind, plugin, purpose, enabled, owner?}` with the kind's settings beside these,
in the JSON collection `tunnels`. What a tunnel does just now is in no record. Source:
PLUGINS.txt, `x-ahpd-tunnels`.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from ahpd.extensions.names import SLUG_WORDS, is_slug
from ahpd.interfaces import RecordOptions
from ahpd.protocol import State
from ahpd.tunnels.kinds import HOST_FIELDS

COLLECTION: Final = "tunnels"
OPTIONS: Final = RecordOptions(as_json=True)
#: What the secrets of a tunnel are kept under: `host:tunnel/<id>/<field>`.
SUBJECT: Final = "tunnel"
#: Whose every tunnel is, where its secrets are kept and read.
OWNER: Final = "host"

Purpose = Literal["system", "person"]
SYSTEM: Final = "system"
PERSON: Final = "person"

_KEPT: Final = ("id", "kind", "plugin", "purpose", "enabled", "owner")


def record_of(
    identifier: str, kind: str, plugin: str, purpose: Purpose, settings: Mapping[str, Any]
) -> State:
    """The record of a new tunnel, which is on."""
    return {
        "id": identifier,
        "kind": kind,
        "plugin": plugin,
        "purpose": purpose,
        "enabled": True,
        **own(settings),
    }


def own(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings without what only the host says of a tunnel, whoever named it."""
    return {key: value for key, value in settings.items() if key not in HOST_FIELDS}


def head_of(record: State) -> State:
    """What the host says of a tunnel in its record."""
    head = {"purpose": PERSON, "enabled": is_on(record)}
    return head | {key: record[key] for key in _KEPT if record.get(key) is not None}


def with_settings(record: State, settings: Mapping[str, Any]) -> State:
    """A record with other settings."""
    return {**head_of(record), **own(settings)}


def is_on(record: State) -> bool:
    """Whether a tunnel is one that is to run."""
    return record.get("enabled") is not False


def wrong_record(record: Any) -> str | None:
    """Why what the store holds is no tunnel, in words; None for one that is."""
    if not isinstance(record, Mapping) or not isinstance(record.get("id"), str):
        return "it has no id"
    if not is_slug(record.get("kind")):
        return f"its kind is none: {SLUG_WORDS}"
    if record.get("purpose", PERSON) not in (SYSTEM, PERSON):
        return "its purpose is neither system nor person"
    if not isinstance(record.get("enabled", True), bool):
        return "its enabled is neither true nor false"
    for name in ("plugin", "owner"):
        if record.get(name) is not None and not isinstance(record[name], str):
            return f"its {name} is no text"
    return None
