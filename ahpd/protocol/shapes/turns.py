"""Turns, and the parts of an agent's response."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import (
    BaseParams,
    ContentRef,
    ErrorInfo,
    StringOrMarkdown,
    UsageInfo,
)
from ahpd.protocol.shapes.messages import Message
from ahpd.protocol.shapes.notation import Meta, Open
from ahpd.protocol.shapes.questions import ChatInputRequest, ChatInputResponseKind
from ahpd.protocol.shapes.tool_calls import ToolCallState


class ErrorResponsePart(TypedDict):
    kind: Literal["error"]
    error: ErrorInfo
    resumable: NotRequired[bool]


class InputRequestResponsePart(TypedDict):
    kind: Literal["inputRequest"]
    request: ChatInputRequest
    response: NotRequired[ChatInputResponseKind]


class MarkdownResponsePart(TypedDict):
    kind: Literal["markdown"]
    id: str
    content: str


class ReasoningResponsePart(TypedDict):
    kind: Literal["reasoning"]
    id: str
    content: str


class ResourceResponsePart(ContentRef):
    kind: Literal["contentRef"]


class SystemNotificationResponsePart(TypedDict):
    kind: Literal["systemNotification"]
    content: StringOrMarkdown
    _meta: NotRequired[Meta]


class ToolCallResponsePart(TypedDict):
    kind: Literal["toolCall"]
    toolCall: ToolCallState


ResponsePart = Open[
    MarkdownResponsePart
    | ResourceResponsePart
    | ToolCallResponsePart
    | ReasoningResponsePart
    | SystemNotificationResponsePart
    | InputRequestResponsePart
    | ErrorResponsePart
]


class ActiveTurn(TypedDict):
    """The turn that runs now."""

    id: str
    startedAt: str
    message: Message
    responseParts: list[ResponsePart]
    usage: NotRequired[UsageInfo]


class FetchTurnsParams(BaseParams):
    cursor: NotRequired[str]


class FetchTurnsResult(TypedDict):
    """Nothing: the turns arrive as `chat/turnsLoaded`."""


TurnState = Literal["complete", "cancelled", "error"]


class Turn(TypedDict):
    """A turn that ended. `duration` is in milliseconds."""

    id: str
    startedAt: NotRequired[str]
    duration: NotRequired[float]
    message: Message
    responseParts: list[ResponsePart]
    usage: NotRequired[UsageInfo]
    state: TurnState
