"""What a record of this engine holds, and the schema it is checked against.

Source: PLUGINS.txt, "A worked example"; the `providers` entries are those of its harness
file, kept in the record itself.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import urlsplit

import attrs

from ahpd.interfaces import AgentRecord, InvalidRecord
from ahpd.protocol import State
from ahpd_agent_openai.tools.switches import schema as tools_schema

LEVELS: Final = ("off", "low", "medium", "high")

CATALOGUE_TIMEOUT_MS: Final = 15_000
#: A model on a slow machine reads a long prompt for minutes before its first word.
IDLE_TIMEOUT_MS: Final = 300_000
AUTO_COMPACT_AT: Final = 0.8
#: The context of a model whose list gave none, in tokens.
UNKNOWN_CONTEXT: Final = 32_000
MAX_STEPS: Final = 200
MAX_RETRIES: Final = 4


@attrs.frozen(kw_only=True)
class Provider:
    """An entry of `providers`."""

    id: str
    base_url: str
    key: str | None = attrs.field(default=None, repr=False)
    key_variable: str | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)


@attrs.frozen(kw_only=True)
class ModelSaid:
    """What the operator says of one model of `baseUrl`."""

    levels: tuple[str, ...] | None = None
    """The thinking levels it accepts; None says nothing of them."""
    vision: bool | None = None
    context: int | None = None


@attrs.frozen(kw_only=True)
class Settings:
    """A record's fields, read."""

    model: str | None = None
    base_url: str | None = None
    key: str | None = attrs.field(default=None, repr=False)
    key_variable: str | None = None
    headers: Mapping[str, str] = attrs.field(factory=dict, repr=False)
    resource: str | None = None
    models: Mapping[str, ModelSaid] = attrs.field(factory=dict)
    instructions: str | None = None
    providers: Sequence[Provider] = ()
    tools: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    """For `make_toolbox`, as it is configured."""
    in_memory: bool = False
    store: str | None = None
    compact_tokens: int | None = None
    compact_at: float = AUTO_COMPACT_AT
    catalogue_timeout: float = CATALOGUE_TIMEOUT_MS / 1000
    """In seconds, as every time here."""
    idle_timeout: float = IDLE_TIMEOUT_MS / 1000
    max_steps: int = MAX_STEPS
    max_retries: int = MAX_RETRIES

    def provider(self, id: str) -> Provider | None:  # noqa: A002
        """The entry of that id."""
        return next((one for one in self.providers if one.id == id), None)

    def secret_variables(self, environ: Mapping[str, str]) -> frozenset[str]:
        """Variables of `environ` that hold keys, for no child to inherit.

        Those the record names, and those whose value it has: where a reference in the
        configuration names a variable, an engine is handed its value alone.
        """
        named = [self.key_variable, *(one.key_variable for one in self.providers)]
        held = {self.key, *self.headers.values()}
        for one in self.providers:
            held |= {one.key, *one.headers.values()}
        held |= set(_texts(self.tools))
        named += [name for name, value in environ.items() if value and value in held]
        return frozenset(name for name in named if name)


