"""Twisted endpoint strings, as far as the configuration has to understand them."""

import ipaddress
import re
from typing import Final

#: Where each endpoint type that binds an address takes its `interface`, said without a name.
_INTERFACE: Final = {"tcp": 1, "tcp6": 2, "ssl": 4, "tls": 3}


def is_loopback(host: str) -> bool:
    """Whether an address or name is this machine's own and nobody else's.

    A name is not looked up: what it means can change after the check.
    """
    if host.rstrip(".").lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def tcp_endpoint(host: str, port: int) -> str:
    """The endpoint string for a host and a port."""
    kind = "tcp6" if ":" in host else "tcp"
    escaped = re.sub(r"([\\:=])", r"\\\1", host)
    return f"{kind}:{port}:interface={escaped}"


def split(endpoint: str) -> tuple[str, list[str], dict[str, str]]:
    """An endpoint's type, its bare arguments and its named ones, unescaped."""
    parts: list[list[str]] = [[""]]
    characters = iter(endpoint)
    for character in characters:
        if character == "\\":
            parts[-1][-1] += next(characters, "")
        elif character == ":":
            parts.append([""])
        elif character == "=" and len(parts[-1]) == 1:
            parts[-1].append("")
        else:
            parts[-1][-1] += character
    bare = [part[0] for part in parts[1:] if len(part) == 1]
    named = {part[0]: part[1] for part in parts[1:] if len(part) == 2}
    return parts[0][0], bare, named


def _is_private(mode: str) -> bool:
    try:
        return int(mode, 8) & 0o077 == 0
    except ValueError:
        return False


def is_local(endpoint: str) -> bool:
    """Whether only this machine can reach what listens on `endpoint`.

    A TCP endpoint without an interface binds every address. A socket handed over by
    systemd, and a type nobody here knows, may be anything: neither is local. A UNIX
    socket is this user's alone only with a `mode` that says so: Twisted makes it 0666.
    """
    kind, bare, named = split(endpoint)
    if kind == "unix":
        return _is_private(named.get("mode", "666"))
    if kind not in _INTERFACE:
        return False
    position = _INTERFACE[kind]
    interface = named.get("interface") or (bare[position] if len(bare) > position else "")
    return is_loopback(interface)
