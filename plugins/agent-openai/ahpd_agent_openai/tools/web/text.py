"""What a server answered, as text: which kinds are text at all, and in which alphabet."""

import codecs
import re
from typing import Final

from ahpd_agent_openai.tools.web.asking import Answer

_HTML: Final = ("text/html", "application/xhtml+xml")
_TEXT: Final = frozenset(
    {"application/json", "application/xml", "application/javascript", "application/ecmascript",
     "application/x-javascript", "application/yaml", "application/x-yaml", "application/toml",
     "application/x-ndjson", "application/sql", "application/graphql", "application/x-sh",
     "application/rtf", "message/rfc822", "image/svg+xml"}
)  # fmt: skip
#: Alphabets pages are written in. Python has more, and some do other things than to decode.
_CHARSETS: Final = frozenset(
    {"ascii", "utf-8", "utf-16", "utf-16-le", "utf-16-be", "big5", "big5hkscs", "gb2312", "gbk",
     "gb18030", "euc_jp", "euc_kr", "shift_jis", "cp932", "cp949", "iso2022_jp", "koi8-r",
     "koi8-u", "mac-roman", "mac-cyrillic", "tis-620", "cp866", "cp874", "hz",
     *(f"cp125{n}" for n in range(9)), *(f"iso8859-{n}" for n in range(1, 17))}
)  # fmt: skip
_MARKS: Final = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAID_INSIDE: Final = re.compile(
    rb"<meta[^>]{0,200}?charset\s{0,8}=\s{0,8}[\"']?([A-Za-z0-9_:.-]{1,40})", re.IGNORECASE
)


def is_text(kind: str) -> bool:
    """Whether content of a media type is read; one that is not said is looked at."""
    return (
        not kind
        or kind.startswith("text/")
        or kind in _HTML
        or kind in _TEXT
        or kind.endswith(("+json", "+xml", "+yaml"))
    )


def is_html(answer: Answer) -> bool:
    """Whether it is a page."""
    start = answer.data[:512].lstrip().lower()
    return answer.kind in _HTML or (
        not answer.kind and start.startswith((b"<!doctype html", b"<html"))
    )


def text_of(answer: Answer) -> str | None:
    """Its text; None for what is none, whatever it says it is."""
    for mark, name in _MARKS:
        if answer.data.startswith(mark):
            return answer.data[len(mark) :].decode(name, "replace")
    charset = _known(answer.charset)
    if charset is None and is_html(answer):
        said = _SAID_INSIDE.search(answer.data[:2048])
        charset = _known(None if said is None else said[1].decode("ascii").lower())
        if charset is not None and charset.startswith("utf-16"):
            charset = "utf-8"  # it was read as bytes of one
    if charset is None or not charset.startswith("utf-16"):
        if b"\0" in answer.data[:8192]:
            return None
        charset = charset or "utf-8"
    return answer.data.decode(charset, "replace")


def _known(charset: str | None) -> str | None:
    if charset is None:
        return None
    try:
        name = codecs.lookup(charset).name
    except (LookupError, ValueError):
        return None
    # What pages call Latin-1 is Windows' alphabet (WHATWG Encoding).
    return {"iso8859-1": "cp1252", "ascii": "cp1252"}.get(name, name) if name in _CHARSETS else None
