"""What is said to an agent: a message, its attachments, and completions while typing one."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import (
    URI,
    AgentSelection,
    BaseParams,
    ContentRef,
    ModelSelection,
    TextRange,
    TextSelection,
)
from ahpd.protocol.shapes.notation import Meta, Open


class MessageAttachmentBase(TypedDict):
    label: str
    range: NotRequired[TextRange]
    displayKind: NotRequired[str]
    _meta: NotRequired[Meta]


class MessageAnnotationsAttachment(MessageAttachmentBase):
    type: Literal["annotations"]
    resource: URI
    annotationIds: NotRequired[list[str]]


class MessageChatAttachment(MessageAttachmentBase):
    type: Literal["chat"]
    resource: URI
    endTurn: NotRequired[str]


class MessageEmbeddedResourceAttachment(MessageAttachmentBase):
    type: Literal["embeddedResource"]
    data: str
    contentType: str
    selection: NotRequired[TextSelection]


class MessageResourceAttachment(MessageAttachmentBase, ContentRef):
    type: Literal["resource"]
    selection: NotRequired[TextSelection]


class SimpleMessageAttachment(MessageAttachmentBase):
    type: Literal["simple"]
    modelRepresentation: NotRequired[str]


MessageAttachment = Open[
    SimpleMessageAttachment
    | MessageEmbeddedResourceAttachment
    | MessageResourceAttachment
    | MessageAnnotationsAttachment
    | MessageChatAttachment
]


class CompletionItem(TypedDict):
    insertText: str
    rangeStart: NotRequired[float]
    rangeEnd: NotRequired[float]
    attachment: MessageAttachment


CompletionItemKind = Literal["userMessage"]


class CompletionsParams(BaseParams):
    kind: CompletionItemKind
    text: str
    offset: float


class CompletionsResult(TypedDict):
    items: list[CompletionItem]


MessageKind = Open[Literal["user", "agent", "tool", "automation", "systemNotification"]]


class MessageOrigin(TypedDict):
    kind: MessageKind


class Message(TypedDict):
    """What is said to an agent, and by whom."""

    text: str
    origin: MessageOrigin
    attachments: NotRequired[list[MessageAttachment]]
    model: NotRequired[ModelSelection]
    agent: NotRequired[AgentSelection]
    _meta: NotRequired[Meta]


class PendingMessage(TypedDict):
    id: str
    message: Message


PendingMessageKind = Literal["steering", "queued"]
