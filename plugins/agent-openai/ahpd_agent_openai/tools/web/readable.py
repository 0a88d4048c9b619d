"""A page's text as a model reads it: Markdown's headings, lists and links, and no more of it."""

import re
from collections.abc import Mapping
from typing import Final
from urllib.parse import urljoin

from ahpd_agent_openai.tools.web.markup import Tag, tokens

#: Elements that show nothing, with all that is in them.
_UNSEEN: Final = frozenset(
    {"script", "style", "template", "noscript", "svg", "iframe", "object", "canvas", "textarea",
     "select", "noembed", "noframes", "math"}
)  # fmt: skip
#: Elements that begin and end a line.
_BLOCKS: Final = frozenset(
    {"address", "article", "aside", "blockquote", "body", "dd", "details", "div", "dl", "dt",
     "fieldset", "figcaption", "figure", "footer", "form", "header", "hr", "li", "main", "nav",
     "ol", "p", "pre", "section", "summary", "table", "tr", "ul"}
)  # fmt: skip
_HEADINGS: Final = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_SPACE: Final = re.compile(r"[ \t\r\n\f\u00a0]+")
_LONGEST_LINK: Final = 500


class _Reader:
    """Makes text of tokens."""

    def __init__(self, base: str) -> None:
        self.title = ""
        self._base = base
        self._lines: list[str] = []
        self._line: list[str] = []
        self._unseen: list[str] = []
        self._pre = 0
        self._in_title = False
        self._prefix = ""
        #: The address of the link that is open, and where its text begins in the line.
        self._link: tuple[str, int] | None = None

    def take(self, token: Tag | str) -> None:
        """The next token."""
        if isinstance(token, str):
            self._text(token)
        elif token.closing:
            self._close(token.name)
        else:
            self._open(token.name, token.attributes)

    def _text(self, text: str) -> None:
        if self._in_title:
            self.title = self.title or _SPACE.sub(" ", text).strip()
        elif not self._unseen:
            if self._pre:
                first, *rest = text.replace("\r\n", "\n").split("\n")
                self._line.append(first)
                for line in rest:
                    self._end_line()
                    self._line.append(line)
            else:
                self._line.append(_SPACE.sub(" ", text))

    def _open(self, name: str, attributes: Mapping[str, str]) -> None:
        if self._unseen:
            if name == self._unseen[-1]:
                self._unseen.append(name)
            return
        if name == "title":
            self._in_title = True
        elif name in _UNSEEN:
            self._unseen.append(name)
        elif name in _HEADINGS:
            self._end_line(gap=True)
            self._prefix = _HEADINGS[name]
        elif name == "br":
            self._end_line()
        elif name in ("td", "th"):
            if self._shown():
                self._line.append(" | ")
        elif name == "a":
            self._end_link()
            self._link = (self._address(attributes.get("href", "")), len(self._line))
        elif name in _BLOCKS:
            self._end_line(gap=name in ("p", "pre", "table"))
            self._pre += name == "pre"
            if name == "li":
                self._prefix = "- "

    def _close(self, name: str) -> None:
        if self._unseen:
            if name == self._unseen[-1]:
                self._unseen.pop()
        elif name == "title":
            self._in_title = False
        elif name == "a":
            self._end_link()
        elif name in _HEADINGS or name in _BLOCKS:
            self._end_line(gap=name in _HEADINGS or name in ("p", "pre", "table"))
            self._pre = max(0, self._pre - (name == "pre"))

    def _address(self, href: str) -> str:
        try:
            address = urljoin(self._base, href.strip())
        except ValueError:
            return ""
        shown = address.startswith(("http://", "https://")) and len(address) <= _LONGEST_LINK
        return address if shown and not href.strip().startswith("#") else ""

    def _end_link(self) -> None:
        if self._link is None:
            return
        address, begun = self._link
        self._link = None
        words = _SPACE.sub(" ", "".join(self._line[begun:])).strip()
        if address and words:
            self._line[begun:] = [f"[{words}]({address})"]

    def _shown(self) -> str:
        return "".join(self._line).strip()

    def _end_line(self, *, gap: bool = False) -> None:
        self._end_link()
        line = "".join(self._line)
        line = line.rstrip() if self._pre else _SPACE.sub(" ", line).strip()
        self._line.clear()
        if line:
            self._lines.append(self._prefix + line)
            self._prefix = ""
        blank = not self._lines or not self._lines[-1]
        if not blank and (gap or (self._pre and not line)):
            self._lines.append("")

    def text(self) -> str:
        """All of it."""
        self._end_line()
        return "\n".join(self._lines).strip("\n")


def readable(page: str, base: str) -> tuple[str, str]:
    """A page's title, which may be empty, and its text. Links are told in full, seen from `base`."""
    reader = _Reader(base)
    for token in tokens(page):
        reader.take(token)
    return reader.title, reader.text()
