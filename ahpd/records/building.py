"""From a record as it is written to one an engine can open.

The engine's defaults go under the record's own fields, references are read, and what comes
out is held to the engine's schema.
"""

from collections.abc import Mapping
from typing import Any

import attrs

from ahpd.calling import called
from ahpd.config.records import WrittenRecord
from ahpd.config.redaction import SHORTEST_SECRET, secrets_of
from ahpd.config.references import Missing, Unresolved, resolve
from ahpd.interfaces.engines import AgentRecord, InvalidRecord, RecordFailure
from ahpd.records.beneath import laid_under
from ahpd.records.engines import Engines
from ahpd.records.members import left_written
from ahpd.records.owners import out_of_scope
from ahpd.records.words import failure_words
from ahpd.schemas import BrokenSchema, check_value, secrets_in
from ahpd.schemas import Misfit as SchemaMisfit

#: The secrets that were read for a record, by name; each that could not be, with how it failed.
Secrets = Mapping[str, str | Exception]


class Misfit(InvalidRecord):
    """A record that says what its engine, or its owner, does not allow."""


class Unread(RecordFailure):
    """A record that names what cannot be read: `missing`, at least one."""

    def __init__(self, unresolved: Unresolved) -> None:
        super().__init__(str(unresolved))
        self.missing: tuple[Missing, ...] = unresolved.missing


@attrs.frozen(kw_only=True)
class Ready:
    """A record that fits its engine."""

    record: AgentRecord
    engine: Any
    """`IEngine`."""
    secrets: tuple[str, ...] = attrs.field(repr=False)
    """What no word about it may hold."""

    def same_as(self, other: "Ready | None") -> bool:
        """Whether the other one makes the same agent, paused or not."""
        return (
            other is not None
            and other.engine is self.engine
            and attrs.evolve(other.record, mode=self.record.mode) == self.record
        )


def prepare(
    written: WrittenRecord,
    engines: Engines,
    defaults: Mapping[str, Mapping[str, Any]],
    environ: Mapping[str, str],
    secrets: Secrets | None = None,
) -> Ready:
    """Make a record ready to be opened. `defaults` are the configuration's `engines`.

    Raises `RecordFailure`, in words that hold no secret.
    """
    engine = engines.get(written.engine)
    refused = out_of_scope(engine, written.owner, written.config)
    if refused is not None:
        raise Misfit(f"config.{refused}")
    read: list[str] = []
    known: tuple[str, ...] = ()
    try:
        schema = called(engine.schema)
        config = laid_under(schema, defaults.get(written.engine, {}), written.config)
        left = left_written(engine)
        named = {key: value for key, value in config.items() if key not in left}
        config.update(resolve(named, environ, "config", read, secrets))
        known = tuple(text for text in read if len(text) >= SHORTEST_SECRET)
        check_value(schema, config, "config", references=bool(left))
        marked = [text for text in secrets_in(schema, config) if len(text) >= SHORTEST_SECRET]
        known = tuple(dict.fromkeys((*known, *marked, *secrets_of(config))))
    except Unresolved as missing:
        raise Unread(missing) from None
    except BrokenSchema:
        raise RecordFailure("the engine's own schema cannot be read") from None
    except SchemaMisfit as misfit:
        raise Misfit(str(misfit)) from None
    except Exception as error:
        raise RecordFailure(
            f"the engine {written.engine} failed: {failure_words(error, known)}"
        ) from None
    return Ready(record=record_of(written, config), engine=engine, secrets=known)


def record_of(written: WrittenRecord, config: Mapping[str, Any]) -> AgentRecord:
    """A record as its engine is handed it, with `config` in place of what is written."""
    return AgentRecord(
        id=written.id,
        engine=written.engine,
        owner=written.owner,
        name=written.name,
        description=written.description,
        icon=written.icon,
        model=written.model,
        mode=written.mode,
        config=config,
    )
