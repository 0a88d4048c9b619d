"""Command lines as shells write them into their marks, read back."""

import re
from typing import Final

_ESCAPE: Final = re.compile(r"\\(?:\\|x([0-9A-Fa-f]{2}))")

#: A word as bash's `printf %q` writes it: `$'...'`, `'...'`, `"..."`, `\` and a character, or plain.
_QUOTED: Final = re.compile(
    r"""\$'((?:[^'\\]|\\.)*)' | '([^']*)' | "((?:[^"\\]|\\.)*)" | \\(.) | ([^\\'"$]+ | .)""",
    re.DOTALL | re.VERBOSE,
)
_ANSI_C: Final = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|(.))", re.DOTALL
)
_NAMED: Final = {
    "a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t",
    "v": "\v",
}  # fmt: skip


def unescaped(text: str) -> str:
    r"""A line in an OSC 633: `\\` is a backslash and `\x3b` the character of that number."""
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else "\\", text)


def unquoted(text: str) -> str:
    """A line quoted for a shell as `printf %q` does it. What is quoted otherwise is left as it is."""
    return "".join(map(_piece, _QUOTED.finditer(text)))


def _piece(found: re.Match[str]) -> str:
    ansi_c, single, double, escaped, plain = found.groups()
    if ansi_c is not None:
        return _numbered_bytes(ansi_c)
    if double is not None:
        return re.sub(r'\\([\\"$`])', r"\1", double)
    return single or escaped or plain or ""


def _numbered_bytes(text: str) -> str:
    """The inside of a `$'...'`, whose `\\ooo` and `\\xHH` are bytes of UTF-8."""
    raw = bytearray()
    end = 0
    for found in _ANSI_C.finditer(text):
        raw += text[end : found.start()].encode(errors="replace")
        end = found.end()
        byte, short, long, octal, named = found.groups()
        if byte is not None or octal is not None:
            raw.append((int(byte, 16) if byte else int(octal, 8)) & 0xFF)
        elif short is not None or long is not None:
            number = int(short or long, 16)
            raw += (chr(number) if number <= 0x10FFFF else "\ufffd").encode(errors="replace")
        else:
            raw += _NAMED.get(named, named).encode(errors="replace")
    raw += text[end:].encode(errors="replace")
    return raw.decode(errors="replace")
