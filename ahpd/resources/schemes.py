"""Which schemes a provider may be registered for.

A scheme shares one space with the host's own channels and with what a grant names, so some
names are the host's (PLUGINS.txt, "Reserved names"). Names are compared in lower case.
"""

import re
from typing import Final

from ahpd.protocol.client_uris import CLIENT_SCHEME

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*")

#: The protocol's channels, this host's, and the protocol's prefix for an extension.
_PREFIXES: Final = ("ahp-", "ahpd-", "x-")
_RESERVED: Final = frozenset(
    {
        # Stores and channels of the host's own.
        "file",
        "automations",
        CLIENT_SCHEME,
        # What a grant names.
        "agent",
        "chat",
        "client",
        "config",
        "connector",
        "plugin",
        "role",
        "session",
        "team",
        "tunnel",
        "user",
        # What a client opens itself.
        "http",
        "https",
        "ws",
        "wss",
        "data",
        "mailto",
    }
)


def registrable(name: str) -> str:
    """The scheme `name` in the one spelling it is held under.

    Raises `ValueError` for what is no scheme or is the host's own.
    """
    scheme = name.lower()
    if _SCHEME.fullmatch(scheme) is None:
        raise ValueError(f"{name[:100]!r} is no URI scheme")
    if scheme in _RESERVED or scheme.startswith(_PREFIXES):
        raise ValueError(f"the scheme {scheme} is reserved: nothing else may serve it")
    return scheme
