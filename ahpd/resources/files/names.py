"""Names of files as text that travels, and back.

A name on disk is bytes. JSON carries text, and a client makes the URI of an entry out of
the text it was listed under. So a byte that is no UTF-8 is listed as one character of
Unicode's private area, U+EF80 for 0x80 to U+EFFF for 0xFF, and a path with such characters
is taken to mean those bytes where nothing is under the characters themselves. The few names
that hold such a character in earnest are listed with each of its bytes escaped, so that no
two names of a directory are listed alike.

A URI that says the bytes (`%E9`) opens the file as well, and is what a resolve answers.
"""

import os
import re
from typing import Final

_ESCAPE: Final = re.compile("[\uef80-\uefff]")
_BASE: Final = 0xEF00
#: Where the standard library puts the bytes it cannot decode.
_UNDECODED: Final = 0xDC00


def listed(name: str) -> str:
    """A name of a directory's entry as it is listed."""
    if name.isascii():
        return name
    text = os.fsencode(name).decode(errors="surrogateescape")
    return "".join(_as_listed(each) for each in text)


def _as_listed(character: str) -> str:
    code = ord(character)
    if _UNDECODED < code < _UNDECODED + 0x100:
        return chr(code - _UNDECODED + _BASE)
    if _ESCAPE.match(character):
        return "".join(chr(_BASE + byte) for byte in character.encode())
    return character


def meant(name: str) -> str:
    """The name on disk that was listed as `name`."""
    escaped = _ESCAPE.sub(lambda found: chr(ord(found[0]) - _BASE + _UNDECODED), name)
    return os.fsdecode(escaped.encode(errors="surrogateescape"))


def on_disk(path: str) -> str:
    """The path a client means by an absolute `path`, whose names may be as they were listed."""
    if _ESCAPE.search(path) is None:
        return path
    found = ""
    for name in path.split("/")[1:]:
        here = f"{found}/{name}"
        if not os.path.lexists(here):
            there = f"{found}/{meant(name)}"
            here = there if os.path.lexists(there) else here
        found = here
    return found
