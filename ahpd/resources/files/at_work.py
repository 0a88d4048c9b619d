"""Work on files that may take long, and the host's stop, which waits for none of it.

A thread cannot be ended from outside: a host that stops would wait for a tree that is
copied, however large. So whatever goes over many bytes or many names asks in between
whether to go on. What it gives up is as it is after any failure: a draft is removed, and
what was there stays.
"""

from collections.abc import Callable
from typing import Any

from twisted.application.service import Service

from ahpd.protocol.errors import internal_error

#: Asked in between: returns, or raises `RpcError` where the host stops. In any thread.
GoOn = Callable[[], None]


def always() -> None:
    """Go on, whatever happens."""


class FilesAtWork(Service):
    """Whether what works on files is to go on: until the host stops."""

    name = "files"

    def __init__(self) -> None:
        self._stopped = False

    def go_on(self) -> None:
        """See `GoOn`."""
        if self._stopped:
            raise internal_error("This host is stopping: it was not done, or not all of it")

    def stopService(self) -> Any:
        """Have everything that is under way, and all that waits for a thread, be given up."""
        self._stopped = True
        return super().stopService()  # type: ignore[no-untyped-call]
