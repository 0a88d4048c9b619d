"""From a record as it is written to one an engine can open.

The engine's defaults go under the record's own fields, references are read, and what comes
out is held to the engine's schema.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from ahpd.config.records import WrittenRecord
from ahpd.config.redaction import SHORTEST_SECRET, is_reference
from ahpd.config.references import Unresolved, resolve
from ahpd.interfaces.engines import AgentRecord, RecordFailure
from ahpd.records.engines import Engines
from ahpd.records.schemas import check_config, secrets_in
from ahpd.records.words import failure_words


@attrs.frozen(kw_only=True)
class Ready:
    """A record that fits its engine."""

    record: AgentRecord
    engine: Any
    """`IEngine`."""
    secrets: tuple[str, ...] = attrs.field(repr=False)
    """What no word about it may hold."""


def prepare(
    written: WrittenRecord,
    engines: Engines,
    defaults: Mapping[str, Mapping[str, Any]],
    environ: Mapping[str, str],
) -> Ready:
    """Make a record ready to be opened. `defaults` are the configuration's `engines`.

    Raises `RecordFailure`, in words that hold no secret.
    """
    engine = engines.get(written.engine)
    config = laid_over(defaults.get(written.engine, {}), written.config)
    read: list[str] = []
    try:
        config = resolve(config, environ, "config", read)
    except Unresolved as missing:
        raise RecordFailure(str(missing)) from None
    secrets = tuple(text for text in read if len(text) >= SHORTEST_SECRET)
    try:
        schema = engine.schema()
        check_config(schema, config)
        secrets = (*secrets, *secrets_in(schema, config))
    except RecordFailure:
        raise
    except Exception as error:
        raise RecordFailure(
            f"the engine {written.engine} failed: {failure_words(error, secrets)}"
        ) from None
    record = AgentRecord(
        id=written.id,
        engine=written.engine,
        name=written.name,
        description=written.description,
        model=written.model,
        mode=written.mode,
        config=config,
    )
    return Ready(record=record, engine=engine, secrets=secrets)


def laid_over(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """`over` with what `under` alone says; mappings that both have are laid over each other."""
    merged = dict(under)
    for key, value in over.items():
        held = merged.get(key)
        both = isinstance(held, Mapping) and isinstance(value, Mapping)
        if both and not is_reference(held) and not is_reference(value):
            assert isinstance(held, Mapping), "both are"
            merged[key] = laid_over(held, value)
        else:
            merged[key] = value
    return merged
