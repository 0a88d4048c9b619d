"""A session's configuration against its agent's schema.

The schema (SessionConfigSchema) declares one property per key, each a small part of
JSON Schema; a key or a value it does not take is refused by its path. Beside the agent's
keys every schema declares this host's own (`HOST_KEYS`), which the host takes whatever they
hold and reads itself: one that is wrong is none (AHP.txt, `session/configChanged`), and of connectors a
line in the log says so (`ahpd/sessions/in_force.py`).

Plugins add keys to every session's schema too (`ahpd/sessions/session_keys.py`). They are
`added` here, by key: one an agent declares itself is the agent's.

A chat may set a value of its own for a key that says `chatMutable`; what it runs on is its
session's values with those laid over (AHP.txt, "What is served outside the protocol").
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from ahpd.interfaces import AgentFailure, IAgent, IUndeclaredConfig
from ahpd.protocol import State
from ahpd.protocol.approval_keys import ALLOW_ALL, AUTO_APPROVE
from ahpd.protocol.connector_aliases import KEY as CONNECTORS
from ahpd.protocol.errors import invalid_params
from ahpd.protocol.permission_rules import KEY as PERMISSIONS
from ahpd.protocol.permission_rules import declared as rules_declared
from ahpd.protocol.permission_rules import rules_of
from ahpd.protocol.read_only import read_only
from ahpd.sessions.server_tools import TOOLS

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError


SENSITIVE_EDIT_LOCATIONS: Final = "sensitiveEditLocations"


#: What every session can be configured with, whatever its agent: by key, its property.
HOST_KEYS: Final[Mapping[str, State]] = {
    PERMISSIONS: {
        **rules_declared("Which tools run, are refused, or ask in this session."),
        "sessionMutable": True,
    },
    AUTO_APPROVE: {
        "type": "string",
        "title": "Approvals",
        "description": "Whether anybody is asked before a tool of this session runs.",
        "enum": ["default", ALLOW_ALL],
        "enumLabels": ["Default approvals", "Allow all"],
        "enumDescriptions": [
            "Asks about what no rule or setting approves",
            "Runs every tool that nothing refuses without asking",
        ],
        "default": "default",
        "sessionMutable": True,
    },
    SENSITIVE_EDIT_LOCATIONS: {
        "type": "array",
        "title": "Sensitive locations",
        "description": "Files and folders that no command writes to without asking.",
        "items": {
            "type": "object",
            "title": "Location",
            "properties": {
                "path": {"type": "string", "title": "Path"},
                "isDirectory": {"type": "boolean", "title": "Folder"},
            },
            "required": ["path", "isDirectory"],
        },
        "readOnly": True,
        "sessionMutable": True,
    },
    TOOLS: {
        "type": "object",
        "title": "Tools of this host",
        "description": "By a tool's name: false to have this session do without it.",
        "additionalProperties": {"type": "boolean", "title": "On"},
        "sessionMutable": True,
    },
    # Set when a session starts: whose account it works with does not change under it.
    CONNECTORS: {
        "type": "object",
        "title": "Connectors",
        "description": "By an alias, the connector it stands for: connectors://<adapter>/<id>.",
        "additionalProperties": {"type": "string", "title": "Connector"},
    },
}


def permission_rules(values: Mapping[str, Any]) -> Mapping[str, list[str]]:
    """The session's rules by `allow`, `deny` and `ask`; a value that is no lists of rules is none."""
    return rules_of(values.get(PERMISSIONS))


def sensitive_locations(values: Mapping[str, Any]) -> list[State]:
    """The locations (`path`, `isDirectory`), read whole: one wrong entry and there are none."""
    found = values.get(SENSITIVE_EDIT_LOCATIONS)
    if not isinstance(found, list):
        return []
    right = all(
        isinstance(entry, dict)
        and isinstance(entry.get("path"), str)
        and isinstance(entry.get("isDirectory"), bool)
        for entry in found
    )
    return found if right else []


# -- values against a schema ----------------------------------------------------------


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


# -- what a session is made with ------------------------------------------------------


#: Keys that are no agent's, by key its property (schema: SessionConfigPropertySchema).
Added = Mapping[str, State]
_NONE: Final[Added] = {}
#: The properties an agent declares, by key, in somebody's language.
InLanguage = Callable[[Mapping[str, State]], Mapping[str, State]]


def _as_declared(properties: Mapping[str, State]) -> Mapping[str, State]:
    return properties


def agents_own(agent: IAgent, directory: str | None, given: Mapping[str, Any]) -> State:
    """What an agent says its sessions can be configured with (schema: SessionConfigSchema).

    `given` may be the values a session has: the agent is handed what it cannot write to.
    """
    return agent.config_schema(directory, read_only(given))


def schema_of(
    agent: IAgent,
    directory: str | None,
    given: Mapping[str, Any],
    added: Added = _NONE,
    in_language: InLanguage = _as_declared,
) -> State:
    """What a session of `agent` can be configured with (schema: SessionConfigSchema)."""
    schema = agents_own(agent, directory, given)
    own = in_language(schema["properties"])
    more = {key: declared for key, declared in added.items() if key not in own}
    # This host's keys are its own, whatever an agent calls the same.
    return {**schema, "properties": {**own, **more, **HOST_KEYS}}


