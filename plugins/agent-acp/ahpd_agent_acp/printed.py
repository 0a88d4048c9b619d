"""What a program printed, as an agent's model reads it: text, and no more of it than asked."""

import re
from typing import Final

#: What a terminal does rather than shows.
_SEQUENCES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI, colours among them
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # any other
    r"|\x1b"
)
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def readable(printed: str) -> str:
    """`printed` without what only a terminal understands.

    A line's end is `\\n`. Of a line that was printed over, as a progress bar is, what it
    showed last is left.
    """
    lines = _SEQUENCES.sub("", printed).replace("\r\n", "\n").split("\n")
    return "\n".join(_CONTROLS.sub("", line.rstrip("\r").rpartition("\r")[2]) for line in lines)


def newest(text: str, limit: int) -> str:
    """The end of `text`, at most `limit` bytes of its UTF-8, begun at a whole character."""
    if limit <= 0:
        return ""
    if len(text) > limit:
        text = text[-limit:]
    raw = text.encode(errors="replace")
    if len(raw) <= limit:
        return text
    return raw[-limit:].decode(errors="ignore")
