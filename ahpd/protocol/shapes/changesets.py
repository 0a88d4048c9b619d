"""The changeset channel: files that changed, and what can be done with them."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import (
    URI,
    BaseParams,
    ContentRef,
    ErrorInfo,
    FileEdit,
    Presence,
    StringOrMarkdown,
    TextRange,
)
from ahpd.protocol.shapes.notation import Meta, Open


class ChangesetCapabilities(TypedDict):
    review: NotRequired[Presence]


class Changeset(TypedDict):
    label: str
    uriTemplate: str
    description: NotRequired[str]
    changeKind: str
    capabilities: NotRequired[ChangesetCapabilities]


class ChangesetClearedAction(TypedDict):
    """Every file is gone from the changeset."""

    type: Literal["changeset/cleared"]


class ChangesetFile(TypedDict):
    id: str
    edit: FileEdit
    reviewed: NotRequired[bool]
    _meta: NotRequired[Meta]


ChangesetOperationScope = Open[Literal["changeset", "resource", "range"]]


ChangesetOperationStatus = Open[Literal["idle", "running", "error", "disabled"]]


class ChangesetOperation(TypedDict):
    id: str
    label: str
    description: NotRequired[str]
    scopes: list[ChangesetOperationScope]
    confirmation: NotRequired[StringOrMarkdown]
    icon: NotRequired[str]
    group: NotRequired[str]
    status: ChangesetOperationStatus
    error: NotRequired[ErrorInfo]


class ChangesetContentChangedAction(TypedDict):
    type: Literal["changeset/contentChanged"]
    files: list[ChangesetFile]
    operations: NotRequired[list[ChangesetOperation]]


class ChangesetFileRemovedAction(TypedDict):
    type: Literal["changeset/fileRemoved"]
    fileId: str


class ChangesetFileSetAction(TypedDict):
    type: Literal["changeset/fileSet"]
    file: ChangesetFile


class ChangesetFilesReviewChangedAction(TypedDict):
    type: Literal["changeset/filesReviewChanged"]
    files: list[str]
    reviewed: bool


class ChangesetOperationFollowUp(TypedDict):
    content: ContentRef
    external: NotRequired[bool]


class ChangesetOperationStatusChangedAction(TypedDict):
    type: Literal["changeset/operationStatusChanged"]
    operationId: str
    status: ChangesetOperationStatus
    error: NotRequired[ErrorInfo]


class ChangesetResourceTarget(TypedDict):
    kind: Literal["resource"]
    resource: URI
    side: NotRequired[Literal["before", "after"]]


class ChangesetRangeTarget(TypedDict):
    kind: Literal["range"]
    resource: URI
    side: NotRequired[Literal["before", "after"]]
    range: TextRange


ChangesetOperationTarget = ChangesetResourceTarget | ChangesetRangeTarget


class ChangesetOperationsChangedAction(TypedDict):
    type: Literal["changeset/operationsChanged"]
    operations: NotRequired[list[ChangesetOperation]]


ChangesetStatus = Open[Literal["computing", "recomputing", "ready", "error"]]


class ChangesetState(TypedDict):
    status: ChangesetStatus
    error: NotRequired[ErrorInfo]
    files: list[ChangesetFile]
    operations: NotRequired[list[ChangesetOperation]]


class ChangesetStatusChangedAction(TypedDict):
    type: Literal["changeset/statusChanged"]
    status: ChangesetStatus
    error: NotRequired[ErrorInfo]


class InvokeChangesetOperationParams(BaseParams):
    operationId: str
    target: NotRequired[ChangesetOperationTarget]


class InvokeChangesetOperationResult(TypedDict):
    message: NotRequired[StringOrMarkdown]
    followUp: NotRequired[ChangesetOperationFollowUp]
