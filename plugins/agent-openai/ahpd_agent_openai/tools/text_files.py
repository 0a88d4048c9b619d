"""Files as text: which encoding and which line ends, so that both are kept.

A byte order mark says UTF-8 or UTF-16; without one it is UTF-8, and where that does not fit
it is Latin-1, in which every file reads and is written back byte for byte. A zero byte in
what has no mark is no text.
"""

import codecs
from typing import Final

import attrs

from ahpd_agent_openai.tools.values import ToolProblem

#: How much of a file's start says whether it is text.
SNIFFED: Final = 8192

_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


class NotText(Exception):
    """Its bytes are no text."""


@attrs.frozen
class Encoding:
    """How text is in a file: its codec, and the mark ahead of it."""

    name: str
    mark: bytes = b""

    def encoded(self, text: str) -> bytes:
        """The bytes of a whole file. Raises `ToolProblem` for what it cannot write."""
        try:
            return self.mark + text.encode(self.name)
        except UnicodeEncodeError as error:
            lost = text[error.start : error.start + 1]
            raise ToolProblem(
                f"the file is in {self.name}, which has no {lost!r}: write it anew in UTF-8"
                " or do without that character"
            ) from None


def encoding_of(start: bytes, *, whole: bool) -> Encoding:
    """The encoding of a file with this start; `whole` says it is all there is. Raises `NotText`."""
    for mark, name in _MARKS:
        if start.startswith(mark):
            return Encoding(name, mark)
    if b"\0" in start:
        raise NotText
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start, whole)
    except UnicodeDecodeError:
        return Encoding("latin-1")
    return Encoding("utf-8")


def decoded(data: bytes) -> tuple[str, Encoding]:
    """A whole file as text. Raises `NotText`."""
    encoding = encoding_of(data, whole=True)
    try:
        return data[len(encoding.mark) :].decode(encoding.name), encoding
    except UnicodeDecodeError:  # it is marked as what it is not
        raise NotText from None


def line_end(text: str) -> str:
    """The line end most of its lines have."""
    pairs = text.count("\r\n")
    return "\r\n" if 2 * pairs > text.count("\n") else "\n"
