"""Questions an agent asks a person, and the answers."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import URI
from ahpd.protocol.shapes.notation import Meta, Open


class ChatInputBooleanAnswerValue(TypedDict):
    kind: Literal["boolean"]
    value: bool


class ChatInputNumberAnswerValue(TypedDict):
    kind: Literal["number"]
    value: float


class ChatInputSelectedAnswerValue(TypedDict):
    kind: Literal["selected"]
    value: str
    freeformValues: NotRequired[list[str]]


class ChatInputSelectedManyAnswerValue(TypedDict):
    kind: Literal["selected-many"]
    value: list[str]
    freeformValues: NotRequired[list[str]]


class ChatInputTextAnswerValue(TypedDict):
    kind: Literal["text"]
    value: str


ChatInputAnswerValue = Open[
    ChatInputTextAnswerValue
    | ChatInputNumberAnswerValue
    | ChatInputBooleanAnswerValue
    | ChatInputSelectedAnswerValue
    | ChatInputSelectedManyAnswerValue
]


class ChatInputAnswered(TypedDict):
    state: Literal["draft", "submitted"]
    value: ChatInputAnswerValue


class ChatInputSkipped(TypedDict):
    state: Literal["skipped"]
    freeformValues: NotRequired[list[str]]


ChatInputAnswer = ChatInputAnswered | ChatInputSkipped


class ChatInputQuestionBase(TypedDict):
    id: str
    title: NotRequired[str]
    message: str
    required: NotRequired[bool]


class ChatInputBooleanQuestion(ChatInputQuestionBase):
    kind: Literal["boolean"]
    defaultValue: NotRequired[bool]


class ChatInputOption(TypedDict):
    id: str
    label: str
    description: NotRequired[str]
    recommended: NotRequired[bool]


class ChatInputMultiSelectQuestion(ChatInputQuestionBase):
    kind: Literal["multi-select"]
    options: list[ChatInputOption]
    allowFreeformInput: NotRequired[bool]
    min: NotRequired[float]
    max: NotRequired[float]


class ChatInputNumberQuestion(ChatInputQuestionBase):
    kind: Literal["number", "integer"]
    min: NotRequired[float]
    max: NotRequired[float]
    defaultValue: NotRequired[float]


class ChatInputSingleSelectQuestion(ChatInputQuestionBase):
    kind: Literal["single-select"]
    options: list[ChatInputOption]
    allowFreeformInput: NotRequired[bool]


class ChatInputTextQuestion(ChatInputQuestionBase):
    kind: Literal["text"]
    format: NotRequired[str]
    min: NotRequired[float]
    max: NotRequired[float]
    defaultValue: NotRequired[str]


ChatInputQuestion = Open[
    ChatInputTextQuestion
    | ChatInputNumberQuestion
    | ChatInputBooleanQuestion
    | ChatInputSingleSelectQuestion
    | ChatInputMultiSelectQuestion
]


class ChatInputRequest(TypedDict):
    """A form. `_meta.purpose` says whose question it is (AHP.txt, "Being asked")."""

    id: str
    message: NotRequired[str]
    url: NotRequired[URI]
    questions: NotRequired[list[ChatInputQuestion]]
    answers: NotRequired[dict[str, ChatInputAnswer]]
    _meta: NotRequired[Meta]


ChatInputResponseKind = Literal["accept", "decline", "cancel"]
