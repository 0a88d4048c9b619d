"""HTML as a stream of tags and text, read once from front to back.

It reads what is there and repairs nothing, in time in proportion to the length, whatever a
page is made of. Python's own parser takes time in the square of it on some broken pages,
and a page comes from anybody.
"""

import html
import re
from collections.abc import Iterator, Mapping
from typing import Final

import attrs

#: Characters of a tag of which attributes are read; what follows in it is passed over.
_LONGEST_TAG: Final = 8192
_NAME: Final = re.compile(r"[a-zA-Z][^\s/>]{0,63}")
_ATTRIBUTE: Final = re.compile(
    r"([^\s=>/\"'][^\s=>/]{0,63})(?:\s{0,16}=\s{0,16}(?:\"([^\"]*)\"|'([^']*)'|([^\s>\"']+)))?"
)
_INTERESTING: Final = re.compile("[>\"']")
#: Elements whose content is no markup.
RAW: Final = frozenset(
    {"script", "style", "textarea", "title", "xmp", "iframe", "noembed", "noframes"}
)
_LOWER: Final = str.maketrans(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz"
)  # str.lower changes lengths


@attrs.frozen
class Tag:
    """A tag; `name` is in lower case."""

    name: str
    closing: bool = False
    attributes: Mapping[str, str] = attrs.field(factory=dict)


def tokens(page: str) -> Iterator[Tag | str]:
    """The tags of a page and the text between them, character references resolved."""
    lowered = page.translate(_LOWER)
    at = 0
    while at < len(page):
        start = page.find("<", at)
        if start < 0:
            yield text(page[at:])
            return
        if start > at:
            yield text(page[at:start])
        at = _other(page, start)
        if at >= 0:
            continue
        name = _NAME.match(page, start + (2 if page.startswith("</", start) else 1))
        if name is None:
            yield "<"
            at = start + 1
            continue
        end = _end(page, name.end())
        tag = _tag(page, start, name, end)
        yield tag
        at = end + 1
        if tag.name in RAW and not tag.closing:
            close = lowered.find(f"</{tag.name}", at)
            close = len(page) if close < 0 else close
            yield text(page[at:close])
            at = close


def _other(page: str, start: int) -> int:
    """Where what is no element ends: a comment, a declaration; -1 for an element."""
    if page.startswith("<!--", start):
        end = page.find("-->", start + 4)
        return len(page) if end < 0 else end + 3
    if page.startswith(("<!", "<?"), start):
        end = page.find(">", start)
        return len(page) if end < 0 else end + 1
    return -1


def _end(page: str, at: int) -> int:
    """Where a tag's `>` is; the end of the page where it has none."""
    while True:
        found = _INTERESTING.search(page, at)
        if found is None:
            return len(page)
        if found[0] == ">":
            return found.start()
        # A quote counts where a value begins.
        before = page[max(at, found.start() - 16) : found.start()].rstrip()
        close = page.find(found[0], found.end()) if before.endswith("=") else found.start()
        if close < 0:
            end = page.find(">", found.end())
            return len(page) if end < 0 else end
        at = close + 1


def _tag(page: str, start: int, name: "re.Match[str]", end: int) -> Tag:
    lowered = name[0].translate(_LOWER)
    if page.startswith("</", start):
        return Tag(lowered, closing=True)
    attributes: dict[str, str] = {}
    for found in _ATTRIBUTE.finditer(page, name.end(), min(end, name.end() + _LONGEST_TAG)):
        value = found[2] or found[3] or found[4] or ""
        attributes.setdefault(found[1].translate(_LOWER), text(value))
    return Tag(lowered, attributes=attributes)


def text(raw: str) -> str:
    """Text with its character references resolved."""
    if "&" not in raw:
        return raw
    try:
        return html.unescape(raw)
    except ValueError:  # a number of more digits than Python reads
        return raw
