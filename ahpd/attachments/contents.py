"""The bytes of attachments: how they travel, and what a model is handed of them."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, Final

from ahpd.attachments.names import IMAGE_ENDINGS
from ahpd.protocol import State

MIB: Final = 1024 * 1024
#: The largest picture a model is handed, in bytes.
LARGEST_IMAGE: Final = 5 * MIB
#: The longest text that is written into the message, in bytes.
LONGEST_TEXT: Final = 64 * 1024

#: Says that a file is the message's own, a copy of what was pasted: VS Code's key.
SNAPSHOT: Final = "vscode.agentHost.snapshotAttachment"
#: Says what an attachment became for a backend, with the file's name and path.
BECAME: Final = "ahpd.attachment"

#: Types that are text though they do not begin with `text/`.
_TEXTS: Final = frozenset(
    {
        "application/json",
        "application/xml",
        "application/yaml",
        "application/x-yaml",
        "application/toml",
        "application/javascript",
        "application/typescript",
        "application/x-sh",
        "application/sql",
    }
)


def media_type(content_type: str) -> str:
    """A content type without its parameters, lower case."""
    return content_type.partition(";")[0].strip().lower()


def is_image(content_type: str) -> bool:
    """Whether a model takes pictures of this type."""
    return media_type(content_type) in IMAGE_ENDINGS


def may_be_text(content_type: str, data: bytes) -> bool:
    """Whether it is text by its type; by itself where it came without one."""
    kind = media_type(content_type)
    if not kind:
        return b"\0" not in data
    return kind.startswith("text/") or kind in _TEXTS or kind.endswith(("+json", "+xml"))


def decoded(data: str, encoding: str = "base64") -> bytes:
    """The bytes of what travelled as text. Raises `ValueError` for what is no base64."""
    if encoding == "utf-8":
        return data.encode(errors="replace")
    try:
        return base64.b64decode("".join(data.split()), validate=True)
    except (binascii.Error, ValueError) as error:
        raise ValueError(f"its data is no base64: {error}") from None


def snapshot(attachment: Mapping[str, Any], uri: str, content_type: str, size: int) -> State:
    """The attachment once its bytes are a file (schema: MessageResourceAttachment)."""
    kept = {key: value for key, value in attachment.items() if key not in ("data", "nonce")}
    meta = {
        **(attachment.get("_meta") or {}),
        SNAPSHOT: {"isSnapshot": True, "contentType": content_type},
    }
    return {
        **kept,
        "type": "resource",
        "uri": uri,
        "contentType": content_type,
        "sizeHint": size,
        "_meta": meta,
    }


def tagged_type(attachment: Mapping[str, Any]) -> str | None:
    """The content type of an attachment that says it is a snapshot; None where it is none."""
    tag = (attachment.get("_meta") or {}).get(SNAPSHOT)
    if not isinstance(tag, Mapping):
        return None
    found = tag.get("contentType") or attachment.get("contentType")
    return found if isinstance(found, str) else ""


def image(attachment: Mapping[str, Any], data: bytes, content_type: str, path: str | None) -> State:
    """A picture for the model (schema: MessageEmbeddedResourceAttachment)."""
    return {
        **_shared(attachment, "image", path),
        "type": "embeddedResource",
        "data": base64.b64encode(data).decode(),
        "contentType": media_type(content_type),
    }


def inline(attachment: Mapping[str, Any], text: str, path: str | None) -> State:
    """Text for the model (schema: SimpleMessageAttachment)."""
    return {**_shared(attachment, "text", path), "type": "simple", "modelRepresentation": text}


def by_path(attachment: Mapping[str, Any], path: str) -> State:
    """A file the model reads for itself (schema: MessageResourceAttachment)."""
    return {**attachment, **_shared(attachment, "path", path)}


def _shared(attachment: Mapping[str, Any], became: str, path: str | None) -> State:
    kept: State = {
        key: attachment[key] for key in ("label", "range", "displayKind") if key in attachment
    }
    facts: State = {"as": became, "name": attachment["label"]}
    if path is not None:
        facts["path"] = path
    return {**kept, "_meta": {**(attachment.get("_meta") or {}), BECAME: facts}}
