"""The `agents:` list of a configuration file, as records nobody has opened yet."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import attrs

from ahpd.config import redaction
from ahpd.config.errors import WrongValue
from ahpd.config.json_values import check_json, check_keys, check_mapping, check_text, not_text
from ahpd.config.kinds import Structured, describe

SLUG: Final = re.compile(r"[a-z0-9]+(?:[-_][a-z0-9]+)*")
SLUG_WORDS: Final = (
    "small letters and digits with single - or _ between them, at most 64, such as my-agent-2"
)
_LONGEST_SLUG: Final = 64

MODES: Final = ("enabled", "paused", "disabled")


def is_slug(value: object) -> bool:
    """Whether `value` can name an agent or an engine."""
    return isinstance(value, str) and len(value) <= _LONGEST_SLUG and bool(SLUG.fullmatch(value))


@attrs.frozen(kw_only=True)
class WrittenRecord:
    """One agent as the file has it: checked on its own, without its engine."""

    id: str
    engine: str
    name: str
    owner: str = "host"
    """Whose it is: the host's in a configuration, `team:<id>` or `user:<id>` elsewhere."""
    description: str = ""
    icon: str | None = None
    """A URI of the image clients draw for it."""
    model: str | None = None
    mode: str = "enabled"
    config: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    """The engine's fields; values may be references (`ahpd.config.references`)."""
    place: str = ""
    """Where it stands, for words: `agents[2]`."""

    def shown(self) -> dict[str, Any]:
        """The record as it may be shown to anybody."""
        row: dict[str, Any] = {"id": self.id, "engine": self.engine, "name": self.name}
        if self.description:
            row["description"] = self.description
        if self.icon is not None:
            row["icon"] = self.icon
        if self.model is not None:
            row["model"] = self.model
        row["mode"] = self.mode
        if self.config:
            row["config"] = redaction.shown(self.config)
        return row


_KEYS: Final = ("id", "engine", "name", "description", "icon", "model", "mode", "config")


@attrs.frozen
class Records(Structured):
    """A list of agents; it comes out as `WrittenRecord`s with ids of their own."""

    allowed: str = "a list of agents, each with id, engine and what else it takes"
    metavar: str = ""

    def check(self, value: object, base: Path) -> tuple[WrittenRecord, ...]:
        if value is None:  # the key is there with nothing behind it
            return ()
        if not isinstance(value, list | tuple):
            raise WrongValue(describe(value), self.allowed)
        records = tuple(_record(item, f"[{index}]") for index, item in enumerate(value))
        first: dict[str, int] = {}
        for index, record in enumerate(records):
            if record.id in first:
                raise WrongValue(
                    f"{describe(record.id)}, the id of agents[{first[record.id]}] too",
                    "an id no other agent has",
                    f"[{index}].id",
                )
            first[record.id] = index
        return records

    def parse(self, text: str, base: Path) -> Any:
        """No flag takes records."""
        raise WrongValue(describe(text), self.allowed)

    def shown(self, value: tuple[WrittenRecord, ...]) -> list[dict[str, Any]]:
        """The records without their secrets."""
        return [record.shown() for record in value]

    def secrets(self, value: tuple[WrittenRecord, ...]) -> list[str]:
        """What no log may hold."""
        return [text for record in value for text in redaction.secrets_of(record.config)]


def _record(item: object, at: str) -> WrittenRecord:
    fields = check_mapping(item, "a mapping with id and engine", at)
    check_keys(fields, _KEYS, at)
    for key in ("id", "engine"):
        if key not in fields:
            raise WrongValue(f"no {key}", f"an agent with {key}: {SLUG_WORDS}", at)
        if not is_slug(fields[key]):
            raise WrongValue(not_text(fields[key]), SLUG_WORDS, f"{at}.{key}")
    mode = fields.get("mode", "enabled")
    if mode not in MODES:
        raise WrongValue(not_text(mode), " or ".join(MODES), f"{at}.mode")
    name = fields.get("name")
    if name is not None:
        check_text(name, f"{at}.name")
    model = fields.get("model")
    if model is not None:
        check_text(model, f"{at}.model")
    description = fields.get("description")
    if description is not None:
        check_text(description, f"{at}.description", empty=True)
    icon = fields.get("icon")
    if icon is not None:
        check_text(icon, f"{at}.icon")
    config = fields.get("config")
    if config is not None:
        config = check_json(
            check_mapping(config, "a mapping of the engine's fields", f"{at}.config"),
            f"{at}.config",
        )
    return WrittenRecord(
        id=fields["id"],
        engine=fields["engine"],
        name=name or fields["id"],
        description=description or "",
        icon=icon,
        model=model,
        mode=mode,
        config=config or {},
        place=f"agents{at}",
    )
