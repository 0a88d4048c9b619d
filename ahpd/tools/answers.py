"""What a call comes to (schema: ToolCallResult): made of a text or of words, and kept small.

An answer is said to every client of the chat, kept on disk and read by a model, so none may be
as large as a tool likes.
"""

import json
from typing import Any, Final

from ahpd.protocol import State
from ahpd.protocol.check import check_strict
from ahpd.protocol.errors import shortened
from ahpd.protocol.shapes.tool_calls import ToolCallResult

#: The most one answer takes, in bytes of JSON.
MOST_BYTES: Final = 256 * 1024
#: What is left of the room for a text once what stands around it is counted, in bytes.
_AROUND: Final = 1024

_LEFT_OUT: Final = "\n… {count} characters were left out: the answer is too long."


def succeeded(title: str, text: str) -> State:
    """The result of a call that answered `text`; `title` is the tool's."""
    content = [{"type": "text", "text": text}]
    return {"success": True, "pastTenseMessage": f"Ran {title}", "content": content}


def failed(words: str) -> State:
    """The result of a call that did not come to one."""
    said = _sound(shortened(words))
    return {"success": False, "pastTenseMessage": said, "error": {"message": said}}


def bounded(result: State, most: int = MOST_BYTES) -> State:
    """`result` within `most` bytes: its texts cut first, then whole blocks left out.

    Raises `ShapeError` for what is no ToolCallResult and `ValueError` for what is no JSON.
    """
    check_strict(result, ToolCallResult, "the answer")
    result = _sounded(result)
    if _weight(result) <= most:
        return result
    kept = {key: value for key, value in result.items() if key != "structuredContent"}
    blocks = kept.pop("content", None) or []
    kept["pastTenseMessage"] = _message(kept["pastTenseMessage"])
    if "error" in kept:
        kept["error"] = {**kept["error"], "message": shortened(kept["error"]["message"])}
    content: list[State] = []
    room = most - _AROUND - _weight(kept)
    for block in blocks:
        fitting = _fitted(block, room)
        room -= _weight(fitting) + 1
        if room < 0:
            break
        content.append(fitting)
    return {**kept, "content": content}


def _fitted(block: State, room: int) -> State:
    if _weight(block) <= room:
        return block
    if block["type"] == "text":
        return {**block, "text": _cut(block["text"], room - _AROUND)}
    return {"type": "text", "text": f"A block of type {block['type']} was left out: too large."}


def _cut(text: str, room: int) -> str:
    """As much of the front of `text` as takes `room` bytes, and how much that leaves out."""
    end = min(len(text), max(room, 0))
    while end and _weight(text[:end]) > room:
        end = end * 3 // 4
    return text[:end] + _LEFT_OUT.format(count=len(text) - end)


def _message(message: Any) -> Any:
    if isinstance(message, str):
        return shortened(message)
    return {key: shortened(value) for key, value in message.items()}


def _weight(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, allow_nan=False).encode())


def _sounded(value: Any) -> Any:
    """`value` with what is no text in its strings replaced: half a surrogate pair cannot travel."""
    if isinstance(value, str):
        return _sound(value)
    if isinstance(value, dict):
        return {_sound(key): _sounded(held) for key, held in value.items()}
    if isinstance(value, list | tuple):
        return [_sounded(held) for held in value]
    return value


def _sound(text: str) -> str:
    return text.encode(errors="replace").decode()
