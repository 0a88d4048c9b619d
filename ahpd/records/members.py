"""What an engine may have beside what every engine has (`IEngine`), read with care.

Each member is somebody else's code: one that fails, or answers what it may not, is as if it were
not there, and the log says so.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from twisted.logger import Logger

from ahpd.calling import called
from ahpd.interfaces import Capability, Template
from ahpd.interfaces.engines import AgentRecord
from ahpd.protocol import State
from ahpd.records.words import failure_words

log = Logger()

VIEW = "view"


def capabilities_of(engine: Any) -> Sequence[Capability]:
    """What its agents can do beside being talked to."""
    found = getattr(engine, "capabilities", ())
    return tuple(each for each in found if isinstance(each, Capability))


def left_written(engine: Any) -> Collection[str]:
    """The fields of a config whose references its engine reads itself."""
    return frozenset(getattr(engine, "left_written", ()))


def surfaces_of(engine: Any) -> Sequence[str]:
    """The surfaces its agents may show a view on."""
    return tuple(each.name for each in capabilities_of(engine) if each.type == VIEW)


def icons_of(engine: Any) -> Sequence[State]:
    """Its own icons (schema: Icon), as it names them."""
    try:
        icons: tuple[State, ...] = called(lambda: tuple(getattr(engine, "icons", ())))
        return icons
    except Exception as error:
        _failed(engine, "icons", error)
        return ()


def templates_of(engine: Any) -> Sequence[Template]:
    """What new records may start from."""
    try:
        templates: tuple[Template, ...] = called(lambda: tuple(engine.templates()))
        return templates
    except Exception as error:
        _failed(engine, "templates", error)
        return ()


def template_of(engine: Any, record: AgentRecord) -> Template | None:
    """The template a record (its references not read) was made from."""
    templates = templates_of(engine)
    ask = getattr(engine, "template_of", None)
    if ask is not None:
        try:
            found = called(ask, record, templates)
        except Exception as error:
            _failed(engine, "template_of", error)
            return None
        return found if isinstance(found, Template) else None
    command = record.config.get("command")
    if command is None:
        return None
    return next((each for each in templates if _command(each.config) == command), None)


def schema_of(engine: Any) -> State | None:
    """The schema of its records; None where it cannot say it."""
    try:
        schema: State = called(engine.schema)
    except Exception as error:
        _failed(engine, "schema", error)
        return None
    return schema if isinstance(schema, dict) else dict(schema)


def _command(config: Mapping[str, Any]) -> Any:
    return config.get("command")


def _failed(engine: Any, member: str, error: Exception) -> None:
    log.error(
        "the engine {name} does not say its {member}: {words}",
        name=engine.name,
        member=member,
        words=failure_words(error),
    )
