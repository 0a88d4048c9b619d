"""The names that nobody but the host may give to what it serves. Pure.

An agent names the channels of its sessions (`claude:/<id>`) and a scheme names its URIs; both
share one space with the host's own channels and with what a grant names. Names are compared in
lower case. Source: PLUGINS.txt, "Reserved names".
"""

import re
from typing import Final

from ahpd.protocol.client_uris import CLIENT_SCHEME

_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*")

#: The protocol's channels, this host's, and the protocol's prefix for an extension.
PREFIXES: Final = ("ahp-", "ahpd-", "x-")

#: What a grant names: `<subject>:<operation>`.
SUBJECTS: Final = frozenset(
    {
        "agent",
        "automation",
        "chat",
        "client",
        "config",
        "connector",
        "operation",
        "plugin",
        "role",
        "session",
        "team",
        "terminal",
        "trust",
        "tunnel",
        "user",
    }
)

_RESERVED: Final = SUBJECTS | {
    # Stores and channels of the host's own.
    "file",
    "automations",
    CLIENT_SCHEME,
    # What a client opens itself.
    "http",
    "https",
    "ws",
    "wss",
    "data",
    "mailto",
}


def is_reserved(name: str) -> bool:
    """Whether `name` is the host's own, for an agent and for a scheme alike."""
    lowered = name.lower()
    return lowered in _RESERVED or lowered.startswith(PREFIXES)


def registrable(name: str) -> str:
    """`name`, a scheme or the provider of an agent, in the one spelling it is held under.

    Raises `ValueError` for what is no scheme or is the host's own.
    """
    scheme = name.lower()
    if _SCHEME.fullmatch(scheme) is None:
        raise ValueError(f"{name[:100]!r} is no URI scheme")
    if is_reserved(scheme):
        raise ValueError(f"the name {scheme} is reserved: nothing but the host may serve it")
    return scheme
