"""Running a service with twistd's own runner, for `ahpd` in the foreground and behind it."""

import sys
from typing import Any

from twisted.application import service
from twisted.logger import ILogObserver
from twisted.scripts._twistd_unix import ServerOptions, UnixApplicationRunner


class Runner(UnixApplicationRunner):
    """twistd's runner for a service that is made already, staying in this process.

    twistd ends a process that SIGTERM stopped as if the signal had killed it; `run`
    returns instead, and the caller says the exit status. Raises what starting raises.
    """

    def __init__(self, root: service.Service, observer: ILogObserver) -> None:
        options = ServerOptions()
        options.update(
            nodaemon=True, originalname=True, pidfile="", no_save=True, logger=lambda: observer
        )
        super().__init__(options)  # type: ignore[no-untyped-call]
        self._root = root
        self._streams = sys.stdout, sys.stderr

    def createOrGetApplication(self) -> Any:
        """An application around the service."""
        application = service.Application("ahpd")
        self._root.setServiceParent(application)
        return application

    def run(self) -> None:
        """Start the service and run the reactor until it is stopped."""
        try:
            super().run()  # type: ignore[no-untyped-call]
        finally:
            # The log takes over what is printed; from here on there is no log.
            sys.stdout, sys.stderr = self._streams
