"""A form an agent wants filled in, as questions; and the answers, as its content.

An ACP form is a JSON Schema of one flat object. Each property is a question under the
property's name. Source: agentclientprotocol.com, "Elicitation"; AHP.txt, "Being asked".
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ahpd.protocol import State
from ahpd_agent_acp.content import object_in, objects_in, text_in

#: Marks a question the agent itself asked.
META: Final[State] = {"purpose": "askUser"}


def questions_of(schema: Mapping[str, Any]) -> list[State]:
    """The questions of a form (schema: ChatInputQuestion), in the order of its properties."""
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return [
        _question(name, property_, name in needed)
        for name, property_ in object_in(schema, "properties").items()
        if isinstance(property_, Mapping)
    ]


def _question(name: str, property_: Mapping[str, Any], required: bool) -> State:
    title = text_in(property_, "title")
    question: State = {
        "id": name,
        "title": title or name,
        "message": text_in(property_, "description") or title or name,
        "required": required,
    }
    kind = property_.get("type")
    if kind == "boolean":
        return {**question, "kind": "boolean", **_default(property_, bool)}
    if kind in ("number", "integer"):
        bounds = _bounds(property_, "minimum", "maximum")
        return {**question, "kind": kind, **bounds, **_default(property_, int, float)}
    if kind == "array":
        return {**question, **_many(property_)}
    options = _options(property_)
    if options:
        return {**question, "kind": "single-select", "options": options}
    bounds = _bounds(property_, "minLength", "maxLength")
    form = text_in(property_, "format")
    more = {} if form is None else {"format": form}
    return {**question, "kind": "text", **more, **bounds, **_default(property_, str)}


def _many(property_: Mapping[str, Any]) -> State:
    items = object_in(property_, "items")
    options = _options({**items, "default": property_.get("default")})
    bounds = _bounds(property_, "minItems", "maxItems")
    return {"kind": "multi-select", "options": options, **bounds}


def _options(property_: Mapping[str, Any]) -> list[State]:
    """What may be picked (schema: ChatInputOption); empty where anything may be said."""
    default = property_.get("default")
    chosen = default if isinstance(default, list) else [default]
    found: list[State] = []
    for titled in (*objects_in(property_, "oneOf"), *objects_in(property_, "anyOf")):
        value = text_in(titled, "const")
        if value is not None:
            option = {"id": value, "label": text_in(titled, "title") or value}
            words = text_in(titled, "description")
            found.append(option if words is None else {**option, "description": words})
    values = property_.get("enum")
    if not found and isinstance(values, list):
        found = [{"id": each, "label": each} for each in values if isinstance(each, str)]
    return [
        {**option, "recommended": True} if option["id"] in chosen else option for option in found
    ]


def _default(property_: Mapping[str, Any], *kinds: type) -> State:
    value = property_.get("default")
    if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
        return {}
    return {"defaultValue": value}


def _bounds(property_: Mapping[str, Any], least: str, most: str) -> State:
    found: State = {}
    for key, name in ((least, "min"), (most, "max")):
        value = property_.get(key)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            found[name] = value
    return found


# -- what was answered --------------------------------------------------------------------


def content_of(schema: Mapping[str, Any], answers: Mapping[str, Mapping[str, Any]]) -> State:
    """What a form was filled in with, by property.

    One that was skipped is left out. One nobody touched is the default the form shows.
    """
    content: State = {}
    for name, property_ in object_in(schema, "properties").items():
        if not isinstance(property_, Mapping):
            continue
        answer = answers.get(name)
        if answer is None:
            if property_.get("default") is not None:
                content[name] = property_["default"]
        else:  # one that was skipped has no value
            value = object_in(answer, "value").get("value")
            if value is not None:
                content[name] = _as_wanted(value, property_.get("type"))
    return content


def _as_wanted(value: Any, kind: Any) -> Any:
    """A value as the form's type has it, where a client kept it as another."""
    if kind == "array":
        many: Sequence[Any] = value if isinstance(value, list) else [value]
        return list(many)
    if kind == "integer" and isinstance(value, float) and value.is_integer():
        return int(value)
    if kind in ("integer", "number") and isinstance(value, str):
        for number in (int, float) if kind == "number" else (int,):
            try:
                return number(value)
            except ValueError:
                continue
    return value
