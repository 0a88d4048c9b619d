"""A turn's message as the blocks of a prompt (ACP: ContentBlock).

Text and links every agent takes; images, sound and embedded files go to those that said so,
and what one does not take it is told of in words. Source: ACP, "Content"; CHATS.txt, "What
the host has to say on a turn goes into that turn's prompt".
"""

import base64
import binascii
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ahpd.interfaces import TurnRequest
from ahpd.protocol import State
from ahpd.protocol.text import plain
from ahpd_agent_acp.handshake import Capabilities

#: The most characters of a conversation the agent never saw that its first prompt is told; of
#: a longer one, the end.
LONGEST_TRANSCRIPT: Final = 200_000


def prompt_of(turn: TurnRequest, capabilities: Capabilities, ahead: Sequence[str]) -> list[State]:
    """The prompt: what the host says `ahead` of the message, the message, what came with it."""
    blocks = [_text(words) for words in ahead if words]
    if turn.text or not blocks:
        blocks.append(_text(turn.text))
    for attachment in turn.attachments:
        blocks += _attached(attachment, capabilities)
    return blocks


def _text(words: str) -> State:
    return {"type": "text", "text": words}


def _attached(attachment: Mapping[str, Any], capabilities: Capabilities) -> Iterator[State]:
    label = attachment.get("label") or ""
    match attachment.get("type"):
        case "resource":
            yield from _link(attachment, label)
        case "embeddedResource":
            yield _embedded(attachment, label, capabilities)
        case _:
            words = attachment.get("modelRepresentation")
            if words:
                yield _text(f"{label}:\n{words}" if label else words)
            elif label:
                yield _text(f"Attached: {label}")


def _link(attachment: Mapping[str, Any], label: str) -> Iterator[State]:
    uri = attachment["uri"]
    link = {"type": "resource_link", "uri": uri, "name": label or uri.rpartition("/")[2] or uri}
    if attachment.get("contentType"):
        link["mimeType"] = attachment["contentType"]
    if isinstance(attachment.get("sizeHint"), int):
        link["size"] = attachment["sizeHint"]
    yield link
    selected = _selected(attachment)
    if selected:
        yield _text(f"Of {link['name']}, {selected} is selected.")


def _selected(attachment: Mapping[str, Any]) -> str:
    """The lines of a selection in words, counted from 1; "" for none."""
    reach = (attachment.get("selection") or {}).get("range") or {}
    try:
        first, last = reach["start"]["line"] + 1, reach["end"]["line"] + 1
    except (KeyError, TypeError):
        return ""
    return f"line {first}" if first == last else f"the text from line {first} to line {last}"


def _embedded(attachment: Mapping[str, Any], label: str, capabilities: Capabilities) -> State:
    kind, data = attachment.get("contentType") or "", attachment.get("data") or ""
    for media, taken in (("image", capabilities.image), ("audio", capabilities.audio)):
        if kind.startswith(f"{media}/") and taken:
            return {"type": media, "mimeType": kind, "data": data}
    words = None if kind.startswith(("image/", "audio/")) else _decoded(data)
    name = label or "attachment"
    if capabilities.embedded:
        resource = {"uri": f"attachment:///{name.replace(' ', '%20')}", "mimeType": kind}
        resource |= {"blob": data} if words is None else {"text": words}
        return {"type": "resource", "resource": resource}
    if words is None:
        return _text(f"Attached: {name} ({kind}), which this agent does not take.")
    return _text(f"{name}:\n{words}")


def _decoded(data: str) -> str | None:
    """The text that is in base64 there; None for what is no text."""
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


# -- what came before ------------------------------------------------------------------


def transcript_of(history: Sequence[Mapping[str, Any]]) -> str:
    """A conversation the agent never saw, in words; "" for none."""
    if not history:
        return ""
    told = "\n\n".join(_told(turn) for turn in plain(list(history)))
    if len(told) > LONGEST_TRANSCRIPT:
        told = "… " + told[-LONGEST_TRANSCRIPT:]
    return f"The conversation so far, which you did not take part in:\n\n{told}"


def _told(turn: State) -> str:
    said = [
        part["content"]
        for part in turn.get("responseParts") or ()
        if part.get("kind") == "markdown" and part.get("content")
    ]
    asked = (turn.get("message") or {}).get("text") or ""
    return f"User: {asked}" + "".join(f"\n\nAssistant: {words}" for words in said)
