"""What a model is told: what it is and where it works, and a person's message with its files."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from ahpd.interfaces import ChatStart, TurnRequest
from ahpd.protocol import State
from ahpd.protocol.file_uris import path_of, shown

#: The instructions of a session for which nobody wrote any.
DEFAULT: Final = (
    "You are a careful assistant that works in a person's project. Look before you change "
    "anything, keep to what was asked, and say in a few words what you did."
)
_PLAN: Final = (
    "The session is in plan mode: read what you need and propose what to do. Nothing may be "
    "written or run; a call that would is refused."
)

#: The longest text of an attachment that is put into a message, in characters.
LONGEST_TEXT: Final = 64 * 1024
#: Pictures that go to a model as pictures, and their largest size, in characters of base64.
IMAGES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
LARGEST_IMAGE: Final = 5 * 1024 * 1024 * 4 // 3 + 4


def system_prompt(
    start: ChatStart, directory: str, instructions: str | None, mode: str, memory: str | None
) -> str:
    """The system message of a request. `directory` is where the session's tools work.

    `memory` is what the session's memory says to a model that begins.
    """
    folders = [path_of(uri) for uri in start.working_directories]
    paths = [shown(path) for path in folders if path is not None] or [directory]
    where = f"The working directory is {paths[0]}."
    if len(paths) > 1:
        where += f" The project also holds {', '.join(paths[1:])}."
    pieces = [
        DEFAULT if instructions is None or not instructions.strip() else instructions,
        where,
        _PLAN if mode == "plan" else None,
        start.instructions,
        memory,
    ]
    return "\n\n".join(piece.strip() for piece in pieces if piece and piece.strip())


def user_content(turn: TurnRequest, preamble: str | None, vision: bool | None) -> Any:
    """A turn's message as a model is told of it: text, or text with pictures.

    `vision` is whether the model takes pictures; None, where nobody knows, tries.
    """
    return message_content(turn.text, turn.attachments, preamble, vision)


def message_content(
    text: str,
    attachments: Sequence[Mapping[str, Any]],
    preamble: str | None = None,
    vision: bool | None = None,
) -> Any:
    """As `user_content`, for a message that is no turn's own."""
    pieces: list[str] = [preamble] if preamble else []
    pictures: list[State] = []
    for attachment in attachments:
        picture = None if vision is False else _picture(attachment)
        if picture is not None:
            pictures.append(picture)
        else:
            pieces.append(_words(attachment))
    pieces.append(text)
    words = "\n\n".join(piece for piece in pieces if piece)
    if not pictures:
        return words
    return [{"type": "text", "text": words}, *pictures]


def _picture(attachment: Mapping[str, Any]) -> State | None:
    if attachment["type"] != "embeddedResource":
        return None
    kind = attachment["contentType"].partition(";")[0].strip().lower()
    data = attachment["data"]
    if kind not in IMAGES or len(data) > LARGEST_IMAGE:
        return None
    return {"type": "image_url", "image_url": {"url": f"data:{kind};base64,{data}"}}


def _words(attachment: Mapping[str, Any]) -> str:
    """An attachment in words: its text where it has one, else where it is."""
    label = attachment["label"]
    kind = attachment["type"]
    if kind == "simple":
        said = attachment.get("modelRepresentation")
        if not said:
            return f"Attached: {label}"
        if len(said) > LONGEST_TEXT:
            said = said[:LONGEST_TEXT] + "\n(The rest was left out.)"
        return f"<attachment name={label!r}>\n{said}\n</attachment>"
    if kind == "resource":
        path = path_of(attachment["uri"])
        where = attachment["uri"] if path is None else shown(path)
        return f"Attached: {label}, at {where}{_lines(attachment)}"
    if kind == "embeddedResource":
        path = ((attachment.get("_meta") or {}).get("ahpd.attachment") or {}).get("path")
        where = f", at {path}" if path else ", which cannot be shown to this model"
        return f"Attached: {label} ({attachment['contentType']}){where}"
    resource = attachment.get("resource")
    return f"Attached: {label}" + (f" ({resource})" if resource else "")


def _lines(attachment: Mapping[str, Any]) -> str:
    """Which lines of a file are meant, counted from one."""
    selection = attachment.get("selection")
    if not selection:
        return ""
    at = selection["range"]
    first, last = int(at["start"]["line"]) + 1, int(at["end"]["line"]) + 1
    return f", line {first}" if first == last else f", lines {first} to {last}"
