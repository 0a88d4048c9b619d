"""The annotations channel of a session."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import URI, StringOrMarkdown, TextRange
from ahpd.protocol.shapes.notation import Meta


class AnnotationEntry(TypedDict):
    id: str
    text: StringOrMarkdown
    _meta: NotRequired[Meta]


class AnnotationOrigin(TypedDict):
    session: URI
    chat: NotRequired[URI]
    turnId: NotRequired[str]


class Annotation(TypedDict):
    id: str
    origin: AnnotationOrigin
    resource: URI
    range: NotRequired[TextRange]
    resolved: bool
    entries: list[AnnotationEntry]
    _meta: NotRequired[Meta]


class AnnotationsEntryRemovedAction(TypedDict):
    type: Literal["annotations/entryRemoved"]
    annotationId: str
    entryId: str


class AnnotationsEntrySetAction(TypedDict):
    type: Literal["annotations/entrySet"]
    annotationId: str
    entry: AnnotationEntry


class AnnotationsRemovedAction(TypedDict):
    type: Literal["annotations/removed"]
    annotationId: str


class AnnotationsSetAction(TypedDict):
    type: Literal["annotations/set"]
    annotation: Annotation


class AnnotationsState(TypedDict):
    annotations: list[Annotation]


class AnnotationsUpdatedAction(TypedDict):
    type: Literal["annotations/updated"]
    annotationId: str
    origin: NotRequired[AnnotationOrigin]
    resource: NotRequired[URI]
    range: NotRequired[TextRange]
    resolved: NotRequired[bool]
