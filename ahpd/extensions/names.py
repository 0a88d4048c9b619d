"""The names of what is served beside the protocol: schemes and commands that begin with `x-`.

Beside them the slugs that records and their kinds are called by.
"""

import re
from typing import Final

from ahpd.protocol.uris import scheme as scheme_of

#: What such a name begins with.
PREFIX: Final = "x-"
_SCHEME: Final = re.compile(r"x-[a-z0-9+.-]*[a-z0-9]")
_METHOD: Final = re.compile(r"x-[^\s/]+(?:/[^\s/]+)*")
_SLUG: Final = re.compile(r"[a-z][a-z0-9-]{0,39}")
#: What a slug is, for whoever gave none.
SLUG_WORDS: Final = "1 to 40 of a-z, 0-9 and -, a letter first"


def is_scheme(name: str) -> bool:
    """Whether channels may be served under `name`."""
    return _SCHEME.fullmatch(name) is not None


def is_method(name: str) -> bool:
    """Whether a command may be called `name`."""
    return _METHOD.fullmatch(name) is not None


def is_slug(value: object) -> bool:
    """Whether `value` may name a kind of something: an adapter, a kind of tunnels."""
    return isinstance(value, str) and _SLUG.fullmatch(value) is not None


def on_scheme(uri: str, scheme: str) -> str | None:
    """The spelling a URI of `scheme` is held under; None for one of another scheme.

    A scheme is read in any case, and the URI without a path has one spelling of its several.
    """
    if scheme_of(uri) != scheme:
        return None
    rest = uri[len(scheme) + 1 :]
    return f"{scheme}://" if rest in ("", "/", "//", "///") else f"{scheme}:{rest}"
