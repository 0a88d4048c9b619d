"""A tree of named services that starts in order and stops in the opposite one.

Twisted's `MultiService` stops its children all at once; here each is down before
the one it stands on begins to stop, because a turn that ends must still reach the
clients and a client's last frame must still reach the wire log.
"""

from typing import Any, Final

from twisted.application.service import MultiService, Service
from twisted.internet import defer
from twisted.internet.defer import Deferred, maybeDeferred
from twisted.internet.interfaces import IReactorTime
from twisted.logger import Logger

log = Logger()

#: How long one service may take to stop, in seconds. The next one stops all the same.
STOP_BOUND: Final = 10.0
#: How long all of them together may take; past it each is given no more than a moment.
TOTAL_BOUND: Final = 18.0
_MOMENT: Final = 0.5


class ServiceTree(MultiService):
    """Named services, stopped one after another, last started first."""

    def __init__(self, clock: IReactorTime, name: str, bound: float = STOP_BOUND) -> None:
        MultiService.__init__(self)
        self.name = name
        self._clock = clock
        self._bound = bound

    def stopService(self) -> Deferred[None]:
        """Fires when every child is down, or has been given its bound. Never fails."""
        Service.stopService(self)
        return Deferred.fromCoroutine(self._stop())

    async def _stop(self) -> None:
        until = self._clock.seconds() + TOTAL_BOUND
        for service in reversed(list(self)):
            stopping: Deferred[Any] = maybeDeferred(service.stopService)
            bound = max(_MOMENT, min(self._bound, until - self._clock.seconds()))
            stopping.addTimeout(bound, self._clock)
            try:
                await stopping
            except defer.TimeoutError:
                log.error(
                    "the service {name} was not down after {bound} s and is left behind",
                    name=service.name,
                    bound=bound,
                )
            except Exception:
                log.failure("the service {name} failed to stop", name=service.name)
