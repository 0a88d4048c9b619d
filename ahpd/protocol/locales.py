"""The language a client asks for: a BCP 47 tag, such as `pt-BR`.

Source: PLUGINS.txt, "Text in the client's language".
"""

import re
from typing import Final

#: The longest tag that is one (RFC 5646, 4.4.1: the least an implementation may hold).
LONGEST_TAG: Final = 35

_TAG: Final = re.compile(r"[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*")


def locale_of(value: object) -> str | None:
    """The locale a client sent; None where it sent none, or what cannot be one."""
    if isinstance(value, str) and 0 < len(value) <= LONGEST_TAG and _TAG.fullmatch(value):
        return value
    return None