def resolved(
    agent: IAgent,
    directory: str | None,
    given: Mapping[str, Any],
    added: Added = _NONE,
    in_language: InLanguage = _as_declared,
) -> State:
    """The form as far as it is filled in (schema: ResolveSessionConfigResult).

    What was answered comes back answered. An answer the schema has no place for any
    more, because another answer took it away, is left out, and a property nobody
    answered has its default, but for this host's own, which are set or not there.
    """
    schema = schema_of(agent, directory, given, added, in_language)
    values: State = {}
    for key, declared in schema["properties"].items():
        if key in HOST_KEYS:
            if key in given:
                values[key] = given[key]
        elif key in given and not any(problems(declared, given[key], key)):
            values[key] = given[key]
        elif "default" in declared:
            values[key] = declared["default"]
    return {"schema": schema, "values": values}


def chosen(
    agent: IAgent, directory: str | None, given: Mapping[str, Any], added: Added = _NONE
) -> State:
    """A new session's configuration (schema: SessionConfigState), defaults filled in.

    Raises `RpcError` -32602 naming the first key that neither the schema declares nor the
    agent takes, and the first value the schema does not take.
    """
    config = resolved(agent, directory, given, added)
    properties = config["schema"]["properties"]
    for key, value in given.items():
        if key in HOST_KEYS:
            continue
        if key not in properties:
            known = ", ".join(properties)
            words = f"is no key of agent {agent.provider} ({known})"
            refused = _undeclared(agent, key, value, words)
            if refused is not None:
                raise invalid_params(f"config.{key}: {refused}")
            config["values"][key] = value
            continue
        for problem in problems(properties[key], value, f"config.{key}"):
            raise invalid_params(problem)
    return config


def _undeclared(agent: IAgent, key: str, value: Any, words: str) -> str | None:
    """Why a key no schema declares is not taken: the agent's words, or `words`; None when it is."""
    if not IUndeclaredConfig.providedBy(agent):
        return words
    taker: Any = agent
    try:
        taker.check_config(key, value)
    except AgentFailure as failed:
        return failed.message or words
    return None


# -- what is changed later ------------------------------------------------------------


def change_refused(
    agent: IAgent, config: Mapping[str, Any] | None, action: Mapping[str, Any], fresh: bool
) -> str | None:
    """Why a `session/configChanged` is not taken, in words; None when all of it is.

    `config` is the session's (schema: SessionConfigState), None where it has none.
    `fresh` is a session nothing was sent to so far: every declared key is open then,
    and only the ones that say `sessionMutable` after.
    """
    held: Mapping[str, Any] = {} if config is None else config["values"]
    properties = {} if config is None else config["schema"]["properties"]
    changes: Mapping[str, Any] = action["config"]
    for key in _touched(held, action):
        declared = HOST_KEYS.get(key) or properties.get(key)
        if key in HOST_KEYS and (fresh or HOST_KEYS[key].get("sessionMutable")):
            continue
        words = f"Session configuration '{key}' is not writable."
        if declared is None and key in changes:
            refused = _undeclared(agent, key, changes[key], words)
            if refused is not None:
                return refused
        elif declared is not None and not (fresh or declared.get("sessionMutable")):
            return words
        elif declared is not None and key in changes:
            for problem in problems(declared, changes[key], key):
                return f"Session configuration {problem}."
    return None


def chat_change_refused(
    config: Mapping[str, Any] | None, own: Mapping[str, Any], action: Mapping[str, Any]
) -> str | None:
    """Why a `chat/configChanged` is not taken, in words; None when all of it is.

    `config` is the session's (schema: SessionConfigState), `own` the values the chat has
    set for itself so far.
    """
    properties = {} if config is None else config["schema"]["properties"]
    changes: Mapping[str, Any] = action["config"]
    for key in _touched(own, action):
        declared = properties.get(key)
        if key not in changes:
            continue  # a value of its own given up: the session's is in force again
        if declared is None or not declared.get("chatMutable"):
            return f"Chat configuration '{key}' is not writable."
        for problem in problems(declared, changes[key], key):
            return f"Chat configuration {problem}."
    return None


def _touched(held: Mapping[str, Any], action: Mapping[str, Any]) -> list[str]:
    """The keys an action moves, the ones a replacement leaves out among them."""
    changes: Mapping[str, Any] = action["config"]
    touched = [key for key in changes if key not in held or held[key] != changes[key]]
    if action.get("replace"):
        touched += [key for key in held if key not in changes]
    return touched


def no_agents(values: Mapping[str, Any], added: Added) -> Mapping[str, Any]:
    """Those of a session's values that are no agent's, and reach a chat of any backend."""
    return {key: value for key, value in values.items() if key in HOST_KEYS or key in added}


# -- what is handed on ----------------------------------------------------------------


class Configured(Protocol):
    """A chat, as configuration reaches it."""

    provider: str | None

    @property
    def state(self) -> State:
        """Schema: ChatState."""

    @property
    def agent(self) -> IAgent:
        """The agent it runs on."""

    def config_moved(self) -> None:
        """Its configuration is another one."""


def moved_keys(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """The keys whose values differ."""
    return {
        key
        for key in before.keys() | after.keys()
        if key not in before or key not in after or before[key] != after[key]
    }


def hand_on(chats: Iterable[Configured], keys: Collection[str], added: Added = _NONE) -> None:
    """The session's values of `keys` moved: the chats that set none of their own are told.

    A chat of another backend is told of those alone that are no agent's.

    This host's own keys are not worth beginning a conversation again for: a backend that
    takes nothing while it is open is handed them when it is next opened.
    """
    for chat in tuple(chats):
        told = set(keys) if chat.agent.abilities.live_config else set(keys) - HOST_KEYS.keys()
        if chat.provider is not None:
            told &= HOST_KEYS.keys() | added.keys()
        if not told <= own_values(chat.state).keys():
            chat.config_moved()


def own_values(chat: State) -> Mapping[str, Any]:
    """The values a chat (schema: ChatState) has set for itself."""
    values: Mapping[str, Any] = chat.get("config") or {}
    return values
