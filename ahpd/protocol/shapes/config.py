"""Configuration as JSON Schema, and the commands that resolve and complete it."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import URI, JsonPrimitive, RootParams
from ahpd.protocol.shapes.notation import JsonObject, Minimum, open_keys


@open_keys
class ConfigPropertySchema(TypedDict):
    """One property as JSON Schema. Any other keyword of JSON Schema may stand beside these."""

    type: Literal["string", "number", "boolean", "array", "object"]
    title: str
    description: NotRequired[str]
    default: NotRequired[Any]
    enum: NotRequired[list[JsonPrimitive]]
    enumLabels: NotRequired[list[str]]
    enumDescriptions: NotRequired[list[str]]
    readOnly: NotRequired[bool]
    items: NotRequired["ConfigPropertySchema"]
    minItems: NotRequired[Annotated[int, Minimum(0)]]
    maxItems: NotRequired[Annotated[int, Minimum(0)]]
    properties: NotRequired["dict[str, ConfigPropertySchema]"]
    required: NotRequired[list[str]]
    additionalProperties: NotRequired["ConfigPropertySchema"]


@open_keys
class ConfigSchema(TypedDict):
    """An object whose properties are settings."""

    type: Literal["object"]
    properties: dict[str, ConfigPropertySchema]
    required: NotRequired[list[str]]


class ResolveSessionConfigParams(RootParams):
    provider: NotRequired[str]
    workingDirectory: NotRequired[URI]
    config: NotRequired[JsonObject]


@open_keys
class SessionConfigPropertySchema(ConfigPropertySchema):
    """A session's property.

    `chatMutable` is an extension: a chat may set a value of its own (AHP.txt,
    "What is served outside the protocol").
    """

    enumDynamic: NotRequired[bool]
    sessionMutable: NotRequired[bool]
    chatMutable: NotRequired[bool]


@open_keys
class SessionConfigSchema(TypedDict):
    """The settings a session of an agent takes."""

    type: Literal["object"]
    properties: dict[str, SessionConfigPropertySchema]
    required: NotRequired[list[str]]


class ResolveSessionConfigResult(TypedDict):
    schema: SessionConfigSchema
    values: JsonObject


class SessionConfigCompletionsParams(RootParams):
    provider: NotRequired[str]
    workingDirectory: NotRequired[URI]
    config: NotRequired[JsonObject]
    property: str
    query: NotRequired[str]


class SessionConfigValueItem(TypedDict):
    value: str
    label: str
    description: NotRequired[str]


class SessionConfigCompletionsResult(TypedDict):
    items: list[SessionConfigValueItem]


class SessionConfigState(TypedDict):
    schema: SessionConfigSchema
    values: JsonObject
