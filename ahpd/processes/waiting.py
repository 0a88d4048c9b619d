"""Waiting for what happens once, with a bound."""

from typing import Any

from twisted.internet.defer import Deferred


class Moment:
    """Something that happens once and that any number of coroutines wait for."""

    __slots__ = ("_waiting", "happened")

    def __init__(self) -> None:
        self.happened = False
        self._waiting: list[Deferred[None]] = []

    def fire(self) -> None:
        """It happened. Again changes nothing."""
        if not self.happened:
            self.happened = True
            waiting, self._waiting = self._waiting, []
            for deferred in waiting:
                deferred.callback(None)

    def wait(self) -> "Deferred[None]":
        """Fires when it happens, or at once where it has. May be cancelled."""
        deferred: Deferred[None] = Deferred(self._forget)
        if self.happened:
            deferred.callback(None)
        else:
            self._waiting.append(deferred)
        return deferred

    def _forget(self, deferred: "Deferred[None]") -> None:
        if deferred in self._waiting:
            self._waiting.remove(deferred)

    async def within(self, reactor: Any, seconds: float) -> bool:
        """Wait at most `seconds`; whether it has happened."""
        if not self.happened:
            deferred = self.wait()
            call = reactor.callLater(seconds, self._release, deferred)
            try:
                await deferred
            finally:  # a wait that is cancelled leaves no timer
                if call.active():
                    call.cancel()
        return self.happened

    def _release(self, deferred: "Deferred[None]") -> None:
        self._forget(deferred)
        deferred.callback(None)


def sleep(reactor: Any, seconds: float) -> "Deferred[None]":
    """Fires after `seconds`; 0 lets everything else have one turn of the reactor."""
    deferred: Deferred[None] = Deferred(lambda _: call.cancel())
    call = reactor.callLater(seconds, deferred.callback, None)
    return deferred
