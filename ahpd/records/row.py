"""What clients see of a record: its row on `x-ahpd-agents`.

Source: PLUGINS.txt, `x-ahpd-agents`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import attrs

from ahpd.config import redaction
from ahpd.config.records import WrittenRecord
from ahpd.extensions.alerts import Alerts
from ahpd.interfaces import Operation, Template
from ahpd.protocol import State
from ahpd.records.building import record_of
from ahpd.records.kept import described
from ahpd.records.members import schema_of, template_of
from ahpd.records.opening import READY, Opened
from ahpd.records.rules import GRANTS
from ahpd.schemas import hidden
from ahpd.views import Views

SCHEME: Final = "x-ahpd-agents"
PAUSED: Final = "paused"
#: Where a record stands: in the configuration file, or in a file of its own.
CONFIGURED: Final = "configuration"
KEPT: Final = "record"

#: The icons of a template (schema: Icon), given its engine's name.
TemplateIcons = Callable[[str, Template], Sequence[State]]

OPERATIONS: Final = (
    Operation(
        id="enable",
        label="Enable",
        description="Opens the agent, and takes new sessions and messages on it.",
        icon="play",
        scopes=("agent",),
        grant=GRANTS.put,
    ),
    Operation(
        id="pause",
        label="Pause",
        description="Takes no new session and no message on the agent, which stays open.",
        icon="debug-pause",
        scopes=("agent",),
        grant=GRANTS.put,
    ),
    Operation(
        id="disable",
        label="Disable",
        description="Lets go of the agent. Its sessions keep their history.",
        icon="circle-slash",
        scopes=("agent",),
        grant=GRANTS.put,
    ),
    Operation(
        id="check",
        label="Check",
        description="Reads the record again and asks whether the agent works.",
        icon="pulse",
        scopes=("agent",),
        grant=GRANTS.put,
    ),
    Operation(
        id="remove",
        label="Remove",
        description="Ends what runs on the agent and deletes its record and its secrets.",
        icon="trash",
        scopes=("agent",),
        grant=GRANTS.remove,
        confirmation="Remove this agent? What runs on it ends, and its secrets are deleted.",
    ),
)


@attrs.define(eq=False, repr=False)
class Held:
    """A record while a host runs."""

    written: WrittenRecord
    source: str
    alerts: Alerts
    opened: Opened
    views: Views | None = None
    question: object = None
    """What its agent was asked last, while it counts; an answer to another one does not."""
    quiet: bool = False
    """Whether it is being opened: what it shows is said once that is over."""


def row_of(held: Held, engine: Any, icons: TemplateIcons) -> State:
    """The row of a record. `engine` is its engine, None where there is none or it is not read."""
    written = held.written
    row = described(written)
    row["mode"] = written.mode
    row["config"] = shown_config(engine, written.config)
    row["state"] = state_of(held)
    row["source"] = held.source
    found = _icons(written, engine, icons)
    if found:
        row["icons"] = found
    if held.alerts.shown:
        row["alerts"] = held.alerts.shown
    views = None if held.views is None else held.views.shown
    if views:
        row["views"] = dict(views)
    return row


def state_of(held: Held) -> str:
    """What the record came to, in the word of its row."""
    if held.opened.state == READY and held.written.mode == PAUSED:
        return PAUSED
    return held.opened.state


def offered(row: State) -> list[str]:
    """The ids of the operations a row offers now.

    The file people write keeps what stands in it: such a record is checked alone.
    """
    mode = row["mode"]
    ids = {
        "enable": mode != "enabled",
        "pause": mode == "enabled",
        "disable": mode != "disabled",
        "check": mode == "enabled",
        "remove": True,
    }
    if row["source"] == CONFIGURED:
        ids = {"check": mode == "enabled"}
    return [name for name, is_offered in ids.items() if is_offered]


def shown_config(engine: Any, config: Mapping[str, Any]) -> Mapping[str, Any]:
    """The engine's fields without credentials: those it marks, and those their names tell of.

    Of an engine nobody has read so far nothing is known, and every value is hidden.
    """
    schema = None if engine is None else schema_of(engine)
    shown: Mapping[str, Any] = hidden(schema, redaction.shown(config))
    return shown


def _icons(written: WrittenRecord, engine: Any, icons: TemplateIcons) -> Sequence[State]:
    if written.icon is not None:
        return [{"src": written.icon}]
    if engine is None:
        return ()
    template = template_of(engine, record_of(written, written.config))
    return () if template is None else list(icons(engine.name, template))
