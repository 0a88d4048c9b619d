"""Telling a service manager how it goes: the datagrams of systemd's `sd_notify`.

One datagram of `KEY=VALUE` lines to the socket named in `NOTIFY_SOCKET`; a name that
begins with `@` is one of Linux's abstract sockets. Without the variable nobody asked.
"""

import socket
from collections.abc import Mapping


def notify(environ: Mapping[str, str], *lines: str) -> str | None:
    """Send the lines; the words of what went wrong, or None.

    Nobody waits for a service manager: a socket that is full loses the message.
    """
    address = environ.get("NOTIFY_SOCKET", "")
    if not address:
        return None
    if address[0] not in "/@":
        return f"NOTIFY_SOCKET: found {address!r}, allowed: an absolute path or an abstract name"
    target = "\0" + address[1:] if address[0] == "@" else address
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as sender:
            sender.setblocking(False)
            sender.sendto("\n".join(lines).encode(), target)
    except OSError as error:
        return f"the service manager's socket {address} cannot be told: {error.strerror or error}"
    return None
