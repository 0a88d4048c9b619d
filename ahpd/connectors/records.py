"""Connectors as they are asked for and as they are kept.

A record is `{id, adapter, owner, title?, config, enabled?}` in the JSON collection `connectors`;
one that names no `enabled` is on. Source: PLUGINS.txt, "x-ahpd-connectors".
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import attrs

from ahpd.extensions.names import is_slug
from ahpd.extensions.owners import is_owner
from ahpd.interfaces import RecordOptions
from ahpd.protocol import State
from ahpd.protocol.errors import invalid_params

COLLECTION: Final = "connectors"
#: What the secrets of a connector are kept under: `<owner>:connector/<id>/<field>`.
SUBJECT: Final = "connector"
OPTIONS: Final = RecordOptions(as_json=True)

#: What a value that stands for another one is called, and what kind of thing it names.
_KINDS: Final = {"$secret": "secret", "fromEnv": "env", "$env": "env"}


@attrs.frozen(kw_only=True)
class Wanted:
    """What a put asks for, its parts each of the right form."""

    id: str
    adapter: str
    owner: str
    title: str | None
    config: Mapping[str, Any] = attrs.field(repr=False)


def identifier_in(params: Mapping[str, Any]) -> str:
    """The `id` of a command's params. Raises `RpcError` -32602."""
    identifier = params.get("id")
    if not isinstance(identifier, str):
        raise invalid_params("params.id must be the id of a connector")
    return identifier


def wanted(params: Mapping[str, Any]) -> Wanted:
    """What a put's params ask for. Raises `RpcError` -32602 naming the one that is wrong."""
    for name in ("id", "adapter"):
        if not is_slug(params.get(name)):
            raise invalid_params(f"params.{name} must be 1 to 40 of a-z, 0-9 and -, a letter first")
    if not is_owner(params.get("owner")):
        raise invalid_params("params.owner must be host, team:<team> or user:<id>")
    title = params.get("title")
    if title is not None and not isinstance(title, str):
        raise invalid_params("params.title must be text")
    config = params.get("config")
    if not isinstance(config, Mapping):
        raise invalid_params("params.config must be an object")
    return Wanted(
        id=params["id"],
        adapter=params["adapter"],
        owner=params["owner"],
        title=(title or "").strip() or None,
        config=dict(config),
    )


def record_of(asked: Wanted, config: Mapping[str, Any], held: State | None) -> State:
    """The record a put writes; one that was off stays off."""
    record: State = {"id": asked.id, "adapter": asked.adapter, "owner": asked.owner}
    if asked.title is not None:
        record["title"] = asked.title
    record["config"] = dict(config)
    if held is not None and "enabled" in held:
        record["enabled"] = held["enabled"]
    return record


def is_on(record: State) -> bool:
    """Whether a record is one that is opened."""
    return record.get("enabled") is not False


def wrong_record(record: Any) -> str | None:
    """Why what the store holds is no connector, in words; None for one that is."""
    if not isinstance(record, Mapping) or not is_slug(record.get("id")):
        return "it has no id"
    if not isinstance(record.get("adapter"), str):
        return "it names no adapter"
    if not is_owner(record.get("owner")):
        return "its owner is none of host, team:<team> and user:<id>"
    if not isinstance(record.get("config"), Mapping):
        return "its config is no object"
    if record.get("title") is not None and not isinstance(record.get("title"), str):
        return "its title is no text"
    return None


def references(value: Any) -> Iterator[tuple[str, str]]:
    """What `value` names instead of holding it, at every depth: `(kind, name)`, the kind `secret`
    or `env`."""
    if isinstance(value, Mapping):
        if len(value) == 1:
            key, name = next(iter(value.items()))
            if key in _KINDS and isinstance(name, str):
                yield _KINDS[key], name
                return
        for held in value.values():
            yield from references(held)
    elif isinstance(value, list | tuple):
        for held in value:
            yield from references(held)
