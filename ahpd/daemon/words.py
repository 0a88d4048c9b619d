"""What went wrong at a start, in one line a person can act on."""

import errno

from ahpd.config.errors import ConfigError


def failure_words(error: BaseException) -> str:
    """The words for an exception; never a stack."""
    # Twisted's `CannotListenError` carries what the system said as `socketError`.
    system = getattr(error, "socketError", None)
    if isinstance(system, OSError):
        place = listening_place(getattr(error, "interface", "") or "", getattr(error, "port", ""))
        return f"cannot listen on {place}: {_listen_words(system)}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    words = " ".join(str(error).split())
    # An endpoint string that Twisted refuses is a ValueError; the rest is a fault of ours,
    # which its type helps to find.
    if words and isinstance(error, ConfigError | ValueError):
        return words
    name = type(error).__name__
    return f"it failed with {name}: {words}" if words else f"it failed with {name}"


def listening_place(interface: str | bytes, port: object) -> str:
    """An address and a port as people write them; a Unix socket is its path alone."""
    host = interface.decode(errors="replace") if isinstance(interface, bytes) else interface
    if isinstance(port, bytes):
        port = port.decode(errors="replace")
    if not isinstance(port, int):
        return str(port)
    return f"[{host}]:{port}" if ":" in host else f"{host or '*'}:{port}"


def _listen_words(error: OSError) -> str:
    match error.errno:
        case errno.EADDRINUSE:
            return (
                "the port is in use; choose another with --port, or have one picked with --port 0"
            )
        case errno.EACCES | errno.EPERM:
            return "this user may not; ports below 1024 usually take more rights"
        case errno.EADDRNOTAVAIL:
            return "this machine has no such address"
        case _:
            return error.strerror or str(error)
