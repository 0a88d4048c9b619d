"""Shapes that several channels share: text, places in files, errors, usage, page cursors."""

from typing import Annotated, Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.notation import Meta, Minimum

#: A URI, in whatever spelling its owner gave it.
URI = str


class AgentSelection(TypedDict):
    uri: URI


class BaseParams(TypedDict):
    """What the params of every command begin with."""

    channel: URI
    _meta: NotRequired[Meta]


class ChangesSummary(TypedDict):
    additions: NotRequired[float]
    deletions: NotRequired[float]
    files: NotRequired[float]


class ContentRef(TypedDict):
    """Content that is fetched by its URI rather than carried."""

    uri: URI
    sizeHint: NotRequired[float]
    contentType: NotRequired[str]
    nonce: NotRequired[str]


class ErrorInfo(TypedDict):
    """What went wrong, in words. A `stack` is never this host's to send."""

    errorType: str
    message: str
    stack: NotRequired[str]
    _meta: NotRequired[Meta]


class FileEditDiffStats(TypedDict):
    added: NotRequired[float]
    removed: NotRequired[float]


class FileEditSide(TypedDict):
    uri: URI
    content: ContentRef


class FileEdit(TypedDict):
    """One file before and after; a side that is absent did not exist."""

    before: NotRequired[FileEditSide]
    after: NotRequired[FileEditSide]
    diff: NotRequired[FileEditDiffStats]


class FileEditCollection(TypedDict):
    items: list[FileEdit]


class Icon(TypedDict):
    src: URI
    contentType: NotRequired[str]
    sizes: NotRequired[list[str]]
    theme: NotRequired[Literal["light", "dark"]]


class Implementation(TypedDict):
    name: str
    version: NotRequired[str]
    title: NotRequired[str]


JsonPrimitive = str | float | bool | None


class ModelSelection(TypedDict):
    id: str
    config: NotRequired[dict[str, JsonPrimitive]]


class PaginatedParams(TypedDict):
    """How much of a list is wanted, and after which page."""

    limit: NotRequired[float]
    cursor: NotRequired[str]


class PaginatedResult(TypedDict):
    """Where the next page begins; absent on the last one."""

    nextCursor: NotRequired[str]


class ProjectInfo(TypedDict):
    uri: URI
    displayName: str


class ProtectedResourceMetadata(TypedDict):
    """A resource's record of RFC 9728, in that record's own key names."""

    resource: str
    resource_name: NotRequired[str]
    authorization_servers: NotRequired[list[str]]
    jwks_uri: NotRequired[str]
    scopes_supported: NotRequired[list[str]]
    bearer_methods_supported: NotRequired[list[str]]
    resource_signing_alg_values_supported: NotRequired[list[str]]
    resource_documentation: NotRequired[str]
    resource_policy_uri: NotRequired[str]
    resource_tos_uri: NotRequired[str]
    required: NotRequired[bool]


#: A bit set (`ahpd.protocol.status`).
SessionStatus = Annotated[int, Minimum(0)]


class Markdown(TypedDict):
    """Text that is to be drawn as Markdown."""

    markdown: str


StringOrMarkdown = str | Markdown


class TextPosition(TypedDict):
    line: float
    character: float


class TextRange(TypedDict):
    start: TextPosition
    end: TextPosition


class TextSelection(TypedDict):
    range: TextRange


class UsageInfo(TypedDict):
    """Tokens a turn used."""

    inputTokens: NotRequired[float]
    outputTokens: NotRequired[float]
    model: NotRequired[str]
    cacheReadTokens: NotRequired[float]
    _meta: NotRequired[Meta]


class Presence(TypedDict):
    """A capability with nothing to say of itself: that it is there is the whole of it."""


class RootParams(TypedDict):
    """The params of a command that names the root channel."""

    channel: Literal["ahp-root://"]
    _meta: NotRequired[Meta]
