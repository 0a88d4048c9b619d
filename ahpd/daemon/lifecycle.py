"""The service that minds the others' beginning and end: readiness, signals, and the bound."""

import gc
import os
import signal
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any, Final, Protocol

from twisted.application.service import Service
from twisted.internet.defer import Deferred
from twisted.logger import Logger
from twisted.python.failure import Failure

from ahpd.daemon.leaving import Leaving
from ahpd.daemon.words import failure_words
from ahpd.threads import held_for_long_by_none

#: How long the services may take to stop before the process leaves without them. The
#: host bounds its own draining well below this; it is for what hangs.
STOP_SECONDS: Final = 25.0
#: What a reactor that still turns is given on top of it, to leave on its own.
_GRACE: Final = 2.0

#: Between two steps of what is prepared, in seconds: whoever connects comes first.
_A_TURN: Final = 0.001

_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class StartError(Exception):
    """The host could not start; `str()` is words."""


class IDelayed(Protocol):
    """A call that was put off."""

    def active(self) -> bool: ...
    def cancel(self) -> None: ...


class IReactor(Protocol):
    """What is used of a reactor here."""

    running: bool

    def callWhenRunning(self, function: Callable[..., object], *args: Any) -> object: ...
    def callFromThread(self, function: Callable[..., object], *args: Any) -> object: ...
    def callLater(self, delay: float, function: Callable[..., object], *args: Any) -> IDelayed: ...
    def addSystemEventTrigger(
        self, phase: str, event: str, function: Callable[..., object]
    ) -> object: ...
    def stop(self) -> object: ...


class Lifecycle(Service):
    """Says when the host is ready, or why it is not, and sees to it that a stop ends.

    `ready` fires with the URL, with None where nothing listens, or fails; `ended` fires
    with a reason when there is nobody left to serve, which stops the reactor. `announce`
    is called with what it fired with; `failed` with words when it failed, after which
    the reactor is stopped. SIGTERM, SIGINT and SIGHUP each stop the reactor, which
    stops the services; a second SIGINT ends the process at once. A process that is not gone some
    seconds after its bound is ended without asking its reactor (`Leaving`). `tell` takes the
    lines a service manager is told, and may be anything that never raises. With `raises`
    a failure that is known when the service starts is raised there too, as `StartError`:
    a parent that waits for no more than the start learns of it. `prepare` is what is done
    in small steps once the host is ready, a step at each turn of the reactor.
    """

    _log = Logger()

    def __init__(
        self,
        reactor: IReactor,
        ready: "Deferred[str | None]",
        ended: "Deferred[str]",
        *,
        announce: Callable[[str | None], object],
        failed: Callable[[str], object],
        tell: Callable[..., object],
        leave: Callable[[int], object] = os._exit,
        stop_seconds: float = STOP_SECONDS,
        raises: bool = False,
        prepare: Iterable[None] = (),
    ) -> None:
        self.setName("lifecycle")  # type: ignore[no-untyped-call]
        self._reactor = reactor
        self._ready = ready
        self._ended = ended
        self._announce = announce
        self._report_failure = failed
        self._tell = tell
        self._leave = leave
        self._stop_seconds = stop_seconds
        self._leaving = Leaving(stop_seconds + _GRACE, leave)
        self._running: Deferred[None] = Deferred()
        self._raises = raises
        self._prepare = iter(prepare)
        self._stopping = False
        self._announced = False
        self._problem: str | None = None

    def startService(self) -> None:
        super().startService()  # type: ignore[no-untyped-call]
        held_for_long_by_none(self._reactor)
        # Of a stop that nobody asked this for, as a plugin's, it is the first that is known.
        self._reactor.addSystemEventTrigger("before", "shutdown", self._leaving.begin)
        # Twisted installs handlers of its own when the reactor starts; with those in
        # place a process that drained well would still end as if it was killed.
        self._reactor.callWhenRunning(self._catch_signals)
        # Whoever reads the announcement may signal at once, so it waits for the handlers.
        self._reactor.callWhenRunning(self._running.callback, None)
        self._ready.addCallback(self._once_running)
        self._ready.addCallback(self._is_ready)
        # An announcement that fails (a record that cannot be written) is a failed start.
        self._ready.addErrback(self._has_failed)
        self._ended.addCallback(self._stop)
        if self._problem is not None and self._raises:
            raise StartError(self._problem)

    def stopService(self) -> None:
        super().stopService()  # type: ignore[no-untyped-call]
        self._stopping = True
        self._tell("STOPPING=1")
        bound = self._reactor.callLater(self._stop_seconds, self._give_up)

        def done() -> None:
            self._leaving.drained(0 if self._problem is None else 1)
            if self._announced:
                self._log.info("stopped")
            if bound.active():
                bound.cancel()

        self._reactor.addSystemEventTrigger("after", "shutdown", done)

    def _once_running(self, url: str | None) -> "Deferred[str | None]":
        return self._running.addCallback(lambda _: url)

    def _is_ready(self, url: str | None) -> None:
        if self._stopping:
            return
        self._announce(url)
        self._announced = True
        gc.enable()
        self._tell("READY=1", f"STATUS=listening on {url}" if url else "STATUS=serving stdio")
        self._reactor.callLater(_A_TURN, self._prepare_more)

    def _prepare_more(self) -> None:
        if self._stopping:
            return
        try:
            next(self._prepare)
        except StopIteration:
            # What the start made stays for good; the collector need not walk it again and
            # again, which it does in one pause of many milliseconds.
            gc.collect()
            gc.freeze()
            return
        self._reactor.callLater(_A_TURN, self._prepare_more)

    def _has_failed(self, failure: Failure) -> None:
        if self._stopping:
            return
        assert failure.value is not None
        self._problem = failure_words(failure.value)
        self._report_failure(self._problem)
        self._stop_reactor()

    def _catch_signals(self) -> None:
        for number in _SIGNALS:
            # `nohup` and a shell's background jobs are started with some of them ignored.
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._caught)

    def _caught(self, number: int, frame: FrameType | None) -> None:
        self._leaving.begin()  # the reactor may be held up, and never hear of it
        # Whoever asks a second time from a keyboard means now.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        for other in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(other, signal.SIG_IGN)
        self._reactor.callFromThread(self._stop, signal.Signals(number).name)

    def _stop(self, reason: str) -> None:
        if not self._stopping:
            self._stopping = True
            self._log.info("{reason}: draining", reason=reason)
            self._stop_reactor()

    def _stop_reactor(self) -> None:
        # Before the reactor runs there is nothing to stop, and it would run on.
        if self._reactor.running:
            self._reactor.stop()
        else:
            self._reactor.callWhenRunning(self._reactor.stop)

    def _give_up(self) -> None:
        self._log.critical(
            "not drained after {seconds} seconds; leaving all the same",
            seconds=self._stop_seconds,
        )
        self._leave(1)
