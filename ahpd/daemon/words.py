"""What went wrong at a start, in one line a person can act on."""

import errno


def failure_words(error: BaseException) -> str:
    """The words for an exception; never a stack."""
    # Twisted's `CannotListenError` carries what the system said as `socketError`; what
    # was made of one names it as its cause.
    for raised in (error, error.__cause__):
        system = getattr(raised, "socketError", None)
        if isinstance(system, OSError):
            place = listening_place(getattr(raised, "interface", ""), getattr(raised, "port", ""))
            setting = getattr(error, "setting", None)
            return f"cannot listen on {place}: {_listen_words(system, setting)}"
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    words, kind = " ".join(str(error).split()), type(error)
    # What this host raises is worded for people, and so is an endpoint string that Twisted
    # refuses. The rest is a fault, which its type helps to find.
    if words and (kind.__module__.startswith("ahpd.") or isinstance(error, ValueError)):
        return words
    return f"it failed with {kind.__name__}" + (f": {words}" if words else "")


def working_directory_words(error: OSError) -> str:
    """The words for a working directory that cannot be found out."""
    return f"the directory this was started in cannot be used: {error.strerror or error}"


def listening_place(interface: str | bytes | None, port: object) -> str:
    """An address and a port as people write them; a Unix socket is its path alone."""
    host = interface.decode(errors="replace") if isinstance(interface, bytes) else interface or ""
    if isinstance(port, bytes):
        port = port.decode(errors="replace")
    if not isinstance(port, int):
        return str(port)
    return f"[{host}]:{port}" if ":" in host else f"{host or '*'}:{port}"


def _listen_words(error: OSError, setting: str | None) -> str:
    match error.errno:
        case errno.EADDRINUSE if setting is not None:
            return f"the port is in use; choose another for {setting} in the configuration"
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
