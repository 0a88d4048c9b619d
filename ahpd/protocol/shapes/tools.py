"""Tools as they are offered, and what a run of one hands back."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import URI, ContentRef, FileEdit
from ahpd.protocol.shapes.notation import JsonObject, Meta, Open, open_keys

ConfirmationOptionKind = Open[Literal["approve", "deny"]]


class ConfirmationOption(TypedDict):
    id: str
    label: str
    kind: ConfirmationOptionKind
    group: NotRequired[float]


class TerminalCommandResult(TypedDict):
    exitCode: NotRequired[float]
    preview: NotRequired[str]
    truncated: NotRequired[bool]


class ToolAnnotations(TypedDict):
    title: NotRequired[str]
    readOnlyHint: NotRequired[bool]
    destructiveHint: NotRequired[bool]
    idempotentHint: NotRequired[bool]
    openWorldHint: NotRequired[bool]


@open_keys
class ToolSchema(TypedDict):
    """A tool's input or output as JSON Schema, always of an object."""

    type: Literal["object"]
    properties: NotRequired[JsonObject]
    required: NotRequired[list[str]]


class ToolDefinition(TypedDict):
    """A tool as it is offered to an agent."""

    name: str
    title: NotRequired[str]
    description: NotRequired[str]
    inputSchema: NotRequired[ToolSchema]
    outputSchema: NotRequired[ToolSchema]
    annotations: NotRequired[ToolAnnotations]
    _meta: NotRequired[Meta]


ToolInput = str | ContentRef


class ToolResultEmbeddedResourceContent(TypedDict):
    type: Literal["embeddedResource"]
    data: str
    contentType: str


class ToolResultFileEditContent(FileEdit):
    type: Literal["fileEdit"]


class ToolResultResourceContent(ContentRef):
    type: Literal["resource"]


class ToolResultSubagentContent(TypedDict):
    type: Literal["subagent"]
    resource: URI
    title: str
    agentName: NotRequired[str]
    description: NotRequired[str]


class ToolResultTerminalContent(TypedDict):
    type: Literal["terminal"]
    resource: URI
    title: str
    isPty: NotRequired[bool]
    result: NotRequired[TerminalCommandResult]


class ToolResultTextContent(TypedDict):
    type: Literal["text"]
    text: str


ToolResultContent = Open[
    ToolResultTextContent
    | ToolResultEmbeddedResourceContent
    | ToolResultResourceContent
    | ToolResultFileEditContent
    | ToolResultTerminalContent
    | ToolResultSubagentContent
]
