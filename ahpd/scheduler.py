"""The host's timers in one place: owned, told apart when they fail, gone at the stop.

Domains are handed this in place of the reactor's clock. What is still scheduled when
the service stops is cancelled, so a stopped host leaves nothing behind in the reactor.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from twisted.application.service import Service
from twisted.internet.interfaces import IDelayedCall, IReactorTime
from twisted.logger import Logger
from zope.interface import implementer

log = Logger()

#: Calls not worth looking through.
_FEW: Final = 256


@implementer(IReactorTime)
class Scheduler(Service):
    """A clock over `clock` that knows what it has scheduled."""

    name = "schedulers"

    def __init__(self, clock: IReactorTime) -> None:
        self._clock = clock
        self._scheduled: set[IDelayedCall] = set()
        self._sweep_at = _FEW

    def seconds(self) -> float:
        """The clock's time, in seconds."""
        return self._clock.seconds()

    def callLater(
        self,
        delay: float,
        callable: Callable[..., Any],  # noqa: A002 - the interface's own name
        *args: object,
        **kwargs: object,
    ) -> IDelayedCall:
        """Call `callable` in `delay` seconds; a failure of it is logged with its name."""

        def run() -> None:
            self._scheduled.discard(call)
            try:
                callable(*args, **kwargs)
            except Exception:
                log.failure("{what} failed on its timer", what=_name(callable))

        self._sweep()
        call = self._clock.callLater(delay, run)
        self._scheduled.add(call)
        return call

    def getDelayedCalls(self) -> Sequence[IDelayedCall]:
        """What is scheduled now."""
        return [call for call in self._scheduled if call.active()]

    def stopService(self) -> None:
        """Cancel what is scheduled still."""
        super().stopService()  # type: ignore[no-untyped-call]
        scheduled, self._scheduled = self._scheduled, set()
        for call in scheduled:
            if call.active():
                call.cancel()

    def _sweep(self) -> None:
        """Forget cancelled calls once they are many; whoever cancels one does not tell us.

        Each sweep waits for as many calls as the last one left, so that a host with
        thousands of timers pays for looking at them with the ones it adds.
        """
        if len(self._scheduled) > self._sweep_at:
            self._scheduled = {call for call in self._scheduled if call.active()}
            self._sweep_at = max(_FEW, 2 * len(self._scheduled))


def _name(function: Callable[..., Any]) -> str:
    return getattr(function, "__qualname__", None) or repr(function)
