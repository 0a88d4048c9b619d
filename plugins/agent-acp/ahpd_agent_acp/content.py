"""ACP's content blocks as AHP shows them: in an answer, in a tool's result, in a message.

A block is a JSON object with a `type`: `text`, `image`, `audio`, `resource_link` or
`resource`. What is no block, or one without what its type needs, is left out: an agent's
mistake costs itself. Source: agentclientprotocol.com, "Content".
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ahpd.protocol import State

_UNKNOWN_BYTES: Final = "application/octet-stream"


def text_in(value: Mapping[str, Any], key: str) -> str | None:
    """The member, where it is a text with something in it."""
    found = value.get(key)
    return found if isinstance(found, str) and found else None


def object_in(value: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """The member, where it is an object; else an empty one."""
    found = value.get(key)
    return found if isinstance(found, dict) else {}


def objects_in(value: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    """The objects of a list member; none where it is no list."""
    found = value.get(key)
    if not isinstance(found, list):
        return ()
    return [each for each in found if isinstance(each, dict)]


def markdown_of(block: Mapping[str, Any]) -> str:
    """What a block says in Markdown; empty for one that is bytes."""
    kind = block.get("type")
    if kind == "text":
        return text_in(block, "text") or ""
    if kind == "resource_link":
        return _link(block)
    if kind == "resource":
        resource = object_in(block, "resource")
        if text_in(resource, "blob") is not None:
            return ""
        return text_in(resource, "text") or text_in(resource, "uri") or ""
    return ""


def part_of(block: Mapping[str, Any]) -> State | None:
    """The part of an answer that shows a block of bytes (schema: ResourceResponsePart)."""
    found = _bytes_of(block)
    if found is None:
        return None
    data, kind, uri = found
    if data:
        uri = f"data:{kind};base64,{data}"
    return {"kind": "contentRef", "uri": uri, "contentType": kind} if uri else None


def result_of(block: Mapping[str, Any]) -> State | None:
    """What a tool produced (schema: ToolResultContent)."""
    if block.get("type") == "resource_link":
        return _reference(block)
    found = _bytes_of(block)
    if found is None:
        text = markdown_of(block)
        return {"type": "text", "text": text} if text else None
    data, kind, uri = found
    if data:
        return {"type": "embeddedResource", "data": data, "contentType": kind}
    return {"type": "resource", "uri": uri, "contentType": kind} if uri else None


def attachment_of(block: Mapping[str, Any]) -> State | None:
    """What came with a message (schema: MessageAttachment); None for its text."""
    kind = block.get("type")
    if kind == "resource_link":
        found = _reference(block)
        return found and {**found, "label": _label(block)}
    if kind == "resource" and text_in(object_in(block, "resource"), "blob") is None:
        resource = object_in(block, "resource")
        uri = text_in(resource, "uri")
        if uri is None:
            return None
        label = uri.rstrip("/").rpartition("/")[2] or uri
        return {"type": "resource", "uri": uri, "label": label}
    bytes_ = _bytes_of(block)
    if bytes_ is None or not bytes_[0]:
        return None
    data, content_type, uri = bytes_
    label = (uri or "").rstrip("/").rpartition("/")[2] or content_type.partition("/")[0]
    return {"type": "embeddedResource", "data": data, "contentType": content_type, "label": label}


def _bytes_of(block: Mapping[str, Any]) -> tuple[str, str, str | None] | None:
    """The base64, the type and the URI of a block that is bytes; None for any other."""
    kind = block.get("type")
    if kind in ("image", "audio"):
        data, content_type = text_in(block, "data"), text_in(block, "mimeType")
        uri = text_in(block, "uri")
        if data is None and uri is None:
            return None
        return data or "", content_type or f"{kind}/*", uri
    if kind == "resource":
        resource = object_in(block, "resource")
        blob = text_in(resource, "blob")
        if blob is not None:
            return blob, text_in(resource, "mimeType") or _UNKNOWN_BYTES, text_in(resource, "uri")
    return None


def _reference(block: Mapping[str, Any]) -> State | None:
    """A link as a reference (schema: ContentRef, `type` beside it)."""
    uri = text_in(block, "uri")
    if uri is None:
        return None
    found: State = {"type": "resource", "uri": uri}
    size, kind = block.get("size"), text_in(block, "mimeType")
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        found["sizeHint"] = size
    if kind is not None:
        found["contentType"] = kind
    return found


def _label(block: Mapping[str, Any]) -> str:
    return text_in(block, "title") or text_in(block, "name") or str(block["uri"])


def _link(block: Mapping[str, Any]) -> str:
    uri = text_in(block, "uri")
    if uri is None:
        return ""
    label = _label(block).replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    target = f"<{uri}>" if any(mark in uri for mark in " ()") else uri
    return f"[{label}]({target})"
