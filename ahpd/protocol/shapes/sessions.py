"""A session's state and its row in the catalogue, and the commands on sessions."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.changesets import Changeset
from ahpd.protocol.shapes.chats import ChatInteractivity, ChatOrigin, ChatSummary
from ahpd.protocol.shapes.common import (
    URI,
    BaseParams,
    ChangesSummary,
    ErrorInfo,
    PaginatedParams,
    PaginatedResult,
    ProjectInfo,
    RootParams,
    SessionStatus,
)
from ahpd.protocol.shapes.config import SessionConfigState
from ahpd.protocol.shapes.customizations import ClientPluginCustomization, Customization
from ahpd.protocol.shapes.notation import JsonObject, Meta, Open
from ahpd.protocol.shapes.questions import ChatInputRequest
from ahpd.protocol.shapes.tool_calls import (
    ToolCallAuthRequiredState,
    ToolCallConfirmationState,
    ToolCallRunningState,
)
from ahpd.protocol.shapes.tools import ToolDefinition


class AnnotationsSummary(TypedDict):
    resource: URI
    annotationCount: float
    entryCount: float


class AutomationSessionOrigin(TypedDict):
    kind: Literal["automation"]
    automation: URI
    run: URI


class SessionActiveClient(TypedDict):
    """A client that is in the session, held as it was sent.

    One that leaves out its tools or its id is taken (AHP.txt,
    `session/activeClientSet`), so neither is required here.
    """

    clientId: NotRequired[str]
    displayName: NotRequired[str]
    tools: NotRequired[list[ToolDefinition]]
    customizations: NotRequired[list[ClientPluginCustomization]]


class CreateSessionParams(BaseParams):
    provider: NotRequired[str]
    workingDirectories: NotRequired[list[URI]]
    config: NotRequired[JsonObject]
    activeClient: NotRequired[SessionActiveClient]
    progressToken: NotRequired[str]


class DisposeSessionParams(BaseParams):
    """Ends the session `channel` names."""


class ListSessionsParams(RootParams, PaginatedParams):
    """The catalogue, whole or by the page."""


class SessionChatSummary(TypedDict):
    """A chat as the catalogue lists it. `archived` is what a client of 0.9 reads."""

    resource: URI
    title: str
    origin: NotRequired[ChatOrigin]
    interactivity: NotRequired[ChatInteractivity]
    status: NotRequired[SessionStatus]
    changes: NotRequired[ChangesSummary]
    archived: NotRequired[bool]


SessionOrigin = Open[AutomationSessionOrigin]


class SessionMetadata(TypedDict):
    provider: str
    title: str
    status: SessionStatus
    activity: NotRequired[str]
    origin: NotRequired[SessionOrigin]
    project: NotRequired[ProjectInfo]
    workingDirectories: NotRequired[list[URI]]
    annotations: NotRequired[AnnotationsSummary]


class SessionSummary(SessionMetadata):
    resource: URI
    createdAt: str
    modifiedAt: str
    changes: NotRequired[ChangesSummary]
    _meta: NotRequired[Meta]
    chats: NotRequired[list[SessionChatSummary]]
    defaultChat: NotRequired[URI]


class ListSessionsResult(PaginatedResult):
    items: list[SessionSummary]


class SessionAddedParams(TypedDict):
    channel: URI
    summary: SessionSummary


class SessionInputRequestBase(TypedDict):
    id: str
    chat: URI


class SessionChatInputRequest(SessionInputRequestBase):
    kind: Literal["chatInput"]
    request: ChatInputRequest


class SessionToolAuthenticationRequest(SessionInputRequestBase):
    kind: Literal["toolAuthentication"]
    turnId: str
    toolCall: ToolCallAuthRequiredState


class SessionToolClientExecutionRequest(SessionInputRequestBase):
    kind: Literal["toolClientExecution"]
    turnId: str
    clientId: str
    toolCall: ToolCallRunningState


class SessionToolConfirmationRequest(SessionInputRequestBase):
    kind: Literal["toolConfirmation"]
    turnId: str
    toolCall: ToolCallConfirmationState


SessionInputRequest = Open[
    SessionChatInputRequest
    | SessionToolConfirmationRequest
    | SessionToolClientExecutionRequest
    | SessionToolAuthenticationRequest
]


SessionLifecycle = Open[Literal["creating", "ready", "failed"]]


class SessionRemovedParams(TypedDict):
    channel: URI
    session: URI


class SessionState(SessionMetadata):
    lifecycle: SessionLifecycle
    creationError: NotRequired[ErrorInfo]
    serverTools: NotRequired[list[ToolDefinition]]
    activeClients: list[SessionActiveClient]
    chats: list[ChatSummary]
    defaultChat: NotRequired[URI]
    config: NotRequired[SessionConfigState]
    customizations: NotRequired[list[Customization]]
    changesets: NotRequired[list[Changeset]]
    inputNeeded: NotRequired[list[SessionInputRequest]]
    _meta: NotRequired[Meta]


class PartialSessionSummary(TypedDict, total=False):
    """What moved in a session's row.

    `activity` is null where there is none any more: the partial is laid over the row
    a client holds, and a key left out would keep the old one (AHP.txt,
    `root/sessionSummaryChanged`).
    """

    provider: str
    title: str
    status: SessionStatus
    activity: str | None
    origin: SessionOrigin
    project: ProjectInfo
    workingDirectories: list[URI]
    annotations: AnnotationsSummary
    resource: URI
    createdAt: str
    modifiedAt: str
    changes: ChangesSummary
    _meta: Meta
    chats: list[SessionChatSummary]
    defaultChat: URI


class SessionSummaryChangedParams(TypedDict):
    channel: URI
    session: URI
    changes: PartialSessionSummary
