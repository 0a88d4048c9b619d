"""A chat's state and its row in a session, and the commands that make, move and end one."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.changesets import Changeset
from ahpd.protocol.shapes.common import URI, BaseParams, ChangesSummary, SessionStatus
from ahpd.protocol.shapes.messages import Message, PendingMessage
from ahpd.protocol.shapes.notation import JsonObject, Meta, Open
from ahpd.protocol.shapes.turns import ActiveTurn, Turn


class BackgroundWorkBase(TypedDict):
    id: str
    label: str
    startedAt: str
    _meta: NotRequired[Meta]


class BackgroundShellWork(BackgroundWorkBase):
    kind: Literal["shell"]
    command: str
    terminal: NotRequired[URI]


class BackgroundSubagentWork(BackgroundWorkBase):
    kind: Literal["subagent"]
    chat: URI


BackgroundWork = Open[BackgroundShellWork | BackgroundSubagentWork]


class CanvasReference(TypedDict):
    resource: URI


ChatInteractivity = Literal["full", "read-only", "hidden"]


class ChatMoveToNewSessionDestination(TypedDict):
    kind: Literal["newSession"]


class ChatMoveToSessionDestination(TypedDict):
    """A place in a session: after a chat, or first."""

    kind: Literal["session"]
    session: URI
    after: NotRequired[URI]


ChatMoveDestination = Open[ChatMoveToSessionDestination | ChatMoveToNewSessionDestination]


class UserChatOrigin(TypedDict):
    kind: Literal["user"]


class ForkChatOrigin(TypedDict):
    kind: Literal["fork"]
    chat: URI
    turnId: str


class SideChatSelection(TypedDict):
    """The passage a side chat is about."""

    text: str
    responsePartId: NotRequired[str]


class SideChatOrigin(TypedDict):
    kind: Literal["sideChat"]
    chat: URI
    turnId: str
    selection: NotRequired[SideChatSelection]


class ToolChatOrigin(TypedDict):
    kind: Literal["tool"]
    chat: URI
    toolCallId: str


ChatOrigin = Open[UserChatOrigin | ForkChatOrigin | SideChatOrigin | ToolChatOrigin]


class ForkChatSource(TypedDict):
    kind: Literal["fork"]
    chat: URI
    turnId: str


class SideChatSource(TypedDict):
    kind: Literal["sideChat"]
    chat: URI
    turnId: str
    selection: NotRequired[SideChatSelection]


ChatSource = Open[ForkChatSource | SideChatSource]


class ChatSummary(TypedDict):
    """A chat's row in its session. `provider` is an extension: named where it is not the session's."""

    resource: URI
    title: str
    status: SessionStatus
    activity: NotRequired[str]
    modifiedAt: str
    changes: NotRequired[ChangesSummary]
    origin: NotRequired[ChatOrigin]
    movable: NotRequired[bool]
    interactivity: NotRequired[ChatInteractivity]
    workingDirectories: NotRequired[list[URI]]
    provider: NotRequired[str]


class ChatState(ChatSummary):
    """Everything a chat holds.

    `config`, the values the chat set for itself, is an extension.
    """

    changesets: NotRequired[list[Changeset]]
    backgroundWork: NotRequired[list[BackgroundWork]]
    canvases: NotRequired[list[CanvasReference]]
    turns: list[Turn]
    turnsNextCursor: NotRequired[str]
    activeTurn: NotRequired[ActiveTurn]
    steeringMessage: NotRequired[PendingMessage]
    queuedMessages: NotRequired[list[PendingMessage]]
    draft: NotRequired[Message]
    _meta: NotRequired[Meta]
    config: NotRequired[JsonObject]


class CreateChatParams(BaseParams):
    """A new chat in the session `channel` names.

    `title` and `provider` are extensions (AHP.txt, `createChat`).
    """

    chat: URI
    initialMessage: NotRequired[Message]
    source: NotRequired[ChatSource]
    workingDirectories: NotRequired[list[URI]]
    title: NotRequired[str]
    provider: NotRequired[str]


class DisposeChatParams(BaseParams):
    """Closes the chat `channel` names."""


class MoveChatParams(BaseParams):
    destination: ChatMoveDestination


class MoveChatResult(TypedDict):
    session: URI


class PartialChatSummary(TypedDict, total=False):
    """What moved in a chat's row; `resource` names the row and never moves."""

    resource: URI
    title: str
    status: SessionStatus
    activity: str
    modifiedAt: str
    changes: ChangesSummary
    origin: ChatOrigin
    movable: bool
    interactivity: ChatInteractivity
    workingDirectories: list[URI]
    provider: str
