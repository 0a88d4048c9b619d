"""A session's configuration against its agent's schema.

The schema (SessionConfigSchema) declares one property per key, each a small part of
JSON Schema; a key or a value it does not take is refused by its path.
"""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ahpd.interfaces import IAgent
from ahpd.protocol import State
from ahpd.protocol.errors import invalid_params

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


def problems(schema: Mapping[str, Any], value: Any, path: str) -> Iterator[str]:
    """What is wrong with `value` where `schema` (a property's) stands at `path`.

    A property's schema is an agent's own and may use any of JSON Schema's words. One
    that no value can be held against (a type nobody knows, a reference to elsewhere) takes
    every value: it is not the client's to mend.
    """
    # Imported where it is used: it costs a tenth of a second, and many hosts never need it.
    from jsonschema import Draft202012Validator  # noqa: PLC0415
    from jsonschema.exceptions import UnknownType, relevance  # noqa: PLC0415
    from referencing.exceptions import Unresolvable  # noqa: PLC0415
    from referencing.jsonschema import EMPTY_REGISTRY  # noqa: PLC0415

    if schema.get("enumDynamic"):
        # An enum that is completed as somebody types lists some of its values alone.
        schema = {key: held for key, held in schema.items() if key != "enum"}
    # The registry is given, because the default one fetches what a schema refers to.
    validator = Draft202012Validator(schema, registry=EMPTY_REGISTRY)
    try:
        found = sorted(validator.iter_errors(value), key=relevance, reverse=True)
    except (UnknownType, Unresolvable):
        return
    yield from (_words(error, path) for error in found)


def _words(error: "ValidationError", path: str) -> str:
    at = path
    for step in error.absolute_path:
        at += f"[{step}]" if isinstance(step, int) else f".{step}"
    wanted: Any = error.validator_value
    value: Any = error.instance
    match error.validator:
        case "type":
            return f"{at}: found {value!r}, expected a value of type {wanted}"
        case "enum":
            return f"{at}: found {value!r}, expected one of {', '.join(map(repr, wanted))}"
        case "minItems":
            return f"{at}: found {len(value)} items, expected at least {wanted}"
        case "maxItems":
            return f"{at}: found {len(value)} items, expected at most {wanted}"
        case "required":
            missing = ", ".join(name for name in wanted if name not in value)
            return f"{at}.{missing}: is missing"
        case _:
            return f"{at}: {error.message}"


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
