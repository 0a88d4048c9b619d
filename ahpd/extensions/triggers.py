"""The types of events that automations may watch: what plugins register, and what fires.

This host listens for none of its own: whoever watches sessions and files for automations is the
domain of automations, which it does not have, so its `session` and `watch` are not listed either.
Source: PLUGINS.txt, "A trigger type of your own", "Connector choices"; AHP.txt,
`listAutomationTriggerDefinitions`.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Final

from ahpd.extensions.dropped import Dropped, Report, logged
from ahpd.interfaces import Owned, PluginError, TriggerType
from ahpd.protocol import State
from ahpd.protocol.check import ShapeError, check_strict
from ahpd.protocol.shapes.automations import AutomationTriggerDefinition
from ahpd.schemas.documents import plain
from ahpd.schemas.pairing import same

#: The types that are a host's own, which no plugin registers.
OWN: Final = frozenset({"session", "watch"})


def check_trigger_type(definition: TriggerType) -> None:
    """Raises `PluginError` for a type that breaks a rule, in words that name it."""
    if not isinstance(definition, TriggerType):
        raise PluginError(f"a trigger type is a TriggerType, found {type(definition).__name__}")
    _text("the type of a trigger", definition.type)
    if definition.type in OWN:
        raise PluginError(f"the trigger type {definition.type} is this host's own")
    at = f"the trigger type {definition.type}"
    _text(f"{at}: its title", definition.title)
    if not definition.events:
        raise PluginError(f"{at} has no event")
    named: set[str] = set()
    for event in definition.events:
        if not isinstance(event, Mapping):
            raise PluginError(f"{at}: an event is an object with an id and a title")
        for key in ("id", "title"):
            _text(f"{at}: the {key} of an event", event.get(key))
        if event["id"] in named:
            raise PluginError(f"{at}: two events have the id {event['id']}")
        named.add(event["id"])
    schema = definition.config_schema
    if schema is not None and (
        not isinstance(schema, Mapping) or schema.get("type", "object") != "object"
    ):
        raise PluginError(f"{at}: its config_schema is the JSON Schema of an object")


def _text(what: str, value: object) -> None:
    if not isinstance(value, str) or not value.strip():
        raise PluginError(f"{what} must be a text that is not empty")


class TriggerTypes:
    """The types there are. `stamped` puts the choices of connectors into a schema, each field
    saying too that there may be more (`Choices.stamped(..., dynamic=True)`)."""

    def __init__(self, stamped: Callable[[State], State], report: Report = logged) -> None:
        self._stamped = stamped
        self._dropped = Dropped(report)
        self._types: Mapping[str, Owned] = {}

    @property
    def types(self) -> Mapping[str, Owned]:
        """The types (`TriggerType`) by name, and whose they are."""
        return self._types

    def contributed(self, items: Mapping[str, Owned]) -> None:
        """All there are from now on, by name. One that is none is reported and left out."""
        types: dict[str, Owned] = {}
        lines: list[tuple[str, str]] = []
        for name, owned in items.items():
            try:
                check_trigger_type(owned.value)
                check_strict(self._definition(owned.value), AutomationTriggerDefinition, at=name)
                types[name] = owned
            except (PluginError, ShapeError) as wrong:
                lines.append((owned.plugin, f"the trigger type {name} is left out: {wrong}"))
            except Exception as wrong:  # a schema that is none, in a way nobody thought of
                words = f"its schema cannot be read ({type(wrong).__name__})"
                lines.append((owned.plugin, f"the trigger type {name} is left out: {words}"))
        self._types = types
        self._dropped.are(lines)

    def definitions(self) -> Sequence[State]:
        """The types as clients are offered them (schema: AutomationTriggerDefinition)."""
        return [self._definition(owned.value) for owned in self._types.values()]

    def _definition(self, definition: TriggerType) -> State:
        shown: State = {
            "type": definition.type,
            "title": definition.title,
            "events": [_event(event) for event in definition.events],
        }
        if definition.description:
            shown["description"] = definition.description
        if definition.config_schema is not None:
            shown["configSchema"] = drawn(self._stamped(dict(definition.config_schema)))
        return shown

    # -- what fires ----------------------------------------------------------------------

    def check_fire(self, plugin: str, type: str, event: str) -> None:  # noqa: A002
        """Raises `PluginError` unless `plugin` may say that this event of a type happened.

        A type that another plugin registered first was never this one's.
        """
        held = self._types.get(type)
        if held is None or held.plugin != plugin:
            raise PluginError(f"fire_trigger: {plugin} has no trigger type {type}")
        if event not in {one["id"] for one in held.value.events}:
            raise PluginError(f"fire_trigger: the trigger type {type} has no event {event}")


def matches(config: Mapping[str, Any] | None, data: Mapping[str, Any]) -> bool:
    """Whether a trigger that was saved with `config` is woken by an event with `data`.

    Every key that both hold has the same value in each, compared as JSON. A key that `data` does
    not hold is a setting of the form, and blocks nothing.
    """
    return all(same(value, data[key]) for key, value in (config or {}).items() if key in data)


def _event(event: State) -> State:
    return {key: event[key] for key in ("id", "title", "description") if event.get(key)}


# -- the form ---------------------------------------------------------------------------

#: What says of a property that it is of a kind, where its `type` does not.
_IMPLIED: Final = (("properties", "object"), ("items", "array"), ("enum", "string"))
_KINDS: Final[Collection[str]] = ("string", "number", "boolean", "array", "object")


def drawn(schema: Mapping[str, Any]) -> State:
    """A config schema as the protocol has one (schema: ConfigSchema).

    The protocol's says more than JSON Schema asks: each property has one type and a title. What a
    plugin left unsaid is said for it; anything else of the schema is kept.
    """
    whole: State = plain(schema)
    properties = whole.get("properties") or {}
    return {
        **whole,
        "type": "object",
        "properties": {name: _property(name, one) for name, one in properties.items()},
    }


def _property(name: str, schema: Any) -> Any:
    if not isinstance(schema, dict):  # true, which names every value, and false, which names none
        schema = {}
    shown: State = {**schema, "type": _kind(schema), "title": schema.get("title") or name}
    if isinstance(schema.get("properties"), dict):
        shown["properties"] = {
            key: _property(key, one) for key, one in schema["properties"].items()
        }
    if "items" in schema:
        shown["items"] = _property(name, schema["items"])
    more = schema.get("additionalProperties")
    if isinstance(more, dict):
        shown["additionalProperties"] = _property(name, more)
    else:
        shown.pop("additionalProperties", None)
    return shown


def _kind(schema: State) -> str:
    kinds = schema.get("type")
    for kind in kinds if isinstance(kinds, list) else (kinds,):
        if kind == "integer":
            return "number"
        if kind in _KINDS:
            return str(kind)
    return next((kind for key, kind in _IMPLIED if key in schema), "string")
