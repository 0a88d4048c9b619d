"""What a command printed, as text for somebody who draws no terminal."""

import re
from typing import Final

#: What a terminal does rather than shows: control sequences, strings such as titles, others.
_SEQUENCES: Final = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI, colours among them
    r"|\x1b[\]PX^_][^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"  # any other
    r"|\x1b"
)
#: What is left that is no text; a tab and a line's end are.
_CONTROLS: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


def plain_text(printed: str) -> str:
    """`printed` without what only a terminal understands, its ends blank lines left out.

    Of a line that was printed over, a progress bar, what it showed last is left.
    """
    lines = _SEQUENCES.sub("", printed).replace("\r\n", "\n").split("\n")
    shown = [_CONTROLS.sub("", line.rstrip("\r").rpartition("\r")[2]).rstrip() for line in lines]
    return "\n".join(shown).strip("\n")


def tail(text: str, longest: int) -> str:
    """The end of `text`, at most `longest` characters of it, from the start of a line on.

    A line that is longer than that by itself is cut, and what a terminal would understand
    is taken out of it: half a sequence would be shown as text.
    """
    if len(text) <= longest:
        return text
    end = text[-longest:]
    newline = end.find("\n")
    if 0 <= newline < len(end) - 1:
        return end[newline + 1 :]
    return plain_text(text[-4 * longest :])[-longest:]