def _texts(value: Any) -> Iterator[str]:
    """Every text in a JSON value, keys of objects left out."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for held in value.values():
            yield from _texts(held)


def read(record: AgentRecord) -> Settings:
    """The settings of a record whose config fits `SCHEMA`. Raises `InvalidRecord`."""
    config = record.config
    providers = tuple(
        Provider(
            id=entry["id"],
            base_url=endpoint_url(entry["baseUrl"], f"providers[{index}].baseUrl"),
            key=entry.get("apiKey") or None,
            key_variable=entry.get("apiKeyEnv"),
            headers=_headers(entry.get("headers"), f"providers[{index}].headers"),
        )
        for index, entry in enumerate(config.get("providers") or ())
    )
    names = [one.id for one in providers]
    for index, name in enumerate(names):
        if "/" in name or name in names[:index]:
            raise InvalidRecord(
                f"providers[{index}].id must be unique and hold no slash, found {name!r}"
            )
    base_url = config.get("baseUrl")
    return Settings(
        model=record.model or config.get("model") or None,
        base_url=None if base_url is None else endpoint_url(base_url, "baseUrl"),
        key=config.get("apiKey") or None,
        key_variable=config.get("apiKeyEnv"),
        headers=_headers(config.get("headers"), "headers"),
        resource=config.get("resource"),
        models={
            name: ModelSaid(
                levels=None
                if said.get("supportsReasoningEffort") is None
                else tuple(said["supportsReasoningEffort"]),
                vision=said.get("supportsVision"),
                context=said.get("maxContextWindow"),
            )
            for name, said in (config.get("models") or {}).items()
        },
        instructions=config.get("instructions"),
        providers=providers,
        tools=config.get("tools") or {},
        in_memory=config.get("memory", False),
        store=config.get("store"),
        compact_tokens=config.get("autoCompactTokens"),
        compact_at=config.get("autoCompactAt", AUTO_COMPACT_AT),
        catalogue_timeout=config.get("catalogueTimeoutMs", CATALOGUE_TIMEOUT_MS) / 1000,
        idle_timeout=config.get("idleTimeoutMs", IDLE_TIMEOUT_MS) / 1000,
        max_steps=config.get("maxSteps", MAX_STEPS),
        max_retries=config.get("maxRetries", MAX_RETRIES),
    )


def endpoint_url(text: str, field: str) -> str:
    """An endpoint's URL, without the slash at its end.

    Raises `InvalidRecord` for what is none, in words that repeat no secret of it.
    """
    try:
        parts = urlsplit(text.strip())
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise InvalidRecord(f"{field} must be a URL that begins with http:// or https://")
    if parts.username is not None or parts.query or parts.fragment:
        raise InvalidRecord(
            f"{field} must end with its path and name no user: a key belongs into apiKey"
        )
    return text.strip().rstrip("/")


def _headers(given: Mapping[str, str] | None, field: str) -> Mapping[str, str]:
    for name, value in (given or {}).items():
        if not name or not name.replace("-", "").replace("_", "").isalnum() or not name.isascii():
            raise InvalidRecord(f"{field} has a name that is none of a header: {name!r}")
        if any(character in value for character in "\r\n\0"):
            raise InvalidRecord(f"{field}.{name} must be one line")
    return dict(given or {})


#: What is said of one endpoint, and goes to no other that a record names in its place.
_OF_THE_ENDPOINT: Final[State] = {"x-ahpd-goes-with": "baseUrl"}
_SECRET: Final[State] = {"type": "string", "writeOnly": True}
_HEADERS: Final[State] = {
    "type": "object",
    "additionalProperties": {"type": "string", "writeOnly": True},
    "description": "Headers of every request, for example a router's attribution.",
}
_VARIABLE: Final[State] = {
    "type": "string",
    "pattern": "^[A-Za-z_][A-Za-z0-9_]*$",
    "description": "The environment variable that holds the key.",
}
SCHEMA: Final[State] = {
    "type": "object",
    "additionalProperties": False,
    "properties": {
        "model": {
            "type": "string",
            "description": "The model of a record that names none, `<provider>/<model id>`.",
        },
        "baseUrl": {
            "type": "string",
            "description": "The endpoint, up to where /chat/completions begins.",
        },
        "apiKey": {**_SECRET, **_OF_THE_ENDPOINT, "description": "The key for baseUrl."},
        "apiKeyEnv": {**_VARIABLE, **_OF_THE_ENDPOINT},
        "headers": {**_HEADERS, **_OF_THE_ENDPOINT},
        "resource": {
            **_OF_THE_ENDPOINT,
            "type": "string",
            "description": "The protected resource a client signs in to; the endpoint's origin.",
        },
        "models": {
            **_OF_THE_ENDPOINT,
            "type": "object",
            "description": "What is to be said of models, by their ids on baseUrl.",
            "additionalProperties": {
                "type": "object",
                "additionalProperties": False,
                "properties": {
                    "supportsReasoningEffort": {
                        "type": "array",
                        "items": {"enum": list(LEVELS)},
                        "uniqueItems": True,
                    },
                    "supportsVision": {"type": "boolean"},
                    "maxContextWindow": {"type": "integer", "minimum": 1024},
                },
            },
        },
        "instructions": {"type": "string", "description": "What the model is told it is."},
        "providers": {
            "type": "array",
            "items": {
                "type": "object",
                "additionalProperties": False,
                "required": ["id", "baseUrl"],
                "properties": {
                    "id": {"type": "string", "pattern": "^[^/\\s]+$"},
                    "baseUrl": {"type": "string"},
                    "apiKey": _SECRET,
                    "apiKeyEnv": _VARIABLE,
                    "headers": _HEADERS,
                },
            },
        },
        "tools": tools_schema(),
        "memory": {
            "type": "boolean",
            "description": "Keep conversations in memory alone, for a test.",
        },
        "store": {"type": "string", "description": "The folder conversations are kept in."},
        "autoCompactTokens": {"type": "integer", "minimum": 1},
        "autoCompactAt": {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        "catalogueTimeoutMs": {"type": "integer", "minimum": 1},
        "idleTimeoutMs": {"type": "integer", "minimum": 1},
        "maxSteps": {"type": "integer", "minimum": 1},
        "maxRetries": {"type": "integer", "minimum": 0, "maximum": 20},
    },
}

#: Fields only the host's owner may set: they name folders, variables and programs of this
#: machine, or where keys are sent.
HOST_ONLY: Final = ("store", "apiKeyEnv", "providers", "tools")
