"""Records as they are kept: one JSON object each, in the collection `agents`.

A person may edit such a file, so what is read is checked as what a client sends is. Source:
PLUGINS.txt, `x-ahpd-agents` ("The daemon keeps the agents in the JSON collection agents").
"""

from collections.abc import Mapping
from typing import Any, Final

from twisted.logger import Logger

from ahpd.config.errors import WrongValue
from ahpd.config.json_values import check_json, check_mapping
from ahpd.config.kinds import describe
from ahpd.config.records import MODES, SLUG_WORDS, WrittenRecord, is_slug
from ahpd.extensions.owners import HOST, OWNER_WORDS, is_owner
from ahpd.interfaces import RecordOptions
from ahpd.protocol import State

log = Logger()

#: The collection, and how it is kept.
COLLECTION: Final = "agents"
OPTIONS: Final = RecordOptions(as_json=True)

_OPTIONAL: Final = ("description", "icon", "model")
FIELDS: Final = ("id", "engine", "owner", "name", *_OPTIONAL, "mode", "config")


class WrongRecord(Exception):
    """What makes no record: `str()` names the field and what it may be."""


def read_record(value: Mapping[str, Any]) -> WrittenRecord:
    """The record that `value` says. Raises `WrongRecord` for a field that cannot be one."""
    unknown = [key for key in value if key not in FIELDS]
    if unknown:
        raise WrongRecord(
            f"{str(unknown[0])[:100]}: is an unknown field, known: {', '.join(FIELDS)}"
        )
    for key in ("id", "engine"):
        if not is_slug(value.get(key)):
            raise WrongRecord(f"{key}: found {describe(value.get(key))}, allowed: {SLUG_WORDS}")
    owner = value.get("owner", HOST)
    if not is_owner(owner):
        raise WrongRecord(f"owner: found {describe(owner)}, allowed: {OWNER_WORDS}")
    mode = value.get("mode", MODES[0])
    if mode not in MODES:
        raise WrongRecord(f"mode: found {describe(mode)}, allowed: {' or '.join(MODES)}")
    for key in ("name", *_OPTIONAL):
        held = value.get(key)
        empty = held == "" and key == "description"
        if held is not None and not empty and (not isinstance(held, str) or not held.strip()):
            raise WrongRecord(f"{key}: found {describe(held)}, allowed: a text that says something")
    fields = value.get("config")
    try:
        config = check_json(
            check_mapping(
                {} if fields is None else fields, "an object of the engine's fields", "config"
            ),
            "config",
        )
    except WrongValue as wrong:
        raise WrongRecord(f"{wrong.at}: found {wrong.found}, allowed: {wrong.allowed}") from None
    return WrittenRecord(
        id=value["id"],
        engine=value["engine"],
        owner=owner,
        name=value.get("name") or value["id"],
        description=value.get("description") or "",
        icon=value.get("icon"),
        model=value.get("model"),
        mode=mode,
        config=config,
        place=f"{COLLECTION}/{value['id']}.json",
    )


def readable(value: State) -> WrittenRecord | None:
    """The record of one file; None, and a line in the log, for what is none."""
    try:
        return read_record(value)
    except WrongRecord as wrong:
        log.error(
            "agents/{id}.json: {wrong}; the agent is left out",
            id=str(value.get("id"))[:100],
            wrong=str(wrong),
        )
        return None


def kept_record(written: WrittenRecord) -> State:
    """A record as it is kept."""
    return {**described(written), "mode": written.mode, "config": dict(written.config)}


def described(written: WrittenRecord) -> State:
    """A record's own words and names, what it does not say left out."""
    row: State = {
        "id": written.id,
        "engine": written.engine,
        "owner": written.owner,
        "name": written.name,
    }
    for key in _OPTIONAL:
        value = getattr(written, key)
        if value:
            row[key] = value
    return row
