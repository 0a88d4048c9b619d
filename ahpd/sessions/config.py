"""A session's configuration against its agent's schema.

The schema (SessionConfigSchema) declares one property per key, each a small part of
JSON Schema; a key or a value it does not take is refused by its path.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ahpd.interfaces import IAgent
from ahpd.protocol import State
from ahpd.protocol.errors import invalid_params

_TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "string": (str,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
}


def problems(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    """What is wrong with `value` where `schema` (a property's) stands at `path`."""
    wanted = schema.get("type")
    types = _TYPES.get(wanted) if isinstance(wanted, str) else None
    if types is not None and (
        not isinstance(value, types) or (isinstance(value, bool) and wanted != "boolean")
    ):
        yield f"{path}: found {value!r}, expected a value of type {wanted}"
        return
    allowed = schema.get("enum")
    # An enum that is completed as somebody types lists some of its values alone.
    if allowed and not schema.get("enumDynamic") and value not in allowed:
        yield f"{path}: found {value!r}, expected one of {', '.join(map(repr, allowed))}"
    if isinstance(value, list):
        yield from _list_problems(schema, value, path)
    elif isinstance(value, dict):
        yield from _object_problems(schema, value, path)


def _list_problems(schema: Mapping[str, Any], value: list[Any], path: str) -> Iterator[str]:
    fewest, most = schema.get("minItems", 0), schema.get("maxItems")
    if len(value) < fewest:
        yield f"{path}: found {len(value)} items, expected at least {fewest}"
    if most is not None and len(value) > most:
        yield f"{path}: found {len(value)} items, expected at most {most}"
    items = schema.get("items")
    if items is not None:
        for index, item in enumerate(value):
            yield from problems(items, item, f"{path}[{index}]")


def _object_problems(schema: Mapping[str, Any], value: State, path: str) -> Iterator[str]:
    for name in schema.get("required", ()):
        if name not in value:
            yield f"{path}.{name}: is missing"
    declared = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    for name, item in value.items():
        inner = declared.get(name, others)
        if isinstance(inner, Mapping):
            yield from problems(inner, item, f"{path}.{name}")


def resolved(agent: IAgent, directory: str | None, given: Mapping[str, Any]) -> State:
    """The form as far as it is filled in (schema: ResolveSessionConfigResult).

    What was answered comes back answered. An answer the schema has no place for any
    more, because another answer took it away, is left out, and a property nobody
    answered has its default.
    """
    schema = agent.config_schema(directory, given)
    values: State = {}
    for key, declared in schema["properties"].items():
        if key in given and not any(problems(declared, given[key], key)):
            values[key] = given[key]
        elif "default" in declared:
            values[key] = declared["default"]
    return {"schema": schema, "values": values}


def chosen(agent: IAgent, directory: str | None, given: Mapping[str, Any]) -> State:
    """A new session's configuration (schema: SessionConfigState), defaults filled in.

    Raises `RpcError` -32602 naming the first key the schema does not declare, and the
    first value it does not take.
    """
    config = resolved(agent, directory, given)
    properties = config["schema"]["properties"]
    for key, value in given.items():
        if key not in properties:
            known = ", ".join(properties) or "none"
            raise invalid_params(f"config.{key}: is no key of agent {agent.provider} ({known})")
        for problem in problems(properties[key], value, f"config.{key}"):
            raise invalid_params(problem)
    return config


def change_refused(
    config: Mapping[str, Any] | None, action: Mapping[str, Any], fresh: bool
) -> str | None:
    """Why a `session/configChanged` is not taken, in words; None when all of it is.

    `config` is the session's (schema: SessionConfigState), None where it has none.
    `fresh` is a session nothing was sent to so far: every declared key is open then,
    and only the ones that say `sessionMutable` after.
    """
    changes: Mapping[str, Any] = action["config"]
    held = {} if config is None else config["values"]
    properties = {} if config is None else config["schema"]["properties"]
    touched = [key for key in changes if key not in held or held[key] != changes[key]]
    if action.get("replace"):
        touched += [key for key in held if key not in changes]
    for key in touched:
        declared = properties.get(key)
        if declared is None or not (fresh or declared.get("sessionMutable")):
            return f"Session configuration '{key}' is not writable."
        if key in changes:
            for problem in problems(declared, changes[key], key):
                return f"Session configuration {problem}."
    return None
