"""Every action of a chat's channel."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.changesets import Changeset
from ahpd.protocol.shapes.chats import BackgroundWork, CanvasReference
from ahpd.protocol.shapes.common import URI, FileEditCollection, StringOrMarkdown, UsageInfo
from ahpd.protocol.shapes.messages import Message, PendingMessageKind
from ahpd.protocol.shapes.notation import JsonObject, Meta
from ahpd.protocol.shapes.questions import ChatInputAnswer, ChatInputRequest, ChatInputResponseKind
from ahpd.protocol.shapes.tool_calls import (
    McpAuthRequirement,
    ToolCallActionBase,
    ToolCallBase,
    ToolCallConfirmationReason,
    ToolCallContributor,
    ToolCallParameterFields,
    ToolCallResult,
    ToolCallRiskAssessment,
)
from ahpd.protocol.shapes.tools import ConfirmationOption, ToolResultContent
from ahpd.protocol.shapes.turns import ErrorResponsePart, ResponsePart, Turn


class ChatActivityChangedAction(TypedDict):
    type: Literal["chat/activityChanged"]
    activity: NotRequired[str]


class ChatBackgroundWorkRemovedAction(TypedDict):
    type: Literal["chat/backgroundWorkRemoved"]
    id: str


class ChatBackgroundWorkSetAction(TypedDict):
    type: Literal["chat/backgroundWorkSet"]
    work: BackgroundWork


class ChatCanvasesChangedAction(TypedDict):
    type: Literal["chat/canvasesChanged"]
    canvases: NotRequired[list[CanvasReference]]


class ChatChangesetsChangedAction(TypedDict):
    type: Literal["chat/changesetsChanged"]
    changesets: NotRequired[list[Changeset]]


class ChatDeltaAction(TypedDict):
    type: Literal["chat/delta"]
    turnId: str
    partId: str
    content: str
    _meta: NotRequired[Meta]


class ChatDraftChangedAction(TypedDict):
    type: Literal["chat/draftChanged"]
    draft: NotRequired[Message]


class ChatErrorAction(TypedDict):
    """A turn ended in an error. `duration` is in milliseconds, as at every end of a turn."""

    type: Literal["chat/error"]
    turnId: str
    duration: float
    part: ErrorResponsePart
    _meta: NotRequired[Meta]


class ChatInputAnswerChangedAction(TypedDict):
    type: Literal["chat/inputAnswerChanged"]
    requestId: str
    questionId: str
    answer: NotRequired[ChatInputAnswer]


class ChatInputCompletedAction(TypedDict):
    type: Literal["chat/inputCompleted"]
    requestId: str
    response: ChatInputResponseKind
    answers: NotRequired[dict[str, ChatInputAnswer]]


class ChatInputRequestedAction(TypedDict):
    type: Literal["chat/inputRequested"]
    request: ChatInputRequest


class ChatIsArchivedChangedAction(TypedDict):
    type: Literal["chat/isArchivedChanged"]
    isArchived: bool


class ChatIsReadChangedAction(TypedDict):
    type: Literal["chat/isReadChanged"]
    isRead: bool


class ChatMovableChangedAction(TypedDict):
    type: Literal["chat/movableChanged"]
    movable: bool


class ChatPendingMessageRemovedAction(TypedDict):
    type: Literal["chat/pendingMessageRemoved"]
    kind: PendingMessageKind
    id: str


class ChatPendingMessageSetAction(TypedDict):
    type: Literal["chat/pendingMessageSet"]
    kind: PendingMessageKind
    id: str
    message: Message


class ChatQueuedMessagesReorderedAction(TypedDict):
    type: Literal["chat/queuedMessagesReordered"]
    order: list[str]


class ChatReasoningAction(TypedDict):
    type: Literal["chat/reasoning"]
    turnId: str
    partId: str
    content: str
    _meta: NotRequired[Meta]


class ChatResponsePartAction(TypedDict):
    type: Literal["chat/responsePart"]
    turnId: str
    part: ResponsePart
    _meta: NotRequired[Meta]


class ChatToolCallApprovedAction(ToolCallActionBase):
    """A call may run, as it was asked or as a person edited it."""

    type: Literal["chat/toolCallConfirmed"]
    approved: Literal[True]
    confirmed: ToolCallConfirmationReason
    editedToolInput: NotRequired[str]
    selectedOptionId: NotRequired[str]


class ChatToolCallAuthRequiredAction(ToolCallActionBase):
    type: Literal["chat/toolCallAuthRequired"]
    auth: McpAuthRequirement


class ChatToolCallAuthResolvedAction(ToolCallActionBase):
    type: Literal["chat/toolCallAuthResolved"]


class ChatToolCallCompleteAction(ToolCallActionBase):
    type: Literal["chat/toolCallComplete"]
    result: ToolCallResult
    requiresResultConfirmation: NotRequired[bool]


class ChatToolCallDeniedAction(ToolCallActionBase):
    """A call may not run."""

    type: Literal["chat/toolCallConfirmed"]
    approved: Literal[False]
    reason: Literal["denied", "skipped"]
    userSuggestion: NotRequired[Message]
    reasonMessage: NotRequired[StringOrMarkdown]
    selectedOptionId: NotRequired[str]


ChatToolCallConfirmedAction = ChatToolCallApprovedAction | ChatToolCallDeniedAction


class ChatToolCallContentChangedAction(ToolCallActionBase):
    type: Literal["chat/toolCallContentChanged"]
    content: list[ToolResultContent]


class ChatToolCallDeltaAction(ToolCallActionBase):
    type: Literal["chat/toolCallDelta"]
    content: NotRequired[str]
    invocationMessage: NotRequired[StringOrMarkdown]


class ChatToolCallReadyAction(ToolCallActionBase, ToolCallParameterFields):
    type: Literal["chat/toolCallReady"]
    contributor: NotRequired[ToolCallContributor]
    intention: NotRequired[str]
    confirmationTitle: NotRequired[StringOrMarkdown]
    riskAssessment: NotRequired[ToolCallRiskAssessment]
    edits: NotRequired[FileEditCollection]
    editable: NotRequired[bool]
    confirmed: NotRequired[ToolCallConfirmationReason]
    options: NotRequired[list[ConfirmationOption]]


class ChatToolCallResultConfirmedAction(ToolCallActionBase):
    type: Literal["chat/toolCallResultConfirmed"]
    approved: bool


class ChatToolCallStartAction(ToolCallBase):
    turnId: str
    type: Literal["chat/toolCallStart"]


class ChatTruncatedAction(TypedDict):
    """Turns after `turnId` are gone; all of them where it is absent."""

    type: Literal["chat/truncated"]
    turnId: NotRequired[str]


class ChatTurnCancelledAction(TypedDict):
    type: Literal["chat/turnCancelled"]
    turnId: str
    duration: float
    _meta: NotRequired[Meta]


class ChatTurnCompleteAction(TypedDict):
    type: Literal["chat/turnComplete"]
    turnId: str
    duration: float
    _meta: NotRequired[Meta]


class ChatTurnResumeAction(TypedDict):
    type: Literal["chat/turnResume"]
    turnId: str


class ChatTurnStartedAction(TypedDict):
    """A message began a turn; `startedAt` is the only clock a reducer has."""

    type: Literal["chat/turnStarted"]
    turnId: str
    startedAt: str
    message: Message
    queuedMessageId: NotRequired[str]
    _meta: NotRequired[Meta]


class ChatTurnsLoadedAction(TypedDict):
    type: Literal["chat/turnsLoaded"]
    turns: list[Turn]
    turnsNextCursor: NotRequired[str]


class ChatUsageAction(TypedDict):
    type: Literal["chat/usage"]
    turnId: str
    usage: UsageInfo
    _meta: NotRequired[Meta]


class ChatWorkingDirectoryRemovedAction(TypedDict):
    type: Literal["chat/workingDirectoryRemoved"]
    directory: URI


class ChatWorkingDirectorySetAction(TypedDict):
    type: Literal["chat/workingDirectorySet"]
    directory: URI


class ChatConfigChangedAction(TypedDict):
    """A chat's own settings moved. An extension of the reference window."""

    type: Literal["chat/configChanged"]
    config: JsonObject
    replace: NotRequired[bool]
