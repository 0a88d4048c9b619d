"""Files and directories: the resource commands, both ways, and the watch channel."""

from typing import Literal, NotRequired, TypedDict

from ahpd.protocol.shapes.common import URI, RootParams
from ahpd.protocol.shapes.notation import Open

ContentEncoding = Literal["base64", "utf-8"]


class GlobPatterns(TypedDict):
    items: list[str]


class CreateResourceWatchParams(RootParams):
    uri: URI
    recursive: NotRequired[bool]
    excludes: NotRequired[GlobPatterns]
    includes: NotRequired[GlobPatterns]


class CreateResourceWatchResult(TypedDict):
    channel: URI


class DirectoryEntry(TypedDict):
    name: str
    type: Literal["file", "directory"]


ResourceChangeType = Open[Literal["added", "updated", "deleted"]]


class ResourceChange(TypedDict):
    uri: URI
    type: ResourceChangeType


class ResourceCopyParams(RootParams):
    source: URI
    destination: URI
    failIfExists: NotRequired[bool]


class ResourceCopyResult(TypedDict):
    """Nothing but that it was done."""


class ResourceDeleteParams(RootParams):
    uri: URI
    recursive: NotRequired[bool]


class ResourceDeleteResult(TypedDict):
    """Nothing but that it was done."""


class ResourceListParams(RootParams):
    uri: URI


class ResourceListResult(TypedDict):
    entries: list[DirectoryEntry]


class ResourceMkdirParams(RootParams):
    uri: URI


class ResourceMkdirResult(TypedDict):
    """Nothing but that it was done."""


class ResourceMoveParams(RootParams):
    source: URI
    destination: URI
    failIfExists: NotRequired[bool]


class ResourceMoveResult(TypedDict):
    """Nothing but that it was done."""


class ResourceReadParams(RootParams):
    uri: str
    encoding: NotRequired[ContentEncoding]


class ResourceReadResult(TypedDict):
    data: str
    encoding: ContentEncoding
    contentType: NotRequired[str]


class ResourceRequestParams(RootParams):
    uri: URI
    read: NotRequired[bool]
    write: NotRequired[bool]


class ResourceRequestResult(TypedDict):
    """Nothing but that it was granted."""


class ResourceResolveParams(RootParams):
    uri: URI
    followSymlinks: NotRequired[bool]


ResourceType = Open[Literal["file", "directory", "symlink"]]


class ResourceResolveResult(TypedDict):
    uri: URI
    type: ResourceType
    size: NotRequired[float]
    mtime: NotRequired[str]
    ctime: NotRequired[str]
    contentType: NotRequired[str]
    etag: NotRequired[str]


class ResourceChanges(TypedDict):
    items: list[ResourceChange]


class ResourceWatchChangedAction(TypedDict):
    type: Literal["resourceWatch/changed"]
    changes: ResourceChanges


class ResourceWatchState(TypedDict):
    """What is watched, and how."""

    root: URI
    recursive: bool
    excludes: NotRequired[GlobPatterns]
    includes: NotRequired[GlobPatterns]


ResourceWriteMode = Literal["truncate", "append", "insert"]


class ResourceWriteParams(RootParams):
    """New content for a file. `ifMatch` is the `etag` the writer read it under."""

    uri: URI
    data: str
    encoding: ContentEncoding
    contentType: NotRequired[str]
    createOnly: NotRequired[bool]
    mode: NotRequired[ResourceWriteMode]
    position: NotRequired[float]
    ifMatch: NotRequired[str]


class ResourceWriteResult(TypedDict):
    """Nothing but that it was done."""
