"""Every action of a session's channel."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.changesets import Changeset
from ahpd.protocol.shapes.chats import ChatSummary, PartialChatSummary
from ahpd.protocol.shapes.common import URI, ErrorInfo
from ahpd.protocol.shapes.customizations import (
    Customization,
    CustomizationEnablement,
    McpServerState,
)
from ahpd.protocol.shapes.notation import JsonObject, Meta
from ahpd.protocol.shapes.sessions import SessionActiveClient, SessionInputRequest
from ahpd.protocol.shapes.tools import ToolDefinition


class SessionActiveClientRemovedAction(TypedDict):
    type: Literal["session/activeClientRemoved"]
    clientId: str


class SessionActiveClientSetAction(TypedDict):
    type: Literal["session/activeClientSet"]
    activeClient: SessionActiveClient


class SessionActivityChangedAction(TypedDict):
    type: Literal["session/activityChanged"]
    activity: NotRequired[str]


class SessionChangesetsChangedAction(TypedDict):
    type: Literal["session/changesetsChanged"]
    changesets: NotRequired[list[Changeset]]


class SessionChatAddedAction(TypedDict):
    type: Literal["session/chatAdded"]
    summary: ChatSummary


class SessionChatRemovedAction(TypedDict):
    type: Literal["session/chatRemoved"]
    chat: URI


class SessionChatUpdatedAction(TypedDict):
    type: Literal["session/chatUpdated"]
    chat: URI
    changes: PartialChatSummary


class SessionChatsReorderedAction(TypedDict):
    type: Literal["session/chatsReordered"]
    chats: list[URI]


class SessionConfigChangedAction(TypedDict):
    type: Literal["session/configChanged"]
    config: JsonObject
    replace: NotRequired[bool]


class SessionCreationFailedAction(TypedDict):
    type: Literal["session/creationFailed"]
    error: ErrorInfo


class SessionCustomizationRemovedAction(TypedDict):
    type: Literal["session/customizationRemoved"]
    id: str


class SessionCustomizationToggledAction(TypedDict):
    type: Literal["session/customizationToggled"]
    id: str
    enablement: list[CustomizationEnablement]


class SessionCustomizationUpdatedAction(TypedDict):
    type: Literal["session/customizationUpdated"]
    customization: Customization


class SessionCustomizationsChangedAction(TypedDict):
    type: Literal["session/customizationsChanged"]
    customizations: list[Customization]


class SessionDefaultChatChangedAction(TypedDict):
    type: Literal["session/defaultChatChanged"]
    defaultChat: NotRequired[URI]


class SessionInputNeededRemovedAction(TypedDict):
    type: Literal["session/inputNeededRemoved"]
    id: str


class SessionInputNeededSetAction(TypedDict):
    type: Literal["session/inputNeededSet"]
    request: SessionInputRequest


class SessionIsArchivedChangedAction(TypedDict):
    type: Literal["session/isArchivedChanged"]
    isArchived: bool


class SessionIsReadChangedAction(TypedDict):
    type: Literal["session/isReadChanged"]
    isRead: bool


class SessionMcpServerBackgroundRequestedAction(TypedDict):
    type: Literal["session/mcpServerBackgroundRequested"]
    id: str


class SessionMcpServerStartRequestedAction(TypedDict):
    type: Literal["session/mcpServerStartRequested"]
    id: str


class SessionMcpServerStateChangedAction(TypedDict):
    type: Literal["session/mcpServerStateChanged"]
    id: str
    state: McpServerState
    channel: NotRequired[URI]


class SessionMcpServerStopRequestedAction(TypedDict):
    type: Literal["session/mcpServerStopRequested"]
    id: str


class SessionMetaChangedAction(TypedDict):
    type: Literal["session/metaChanged"]
    _meta: NotRequired[Meta]


class SessionReadyAction(TypedDict):
    """The session's agent has it."""

    type: Literal["session/ready"]


class SessionServerToolsChangedAction(TypedDict):
    type: Literal["session/serverToolsChanged"]
    tools: list[ToolDefinition]


class SessionTitleChangedAction(TypedDict):
    type: Literal["session/titleChanged"]
    title: str


class SessionWorkingDirectoryRemovedAction(TypedDict):
    type: Literal["session/workingDirectoryRemoved"]
    directory: URI


class SessionWorkingDirectoryReplacedAction(TypedDict):
    type: Literal["session/workingDirectoryReplaced"]
    directory: URI
    replacement: URI


class SessionWorkingDirectorySetAction(TypedDict):
    type: Literal["session/workingDirectorySet"]
    directory: URI
