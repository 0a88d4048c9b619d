"""What clients ask for about agents' records, checked before anything is done."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.config.records import WrittenRecord
from ahpd.extensions.completions import MARK
from ahpd.extensions.owners import HOST
from ahpd.interfaces.engines import RecordFailure
from ahpd.protocol import State
from ahpd.protocol.errors import ALREADY_EXISTS, NOT_FOUND, RpcError, invalid_params
from ahpd.protocol.reserved import is_reserved
from ahpd.records.beneath import laid_under
from ahpd.records.engines import Engines
from ahpd.records.kept import FIELDS, WrongRecord, read_record
from ahpd.records.owners import ENV, out_of_scope
from ahpd.records.row import shown_config
from ahpd.schemas import Misfit, check_value, filled, sent_back

#: Answers who has a name, in words for a person; None where it is free.
Taken = Callable[[str], str | None]

_ASKED: Final = tuple(name for name in FIELDS if name != "mode")


@attrs.frozen(kw_only=True)
class Wanted:
    """A record somebody wants kept, held to its engine and to its owner."""

    written: WrittenRecord
    """As it was sent, secrets in it plain, those that were sent empty as they were kept."""
    engine: Any
    schema: State
    held: Mapping[str, Any] | None
    """What is kept of it so far; None for a new record, and for a new owner's."""

    @property
    def key_fields(self) -> Sequence[str]:
        """The variables that hold keys, as fields of the config."""
        return [f"{ENV}.{variable}" for variable in self.engine.key_variables]


def identifier_in(params: Mapping[str, Any]) -> str:
    """The `id` of a command's params. Raises `RpcError` -32602."""
    identifier = params.get("id")
    if not isinstance(identifier, str) or not identifier:
        raise invalid_params("params.id must be the id of an agent")
    return identifier


def asked_record(params: Mapping[str, Any]) -> WrittenRecord:
    """The record a put's params describe. Raises `RpcError` -32602 naming the one that is wrong."""
    fields = {name: value for name, value in params.items() if name not in ("channel", "_meta")}
    if "mode" in fields:
        raise invalid_params(
            "params.mode: a put keeps the mode a record has; "
            "x-ahpd/agents/enable, pause and disable change it"
        )
    for name in ("id", "engine", "owner", "name", "config"):
        if fields.get(name) is None:
            raise invalid_params(f"params.{name}: is missing")
    try:
        return read_record(fields)
    except WrongRecord as wrong:
        raise invalid_params(f"params.{wrong}") from None


def check_new_id(identifier: str, has_name: Taken) -> None:
    """Raises `RpcError` for an id no new record may have."""
    if is_reserved(identifier):
        raise invalid_params(f"params.id: the name {identifier} is reserved for the host")
    whose = has_name(identifier)
    if whose is not None:
        raise taken(identifier, whose)


def taken(identifier: str, whose: str) -> RpcError:
    """-32010 for an id that an agent cannot have, because `whose` has it."""
    return RpcError(ALREADY_EXISTS, f"params.id: {identifier} is taken by {whose}")


def wanted(
    written: WrittenRecord,
    engines: Engines,
    defaults: Mapping[str, Mapping[str, Any]],
    before: WrittenRecord | None,
    connectors: Sequence[State],
) -> Wanted:
    """Hold a record to its engine, its owner and the connectors there are.

    `before` is the record as it is kept so far, of the same owner; `connectors` are the rows
    there are. What its row hides and was sent back as it was shown is what is kept, of the same
    engine. Raises `RpcError` -32602.
    """
    try:
        engine = engines.get(written.engine)
        schema = engine.schema()
    except RecordFailure as failure:
        raise invalid_params(f"params.engine: {failure}") from None
    held = None if before is None else before.config
    back = held if before is not None and before.engine == written.engine else None
    try:
        given = sent_back(
            written.config, back, shown_config(engine, back or {}), at="params.config"
        )
    except Misfit as misfit:
        raise invalid_params(str(misfit)) from None
    extra = [f"{ENV}.{variable}" for variable in engine.key_variables]
    config = filled(schema, given, held, extra)
    refused = out_of_scope(engine, written.owner, config)
    if refused is not None:
        raise invalid_params(f"params.config.{refused}")
    try:
        whole = laid_under(schema, defaults.get(written.engine, {}), config)
        check_value(schema, whole, "params.config", references=True)
    except Misfit as misfit:
        raise invalid_params(str(misfit)) from None
    _check_connectors(schema, config, written.owner, connectors)
    return Wanted(
        written=attrs.evolve(written, config=config), engine=engine, schema=schema, held=held
    )


def unknown(identifier: str) -> RpcError:
    """-32008 for an agent that is not there, and for one that is not to be known of alike."""
    return RpcError(NOT_FOUND, f"There is no agent {identifier[:100]} here.")


# -- connectors a record names -----------------------------------------------------------


def _check_connectors(
    schema: Mapping[str, Any], config: Any, owner: str, connectors: Sequence[State]
) -> None:
    """Raises `RpcError` for a connector that is not there, or that the owner may not use."""
    usable = {(row["adapter"], row["id"]): row["owner"] for row in connectors}
    for at, adapter, identifier in named_connectors(schema, config, "params.config"):
        whose = usable.get((adapter, identifier)) if isinstance(identifier, str) else None
        if whose not in (HOST, owner):
            # One that is somebody else's is not told apart: nobody learns of it by guessing.
            raise invalid_params(f"{at}: names no connector of {adapter} that is {_whose(owner)}")


def _whose(owner: str) -> str:
    return "the host's" if owner == HOST else f"{owner}'s or the host's"


def named_connectors(
    schema: Mapping[str, Any], value: Any, at: str
) -> Iterator[tuple[str, str, Any]]:
    """Every connector a config names: where, of which adapter, its id."""
    adapter = _adapter(schema)
    if adapter is not None:
        if value is not None and value != "":
            yield at, adapter, value
        return
    if isinstance(value, Mapping):
        properties = schema.get("properties")
        declared = properties if isinstance(properties, Mapping) else {}
        rest = schema.get("additionalProperties")
        for key, held in value.items():
            part = declared.get(key, rest)
            if isinstance(part, Mapping):
                yield from named_connectors(part, held, f"{at}.{key}")
    elif isinstance(value, list | tuple):
        part = schema.get("items")
        if isinstance(part, Mapping):
            for index, item in enumerate(value):
                yield from named_connectors(part, item, f"{at}[{index}]")


def _adapter(schema: Mapping[str, Any]) -> str | None:
    """The adapter a field is marked with: its name, or `{"adapter": name}`."""
    mark = schema.get(MARK)
    if isinstance(mark, Mapping):
        mark = mark.get("adapter")
    return mark if isinstance(mark, str) else None
