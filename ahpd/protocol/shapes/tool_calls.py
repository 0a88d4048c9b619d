"""A tool call's states, from streamed input to its end."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import (
    FileEditCollection,
    ProtectedResourceMetadata,
    StringOrMarkdown,
)
from ahpd.protocol.shapes.messages import Message
from ahpd.protocol.shapes.notation import JsonObject, Meta, Open
from ahpd.protocol.shapes.tools import ConfirmationOption, ToolInput, ToolResultContent

McpAuthRequiredReason = Open[Literal["required", "expired", "insufficientScope"]]


class McpOAuthClient(TypedDict):
    clientId: str
    clientSecret: NotRequired[str]


class McpAuthRequirement(TypedDict):
    reason: McpAuthRequiredReason
    oauthClient: NotRequired[McpOAuthClient]
    resource: ProtectedResourceMetadata
    requiredScopes: NotRequired[list[str]]
    description: NotRequired[str]


class ToolCallActionBase(TypedDict):
    """Which call of which turn an action is about."""

    turnId: str
    toolCallId: str
    _meta: NotRequired[Meta]


class ToolCallMcpContributor(TypedDict):
    kind: Literal["mcp"]
    customizationId: str


class ToolCallParameterFields(TypedDict):
    invocationMessage: StringOrMarkdown
    toolInput: NotRequired[ToolInput]


ToolCallConfirmationReason = Open[Literal["not-needed", "user-action", "setting"]]


class ToolCallPostConfirmationFields(TypedDict):
    confirmed: ToolCallConfirmationReason
    selectedOption: NotRequired[ConfirmationOption]


class ToolCallAuthRequiredState(ToolCallParameterFields, ToolCallPostConfirmationFields):
    """A call that waits for its MCP server's sign-in."""

    toolCallId: str
    toolName: str
    displayName: str
    intention: NotRequired[str]
    contributor: ToolCallMcpContributor
    _meta: NotRequired[Meta]
    status: Literal["auth-required"]
    auth: McpAuthRequirement
    content: NotRequired[list[ToolResultContent]]


class ToolCallClientContributor(TypedDict):
    kind: Literal["client"]
    clientId: str


ToolCallContributor = Open[ToolCallClientContributor | ToolCallMcpContributor]


class ToolCallBase(TypedDict):
    """What every state of a call holds."""

    toolCallId: str
    toolName: str
    displayName: str
    intention: NotRequired[str]
    contributor: NotRequired[ToolCallContributor]
    _meta: NotRequired[Meta]


ToolCallCancellationReason = Literal["denied", "skipped", "result-denied"]


class ToolCallCancelledState(ToolCallBase, ToolCallParameterFields):
    status: Literal["cancelled"]
    reason: ToolCallCancellationReason
    reasonMessage: NotRequired[StringOrMarkdown]
    userSuggestion: NotRequired[Message]
    selectedOption: NotRequired[ConfirmationOption]


class ToolCallError(TypedDict):
    message: str
    code: NotRequired[str]


class ToolCallResult(TypedDict):
    success: bool
    pastTenseMessage: StringOrMarkdown
    content: NotRequired[list[ToolResultContent]]
    structuredContent: NotRequired[JsonObject]
    error: NotRequired[ToolCallError]


class ToolCallCompletedState(
    ToolCallBase, ToolCallResult, ToolCallParameterFields, ToolCallPostConfirmationFields
):
    status: Literal["completed"]


ToolCallRiskAssessmentKind = Open[Literal["judge"]]


class ToolCallRiskAssessmentBase(TypedDict):
    kind: ToolCallRiskAssessmentKind


class ToolCallRiskAssessmentCompleteState(ToolCallRiskAssessmentBase):
    status: Literal["complete"]
    reason: StringOrMarkdown
    safety: float


class ToolCallRiskAssessmentLoadingState(ToolCallRiskAssessmentBase):
    status: Literal["loading"]


ToolCallRiskAssessment = Open[
    ToolCallRiskAssessmentLoadingState | ToolCallRiskAssessmentCompleteState
]


class ToolCallPendingConfirmationState(ToolCallBase, ToolCallParameterFields):
    """A call that waits for a person to allow it."""

    status: Literal["pending-confirmation"]
    confirmationTitle: NotRequired[StringOrMarkdown]
    riskAssessment: NotRequired[ToolCallRiskAssessment]
    edits: NotRequired[FileEditCollection]
    editable: NotRequired[bool]
    options: NotRequired[list[ConfirmationOption]]


class ToolCallPendingResultConfirmationState(
    ToolCallBase, ToolCallResult, ToolCallParameterFields, ToolCallPostConfirmationFields
):
    """A call whose result waits for a person to let it through."""

    status: Literal["pending-result-confirmation"]


ToolCallConfirmationState = (
    ToolCallPendingConfirmationState | ToolCallPendingResultConfirmationState
)


class ToolCallRunningState(ToolCallBase, ToolCallParameterFields, ToolCallPostConfirmationFields):
    status: Literal["running"]
    content: NotRequired[list[ToolResultContent]]


class ToolCallStreamingState(ToolCallBase):
    """A call whose input is still arriving."""

    status: Literal["streaming"]
    partialInput: NotRequired[str]
    invocationMessage: NotRequired[StringOrMarkdown]


ToolCallState = Open[
    ToolCallStreamingState
    | ToolCallPendingConfirmationState
    | ToolCallRunningState
    | ToolCallAuthRequiredState
    | ToolCallPendingResultConfirmationState
    | ToolCallCompletedState
    | ToolCallCancelledState
]
